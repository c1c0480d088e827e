/* SPDX-License-Identifier: Apache-2.0 */
/* lib/watchers.c - what is refused during a run: seen, recorded, told */

#include "lib/watchers.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "cage/cage.h"
#include "lib/channel.h"
#include "lib/edits.h"
#include "lib/events.h"
#include "lib/hooks.h"
#include "lib/keep.h"
#include "lib/killed.h"
#include "lib/masked.h"
#include "lib/observe.h"
#include "lib/options.h"
#include "lib/session.h"
#include "plan/plan.h"
#include "plan/view.h"
#include "policy/policy.h"
#include "watch/birth.h"
#include "watch/born.h"
#include "watch/live.h"
#include "watch/mask.h"
#include "watch/observer.h"
#include "watch/report.h"
#include "watch/store.h"

enum {
	LIVE_AFTER_MS = 20,	/* Shorter runs do not pay for watching */
	SETTLE_EVERY_MS = 100,	/* Look whether calls that went on are over */
};

struct watchers {
	const struct session *session;
	struct report *report;
	struct observe *observe;
	struct observer *observer;
	struct masked masked;
	struct loop *loop;
	struct born *born;
	struct keep keep;
	struct loop_source source, births, edits, later, settle;
	struct live *live;
	struct network_run *network;
	const struct options *options;
	struct policy *policy;	/* Of the last edit, or NULL */
	struct view *view;
	watchers_fn reloaded;
	void *reloaded_arg;
	enum annotate_mode mode;
	int stream;
	bool owns_stream, ready, edited, lasts, settling;
	uint64_t settled;	/* Calls let through that are over */
	char run[REPORT_RUN_SIZE];
	char *state;
	struct timespec since;
};

int watchers_new(const struct session *session, const struct options *options,
		 struct watchers **ret, struct err *err)
{
	struct watchers *w = mem_zalloc(sizeof(*w));
	auto_buf struct buf command = { 0 };
	int r;

	w->session = session;
	w->options = options;
	w->later.fd = w->settle.fd = -1;
	w->state = store_default_dir();
	w->since = birth_now();
	r = events_open(session->view, options_get(options, OPTION_EVENTS),
			&w->stream, &w->owns_stream, err);
	w->mode = events_mode(options_get(options, OPTION_ANNOTATE));
	if (r == 0) {
		events_command(session->plan, &command);
		report_run_id(w->run);
		w->report = report_new(&(struct report_config){
			.run = w->run, .command = buf_str(&command),
			.project = options_get(options, OPTION_CWD) ?
				   session->policy->cwd : NULL,
			.ignores = &session->policy->ignores,
			.stream = w->stream, .store_dir = w->state,
			.take = hooks_channel(options) ? channel_violation
						       : NULL,
			.arg = hooks_channel(options),
		});
	}
	if (r < 0) {
		watchers_free(w, NULL);
		return r;
	}
	*ret = w;
	return 0;
}

/* To close an inotify descriptor, or a file without a name, takes long */
static void bury(const struct watchers *w, const struct cage *cage)
{
	if (w->born) {
		cage_bury(cage, born_fd(w->born));
		cage_bury(cage, born_held(w->born));
	}
	if (w->live)
		cage_bury(cage, live_fd(w->live));
}

void watchers_free(struct watchers *w, const struct cage *cage)
{
	if (!w)
		return;
	if (cage)
		bury(w, cage);
	close_fd(&w->later.fd);
	close_fd(&w->settle.fd);
	observer_free(w->observer);
	masked_done(&w->masked);
	born_free(w->born);
	free(w->state);
	observe_free(w->observe);
	report_free(w->report);
	live_free(w->live);
	keep_done(&w->keep);
	view_free(w->view);
	policy_unref(w->policy);
	if (w->owns_stream)
		close_fd(&w->stream);
	free(w);
}

const struct violation_sink *watchers_sink(const struct watchers *w)
{
	return report_sink(w->report);
}

static void keep_again(void *arg)
{
	struct watchers *w = arg;
	struct policy *policy = w->policy ? w->policy : w->session->policy;
	auto_view struct view *view = NULL;
	struct err err = { 0 };

	if (session_view(w->session, policy, &view, &err) < 0) {
		hooks_say(w->options, "what the settings close may be open to the command that runs: %s", err.msg);
		return;
	}
	observe_spare(view, &w->since, w->born);
	keep_view(&w->keep, view, &w->since, w->born);
}

/* What the user has made, nobody inside may write from now on */
static void keep_late(struct watchers *w)
{
	/* Before there are mounts to keep, it waits for them */
	if (w->born && w->keep.own && born_has_news(w->born))
		keep_again(w);
}

static int on_birth(void *arg, uint32_t events)
{
	struct watchers *w = arg;

	(void)events;
	(void)born_dispatch(w->born);
	keep_late(w);
	return 0;
}

/* With --observe off there is an observer for sockets alone */
static bool sees_files(const struct watchers *w)
{
	return w->observer && w->session->plan->observe;
}

static bool is_quiet(void *arg)
{
	const struct watchers *w = arg;

	return sees_files(w) && observer_stats(w->observer).passed == w->settled;
}

static void set_settle(struct watchers *w, int ms)
{
	const struct timespec step = { .tv_nsec = ms * 1000000L };
	const struct itimerspec when = { step, step };

	w->settling = ms && timerfd_settime(w->settle.fd, 0, &when, NULL) == 0;
	if (!ms)
		(void)timerfd_settime(w->settle.fd, 0, &when, NULL);
}

/* When all calls that were let through are over, what they made is in the queue, and
 * what appears after that is not theirs
 */
static int on_settle(void *arg, uint32_t events)
{
	struct watchers *w = arg;
	uint64_t times, count;

	(void)events;
	(void)!read(w->settle.fd, &times, sizeof(times));
	if (!observer_settled(w->observer, &count) ||
	    !born_dispatch(w->born))
		return 0;
	w->settled = count;
	set_settle(w, 0);
	return 0;
}

static void start_settling(struct watchers *w)
{
	if (!sees_files(w) || w->settling)
		return;
	if (w->settle.fd < 0) {
		w->settle = (struct loop_source){
			timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC |
				       TFD_NONBLOCK), on_settle, w };
		if (w->settle.fd >= 0)
			(void)loop_add(w->loop, &w->settle, EPOLLIN);
	}
	if (w->settle.fd >= 0)
		set_settle(w, SETTLE_EVERY_MS);
}

/* From now on something may be planted */
static void arm(void *arg)
{
	struct watchers *w = arg;
	struct err err = { 0 };

	if (!w->born)
		return;
	start_settling(w);
	if (w->births.fn)
		return;
	if (born_arm(w->born, &err) < 0)
		report_missing(w->report, err.msg);
	w->births = (struct loop_source){ born_fd(w->born), on_birth, w };
	if (w->births.fd >= 0)
		(void)loop_add(w->loop, &w->births, EPOLLIN);
	keep_late(w);
}

static void watch_settings(struct watchers *w);

static int on_later(void *arg, uint32_t events)
{
	struct watchers *w = arg;

	(void)events;
	loop_remove(w->loop, &w->later);
	close_fd(&w->later.fd);
	w->lasts = true;
	watch_settings(w);
	return 0;
}

static void watch_later(struct watchers *w)
{
	const struct itimerspec when = {
		.it_value.tv_nsec = LIVE_AFTER_MS * 1000000,
	};
	const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC |
						       TFD_NONBLOCK);

	w->later = (struct loop_source){ fd, on_later, w };
	if (fd >= 0 && timerfd_settime(fd, 0, &when, NULL) == 0)
		(void)loop_add(w->loop, &w->later, EPOLLIN);
}

void watchers_start(struct watchers *w, struct loop *loop)
{
	const struct born_config config = {
		.is_quiet = is_quiet, .arg = w,
		.view = w->session->view, .state = w->state, .run = w->run,
		.sink = report_sink(w->report), .since = w->since,
	};

	w->loop = loop;
	watch_later(w);
	killed_tell(w->session->killed, report_sink(w->report));
	if (!w->state ||
	    policy_flag(w->session->policy, FLAG_FS_DISABLED, false))
		return;
	born_new(&config, &w->born);
	if (!w->session->plan->observe)
		arm(w);		/* Nobody will say when it begins to write */
}

void watchers_keep(struct watchers *w, struct loop *loop, const int *own)
{
	w->keep = (struct keep){
		.session = w->session, .options = w->options, .loop = loop,
		.own = own, .edited = keep_again, .arg = w,
	};
	keep_start(&w->keep);
	if (w->lasts)
		keep_early(&w->keep);
	keep_late(w);
}

/* All of it is made before any of it counts */
int watchers_reload(struct watchers *w, struct err *err)
{
	const struct edits_state before = {
		w->policy ? w->policy : w->session->policy,
		w->view ? w->view : w->session->view };
	auto_policy struct policy *policy = NULL;
	auto_view struct view *view = NULL;
	struct observer_policy questions;
	struct observe *observe;
	int r = session_run_policy(w->options, &policy, NULL, err);

	if (r == 0)
		r = edits_check_own(before.policy, policy, w->state, w->born,
				    err);
	if (r == 0)
		r = edits_check_gone(before.policy, policy, err);
	if (r == 0 && w->born)
		born_open(w->born);
	if (r == 0)
		r = session_view(w->session, policy, &view, err);
	if (r < 0)
		return r;
	if (w->born)
		born_grant(w->born, view);
	observe_spare(view, &w->since, w->born);
	observe = observe_new(view, w->session->plan, &w->since);
	observe_policy(observe, w->network, &questions);
	if (w->observer)
		observer_set_policy(w->observer, &questions);
	if (w->masked.masks)
		masks_set_policy(w->masked.masks, &questions);
	report_set_ignores(w->report, &policy->ignores);
	keep_view(&w->keep, view, &w->since, w->born);
	if (w->born)
		(void)born_has_news(w->born);
	if (w->reloaded)
		w->reloaded(w->reloaded_arg, policy);
	edits_tell(w->options, w->session->plan, &before,
		   &(struct edits_state){ policy, view });
	if (w->observe)
		observe_take_noted(observe, w->observe);
	observe_free(w->observe);
	view_free(w->view);
	policy_unref(w->policy);
	w->observe = observe;
	w->view = take_ptr(view);
	w->policy = take_ptr(policy);
	return 0;
}

static void on_edit(void *arg)
{
	struct watchers *w = arg;
	struct err err = { 0 };

	if (!w->ready) {
		w->edited = true;
		return;
	}
	if (watchers_reload(w, &err) < 0 && !options_has(w->options, OPTION_QUIET))
		hooks_say(w->options, "settings not reloaded, the old ones hold: %s", err.msg);
}

static int on_edits(void *arg, uint32_t events)
{
	struct watchers *w = arg;

	(void)events;
	if (w->born)		/* Plants go before anybody reads them */
		(void)born_dispatch(w->born);
	live_dispatch(w->live);
	if (w->edits.fd != live_fd(w->live)) {
		w->edits.fd = live_fd(w->live);
		(void)loop_add(w->loop, &w->edits, EPOLLIN);
	}
	keep_late(w);
	return 0;
}

static void watch_settings(struct watchers *w)
{
	bool edited = false;

	if (edits_watch(w->options, w->session->policy, on_edit, w, &w->live,
			&edited) == 0) {
		w->edits = (struct loop_source){ live_fd(w->live), on_edits, w };
		(void)loop_add(w->loop, &w->edits, EPOLLIN);
	}
	keep_early(&w->keep);
	if (edited)
		on_edit(w);
}

static void tell_silent(const struct watchers *w)
{
	const size_t n = w->masked.masks ? masks_silent(w->masked.masks) : 0;
	auto_free char *words = n ? mem_printf("reads in %zu hidden path%s are reported with --observe full only: too much is hidden, or shown in what is",
					       n, n == 1 ? "" : "s") : NULL;

	if (words)
		report_missing(w->report, words);
	else if (w->session->plan->talk && !w->masked.masks)
		report_missing(w->report, "reads of what is hidden are reported with --observe full only: /dev/fuse does not open");
}

void watchers_ready(struct watchers *w)
{
	w->ready = true;
	tell_silent(w);
	if (w->edited)
		on_edit(w);
}

void watchers_on_reload(struct watchers *w, watchers_fn fn, void *arg)
{
	w->reloaded = fn;
	w->reloaded_arg = arg;
}

static int on_question(void *arg, uint32_t events)
{
	struct watchers *w = arg;

	/* Whatever went wrong with it, the kernel's own floor still holds */
	if (observer_dispatch(w->observer, events) != 0)
		loop_remove(w->loop, &w->source);
	return 0;
}

/* What the questions are answered from, made when first needed */
static void ask_policy(struct watchers *w, struct network_run *network,
		       struct observer_policy *ret)
{
	if (!w->observe)
		w->observe = observe_new(w->session->view, w->session->plan,
					 &w->since);
	observe_policy(w->observe, network, ret);
}

void watchers_masks(struct watchers *w, struct loop *loop, const int *fds,
		    size_t nfds)
{
	struct observer_policy questions;
	struct masks_config config = {
		.plan = w->session->plan, .policy = &questions,
		.sink = report_sink(w->report),
	};

	ask_policy(w, NULL, &questions);
	w->loop = loop;
	masked_start(&w->masked, loop, &config, fds, nfds);
}

int watchers_observe(struct watchers *w, struct loop *loop, int listener,
		     struct network_run *network, struct err *err)
{
	struct observer_config config = {
		.listener = listener, .sink = report_sink(w->report),
		.reads = w->session->plan->observe_full,
		.no_mounts = w->session->plan->tier != TIER_FULL,
		.nested = w->session->plan->nested_userns, .ways = w->masked.ways,
		.sockets_by_path = w->session->plan->sockets_by_path,
		.on_make = arm, .arg = w,
		.home = w->session->view->home,
	};
	auto_free struct observer_socket *sockets =
		observe_sockets(w->session->policy, &config.nsockets);
	int r;

	config.sockets = sockets;
	w->network = network;
	ask_policy(w, network, &config.policy);
	r = observer_new(&config, &w->observer, err);
	if (r < 0)
		return r;
	w->source = (struct loop_source){ observer_fd(w->observer),
					  on_question, w };
	r = loop_add(loop, &w->source, EPOLLIN);
	return r < 0 ? fail(err, r, "cannot wait for the observer") : 0;
}

void watchers_blind(struct watchers *w, bool quiet)
{
	static const char words[] = "another program holds the seccomp listener, so refused writes are not reported (and tier landlock has no network)";

	arm(w);
	report_missing(w->report, words);
	if (!quiet)
		hooks_say(w->options, "%s", words);
}

void watchers_finish(struct watchers *w, bool failed, bool quiet)
{
	const struct observer_stats stats = w->observer ?
		observer_stats(w->observer) : (struct observer_stats){ 0 };
	const bool seen = sees_files(w);
	auto_buf struct buf text = { 0 };
	struct err err = { 0 };

	/* Who was refused a name may have won a race for it, at any depth, and
	 * who was not understood may have made one; who has mounts of his own
	 * has other names for everything
	 */
	if (w->born &&
	    born_finish(w->born, !seen || stats.makes, seen,
			seen && !stats.names && !stats.unseen &&
			!w->session->plan->nested_userns, &err) < 0)
		hooks_say(w->options, "the next run looks for what was planted: %s",
			  err.msg);
	report_finish(w->report);
	if (quiet)
		return;
	if (w->observe && *observe_noted(w->observe))
		hooks_say(w->options, "note: written for later commands: %s",
			  observe_noted(w->observe));
	report_footer(w->report, w->mode, failed,
		      options_has(w->options, OPTION_VERBOSE), &text);
	hooks_print(w->options, text.p, text.len);
}

void watchers_drop(const struct watchers *w)
{
	if (w->born)
		born_drop(w->born);
}
