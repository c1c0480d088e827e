/* SPDX-License-Identifier: Apache-2.0 */
/* run/run-decide.c - what a run will do: settings, policy, view, plan; or no sandbox */

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
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
#include "report/report.h"
#include "report/violation-store.h"
#include "report/violation.h"
#include "run/approval.h"
#include "run/command-stdio.h"
#include "run/host-channel.h"
#include "run/decision.h"
#include "run/options.h"
#include "run/output.h"
#include "run/run.h"
#include "view/realpath.h"
#include "view/view.h"

/* The line that excludedCommands are matched against */
static char *command_line(const struct options *options, char *const *argv)
{
	const char *string = options_get(options, OPTION_COMMAND);
	struct buf b = { 0 };

	if (string)
		return mem_strdup(string);
	text_shell_words(&b, (const char *const *)argv, SIZE_MAX);
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
	auto_free char *line = command_line(run->options, run->command);
	auto_buf struct buf why = { 0 };
	const struct origin *off;
	const int r = asked ? check_allowed(policy, run->err) : 0;

	*ret_why = NULL;
	if (r < 0)
		return r;
	if (mode_is_off(policy, &off)) {
		buf_adds(&why, asked ? "the settings switch it off (" :
			 "the settings switch the sandbox off, and it is used nevertheless; --allow-unsandboxed obeys them (");
		origin_describe(off, &why);
		buf_addc(&why, ')');
	} else if (mode_excludes(policy, line, NULL)) {
		buf_adds(&why, asked ? "the command is one of excludedCommands" :
			 "the command is one of excludedCommands, and the sandbox is used nevertheless; --allow-unsandboxed obeys them");
	}
	if (why.len)
		*ret_why = buf_take(&why);
	return asked && *ret_why;
}

/* Whether the home of the plan will hide something, which FUSE masks report. A wrong
 * guess costs time: 0.1 ms where there are masks, 0.9 where there are none.
 */
static bool expect_masks(const struct options *options)
{
	static const char *const names[] = { ".ssh", ".bash_history", ".gnupg" };
	const char *observe = options_get(options, OPTION_OBSERVE);
	const char *profile = options_get(options, OPTION_PROFILE);
	const char *home = getenv("HOME");
	bool found = false;

	for (size_t i = 0; home && !found && i < ARRAY_SIZE(names); i++) {
		auto_free char *path = path_join(home, names[i]);

		found = access(path, F_OK) == 0;
	}
	return found && (!observe || !strcmp(observe, "on")) &&
	       (!profile || strcmp(profile, "srt") != 0);
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
		.masks = expect_masks(run->options),
	};

	if ((options_has(run->options, OPTION_SESSION) && !run->serve) ||
	    (tier && tier_parse(tier, &kind.tier) < 0) ||
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

void run_store_recovered(struct run *run)
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
	auto_free char *login = options_login_note(run->options);

	if (why)
		output_say(run->output, "note: %s", why);
	if (login)
		output_say(run->output, "note: %s", login);
	for (size_t i = 0; i < d->view->notes.len; i++) {
		const struct view_note *note = &d->view->notes.v[i];

		/* `policy check` prints it; here it would come with every
		 * command of an agent
		 */
		if (note->unmade && d->plan->observe)
			continue;
		output_say(run->output, "note: %s", note->text);
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

int run_unsandboxed(const struct run *run)
{
	const char *cwd = run->decision.policy->cwd;
	bool missing;

	output_say(run->output, "warning: running WITHOUT a sandbox: %s",
		   run->unsandboxed);
	if (run->output->channel)
		host_channel_tell(run->output->channel, WIRE_BARE, NULL);
	if (chdir(cwd) < 0)
		return fail_errno(run->err, "cannot enter '%s'", cwd);
	environ = (char **)(uintptr_t)options_env(run->options);
	execvp(run->command[0], run->command);
	missing = errno == ENOENT;
	output_say(run->output, "%s: %s", run->command[0], strerror(errno));
	return missing ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}
