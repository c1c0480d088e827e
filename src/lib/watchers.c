/* SPDX-License-Identifier: Apache-2.0 */
/* lib/watchers.c - what is refused during a run: seen, recorded, told */

#include "lib/watchers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "lib/observe.h"
#include "lib/options.h"
#include "lib/session.h"
#include "plan/plan.h"
#include "policy/policy.h"
#include "watch/birth.h"
#include "watch/born.h"
#include "watch/keeper.h"
#include "watch/observer.h"
#include "watch/report.h"
#include "watch/store.h"

struct watchers {
	const struct session *session;
	struct report *report;
	struct observe *observe;
	struct observer *observer;
	struct loop *loop;
	struct born *born;
	struct keeper keeper;
	struct loop_source source, births;
	enum annotate_mode mode;
	int stream;
	bool owns_stream;
	char run[REPORT_RUN_SIZE];
	char *state;
	struct timespec since;
};

/* --events N is a descriptor that the caller holds open, else it is a file */
static int open_stream(struct watchers *w, const char *where, struct err *err)
{
	uint64_t fd;

	w->stream = -1;
	if (!where)
		return 0;
	if (text_to_u64(where, 1 << 20, &fd) == 0) {
		if (fcntl((int)fd, F_GETFD) < 0)
			return fail_errno(err, "--events: descriptor %s", where);
		w->stream = (int)fd;
		return 0;
	}
	w->stream = open(where, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC |
			 O_NOCTTY, 0600);
	w->owns_stream = true;
	if (w->stream < 0)
		return fail_errno(err, "--events: cannot open '%s'", where);
	return 0;
}

static int choose_mode(struct watchers *w, const char *name, struct err *err)
{
	enum annotate_mode mode = ANNOTATE_AUTO;

	if (name && annotate_parse(name, &mode) < 0)
		return fail(err, -EINVAL, "--annotate: '%s' is not one of auto, text, tags, never",
			    name);
	w->mode = annotate_choose(mode, getenv("CLAUDECODE"));
	return 0;
}

static void describe_command(const struct plan *plan, struct buf *out)
{
	for (char **a = plan->argv; *a && out->len < REPORT_COMMAND_MAX; a++) {
		if (out->len)
			buf_addc(out, ' ');
		text_shell_quote(out, *a);
	}
}

int watchers_new(const struct session *session, const struct options *options,
		 struct watchers **ret, struct err *err)
{
	struct watchers *w = mem_zalloc(sizeof(*w));
	auto_buf struct buf command = { 0 };
	int r;

	w->session = session;
	w->keeper = (struct keeper){ -1, -1 };
	w->state = store_default_dir();
	w->since = birth_now();
	r = open_stream(w, options_get(options, OPTION_EVENTS), err);
	if (r == 0)
		r = choose_mode(w, options_get(options, OPTION_ANNOTATE), err);
	if (r == 0) {
		describe_command(session->plan, &command);
		report_run_id(w->run);
		r = report_new(&(struct report_config){
			.run = w->run, .command = buf_str(&command),
			.ignores = &session->policy->ignores,
			.stream = w->stream, .store_dir = w->state,
		}, &w->report, err);
	}
	if (r < 0) {
		watchers_free(w);
		return r;
	}
	*ret = w;
	return 0;
}

void watchers_free(struct watchers *w)
{
	if (!w)
		return;
	keeper_stop(&w->keeper);
	observer_free(w->observer);
	born_free(w->born);
	free(w->state);
	observe_free(w->observe);
	report_free(w->report);
	if (w->owns_stream)
		close_fd(&w->stream);
	free(w);
}

const struct violation_sink *watchers_sink(const struct watchers *w)
{
	return report_sink(w->report);
}

static int on_birth(void *arg, uint32_t events)
{
	struct watchers *w = arg;

	(void)events;
	born_dispatch(w->born);
	return 0;
}

void watchers_start(struct watchers *w, struct loop *loop)
{
	const struct born_config config = {
		.view = w->session->view, .state = w->state, .run = w->run,
		.sink = report_sink(w->report), .since = w->since,
	};

	if (!w->state ||
	    policy_flag(w->session->policy, FLAG_FS_DISABLED, false))
		return;
	if (born_new(&config, &w->born, NULL) < 0)
		report_missing(w->report, "planted files are not watched for: the state directory cannot be written");
	w->births = (struct loop_source){ born_fd(w->born), on_birth, w };
	if (w->births.fd >= 0)
		(void)loop_add(loop, &w->births, EPOLLIN);
}

void watchers_keep(struct watchers *w, int user, int mnt)
{
	if (keeper_start(&w->keeper, w->session->plan, user, mnt, NULL) < 0)
		report_missing(w->report, "protected files that are replaced from outside stay open");
}

static int on_question(void *arg, uint32_t events)
{
	struct watchers *w = arg;

	/* Whatever went wrong with it, the kernel's own floor still holds */
	if (observer_dispatch(w->observer, events) != 0)
		loop_remove(w->loop, &w->source);
	return 0;
}

int watchers_observe(struct watchers *w, struct loop *loop, int listener,
		     struct network_run *network, struct err *err)
{
	struct observer_config config = {
		.listener = listener, .sink = report_sink(w->report),
		.reads = w->session->plan->observe_full,
	};
	int r;

	w->observe = observe_new(w->session->view, &w->since);
	observe_policy(w->observe, network, &config.policy);
	r = observer_new(&config, &w->observer, err);
	if (r < 0)
		return r;
	w->loop = loop;
	w->source = (struct loop_source){
		observer_fd(w->observer), on_question, w,
	};
	r = loop_add(loop, &w->source, EPOLLIN);
	return r < 0 ? fail(err, r, "cannot wait for the observer") : 0;
}

void watchers_missing(struct watchers *w, const char *words)
{
	report_missing(w->report, words);
}

void watchers_finish(struct watchers *w, bool quiet)
{
	auto_buf struct buf text = { 0 };

	if (w->born)
		born_finish(w->born, !w->observer ||
				     observer_stats(w->observer)->asked);
	report_finish(w->report);
	if (quiet)
		return;
	report_footer(w->report, w->mode, &text);
	(void)fflush(stderr);
	if (text.len)
		(void)!write(STDERR_FILENO, text.p, text.len);
}
