/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run/run-build.c - build the sandbox and supervise the command to its end
 *
 * One epoll loop outside the sandbox: signals for the command, messages from
 * its init, the time limit, observer, gate and settings. The sandbox lives as
 * long as this process: init holds the other end of a socket and ends everything
 * when it closes.
 */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/proc.h"
#include "ipc/listener.h"
#include "ipc/socket.h"
#include "plan/plan.h"
#include "policy/policy.h"
#include "run/choose-tier.h"
#include "run/command-stdio.h"
#include "run/host-channel.h"
#include "run/monitor.h"
#include "run/options.h"
#include "run/output.h"
#include "run/resource-limits.h"
#include "run/run-network.h"
#include "run/run.h"

enum { LOOP_OVER, LOOP_STARTED };	/* Values of loop_stop() */

/* A message's descriptors did not fit, and it is not sent again */
static int too_few_descriptors(struct err *err)
{
	return fail(err, -EMFILE, "the sandbox needs more descriptors than we may have (ulimit -n)");
}

/* Start the gate behind the sandbox's own listeners, or in the landlock tier those
 * of the decision. Without @gate there is only what cannot be reached to report.
 */
static int start_network(struct run *run, bool gate)
{
	struct listener_set own = { 0 }, *shared = run->decision.proxies;
	const int r = !gate || shared ? 0 :
		      listener_recv(run->sandbox.socket, &own);

	if (r < 0)
		return r == -EMSGSIZE ? too_few_descriptors(run->err) :
		       fail(run->err, r, "the sandbox did not hand over its network");
	return run_network_start(&(struct run_network_config){
		.loop = run->loop, .decision = &run->decision,
		.sink = monitor_sink(run->monitor),
		.listeners = !gate ? NULL : shared ? shared : &own,
		.jail = gate && run->jail.net >= 0 ? &run->jail : NULL,
		.user = run->own[0], .net = run->own[2],
		.init = run->sandbox.pid,
	}, &run->network, run->err);
}

static void on_library_signal(void *arg, int number)
{
	struct run *run = arg;

	job_signal(&run->job, number);
}

static int on_library_update(void *arg, struct err *err)
{
	struct run *run = arg;

	return monitor_reload(run->monitor, err);
}

static void on_library_gone(void *arg)
{
	struct run *run = arg;

	run->status = EXIT_NOT_BUILT;
	loop_stop(run->loop, LOOP_OVER);
}

/* Once there is something that an update can change */
static int serve_library(struct run *run)
{
	const struct host_channel_handlers handlers = {
		.signal = on_library_signal, .reload = on_library_update,
		.gone = on_library_gone, .arg = run,
	};

	return run->output->channel ?
	       host_channel_serve(run->output->channel, run->loop, &handlers) : 0;
}

/* Put init into its control group, and only then let it start the command. An init
 * that is gone has said why, and the loop will read it.
 */
static int let_go(struct run *run)
{
	int r = limits_apply(run->limits, run->sandbox.pid);

	if (r == 0)
		r = sandbox_go(&run->sandbox);
	run->waits = r < 0;
	if (r == 0 || r == -EPIPE || r == -ECONNRESET || r == -ESRCH)
		return 0;
	return fail(run->err, r, "cannot put the sandbox into its control group: %s",
		    strerror(-r));
}

static int take_ready(struct run *run, const struct sandbox_message *m,
		      int *fds, size_t nfds)
{
	const struct plan *plan = run->decision.plan;
	const size_t own = plan->tier == TIER_FULL ? SANDBOX_OWN_FDS : 0;
	bool gate;
	int r = 0;

	if (nfds != own + !!(m->value & SANDBOX_HAS_OBSERVER))
		return fail(run->err, -EPROTO, "the sandbox did not hand over its descriptors");
	memcpy(run->own, fds, own * sizeof(*fds));
	if (own)
		monitor_keep(run->monitor, run->own);
	if (m->value & SANDBOX_HAS_OBSERVER)
		run->listener = take_fd(&fds[own]);
	tier_tell_without(run->output, m->value);
	gate = (m->value & SANDBOX_HAS_NETWORK) ||
	       (run->decision.proxies && run->listener >= 0);
	if (gate || (run->listener >= 0 && own && plan->net != NET_HOST))
		r = start_network(run, gate);
	if (r < 0)
		return r;
	monitor_set_network(run->monitor, run->network);
	if (run->listener >= 0)
		r = monitor_observe(run->monitor, take_fd(&run->listener),
				    run->err);
	else if (plan->observe)
		monitor_blind(run->monitor);
	if (r < 0)
		return r;
	monitor_ready(run->monitor);
	r = serve_library(run);
	return r == 0 && run->waits ? let_go(run) : r;
}

static void take_started(struct run *run, int pidfd)
{
	job_started(&run->job, pidfd);
	run_network_command_runs(run->network);
	sandbox_forget_plan(&run->sandbox);
	if (run->output->channel)
		host_channel_started(run->output->channel);
	loop_stop(run->loop, LOOP_STARTED);
}

static void take_exited(struct run *run, const struct sandbox_message *m)
{
	command_stdio_read_to(run->stdio, m->read_to);
	run->status = reap_exit_code(m->value);
	run->sandbox.over = true;
	loop_stop(run->loop, LOOP_OVER);
}

/* Take one message: 1, 0 at the end, or a negative errno with a message */
static int take_message(struct run *run)
{
	struct sandbox_message m = { 0 };
	int fds[SANDBOX_FDS_MAX], r = 0;
	size_t nfds = SANDBOX_FDS_MAX;
	const ssize_t n = socket_recv(run->sandbox.socket, &m, sizeof(m), fds,
				      &nfds);

	if (n == -EMSGSIZE)
		return too_few_descriptors(run->err);
	if (n != (ssize_t)sizeof(m))
		return 0;
	switch (m.event) {
	case SANDBOX_FAILED:
		m.text[sizeof(m.text) - 1] = '\0';
		run->failed = true;
		run->status = m.value;
		fail(run->err, m.code < 0 ? m.code : -ECANCELED, "%s", m.text);
		break;
	case SANDBOX_MASKS:
		monitor_masks(run->monitor, fds, nfds);
		break;
	case SANDBOX_READY:
		r = take_ready(run, &m, fds, nfds);
		break;
	case SANDBOX_STARTED:
		if (nfds == 1)
			take_started(run, fds[0]);
		break;
	case SANDBOX_STOPPED:
		job_stop(&run->job, m.value, run->sandbox.socket);
		break;
	case SANDBOX_CONTINUED:
		break;
	case SANDBOX_EXITED:
		take_exited(run, &m);
		break;
	}
	return r < 0 ? r : 1;
}

static bool is_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static int on_message(void *arg, uint32_t events)
{
	struct run *run = arg;
	int r;

	(void)events;
	/* A signal may have made us read it already */
	if (!is_readable(run->sandbox.socket))
		return 0;
	r = take_message(run);
	if (r == 0)	/* Init's death will follow */
		loop_remove(run->loop, &run->messages);
	return r < 0 ? r : 0;
}

static int on_death(void *arg, uint32_t events)
{
	struct run *run = arg;
	int r = 1;

	(void)events;
	/* Init's last messages may still be unread */
	while (run->status < 0 && r > 0)
		r = take_message(run);
	loop_stop(run->loop, LOOP_OVER);
	return r < 0 ? r : 0;
}

static int on_signal(void *arg, uint32_t events)
{
	struct run *run = arg;
	struct signalfd_siginfo info;
	int r = 1;

	(void)events;
	if (read(run->signals.fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return 0;
	if (!job_concerns(&run->job, &info))
		return 0;
	/* The command may run already, and that message be on the way */
	while (r > 0 && run->job.command < 0 && is_readable(run->sandbox.socket))
		r = take_message(run);
	job_signal(&run->job, (int)info.ssi_signo);
	return r < 0 ? r : 0;
}

static int on_jail_end(void *arg, uint32_t events)
{
	struct run *run = arg;

	(void)events;
	loop_remove(run->loop, &run->jail_end);
	output_say(run->output, "pasta ended: there is no network from now on (--net jail)");
	return 0;
}

static int add_source(struct run *run, struct loop_source *source, int fd,
		      loop_fn fn)
{
	int r;

	*source = (struct loop_source){ fd, fn, run };
	r = fd < 0 ? -EBADF : loop_add(run->loop, source, EPOLLIN);
	return r < 0 ? fail(run->err, r, "cannot wait for events") : 0;
}

static int start_jail(struct run *run)
{
	int r;

	if (!run->decision.plan->jail.on)
		return 0;
	r = jail_start(run->decision.plan, &run->jail, run->err);
	return r < 0 ? r : add_source(run, &run->jail_end, run->jail.holder.socket,
				      on_jail_end);
}

static int start_sandbox(struct run *run)
{
	const struct plan *plan = run->decision.plan;
	const bool jail = plan->net == NET_JAIL;
	struct sandbox_request request = {
		.plan = plan, .tmp_path = run->tmp.path,
		.aside = run->changes.dir, .mask = run->mask,
		.jail = { jail ? run->jail.user : -1, jail ? run->jail.net : -1 },
	};

	command_stdio_fill(run->stdio, &request);
	limits_fill(run->limits, &request);
	/* Where no observer stops the command's first write, and where an option
	 * may name what cannot be had: then nothing may have run
	 */
	request.wait |= !plan->observe || plan->network.publish.len ||
			options_has(run->options, OPTION_CONTROL_FD);
	run->waits = request.wait;
	return sandbox_start(&run->sandbox, &request, run->err);
}

static int start(struct run *run)
{
	const struct policy *policy = run->decision.policy;
	int r;

	if ((r = add_source(run, &run->signals, run->signals.fd, on_signal)) < 0 ||
	    (r = start_jail(run)) < 0 ||
	    (r = job_limit_time(&run->job, run->loop,
				&policy->numbers[NUMBER_TIMEOUT_MS],
				run->err)) < 0 ||
	    (r = start_sandbox(run)) < 0)
		return r;
	monitor_start(run->monitor, run->loop);
	run_report_recovered(run, monitor_sink(run->monitor));
	decision_keep_walk(&run->decision);
	if ((r = command_stdio_start(run->stdio, run->loop, run->err)) < 0 ||
	    (r = add_source(run, &run->messages, run->sandbox.socket,
			    on_message)) < 0)
		return r;
	return add_source(run, &run->death, run->sandbox.pidfd, on_death);
}

int run_build(struct run *run)
{
	int r = start(run);

	if (r == 0)
		r = loop_run(run->loop);
	if (r < 0)
		return r;
	run->started = r == LOOP_STARTED;
	return run->failed && run->status == EXIT_NOT_BUILT ? run->err->code : 0;
}

int run_supervise(struct run *run)
{
	const int r = run->started ? loop_run(run->loop) : 0;

	if (!run->sandbox.over)
		sandbox_stop(&run->sandbox);
	command_stdio_drain(run->stdio);
	return r < 0 ? r : 0;
}
