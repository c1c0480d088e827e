/* SPDX-License-Identifier: Apache-2.0 */
/* run/monitor.c - observe, record and report what is refused during a run */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/btime.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"
#include "ephemeral/ephemeral.h"
#include "guard/planted.h"
#include "observe/fuse-mask-server.h"
#include "observe/mask-fds.h"
#include "observe/observer-policy.h"
#include "observe/observer.h"
#include "plan/plan.h"
#include "policy/policy.h"
#include "report/footer.h"
#include "report/report.h"
#include "report/run-record.h"
#include "report/violation-store.h"
#include "run/decision.h"
#include "run/host-channel.h"
#include "run/inner-report.h"
#include "run/keeper-client.h"
#include "run/options.h"
#include "run/output.h"
#include "run/resource-limits.h"
#include "run/run.h"
#include "run/run-secrets.h"
#include "run/settings-watch.h"
#include "sandbox/stages.h"
#include "view/view.h"

enum {
	NAMES_MAX = 200,	/* Bytes of them that are named */
	LIVE_AFTER_MS = 20,	/* Shorter runs do not pay for watching */
	SETTLE_EVERY_MS = 100,	/* Look whether calls that went on are over */
};

/**
 * struct monitor - What watches one run
 * @masks:	NULL: the masks are silent
 * @mask_fds:	To what the masks show, or NULL
 * @view:	Of the last edit of the settings, or NULL
 * @edited:	Settings were edited before the sandbox was @ready
 * @lasts:	The run is not a short one
 * @settled:	Calls let through that are over
 * @inner:	What programs inside got, with --annotate each
 */
struct monitor {
	struct run *run;
	struct report *report;
	struct observer_rules *observe;
	struct observer *observer;
	struct planted *planted;
	struct keeper_client keep;
	struct fuse_masks_run *masks;
	struct mask_fds *mask_fds;
	struct loop_source source, births, later, settle, attempts;
	struct settings_watch *live;
	struct view *view;
	int stream;
	bool ready, edited, lasts, settling;
	uint64_t settled;
	char id[REPORT_RUN_SIZE];
	char *state;
	struct timespec since;
	struct inner_report inner;
};

static void on_refusal(void *arg, const struct violation *v)
{
	struct monitor *w = arg;

	inner_report(&w->inner, proc_of_pidfd(w->run->job.command), v);
}

int monitor_new(struct run *run)
{
	const struct decision *d = &run->decision;
	struct host_channel *channel = run->output->channel;
	struct monitor *w = run->monitor = mem_zalloc(sizeof(*w));
	auto_buf struct buf command = { 0 }, options = { 0 };
	struct rerun rerun;
	int r;

	w->run = run;
	w->later.fd = w->settle.fd = -1;
	w->state = violation_store_default_dir();
	w->since = btime_now();
	r = event_stream_open(d->view, options_get(run->options, OPTION_EVENTS),
			      &w->stream, run->err);
	if (r < 0)
		return r;
	rerun = run_report_rerun(run, &options, &command);
	report_run_id(w->id);
	w->report = report_new(&(struct report_config){
		.run = w->id, .command = buf_str(&command), .rerun = rerun,
		.ignores = &d->policy->lists[LIST_IGNORES],
		.stream = w->stream, .store_dir = w->state,
		.nested = d->plan->machine.nested,
		.take = run->serve ? run->serve->refused :
			channel ? host_channel_violation : NULL,
		.assign = run->serve ? run->serve->assign : NULL,
		.arg = run->serve ? run->serve->arg : (void *)channel,
		.seen = options_reports_inside(run->options) ? on_refusal : NULL,
		.seen_arg = w,
	});
	return 0;
}

/* To close an inotify descriptor, or a file without a name, takes long */
static void close_later(const struct monitor *w)
{
	const struct sandbox *sandbox = &w->run->sandbox;

	if (w->planted) {
		sandbox_close_later(sandbox, planted_fd(w->planted));
		sandbox_close_later(sandbox, planted_journal_fd(w->planted));
	}
	if (w->live)
		sandbox_close_later(sandbox, settings_watch_fd(w->live));
}

void monitor_free(struct monitor *w)
{
	if (!w)
		return;
	close_later(w);
	close_fd(&w->later.fd);
	close_fd(&w->settle.fd);
	observer_free(w->observer);
	fuse_masks_free(w->masks);
	mask_fds_free(w->mask_fds);
	planted_free(w->planted);
	free(w->state);
	observer_rules_free(w->observe);
	report_free(w->report);
	settings_watch_free(w->live);
	keeper_client_done(&w->keep);
	view_free(w->view);
	close_fd(&w->stream);
	free(w);
}

const struct violation_sink *monitor_sink(const struct monitor *w)
{
	return report_sink(w->report);
}

static bool is_silent(const struct monitor *w)
{
	return options_has(w->run->options, OPTION_QUIET);
}

/* The view that the last edit made, or the first */
static const struct view *current_view(const struct monitor *w)
{
	return w->view ? w->view : w->run->decision.view;
}

void monitor_keep_again(struct monitor *w)
{
	auto_view struct view *view = NULL;
	struct err err = { 0 };

	if (decision_view(&w->run->decision, current_view(w)->policy, &view,
			  &err) < 0) {
		output_say(w->run->output, "cannot apply the denials of the settings to the running sandbox: %s", err.msg);
		return;
	}
	observer_rules_spare(view, &w->since, w->planted);
	keeper_client_view(&w->keep, view, &w->since, w->planted);
}

/* Protected files that the user made during the run become read-only inside */
static void keep_new_files(struct monitor *w)
{
	/* Before there are mounts to keep, it waits for them */
	if (w->planted && w->keep.run && planted_has_news(w->planted))
		monitor_keep_again(w);
}

void monitor_covered(struct monitor *w, const char *path)
{
	if (w->planted)
		planted_covered(w->planted, path);
}

static int on_birth(void *arg)
{
	struct monitor *w = arg;

	(void)planted_dispatch(w->planted);
	keep_new_files(w);
	return 0;
}

/* With --observe off there is an observer for sockets alone */
static bool sees_files(const struct monitor *w)
{
	return w->observer && w->run->decision.plan->observe;
}

static bool is_quiet(void *arg)
{
	const struct monitor *w = arg;

	return sees_files(w) && observer_stats(w->observer).passed == w->settled;
}

/* When all calls that were let through are over, what they made is in the queue, and
 * what appears after that is not theirs
 */
static int on_settle(void *arg)
{
	struct monitor *w = arg;
	uint64_t times, count;

	(void)!read(w->settle.fd, &times, sizeof(times));
	if (!observer_settled(w->observer, &count) ||
	    !planted_dispatch(w->planted))
		return 0;
	w->settled = count;
	w->settling = false;
	return loop_set_timer(w->run->loop, &w->settle, 0, false);
}

static void start_settling(struct monitor *w)
{
	if (!sees_files(w) || w->settling)
		return;
	w->settle.fn = on_settle;
	w->settle.arg = w;
	w->settling = loop_set_timer(w->run->loop, &w->settle,
				     SETTLE_EVERY_MS, true) == 0;
}

/* From now on something may be planted */
static void arm(void *arg)
{
	struct monitor *w = arg;
	struct err err = { 0 };

	if (!w->planted)
		return;
	start_settling(w);
	if (w->births.fn)
		return;
	if (planted_arm(w->planted, &err) < 0)
		report_missing(w->report, err.msg);
	w->births = (struct loop_source){ planted_fd(w->planted), on_birth, w };
	if (w->births.fd >= 0)
		(void)loop_add(w->run->loop, &w->births, EPOLLIN);
	keep_new_files(w);
}

static void watch_settings(struct monitor *w);
static void store_run(const struct monitor *w, bool ended);

static int on_later(void *arg)
{
	struct monitor *w = arg;

	loop_remove(w->run->loop, &w->later);
	close_fd(&w->later.fd);
	w->lasts = true;
	watch_settings(w);
	store_run(w, false);	/* A run that is killed later is known */
	return 0;
}

void monitor_start(struct monitor *w)
{
	const struct planted_config config = {
		.is_quiet = is_quiet, .arg = w,
		.view = w->run->decision.view, .state = w->state, .run = w->id,
		.sink = report_sink(w->report), .since = w->since,
	};

	if (!w->state ||
	    policy_flag(w->run->decision.policy, FLAG_FS_DISABLED, false))
		return;
	planted_new(&config, &w->planted);
	if (!w->run->decision.plan->observe)
		arm(w);		/* No observer reports the first write */
}

/* A sandbox that cannot be built is followed by one of another tier: no run until now */
void monitor_started(struct monitor *w)
{
	w->later = (struct loop_source){ -1, on_later, w };
	(void)loop_set_timer(w->run->loop, &w->later, LIVE_AFTER_MS, false);
}

void monitor_keep(struct monitor *w)
{
	w->keep.run = w->run;
	keeper_client_start(&w->keep);
	if (w->lasts)
		keeper_client_early(&w->keep);
	keep_new_files(w);
}

static struct observer_rules *new_observe(struct monitor *w, const struct view *view)
{
	const struct plan *plan = w->run->decision.plan;
	auto_free char *store = plan->ephemeral ? ephemeral_dir(view->policy) : NULL;

	return observer_rules_new(view, plan, store, &w->since);
}

/* All of it is made before any of it counts */
int monitor_reload(struct monitor *w, struct err *err)
{
	const struct decision *d = &w->run->decision;
	const struct view *before = current_view(w);
	auto_policy struct policy *policy = NULL;
	auto_view struct view *view = NULL;
	struct observer_rules *observe;
	int r;

	if ((r = decision_run_policy(w->run->options, &policy, NULL, err)) < 0 ||
	    (r = settings_check_own(before->policy, policy, w->state,
				    w->planted, err)) < 0 ||
	    (r = settings_check_gone(before->policy, policy, err)) < 0)
		return r;
	if (w->planted)
		planted_open(w->planted);
	if ((r = decision_view(d, policy, &view, err)) < 0)
		return r;
	if (w->planted)
		planted_grant(w->planted, view);
	observer_rules_spare(view, &w->since, w->planted);
	observe = new_observe(w, view);
	if (w->observer)
		observer_set_rules(w->observer, observe);
	if (w->masks)
		fuse_masks_set_rules(w->masks, observe);
	report_set_ignores(w->report, &policy->lists[LIST_IGNORES]);
	keeper_client_view(&w->keep, view, &w->since, w->planted);
	if (w->planted)
		(void)planted_has_news(w->planted);
	(void)run_network_reload(w->run->network, policy, NULL);
	settings_print_deferred(w->run, before, view);
	if (w->observe)
		observer_rules_take_noted(observe, w->observe);
	observer_rules_free(w->observe);
	view_free(w->view);
	w->observe = observe;
	w->view = take_ptr(view);
	return 0;
}

static void on_edit(void *arg)
{
	struct monitor *w = arg;
	struct err err = { 0 };

	if (w->planted)		/* Planted settings go before they are read */
		(void)planted_dispatch(w->planted);
	if (!w->ready)
		w->edited = true;
	else if (monitor_reload(w, &err) < 0 && !is_silent(w))
		output_say(w->run->output, "settings not reloaded, the old ones hold: %s", err.msg);
	keep_new_files(w);
}

static void watch_settings(struct monitor *w)
{
	bool edited = false;

	(void)settings_watch_all(w->run, on_edit, w, &w->live, &edited);
	keeper_client_early(&w->keep);
	if (edited)
		on_edit(w);
}

bool monitor_misses_reads(const struct monitor *w)
{
	return w->run->decision.plan->talk && !w->masks;
}

static void report_silent(const struct monitor *w)
{
	const size_t n = w->masks ? fuse_masks_silent(w->masks) : 0;
	auto_free char *words = n ? mem_printf("denied reads under %zu hidden path%s are not reported (too many masks); use --observe full",
					       n, n == 1 ? "" : "s") : NULL;

	if (words)
		report_missing(w->report, words);
	else if (monitor_misses_reads(w))
		report_missing(w->report, "denied reads of hidden paths are not reported (/dev/fuse does not open); use --observe full");
}

void monitor_ready(struct monitor *w)
{
	w->ready = true;
	report_silent(w);
	if (w->edited)
		on_edit(w);
}

static int on_question(void *arg)
{
	struct monitor *w = arg;

	/* Whatever went wrong with it, the kernel's own floor still holds */
	if (observer_dispatch(w->observer, w->source.events) != 0)
		loop_remove(w->run->loop, &w->source);
	return 0;
}

/* A mask whose reader is gone must not keep a tracee waiting */
static int on_attempt(void *arg)
{
	struct monitor *w = arg;

	if (fuse_masks_dispatch(w->masks, w->attempts.events) == 0)
		return 0;
	loop_remove(w->run->loop, &w->attempts);
	fuse_masks_free(w->masks);
	w->masks = NULL;
	return 0;
}

void monitor_masks(struct monitor *w, const int *fds, size_t nfds)
{
	struct fuse_masks_config config = {
		.plan = w->run->decision.plan,
		.sink = report_sink(w->report),
	};

	if (nfds < 2)
		return;
	if (!w->observe)
		w->observe = new_observe(w, w->run->decision.view);
	config.rules = w->observe;
	config.pids = fds[0];
	config.device = fds[1];
	w->mask_fds = mask_fds_new(config.plan, fds + 2, nfds - 2);
	if (fuse_masks_new(&config, &w->masks, NULL) < 0)
		return;
	w->attempts = (struct loop_source){ fds[1], on_attempt, w };
	if (loop_add(w->run->loop, &w->attempts, EPOLLIN) < 0) {
		fuse_masks_free(w->masks);
		w->masks = NULL;
	}
}

static bool on_ask(void *arg, const char *grant, const char *target, pid_t pid)
{
	const struct monitor *w = arg;

	return w->run->prompt && prompt_ask_path(w->run->prompt, grant, target, pid);
}

int monitor_observe(struct monitor *w, int listener, struct err *err)
{
	struct observer_config config = {
		.listener = listener, .loop = w->run->loop,
		.sink = report_sink(w->report),
		.reads = w->run->decision.plan->observe_full ||
			 w->run->decision.plan->observe_files,
		.files = w->run->decision.plan->observe_files,
		.no_mounts = w->run->decision.plan->tier != TIER_FULL,
		.nested = w->run->decision.plan->nested_userns, .mask_fds = w->mask_fds,
		.sockets_by_path = w->run->decision.plan->sockets_by_path,
		/* What the observer would write itself is not staged */
		.ask = w->run->prompt && !w->run->decision.plan->ephemeral ?
		       on_ask : NULL,
		.on_make = arm, .arg = w,
		.home = w->run->decision.view->home,
	};
	auto_free struct observer_socket *sockets =
		observer_rules_sockets(w->run->decision.policy, &config.nsockets);
	int r;

	config.sockets = sockets;
	if (!w->observe)
		w->observe = new_observe(w, w->run->decision.view);
	config.rules = w->observe;
	if (w->run->network)
		run_network_questions(w->run->network, &config.network);
	w->observer = observer_new(&config);
	w->source = (struct loop_source){ observer_fd(w->observer),
					  on_question, w };
	r = loop_add(w->run->loop, &w->source, EPOLLIN);
	return r < 0 ? fail(err, r, "cannot wait for the observer") : 0;
}

/* True for the first run in the sandbox around us, whose /dev/shm is its own. A command
 * there can make the file, and then has one line less to read.
 */
static bool is_first_nested(void)
{
	auto_close int fd = open("/dev/shm/.cloche-nested", O_WRONLY | O_CREAT |
				 O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd >= 0 || errno != EEXIST;
}

void monitor_resume(struct monitor *w, const char *grant, enum observer_consent consent)
{
	if (w->observer)
		observer_resume(w->observer, grant, consent);
}

void monitor_blind(struct monitor *w)
{
	const struct plan *plan = w->run->decision.plan;
	const bool cut_off = plan->tier != TIER_FULL &&
			     net_is_filtered(plan->net) && !w->run->announced;
	auto_free char *words = mem_printf("another program holds the seccomp listener, so refused writes are not reported%s",
					   cut_off ? " (and tier landlock has no network)" : "");

	arm(w);
	if (w->run->nested && cut_off && !is_silent(w) && is_first_nested())
		output_say(w->run->output, "running inside another cloche sandbox, which reports refusals: tier landlock, no network of its own (this note is printed once)");
	if (w->run->nested)
		return;
	report_missing(w->report, words);
	if (!is_silent(w))
		output_say(w->run->output, "%s", words);
}

/* Landlock knows inodes: what comes beside something hidden has no rule */
static void print_unreadable(const struct monitor *w)
{
	const struct view *view = w->run->decision.plan->view;
	auto_closedir DIR *dir = view->home && landlock_carves(w->run->decision.plan) ?
				 opendir(view->home) : NULL;
	auto_buf struct buf names = { 0 }, safe = { 0 };
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL && names.len < NAMES_MAX) {
		auto_free char *path = path_join(view->home, entry->d_name);

		if (entry->d_type == DT_REG && btime_is_after(path, &w->since) &&
		    view_verdict(view, VIEW_READ, path).allowed &&
		    !view_verdict(view, VIEW_WRITE, path).allowed)
			buf_addf(&names, "%s~/%s", names.len ? ", " : "",
				 entry->d_name);
	}
	text_escape(&safe, buf_str(&names));
	if (names.len)
		output_say(w->run->output, "note: made or replaced outside since the start, so a new run can read it and this one could not: %s",
			   buf_str(&safe));
}

/* What was used of the limits that are set and counted; NULL without one */
static char *limits_text(const struct monitor *w, int64_t ms)
{
	const struct number *time =
		&w->run->decision.policy->numbers[NUMBER_TIMEOUT_MS];
	auto_buf struct buf text = { 0 };

	if (time->set)
		buf_addf(&text, " time=%" PRId64 "/%" PRIu64, ms, time->value);
	limits_used(w->run->limits, &text);
	return text.len ? mem_strdup(buf_str(&text) + 1) : NULL;
}

/* While the run lasts, or as the last thing before its processes are ended */
static void store_run(const struct monitor *w, bool ended)
{
	const struct decision *d = &w->run->decision;
	char digest[POLICY_DIGEST_SIZE];
	struct run_record record = {
		.start_ms = (int64_t)w->since.tv_sec * 1000 + w->since.tv_nsec / 1000000,
		.project = d->policy->project, .policy = digest,
	};
	auto_free char *tier = NULL, *secrets = NULL, *limits = NULL;

	/* The commands of a session have their own (monitor_part()) */
	if (w->run->serve || policy_flag(d->policy, FLAG_NO_RUN_RECORDS, false))
		return;
	policy_digest(d->policy, digest);
	record.tier = tier = mem_strdup(tier_name(d->plan->tier));
	if (d->secrets && d->secrets->used.len)
		record.secrets = secrets =
			mem_strdup(buf_str(&d->secrets->used));
	if (ended) {
		record.hosts = w->run->hosts;
		record.end_ms = now_ms(CLOCK_REALTIME);
		record.limits = limits =
			limits_text(w, record.end_ms - record.start_ms);
		record.status = w->run->job.timed_out ? EXIT_TIMED_OUT : w->run->status;
	} else {
		run_record_set_process(&record);
	}
	report_store_run(w->report, &record);
}

void monitor_part(struct monitor *w, struct run_record *end,
		  const struct footer *how, struct buf *out)
{
	const struct decision *d = &w->run->decision;
	char digest[POLICY_DIGEST_SIZE];
	auto_free char *tier = mem_strdup(tier_name(d->plan->tier));

	if (w->planted)
		(void)planted_dispatch(w->planted);
	if (!policy_flag(d->policy, FLAG_NO_RUN_RECORDS, false)) {
		policy_digest(d->policy, digest);
		end->policy = digest;
	}
	end->project = d->policy->project;
	end->tier = tier;
	end->end_ms = now_ms(CLOCK_REALTIME);
	report_part(w->report, end, how, out);
}

const struct policy *monitor_policy(const struct monitor *w)
{
	return current_view(w)->policy;
}

static void print_footer(const struct monitor *w, bool failed)
{
	const char *form = options_get(w->run->options, OPTION_ANNOTATE);
	const bool terminal = !w->run->output->channel && isatty(STDERR_FILENO);
	struct footer how = {
		.failed = failed,
		.verbose = options_has(w->run->options, OPTION_VERBOSE),
		.may_ask = terminal && !options_has(w->run->options, OPTION_ASK),
	};
	auto_buf struct buf text = { 0 };

	if (form)	/* The decision has looked at it */
		(void)footer_parse(form, &how.mode);
	how.mode = footer_choose(how.mode, getenv("CLAUDECODE"));
	report_footer(w->report, &how, &text);
	output_print(w->run->output, text.p, text.len);
}

/* A gpg that knows no key says so itself, but not why */
static void explain_keys(const struct monitor *w)
{
	const struct view *view = current_view(w);
	auto_free char *ring = view->home ? path_join(view->home, ".gnupg/pubring.kbx") :
					    NULL;
	auto_free char *database = view->home ?
		path_join(view->home, ".gnupg/public-keys.d/pubring.db") : NULL;

	if (!ring || !w->observe || !observer_rules_made_keyring(w->observe))
		return;
	if (access(ring, F_OK) == 0 && view->policy->profile == PROFILE_HOME)
		output_say(w->run->output, "note: gpg knows no keys: profile home has none (--read ~/.gnupg/pubring.kbx shows the public ones)");
	else if (access(database, F_OK) == 0)
		output_say(w->run->output, "note: gpg knows no keys: keyboxd has them, which does not run inside (gpg --export > ~/.gnupg/pubring.gpg makes a file of the public ones, which is shown)");
}

void monitor_finish(struct monitor *w, bool failed)
{
	const struct observer_stats stats = w->observer ?
		observer_stats(w->observer) : (struct observer_stats){ 0 };
	const bool seen = sees_files(w);
	struct err err = { 0 };

	/* A tracee that was refused a name may have won a race for it, at any
	 * depth; a call that was not resolved may have made one; and in a mount
	 * namespace of its own a tracee has other names for everything
	 */
	if (w->planted &&
	    planted_finish(w->planted, !seen || stats.makes, seen,
			seen && !stats.names && !stats.unseen &&
			!w->run->decision.plan->nested_userns, &err) < 0)
		output_say(w->run->output, "the next run looks for what was planted: %s",
			  err.msg);
	report_finish(w->report);
	store_run(w, true);
	if (is_silent(w))
		return;
	if (failed)
		print_unreadable(w);
	if (w->observe && *observer_rules_noted(w->observe))
		output_say(w->run->output, "note: written for later commands: %s",
			  observer_rules_noted(w->observe));
	if (w->observe && *observer_rules_private(w->observe))
		output_say(w->run->output, "note: profile home: not kept: %s(--write PATH keeps it)",
			  observer_rules_private(w->observe));
	explain_keys(w);
	print_footer(w, failed);
}

void monitor_drop(const struct monitor *w)
{
	if (w->planted)
		planted_drop(w->planted);
}
