/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run/run-build.c - build the sandbox, supervise the command, release everything
 *
 * One epoll loop outside the sandbox: signals for the command, messages from
 * its init, the time limit, observer, gate and settings. The sandbox lives as
 * long as this process: init holds the other end of a socket and ends everything
 * when it closes.
 */

#include <errno.h>
#include <fcntl.h>
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
#include "run/command-stdio.h"
#include "run/host-channel.h"
#include "run/options.h"
#include "run/output.h"
#include "run/resource-limits.h"
#include "run/run-secrets.h"
#include "run/run.h"

enum { LOOP_OVER, LOOP_STARTED };	/* Values of loop_stop() */

/* Descriptors of an observed run: those of init's messages, the observer, the gate's
 * channel, the watches, and the paths of one call
 */
enum { OBSERVED_FDS = 28 };

/* A message's descriptors did not fit, and it is not sent again */
static int too_few_descriptors(struct err *err)
{
	return fail(err, -EMFILE, "the sandbox needs more descriptors than we may have (ulimit -n)");
}

/* The observer answers EACCES where it lacks descriptors to look a path up, so that a
 * command would find no library: that is refused before anything has run
 */
static int check_descriptors(struct run *run)
{
	int fds[OBSERVED_FDS], n = 0;

	while (n < OBSERVED_FDS &&
	       (fds[n] = fcntl(run->signals.fd, F_DUPFD_CLOEXEC, 0)) >= 0)
		n++;
	for (int i = 0; i < n; i++)
		close(fds[i]);
	return n < OBSERVED_FDS ? too_few_descriptors(run->err) : 0;
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
	return run_network_start(run, !gate ? NULL : shared ? shared : &own);
}

void run_abort(struct run *run)
{
	run->status = EXIT_NOT_BUILT;
	loop_stop(run->loop, LOOP_OVER);
}

/* Put init into its control group, and only then let it start the command. An init
 * that is gone has sent the reason, and the loop will read it.
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

/* What the sandbox had to be built without */
static void print_missing(const struct output *output, int value)
{
	if (value & SANDBOX_HOST_PROC)
		output_say(output, "weaker nested sandbox: no new /proc can be made here, so the command sees the host's process list (enableWeakerNestedSandbox, profile home); ptrace checks still guard what is in it");
	if (value & SANDBOX_NO_LAYER)
		output_say(output, "profile home: this kernel has no overlays for users, so ~/.cache and ~/.local/share are read-only but for listed caches, which are the host's own ('cloche explain')");
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
		monitor_keep(run->monitor);
	if (m->value & SANDBOX_HAS_OBSERVER)
		run->listener = take_fd(&fds[own]);
	run->announced = m->value & SANDBOX_ANNOUNCED;
	print_missing(run->output, m->value);
	gate = (m->value & SANDBOX_HAS_NETWORK) ||
	       (run->decision.proxies && (run->listener >= 0 || run->announced));
	r = prompt_new(run, gate);
	if (r == 0 && (gate || (run->listener >= 0 && own && plan->net != NET_HOST)))
		r = start_network(run, gate);
	if (r < 0)
		return r;
	if (run->listener >= 0)
		r = monitor_observe(run->monitor, take_fd(&run->listener),
				    run->err);
	else if (plan->observe)
		monitor_blind(run->monitor);
	if (r < 0)
		return r;
	monitor_ready(run->monitor);
	/* Once there is something that an update can change */
	if (run->output->channel)
		r = host_channel_serve(run->output->channel, run);
	return r == 0 && run->waits ? let_go(run) : r;
}

/* Ctrl-C may have come before there was a command to get it, and not be read yet */
static void take_early_signals(struct run *run)
{
	struct signalfd_siginfo info;

	while (!run->serve && read(run->signals.fd, &info, sizeof(info)) ==
	       (ssize_t)sizeof(info)) {
		if (job_concerns(&run->job, &info))
			job_signal(&run->job, (int)info.ssi_signo);
	}
}

static void take_started(struct run *run, int pidfd)
{
	take_early_signals(run);
	job_started(&run->job, pidfd);
	monitor_started(run->monitor);
	run_network_command_runs(run->network);
	sandbox_forget_plan(&run->sandbox);
	if (run->output->channel)
		host_channel_tell(run->output->channel, WIRE_STARTED, NULL);
	loop_stop(run->loop, LOOP_STARTED);
}

static void take_exited(struct run *run, const struct sandbox_message *m)
{
	command_stdio_read_to(run->stdio, m->read_to);
	run->status = reap_exit_code(m->value);
	memcpy(run->jobs, m->text, sizeof(run->jobs));
	run->jobs[sizeof(run->jobs) - 1] = '\0';
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
	if (m.member && run->serve) {
		m.text[sizeof(m.text) - 1] = '\0';
		run->serve->take(run->serve->arg, &m, fds, nfds);
		return 1;
	}
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
		if (run->serve)
			run->serve->take(run->serve->arg, &m, fds, nfds);
		if (run->serve || nfds == 1)
			take_started(run, run->serve ? -1 : fds[0]);
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

static int on_message(void *arg)
{
	struct run *run = arg;
	int r;

	/* A signal may have made us read it already */
	if (!is_readable(run->sandbox.socket))
		return 0;
	r = take_message(run);
	if (r == 0)	/* Init's death will follow */
		loop_remove(run->loop, &run->messages);
	return r < 0 ? r : 0;
}

static int on_death(void *arg)
{
	struct run *run = arg;
	int r = 1;

	/* Init's last messages may still be unread */
	while (run->status < 0 && r > 0)
		r = take_message(run);
	loop_stop(run->loop, LOOP_OVER);
	return r < 0 ? r : 0;
}

static int on_signal(void *arg)
{
	struct run *run = arg;
	struct signalfd_siginfo info;
	int r = 1;

	if (read(run->signals.fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return 0;
	if (run->serve) {
		if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT)
			loop_stop(run->loop, LOOP_OVER);
		return 0;
	}
	if (info.ssi_signo == SIGINT)
		prompt_interrupt(run->prompt);
	if (!job_concerns(&run->job, &info))
		return 0;
	/* The command may run already, and that message be on the way */
	while (r > 0 && run->job.command < 0 && is_readable(run->sandbox.socket))
		r = take_message(run);
	job_signal(&run->job, (int)info.ssi_signo);
	return r < 0 ? r : 0;
}

static int on_jail_end(void *arg)
{
	struct run *run = arg;

	loop_remove(run->loop, &run->jail_end);
	output_say(run->output, "pasta ended: there is no network from now on (--net jail)");
	return 0;
}

int run_add_source(struct run *run, struct loop_source *source, int fd, loop_fn fn,
		   void *arg)
{
	int r;

	*source = (struct loop_source){ fd, fn, arg };
	r = fd < 0 ? -EBADF : loop_add(run->loop, source, EPOLLIN);
	return r < 0 ? fail(run->err, r, "cannot wait for events") : 0;
}

int run_take_signals(struct run *run, loop_fn fn, void *arg)
{
	sigset_t all;

	sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	return run_add_source(run, &run->signals,
			      signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK), fn, arg);
}

static int start_jail(struct run *run)
{
	int r;

	if (!run->decision.plan->jail.on)
		return 0;
	r = jail_start(run->decision.plan, &run->jail, run->err);
	return r < 0 ? r : run_add_source(run, &run->jail_end, run->jail.holder.socket,
					  on_jail_end, run);
}

static int start_sandbox(struct run *run)
{
	const struct plan *plan = run->decision.plan;
	const bool jail = plan->net == NET_JAIL;
	struct sandbox_request request = {
		.plan = plan, .tmp_path = run->tmp.path,
		.staged = run->changes.dir, .mask = run->mask,
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
	request.serves = run->serve != NULL;
	/* /dev/null, also where the caller has none */
	for (int i = 0; run->serve && i < 3; i++)
		request.stdio[i] = i;
	return sandbox_start(&run->sandbox, &request, run->err);
}

static int start(struct run *run)
{
	const struct policy *policy = run->decision.policy;
	int r;

	if ((r = start_jail(run)) < 0 ||
	    (!run->serve &&
	     (r = job_limit_time(&run->job, run->loop,
				 &policy->numbers[NUMBER_TIMEOUT_MS],
				 run->err)) < 0) ||
	    (run->decision.plan->observe && (r = check_descriptors(run)) < 0) ||
	    (r = start_sandbox(run)) < 0)
		return r;
	monitor_start(run->monitor);
	run_report_recovered(run, monitor_sink(run->monitor));
	decision_keep_walk(&run->decision);
	if ((r = command_stdio_start(run->stdio, run->loop, run->err)) < 0 ||
	    (r = run_add_source(run, &run->messages, run->sandbox.socket, on_message,
				run)) < 0)
		return r;
	return run_add_source(run, &run->death, run->sandbox.pidfd, on_death, run);
}

int run_prepare(struct run *run)
{
	const struct decision *d = &run->decision;
	const struct plan *plan = d->plan;
	int r;

	(void)sigprocmask(SIG_SETMASK, NULL, &run->mask);
	if ((r = loop_new(&run->loop, run->err)) < 0)
		return r;
	run->limits = limits_new(d->policy);
	if ((r = monitor_new(run)) < 0 ||
	    (r = command_stdio_new(plan, &d->policy->numbers[NUMBER_OUTPUT],
				   false, &run->stdio, run->err)) < 0)
		return r;
	if (plan->ephemeral &&
	    (r = ephemeral_start(plan, &run->changes, run->err)) < 0)
		return r;
	if (plan->tmp == TMP_KEPT && d->tmpdir &&
	    (r = tmpdir_open(d->tmpdir, d->policy->project,
			     plan->tier == TIER_FULL, &run->tmp, run->err)) < 0)
		return r;
	return run_take_signals(run, on_signal, run);
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
	free(run->hosts);
	run->hosts = NULL;
	run_network_free(run->network);
	/* Here, not when the kernel ends what a process leaves behind */
	run_secrets_end(run->decision.secrets);
	run->decision.secrets = NULL;
	prompt_free(run->prompt);
	run->prompt = NULL;
	/* Nothing has run: the next run has nothing to clean up */
	if ((run->failed || run->waits) && run->monitor)
		monitor_drop(run->monitor);
	monitor_free(run->monitor);
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
