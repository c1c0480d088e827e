/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/supervisor.c - run a planned command to its end
 *
 * One epoll loop outside the sandbox: signals for the command, messages from
 * its init, the clock, and whatever watches (observer, gate, settings). The
 * sandbox lives exactly as long as this does: init holds the other end of a
 * socket and leaves when it closes.
 */

#include "lib/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/own.h"
#include "base/reap.h"
#include "base/sock.h"
#include "cage/cage.h"
#include "lib/clock.h"
#include "lib/channel.h"
#include "lib/ending.h"
#include "lib/hooks.h"
#include "lib/aside.h"
#include "lib/jailer.h"
#include "lib/job.h"
#include "lib/limit.h"
#include "lib/network.h"
#include "lib/options.h"
#include "lib/session.h"
#include "lib/startable.h"
#include "lib/stdfds.h"
#include "lib/tier.h"
#include "lib/tmpdir.h"
#include "lib/walked.h"
#include "lib/watchers.h"
#include "plan/exit.h"
#include "plan/listener.h"
#include "plan/plan.h"
#include "policy/policy.h"

/**
 * struct supervisor - One run
 * @cage:	The sandbox
 * @job:	The command, to our caller
 * @status:	What we will return; -1 until that is known
 * @waits:	The command has not been let go
 * @failed:	The cage said so: nothing ran
 * @own:	The sandbox's namespaces (user, mount, network) and mountinfo
 */
struct supervisor {
	const struct session *session;
	const struct options *options;
	struct err *err;
	struct loop *loop;
	struct cage cage;
	struct stdfds *stdio;
	struct tmpdir tmp;
	struct limits *limits;
	struct watchers *watchers;
	struct job job;
	int listener;
	int own[CAGE_OWN_FDS];
	struct network_run *network;
	struct jailer jailer;
	struct aside aside;
	int status;
	bool waits, failed;
	struct loop_source messages, death, signals;
	struct clock clock;
};

static void on_reload(void *arg, struct policy *policy)
{
	struct supervisor *s = arg;

	if (s->network)
		(void)network_reload(s->network, policy, NULL);
}

/* What came with a message found no room: nobody would say it again */
static int too_few_descriptors(struct err *err)
{
	return fail(err, -EMFILE, "the sandbox needs more descriptors than we may have (ulimit -n)");
}

/* The sandbox's own listeners, or in the landlock tier the session's */
static int take_network(struct supervisor *s)
{
	struct listener_set own = { 0 }, *shared = s->session->proxies;
	const int r = shared ? 0 : listener_recv(s->cage.socket, &own);

	if (r < 0)
		return r == -EMSGSIZE ? too_few_descriptors(s->err) :
		       fail(s->err, r, "the sandbox did not hand over its network");
	return network_start(&(struct network_config){
		.loop = s->loop, .session = s->session,
		.options = s->options, .sink = watchers_sink(s->watchers),
		.listeners = shared ? shared : &own,
		.jail = s->jailer.run.net < 0 ? NULL : &s->jailer.run,
		.user = s->own[0], .net = s->own[2], .init = s->cage.pid,
	}, &s->network, s->err);
}

static void on_library_signal(void *arg, int number)
{
	struct supervisor *s = arg;

	job_signal(&s->job, number);
}

static int on_library_update(void *arg, struct err *err)
{
	struct supervisor *s = arg;

	return watchers_reload(s->watchers, err);
}

static void on_library_gone(void *arg)
{
	struct supervisor *s = arg;

	s->status = EXIT_NOT_BUILT;
	loop_stop(s->loop, 0);
}

/* Only now: an update needs something to change */
static int serve_library(struct supervisor *s)
{
	struct channel *channel = hooks_channel(s->options);
	const struct channel_handlers handlers = {
		.signal = on_library_signal, .reload = on_library_update,
		.gone = on_library_gone, .arg = s,
	};

	return channel ? channel_serve(channel, s->loop, &handlers) : 0;
}

/* All is ready; into the control group, and only then on. An init that is gone
 * has said why, and the loop will hear it.
 */
static int let_go(struct supervisor *s)
{
	int r = limits_apply(s->limits, s->cage.pid);

	if (r == 0)
		r = cage_go(&s->cage);
	s->waits = r < 0;
	if (r == 0 || r == -EPIPE || r == -ECONNRESET || r == -ESRCH)
		return 0;
	return fail(s->err, r, "cannot put the sandbox into its control group: %s",
		    strerror(-r));
}

static int take_ready(struct supervisor *s, const struct cage_message *m,
		      int *fds, size_t nfds)
{
	const size_t own = s->session->plan->tier == TIER_FULL ? CAGE_OWN_FDS : 0;
	int r = 0;

	if (nfds != own + !!(m->value & CAGE_HAS_OBSERVER))
		return fail(s->err, -EPROTO, "the sandbox did not hand over its descriptors");
	memcpy(s->own, fds, own * sizeof(*fds));
	if (own)
		watchers_keep(s->watchers, s->loop, s->own);
	if (m->value & CAGE_HAS_OBSERVER)
		s->listener = take_fd(&fds[own]);
	tier_tell_without(s->options, m->value);
	if ((m->value & CAGE_HAS_NETWORK) ||
	    (s->session->proxies && s->listener >= 0))
		r = take_network(s);
	else if (s->listener >= 0 && s->session->plan->tier == TIER_FULL &&
		 s->session->plan->net != NET_HOST)
		r = network_start(&(struct network_config){
			.loop = s->loop, .session = s->session,
			.options = s->options,
			.sink = watchers_sink(s->watchers),
			.user = s->own[0], .net = s->own[2],
			.init = s->cage.pid,
		}, &s->network, s->err);
	if (r < 0)
		return r;
	if (s->listener >= 0)
		r = watchers_observe(s->watchers, s->loop,
				     take_fd(&s->listener), s->network,
				     s->err);
	else if (s->session->plan->observe)
		watchers_blind(s->watchers,
			       options_has(s->options, OPTION_QUIET));
	if (r == 0)
		watchers_ready(s->watchers);
	if (r == 0)
		r = serve_library(s);
	if (r == 0 && s->waits)
		r = let_go(s);
	return r;
}

static void started(struct supervisor *s, int pidfd)
{
	job_started(&s->job, pidfd);
	network_command_runs(s->network);
	cage_forget_plan(&s->cage);
	if (hooks_channel(s->options))
		channel_started(hooks_channel(s->options));
}

/* Take one message: 1, 0 at the end, or a negative errno with words */
static int take_message(struct supervisor *s)
{
	struct cage_message m = { 0 };
	int fds[CAGE_FDS_MAX], r;
	size_t nfds = CAGE_FDS_MAX;
	const ssize_t n = sock_recv(s->cage.socket, &m, sizeof(m), fds, &nfds);

	if (n == -EMSGSIZE)
		return too_few_descriptors(s->err);
	if (n != (ssize_t)sizeof(m))
		return 0;
	switch (m.event) {
	case CAGE_FAILED:
		m.text[sizeof(m.text) - 1] = '\0';
		s->failed = true;
		s->status = m.value;
		fail(s->err, m.code < 0 ? m.code : -ECANCELED, "%s", m.text);
		break;
	case CAGE_MASKS:
		watchers_masks(s->watchers, s->loop, fds, nfds);
		break;
	case CAGE_READY:
		r = take_ready(s, &m, fds, nfds);
		return r < 0 ? r : 1;
	case CAGE_STARTED:
		if (nfds == 1)
			started(s, fds[0]);
		break;
	case CAGE_STOPPED:
		job_stop(&s->job, m.value, s->cage.socket);
		break;
	case CAGE_CONTINUED:
		break;
	case CAGE_EXITED:
		stdfds_read_to(s->stdio, m.read_to);
		s->status = reap_exit_code(m.value);
		s->cage.over = true;
		loop_stop(s->loop, 0);
		break;
	}
	return 1;
}

static bool is_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static int on_message(void *arg, uint32_t events)
{
	struct supervisor *s = arg;
	int r;

	(void)events;
	/* A signal may have made us read it already */
	if (!is_readable(s->cage.socket))
		return 0;
	r = take_message(s);
	if (r == 0)	/* Its death will follow */
		loop_remove(s->loop, &s->messages);
	return r < 0 ? r : 0;
}

static int on_death(void *arg, uint32_t events)
{
	struct supervisor *s = arg;
	int r = 1;

	(void)events;
	/* What init said last may still be unread */
	while (s->status < 0 && r > 0)
		r = take_message(s);
	loop_stop(s->loop, 0);
	return r < 0 ? r : 0;
}

static int on_signal(void *arg, uint32_t events)
{
	struct supervisor *s = arg;
	struct signalfd_siginfo info;
	int r = 1;

	(void)events;
	if (read(s->signals.fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return 0;
	if (!job_concerns(&s->job, &info))
		return 0;
	/* It may run already, and its message be on the way */
	while (r > 0 && s->job.command < 0 && is_readable(s->cage.socket))
		r = take_message(s);
	job_signal(&s->job, (int)info.ssi_signo);
	return r < 0 ? r : 0;
}

static int add(struct supervisor *s, struct loop_source *source, int fd,
	       loop_fn fn, uint32_t events)
{
	int r;

	*source = (struct loop_source){ fd, fn, s };
	if (fd < 0)
		return fail_errno(s->err, "cannot wait for events");
	r = loop_add(s->loop, source, events);
	return r < 0 ? fail(s->err, r, "cannot wait for events") : 0;
}

static void fill_request(const struct supervisor *s, const sigset_t *mask,
			 struct cage_request *request)
{
	*request = (struct cage_request){
		.plan = s->session->plan, .tmp_path = s->tmp.path,
		.aside = s->aside.dir,
		.jail = { -1, -1 }, .mask = *mask,
	};
	if (s->session->plan->net == NET_JAIL) {
		request->jail[0] = s->jailer.run.user;
		request->jail[1] = s->jailer.run.net;
	}
	stdfds_fill(s->stdio, request);
	limits_fill(s->limits, request);
}

static int prepare(struct supervisor *s)
{
	const struct policy *policy = s->session->policy;
	int r = loop_new(&s->loop, s->err);

	s->limits = limits_new(policy);
	if (r == 0)
		r = watchers_new(s->session, s->options, &s->watchers, s->err);
	if (r == 0)
		r = stdfds_new(s->session->plan, &policy->numbers[NUMBER_OUTPUT],
			       &s->stdio, s->err);
	if (r == 0 && s->session->plan->tmp == TMP_KEPT && s->session->tmpdir)
		r = tmpdir_open(s->session->tmpdir, policy->project,
				s->session->plan->tier == TIER_FULL, &s->tmp,
				s->err);
	if (r == 0 && s->session->plan->ephemeral)
		r = aside_start(s->session->plan, &s->aside, s->err);
	return r;
}

/* The one that was begun ahead of the plan, if there is one */
static int start_cage(struct supervisor *s, const struct cage_request *request)
{
	if (s->session->ahead) {
		s->cage = *s->session->ahead;
		*s->session->ahead = (struct cage)CAGE_NONE;
	}
	return cage_start(&s->cage, request, s->err);
}

static int start(struct supervisor *s)
{
	struct cage_request request;
	sigset_t all, before;
	int r;

	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, &before);
	r = add(s, &s->signals, signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK),
		on_signal, EPOLLIN);
	if (r == 0)
		r = jailer_start(&s->jailer, s->session->plan, s->loop,
				 s->options, s->err);
	fill_request(s, &before, &request);
	if (r == 0)
		r = clock_start(&s->clock, s->loop, &s->job, s->session->policy,
				s->err);
	/* Where no observer holds the command's first write back, and where the
	 * user may have named what cannot be had: then nothing is to have run
	 */
	request.wait |= !s->session->plan->observe ||
			s->session->plan->network.publish.len ||
			options_has(s->options, OPTION_CONTROL_FD);
	s->waits = request.wait;
	if (r == 0)
		r = start_cage(s, &request);
	if (r == 0)
		watchers_start(s->watchers, s->loop);
	walked_keep(s->session->policy, s->session->walked);
	watchers_on_reload(s->watchers, on_reload, s);
	if (r == 0)
		r = stdfds_start(s->stdio, s->loop, s->err);
	if (r == 0)
		r = add(s, &s->messages, s->cage.socket, on_message, EPOLLIN);
	if (r == 0)
		r = add(s, &s->death, s->cage.pidfd, on_death, EPOLLIN);
	return r;
}

static void release(struct supervisor *s)
{
	if (hooks_channel(s->options))
		channel_leave(hooks_channel(s->options));
	/* Who holds a namespace last takes it down, and waits for that: let it
	 * be init, which nobody waits for unless it is in a control group
	 */
	for (size_t i = 0; i < CAGE_OWN_FDS; i++)
		close_fd(&s->own[i]);
	if (!s->limits || limits_need_group(s->limits) ||
	    s->session->plan->ephemeral)
		cage_stop(&s->cage);
	stdfds_free(s->stdio);
	limits_free(s->limits);
	network_free(s->network);
	watchers_free(s->watchers, &s->cage);
	cage_leave(&s->cage);
	jailer_stop(&s->jailer);
	ending_aside(s->options, &s->aside);
	tmpdir_close(&s->tmp);
	job_done(&s->job);
	close_fd(&s->listener);
	close_fd(&s->signals.fd);
	clock_done(&s->clock);
	loop_free(s->loop);
	reap_rest();
}

/* The command has ended, or been ended: why, and what was refused */
static void tell_end(struct supervisor *s)
{
	struct ending ending = {
		.options = s->options, .policy = s->session->policy,
		.limits = s->limits, .status = s->status,
		.sink = watchers_sink(s->watchers),
		.cut_off = stdfds_cut_off(s->stdio),
		.timed_out = s->clock.timed_out };

	ending_explain(&ending);
	network_finish(s->network);
	if (s->status != 0)
		network_explain(s->network);
	watchers_finish(s->watchers, s->status != 0,
			options_has(s->options, OPTION_QUIET));
	ending_variables(&ending);
}

int supervisor_run(const struct session *session,
		   const struct options *options, struct err *err)
{
	struct supervisor s = {
		.session = session, .options = options, .err = err,
		.status = -1,
		.cage = CAGE_NONE,
		.listener = -1, .tmp = { .lock = -1 },
		.own = { -1, -1, -1, -1, -1 }, .jailer = JAILER_NONE,
		.aside = ASIDE_NONE,
		.signals.fd = -1, .clock.source.fd = -1, .messages.fd = -1,
	};
	sigset_t before;
	int r;

	job_init(&s.job);
	(void)sigprocmask(SIG_SETMASK, NULL, &before);
	r = prepare(&s);
	if (r == 0)
		r = start(&s);
	if (r == 0)
		r = loop_run(s.loop);
	if (!s.cage.over)
		cage_stop(&s.cage);
	if (s.stdio)
		stdfds_drain(s.stdio);
	if (r >= 0 && !s.failed)
		tell_end(&s);
	/* What was to be cleaned up after, should we be killed */
	if ((s.failed || s.waits) && s.watchers)
		watchers_drop(s.watchers);
	release(&s);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	if (r < 0)
		return r;
	if (s.clock.timed_out)
		s.status = EXIT_TIMED_OUT;
	if (s.failed && s.status == EXIT_NOT_BUILT)
		return err->code;
	if (s.failed) {
		startable_explain(session, err);
		hooks_say(options, "%s", err->msg);
		return s.status;
	}
	if (s.status < 0)
		return fail(err, -ECHILD, "the sandbox ended before the command did");
	return s.status;
}
