/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run/run.c - one run of a command: its decision, its preparation, its release
 *
 * run-build.c starts the sandbox and supervises it, run-report.c tells the user
 * what came of it.
 */

#include "run/run.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/text.h"
#include "guard/planted.h"
#include "plan/plan.h"
#include "policy/mode.h"
#include "policy/policy.h"
#include "report/report.h"
#include "report/violation-store.h"
#include "report/violation.h"
#include "run/approval.h"
#include "run/choose-tier.h"
#include "run/command-stdio.h"
#include "run/event-stream.h"
#include "run/host-channel.h"
#include "run/immutable-files.h"
#include "run/monitor.h"
#include "run/options.h"
#include "run/output.h"
#include "run/resource-limits.h"
#include "run/run-network.h"
#include "view/realpath.h"
#include "view/view.h"

enum { PLANS_MAX = 3 };		/* Made in a row, while the tree changes */

static char *with_origin(const char *text, const struct origin *origin)
{
	struct buf b = { 0 };

	buf_addf(&b, "%s (", text);
	origin_describe(origin, &b);
	buf_addc(&b, ')');
	return buf_take(&b);
}

/* The line that excludedCommands are matched against */
static char *command_line(const struct options *options, char *const *argv)
{
	const char *string = options_get(options, OPTION_COMMAND);
	struct buf b = { 0 };

	if (string)
		return mem_strdup(string);
	event_stream_command(argv, SIZE_MAX, &b);
	return buf_take(&b);
}

static int check_allowed(const struct policy *policy, struct err *err)
{
	const struct flag *flag = &policy->flags[FLAG_ALLOW_UNSANDBOXED];
	auto_buf struct buf by = { 0 };

	if (!flag->set || flag->value)
		return 0;
	origin_describe(&flag->origin, &by);
	return fail(err, -EPERM, "--allow-unsandboxed is forbidden (%s)",
		    buf_str(&by));
}

/* Whether the command runs without a sandbox: only with --allow-unsandboxed, and only
 * where the settings say so. 1 with the reason in *@ret_why; 0 with a note in
 * *@ret_why, or NULL; or -EPERM where the option is forbidden. The caller frees.
 */
static int decide_unsandboxed(const struct run *run, char **ret_why)
{
	const struct policy *policy = run->decision.policy;
	const bool asked = options_has(run->options, OPTION_ALLOW_UNSANDBOXED);
	auto_free char *line = NULL;
	const struct origin *off;
	int r;

	*ret_why = NULL;
	if (mode_is_off(policy, &off))
		*ret_why = with_origin(asked ?
			"the settings switch it off" :
			"the settings switch the sandbox off, and it is used nevertheless; --allow-unsandboxed obeys them",
			off);
	r = asked ? check_allowed(policy, run->err) : 0;
	if (r < 0) {
		free(*ret_why);
		*ret_why = NULL;
		return r;
	}
	if (*ret_why || !policy->lists[LIST_EXCLUDED_COMMANDS].len)
		return asked && *ret_why;
	line = command_line(run->options, run->command);
	if (!mode_excludes(policy, line, NULL))
		return 0;
	*ret_why = mem_strdup(asked ? "the command is one of excludedCommands" :
		"the command is one of excludedCommands, and the sandbox is used nevertheless; --allow-unsandboxed obeys them");
	return asked;
}

/* True if the command is to run without a sandbox that could not be built */
static bool runs_without(const struct run *run)
{
	const struct policy *policy = run->decision.policy;

	return run->err->code != -EINVAL &&
	       options_has(run->options, OPTION_ALLOW_UNSANDBOXED) &&
	       !policy_flag(policy, FLAG_FAIL_IF_UNAVAILABLE, false) &&
	       policy_flag(policy, FLAG_ALLOW_UNSANDBOXED, true);
}

/* Print why and become the command, in the policy's start directory. Returns only on
 * failure: 126 or 127, with a message; or a negative errno with a message.
 */
static int exec_unsandboxed(const struct run *run)
{
	const char *cwd = run->decision.policy->cwd;
	auto_buf struct buf safe = { 0 };
	bool missing;

	text_escape(&safe, run->unsandboxed);
	output_say(run->output, "warning: running WITHOUT a sandbox: %s",
		   buf_str(&safe));
	if (run->output->channel)
		host_channel_bare(run->output->channel);
	if (chdir(cwd) < 0)
		return fail_errno(run->err, "cannot enter '%s'", cwd);
	environ = (char **)(uintptr_t)options_env(run->options);
	execvp(run->command[0], run->command);
	missing = errno == ENOENT;
	output_say(run->output, "%s: %s", run->command[0], strerror(errno));
	return missing ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static void reset(struct run *run)
{
	run->sandbox = (struct sandbox)SANDBOX_NONE;
	run->jail = JAIL_NONE;
	run->changes = EPHEMERAL_NONE;
	run->tmp = (struct tmpdir){ .lock = -1 };
	run->signals.fd = run->listener = run->status = -1;
	for (size_t i = 0; i < SANDBOX_OWN_FDS; i++)
		run->own[i] = -1;
	run->started = run->waits = run->failed = false;
	job_init(&run->job);
}

/* Most sandboxes are alike at first: fork init while the plan is made. If a
 * setting asks for another kind, that one is started later.
 */
static void begin_sandbox(struct run *run)
{
	const char *tier = options_get(run->options, OPTION_TIER);
	const char *net = options_get(run->options, OPTION_NET);
	struct sandbox_kind kind = {
		.tier = TIER_FULL, .net = NET_FILTERED, .jail = { -1, -1 },
	};

	if ((tier && tier_parse(tier, &kind.tier) < 0) ||
	    (net && net_mode_parse(net, &kind.net) < 0) ||
	    kind.tier != TIER_FULL ||
	    (kind.net != NET_FILTERED && kind.net != NET_NONE))
		return;
	(void)sandbox_begin(&kind, &run->sandbox, NULL);	/* Else sandbox_start() says why */
}

/* The state directory exists before the plan, which hides it. Where it cannot be
 * made there is nothing to store or to hide.
 */
static void make_state(void)
{
	auto_free char *dir = violation_store_default_dir();
	auto_close int fd = dir ? fs_open_private_dir(dir, NULL) : -1;

	(void)fd;
}

static void take_recovered(void *arg, const struct violation *v)
{
	struct run *run = arg;

	violation_copy(vec_push(&run->recovered), v);
}

/* Quarantine what runs planted that were killed, before settings are read: else
 * this run would obey it
 */
static void recover(struct run *run)
{
	const struct violation_sink sink = { take_recovered, run };
	auto_free char *state = violation_store_default_dir();
	auto_free char *home = fs_home();

	if (state)
		planted_replay(state, home, &sink);
}

void run_report_recovered(struct run *run, const struct violation_sink *sink)
{
	for (size_t i = 0; i < run->recovered.len; i++) {
		violation_report(sink, &run->recovered.v[i]);
		violation_done(&run->recovered.v[i]);
	}
	run->recovered.len = 0;
}

/* What was not reported is stored, so that it can be restored */
static void store_recovered(struct run *run)
{
	auto_free char *state = violation_store_default_dir();
	char id[REPORT_RUN_SIZE];
	const struct report_config config = {
		.run = id, .command = "", .stream = -1, .store_dir = state,
	};
	struct report *report;

	if (run->recovered.len) {
		report_run_id(id);
		report = report_new(&config);
		run_report_recovered(run, report_sink(report));
		report_finish(report);
		report_free(report);
	}
	free(run->recovered.v);
	run->recovered.v = NULL;
	run->recovered.cap = 0;
}

/* A command that may write ~/.config must not make the user's policy there. The
 * mount that prevents it needs a directory to lie on: true if that was made.
 */
static bool make_config(const struct decision *decision)
{
	const char *config = decision->policy->dirs[DIR_CONFIG];
	auto_free char *path = config ? path_join(config, "cloche") : NULL;
	auto_free char *ours = path && access(path, F_OK) < 0 ?
			       realpath_find(path) : NULL;
	const struct view_rules *rules = &decision->view->rules;

	if (decision->policy->profile == PROFILE_HOME)
		return false;	/* Its home is another one */
	for (size_t i = 0; ours && i < rules->len; i++) {
		if (rules->v[i].list == PATH_ALLOW_WRITE &&
		    path_is_within(rules->v[i].path, ours)) {
			auto_close int fd = fs_open_private_dir(path, NULL);

			return fd >= 0;
		}
	}
	return false;
}

/* The plan hides our directories and protects the file of --events. Where they had
 * to be made for that, it is made again.
 */
static int make_decision(struct run *run)
{
	struct decision *decision = &run->decision;
	int r = decision_make(run->options, run->command, decision, run->err);
	const bool config = r == 0 && make_config(decision);
	const bool events = r == 0 && event_stream_make(decision->view,
					options_get(run->options, OPTION_EVENTS));

	if (config || events) {
		decision_done(decision);
		r = decision_make(run->options, run->command, decision, run->err);
	}
	decision->output = run->output;
	return r;
}

/* What is written there would be in the sandbox's own mount, and lost in the end */
static int check_cwd(const struct policy *policy, struct err *err)
{
	static const char *const own[] = { "/dev", "/proc" };

	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		if (path_is_below(own[i], policy->cwd))
			return fail(err, -EINVAL, "the start directory '%s' is in %s, of which the sandbox has its own; start elsewhere, or use --cwd",
				    policy->cwd, own[i]);
	}
	return 0;
}

static void print_notes(const struct run *run, const char *why)
{
	const struct decision *d = &run->decision;

	if (why)
		output_say(run->output, "note: %s", why);
	for (size_t i = 0; i < d->view->notes.len; i++) {
		const struct view_note *note = &d->view->notes.v[i];
		auto_buf struct buf text = { 0 };

		/* `policy check` prints it; here it would come with every
		 * command of an agent
		 */
		if (note->unmade && d->plan->observe)
			continue;
		text_escape(&text, note->text);
		output_say(run->output, "note: %s", buf_str(&text));
	}
}

static void print_plan(const struct run *run)
{
	auto_buf struct buf text = { 0 };

	plan_print(run->decision.plan, &text);
	output_print(run->output, buf_str(&text), text.len);
}

/* The user who starts in a repository that a command made takes it for a project */
static void accept_made(const struct policy *policy)
{
	if (policy->made_top && !strcmp(policy->made_top, policy->cwd))
		(void)unlink(policy->made_record);
}

int run_decide(struct run *run)
{
	struct decision *d = &run->decision;
	auto_free char *why = NULL;
	int r;

	free(run->command);
	run->command = NULL;
	r = options_command(run->options, run->argv, false, &run->command,
			    run->err);
	if (r < 0)
		return r;
	command_stdio_reserve();
	begin_sandbox(run);
	decision_done(d);
	make_state();
	recover(run);
	if ((r = tmpdir_srt(run->options, run->err)) < 0 ||
	    (r = make_decision(run)) < 0 ||
	    (r = approvals_keep_first(d->report, run->err)) < 0)
		return r;
	immutable_files_remember(run->options, d->policy);
	r = decide_unsandboxed(run, &why);
	if (r > 0)
		run->unsandboxed = take_ptr(why);
	if (r == 0)
		r = check_cwd(d->policy, run->err);
	if (r != 0)
		return r;
	accept_made(d->policy);
	if (!run->plans && !options_has(run->options, OPTION_QUIET))
		print_notes(run, why);
	if (!run->plans && options_has(run->options, OPTION_DEBUG))
		print_plan(run);
	return 0;
}

int run_prepare(struct run *run)
{
	const struct decision *d = &run->decision;
	const struct plan *plan = d->plan;
	sigset_t all;
	int r;

	(void)sigprocmask(SIG_SETMASK, NULL, &run->mask);
	if ((r = loop_new(&run->loop, run->err)) < 0)
		return r;
	run->limits = limits_new(d->policy);
	if ((r = monitor_new(d, &run->monitor, run->err)) < 0 ||
	    (r = command_stdio_new(plan, &d->policy->numbers[NUMBER_OUTPUT],
				   &run->stdio, run->err)) < 0)
		return r;
	if (plan->tmp == TMP_KEPT && d->tmpdir &&
	    (r = tmpdir_open(d->tmpdir, d->policy->project,
			     plan->tier == TIER_FULL, &run->tmp, run->err)) < 0)
		return r;
	if (plan->ephemeral &&
	    (r = ephemeral_start(plan, &run->changes, run->err)) < 0)
		return r;
	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	run->signals.fd = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	return run->signals.fd < 0 ? fail_errno(run->err, "cannot wait for signals")
				   : 0;
}

void run_release(struct run *run)
{
	const struct plan *plan = run->decision.plan;

	if (run->output->channel)
		host_channel_leave(run->output->channel);
	/* The last holder of a namespace takes it down and waits for that: let it
	 * be init, which we wait for only in a control group
	 */
	for (size_t i = 0; i < SANDBOX_OWN_FDS; i++)
		close_fd(&run->own[i]);
	if (!run->limits || limits_need_group(run->limits) || plan->ephemeral)
		sandbox_stop(&run->sandbox);
	command_stdio_free(run->stdio);
	limits_free(run->limits);
	run_network_free(run->network);
	/* Nothing has run: the next run has nothing to clean up */
	if ((run->failed || run->waits) && run->monitor)
		monitor_drop(run->monitor);
	monitor_free(run->monitor, &run->sandbox);
	sandbox_leave(&run->sandbox);
	jail_stop(&run->jail);
	ephemeral_done(&run->changes);
	tmpdir_close(&run->tmp);
	job_done(&run->job);
	close_fd(&run->listener);
	close_fd(&run->signals.fd);
	if (run->loop) {
		loop_free(run->loop);
		reap_rest();
		(void)sigprocmask(SIG_SETMASK, &run->mask, NULL);
	}
	run->loop = NULL;
	run->stdio = NULL;
	run->limits = NULL;
	run->network = NULL;
	run->monitor = NULL;
}

/* True if files that the plan found were gone when the sandbox was built */
static bool is_stale(int r)
{
	return r == -ENOENT || r == -ENOTDIR || r == -ESTALE;
}

/* The sandbox could not be built, for the reason @r: true if it is worth trying
 * with another plan, or in a weaker tier that the policy accepts
 */
static bool tries_again(struct run *run, int r)
{
	if (!run->loop)		/* The decision itself failed */
		return false;
	run_release(run);
	reset(run);
	if (is_stale(r) && ++run->plans < PLANS_MAX)
		return true;
	if (tier_falls_back(run->options, run->decision.plan, run->err)) {
		output_say(run->output, "%s", run->err->msg);
		return options_add(run->options, OPTION_TIER,
				   tier_name(TIER_LANDLOCK), run->err) == 0;
	}
	if (runs_without(run))
		run->unsandboxed = mem_strdup(run->err->msg);
	return false;
}

static int exit_status(const struct run *run)
{
	if (run->job.timed_out)
		return EXIT_TIMED_OUT;
	if (run->status < 0)
		return fail(run->err, -ECHILD, "the sandbox ended before the command did");
	return run->status;
}

int run(struct run *run)
{
	int r;

	reset(run);
	do {
		if ((r = run_decide(run)) == 0 &&
		    (r = run_prepare(run)) == 0)
			r = run_build(run);
	} while (r < 0 && tries_again(run, r));
	if (r == 0 && (r = run_supervise(run)) == 0) {
		run_report(run);
		r = exit_status(run);
	}
	run_release(run);
	store_recovered(run);
	return run->unsandboxed ? exec_unsandboxed(run) : r;
}
