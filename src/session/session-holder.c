/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session/session-holder.c - the process that supervises a session
 *
 * Theory of operation: it is the supervisor of an ordinary run, whose process 1 starts
 * no command of its own but those that we send it (sandbox/members.c). Each client has
 * a connection, and with it at most one command. The command is killed when its client
 * goes; what it left in the background stays until the session ends.
 *
 * Nothing here waits for a client or for process 1: a message that a client does not take
 * is lost, with its connection if it matters, and what process 1 does not take is sent
 * when it has read.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"
#include "ipc/socket.h"
#include "plan/plan.h"
#include "policy/policy.h"
#include "report/report.h"
#include "report/run-record.h"
#include "report/violation.h"
#include "run/options.h"
#include "run/output.h"
#include "run/run.h"
#include "session/session-wire.h"
#include "session/session.h"

enum {
	CLIENTS_MAX = SANDBOX_MEMBERS_MAX + 64,	/* Connections at a time */
	FIRST_JOIN_MS = 10000,	/* The client that starts us joins in that time, or is gone */
	LOCK_TRIES_MS = 1000,	/* Between two tries to end an idle session */
};

enum client_state {
	CLIENT_NEW,		/* It has sent nothing yet */
	CLIENT_WAITS,		/* Process 1 has not taken its command yet */
	CLIENT_STARTS,
	CLIENT_RUNS,
	CLIENT_DONE,
};

/**
 * struct client - A connection, and its command
 * @source:	The socket; -1 once the client is gone
 * @state:	How far its command is
 * @signals:	For the process group, not sent yet
 * @request:	The command, with @fds and @nfds until it starts
 * @pid, @pidfd: The command, as seen from here; -1 before it runs
 * @terminal:	For the client: the other end of the command's; or -1
 * @id, @run, @command, @start_ms: Its number, and its record
 */
struct client {
	TAILQ_ENTRY(client) link;
	struct holder *holder;
	struct loop_source source;
	enum client_state state;
	sigset_t signals;
	bool has_signals;
	struct session_request request;
	int fds[SESSION_JOIN_FDS];
	size_t nfds;
	pid_t pid;
	int pidfd, terminal;
	uint32_t id;
	char run[REPORT_RUN_SIZE];
	char *command;
	int64_t start_ms;
};

/**
 * struct holder - One session
 * @listener, @idle, @writable: Sources of the loop; @writable is a copy of the socket to
 *		process 1, added while something waits to be sent
 * @pts:	The sandbox's /dev/pts, or -1
 * @owner:	A pidfd: the session ends with that process; or -1
 * @ready:	What tells the client that starts us how that went
 */
struct holder {
	struct run run;
	struct run_serve serve;
	struct output output;
	struct err err;
	const char *name;
	TAILQ_HEAD(, client) clients;
	size_t nclients;
	uint32_t last_id;
	uint64_t idle_ms;
	int64_t start_ms;
	struct loop_source listener, idle, writable, owner;
	bool waits, stopping;
	int ready, pts;
};

/* True if it was sent */
static bool send_reply(const struct client *c, const struct session_reply *head,
		       const char *text, const int *fds)
{
	static struct session_packet packet;
	size_t n = text ? strlen(text) : 0;

	if (n >= SESSION_TEXT_MAX)
		n = SESSION_TEXT_MAX - 1;
	packet.head = *head;
	if (n)
		memcpy(packet.text, text, n);
	return c->source.fd >= 0 &&
	       socket_send(c->source.fd, &packet, sizeof(packet.head) + n, fds,
			   !fds ? 0 : fds[1] < 0 ? 1 : 2) == 0;
}

static void send_refusal(const struct client *c, int code, const char *text)
{
	(void)send_reply(c, &(struct session_reply){
		.event = SESSION_REFUSED, .code = code, .value = EXIT_NOT_BUILT },
		text, NULL);
}

/* One message for all clients: settings that were not reloaded, and the like */
static void say(void *arg, const char *line)
{
	const struct holder *h = arg;
	struct client *c;

	TAILQ_FOREACH(c, &h->clients, link) {
		if (c->state == CLIENT_RUNS && !c->request.quiet)
			(void)send_reply(c, &(struct session_reply){
				.event = SESSION_SAY }, line, NULL);
	}
}

static void print_nothing(void *arg, const char *text, size_t n)
{
	(void)arg;
	(void)text;
	(void)n;
}

static bool has_command(const struct client *c)
{
	return c->state == CLIENT_WAITS || c->state == CLIENT_STARTS ||
	       c->state == CLIENT_RUNS;
}

static size_t count_commands(const struct holder *h)
{
	const struct client *c;
	size_t n = 0;

	TAILQ_FOREACH(c, &h->clients, link)
		n += has_command(c);
	return n;
}

/* Idle is a session in which no command runs, whatever is left in the background */
static void update_idle(struct holder *h, uint64_t ms)
{
	(void)loop_set_timer(h->run.loop, &h->idle, count_commands(h) ? 0 : ms, false);
}

static void drop_fds(struct client *c)
{
	for (size_t i = 0; i < c->nfds; i++)
		close_fd(&c->fds[i]);
	c->nfds = 0;
}

/* Not by loop_close(): a helper that was forked just now may have a copy of it */
static void disconnect(struct client *c)
{
	if (c->source.fd >= 0)
		loop_remove(c->holder->run.loop, &c->source);
	close_fd(&c->source.fd);
}

static void free_client(struct client *c)
{
	struct holder *h = c->holder;

	disconnect(c);
	drop_fds(c);
	close_fd(&c->pidfd);
	close_fd(&c->terminal);
	free(c->command);
	TAILQ_REMOVE(&h->clients, c, link);
	h->nclients--;
	free(c);
}

static int on_writable(void *arg);

/* Send what waits, oldest first, until process 1 has enough to read */
static void flush(struct holder *h)
{
	struct client *c;
	int r = 0;

	TAILQ_FOREACH(c, &h->clients, link) {
		if (c->state == CLIENT_WAITS) {
			r = sandbox_join(&h->run.sandbox, &c->request.join,
					 c->fds, c->nfds);
			if (r == -EAGAIN)
				break;
			drop_fds(c);
			c->state = CLIENT_STARTS;
			c->start_ms = now_ms(CLOCK_REALTIME);
		}
		for (int sig = 1; c->has_signals && c->state == CLIENT_RUNS &&
				  sig < NSIG; sig++) {
			const struct sandbox_join join = {
				.member = c->id, .signal = sig, .group = true,
			};

			if (sigismember(&c->signals, sig) != 1)
				continue;
			r = sandbox_join(&h->run.sandbox, &join, NULL, 0);
			if (r == -EAGAIN)
				break;
			sigdelset(&c->signals, sig);
		}
		if (r == -EAGAIN)
			break;
		c->has_signals = c->has_signals && c->state != CLIENT_RUNS;
	}
	if ((r == -EAGAIN) == h->waits)
		return;
	h->waits = r == -EAGAIN;
	if (h->waits)
		(void)loop_add(h->run.loop, &h->writable, EPOLLOUT);
	else
		loop_remove(h->run.loop, &h->writable);
}

static int on_writable(void *arg)
{
	flush(arg);
	return 0;
}

static void signal_group(struct client *c, int sig)
{
	if (sig < 1 || sig >= NSIG || !has_command(c))
		return;
	sigaddset(&c->signals, sig);
	c->has_signals = true;
	flush(c->holder);
}

/* The client is gone: its command ends as if the supervisor of a run had been killed */
static void lose_client(struct client *c)
{
	struct holder *h = c->holder;

	disconnect(c);
	if (c->state == CLIENT_STARTS || c->state == CLIENT_RUNS) {
		signal_group(c, SIGKILL);
		return;		/* Until process 1 has reaped it */
	}
	free_client(c);
	update_idle(h, h->idle_ms);
}

/* The text behind what process 1 takes: @n strings are before it. The caller frees. */
static char *read_strings(const struct session_request *q, int fd, struct buf *text,
			  const char **policy)
{
	size_t skip = 2 + (size_t)q->join.argc + q->join.envc;
	const char *at, *end;

	if (lseek(fd, 0, SEEK_SET) < 0 ||
	    fs_read_fd(fd, SANDBOX_JOIN_MAX, text, NULL) < 0 || !text->len ||
	    text->p[text->len - 1])
		return NULL;
	at = text->p;
	end = text->p + text->len;
	while (skip-- && at < end)
		at += strlen(at) + 1;
	if (at >= end || at + strlen(at) + 1 >= end)
		return NULL;
	*policy = at + strlen(at) + 1;
	return mem_strdup(at);
}

/* Compare, and once more after we have read the settings ourselves: an edit may be known to
 * the client already. The difference goes to @out.
 */
static void compare_policy(struct holder *h, const char *theirs, struct buf *out)
{
	for (int i = 0; i < 2; i++) {
		auto_buf struct buf ours = { 0 };

		if (i && monitor_reload(h->run.monitor, &h->err) < 0)
			return;
		out->len = 0;
		session_policy(monitor_policy(h->run.monitor), h->run.decision.plan,
			       &ours);
		session_policy_diff(buf_str(&ours), theirs, out);
		if (!out->len)
			return;
	}
}

/* As its caller's is; the command's end is the last of the descriptors that go in */
static int open_terminal(struct client *c)
{
	const bool *wanted = c->request.join.terminal;

	if (!wanted[0] && !wanted[1] && !wanted[2])
		return 0;
	if (c->nfds == SESSION_JOIN_FDS)
		return -EPROTO;
	c->terminal = sandbox_open_terminal(c->holder->pts, &c->fds[c->nfds]);
	if (c->terminal < 0)
		return c->terminal;
	(void)tcsetattr(c->fds[c->nfds], TCSANOW, &c->request.terminal);
	(void)ioctl(c->fds[c->nfds++], TIOCSWINSZ, &c->request.size);
	return 0;
}

static void take_join(struct client *c)
{
	struct holder *h = c->holder;
	auto_buf struct buf text = { 0 }, diff = { 0 };
	const char *policy = NULL;
	int r;

	c->command = c->nfds ? read_strings(&c->request, c->fds[0], &text, &policy)
			     : NULL;
	if (!c->command) {
		send_refusal(c, -EPROTO, "the session did not get the command");
		return;
	}
	compare_policy(h, policy, &diff);
	if (diff.len) {
		(void)send_reply(c, &(struct session_reply){
			.event = SESSION_DIFFERS }, buf_str(&diff), NULL);
		return;
	}
	r = open_terminal(c);
	if (r < 0) {
		send_refusal(c, r, "the session cannot open a terminal for the command");
		return;
	}
	session_limits(h->run.limits, &c->request);
	report_run_id(c->run);
	do
		c->id = ++h->last_id;
	while (!c->id);
	c->request.join.member = c->id;
	c->request.join.signal = 0;
	c->state = CLIENT_WAITS;
	update_idle(h, h->idle_ms);
	flush(h);
}

static void send_status(const struct client *c)
{
	const struct holder *h = c->holder;
	json_t *root = session_usage(h->run.sandbox.pid);
	json_t *commands = json_array();
	const struct client *each;
	auto_free char *text = NULL;

	TAILQ_FOREACH(each, &h->clients, link) {
		if (has_command(each))
			json_array_append_new(commands, json_pack("{s:o?, s:i, s:I}",
				"command", json_string(each->command),
				"pid", (int)each->pid, "startMs",
				(json_int_t)each->start_ms));
	}
	json_object_set_new(root, "name", json_string(h->name));
	json_object_set_new(root, "project",
			    json_string(h->run.decision.policy->project));
	json_object_set_new(root, "holder", json_integer(getpid()));
	json_object_set_new(root, "startMs", json_integer((json_int_t)h->start_ms));
	json_object_set_new(root, "commands", commands);
	text = json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(root);
	(void)send_reply(c, &(struct session_reply){ .event = SESSION_ANSWER },
			 text, NULL);
}

static void take_publish(const struct client *c)
{
	struct err err = { 0 };
	const int port = c->request.value;
	const int r = port < 1 || port > 65535 ?
		      fail(&err, -EINVAL, "%d is not a port", port) :
		      run_network_publish(c->holder->run.network, (uint16_t)port, &err);

	if (r < 0)
		send_refusal(c, r, err.msg);
	else
		(void)send_reply(c, &(struct session_reply){ .event = SESSION_ANSWER },
				 "", NULL);
}

static void take_request(struct client *c)
{
	if (c->request.version != SESSION_WIRE_VERSION) {
		send_refusal(c, -EPROTO, "the session was started by another version of cloche");
		return;
	}
	switch (c->request.verb) {
	case SESSION_JOIN:
		take_join(c);
		break;
	case SESSION_STATUS:
		send_status(c);
		break;
	case SESSION_STOP:	/* It sees the end of the connection when all has ended */
		c->holder->stopping = true;
		loop_stop(c->holder->run.loop, 0);
		break;
	case SESSION_PUBLISH:
		take_publish(c);
		break;
	case SESSION_SIGNAL:
		break;
	}
	if (c->state != CLIENT_WAITS)
		drop_fds(c);
}

/* After the first message there are only signals, and the end */
static int on_client(void *arg)
{
	struct client *c = arg;
	struct session_request q;
	int fds[SESSION_JOIN_FDS];
	size_t nfds = SESSION_JOIN_FDS;
	const ssize_t n = socket_recv(c->source.fd, &q, sizeof(q), fds, &nfds);

	if (n == -EAGAIN)
		return 0;
	if (n != (ssize_t)sizeof(q)) {
		lose_client(c);
		return 0;
	}
	if (c->state != CLIENT_NEW) {
		for (size_t i = 0; i < nfds; i++)
			(void)close(fds[i]);
		if (q.verb == SESSION_SIGNAL)
			signal_group(c, q.value);
		return 0;
	}
	c->request = q;
	c->nfds = nfds;
	memcpy(c->fds, fds, nfds * sizeof(*fds));
	c->state = CLIENT_DONE;
	take_request(c);
	return 0;
}

static void add_client(struct holder *h, int fd)
{
	struct client *c = mem_zalloc(sizeof(*c));

	c->holder = h;
	c->pid = -1;
	c->pidfd = c->terminal = -1;
	sigemptyset(&c->signals);
	c->source = (struct loop_source){ fd, on_client, c };
	TAILQ_INSERT_TAIL(&h->clients, c, link);
	h->nclients++;
	if (loop_add(h->run.loop, &c->source, EPOLLIN) < 0)
		free_client(c);
}

static int on_connect(void *arg)
{
	struct holder *h = arg;
	auto_close int fd = accept4(h->listener.fd, NULL, NULL,
				    SOCK_CLOEXEC | SOCK_NONBLOCK);
	auto_close int pidfd = -1;

	/* A process of a sandbox, or another user's, is not answered */
	if (fd < 0 || h->nclients == CLIENTS_MAX || session_peer(fd, &pidfd) < 0)
		return 0;
	add_client(h, take_fd(&fd));
	return 0;
}

/* While we hold the lock no client can start or find the session: those that have connected
 * are served first
 */
static int on_idle(void *arg)
{
	struct holder *h = arg;
	struct err err = { 0 };
	auto_close int dir = session_directory(&err);
	uint64_t n;

	(void)!read(h->idle.fd, &n, sizeof(n));
	if (dir >= 0 && flock(dir, LOCK_EX | LOCK_NB) < 0) {
		update_idle(h, LOCK_TRIES_MS);
		return 0;
	}
	(void)on_connect(h);
	if (h->nclients) {
		update_idle(h, LOCK_TRIES_MS);
		return 0;
	}
	if (dir >= 0)
		(void)unlinkat(dir, h->name, 0);
	loop_stop(h->run.loop, 0);
	return 0;
}

static struct client *client_of(const struct holder *h, uint32_t id)
{
	struct client *c;

	TAILQ_FOREACH(c, &h->clients, link) {
		if (c->id == id)
			return c;
	}
	return NULL;
}

static void take_started(struct client *c, int *fd)
{
	c->state = CLIENT_RUNS;
	c->pidfd = take_fd(fd);
	c->pid = proc_of_pidfd(c->pidfd);
	if (!send_reply(c, &(struct session_reply){ .event = SESSION_STARTED }, NULL,
			(int[]){ c->pidfd, c->terminal }) && c->source.fd >= 0)
		lose_client(c);
	close_fd(&c->terminal);
	flush(c->holder);	/* Signals may have come before */
}

static void end_client(struct client *c)
{
	struct holder *h = c->holder;

	free_client(c);
	update_idle(h, h->idle_ms);
}

static void take_exited(struct client *c, const struct sandbox_message *m)
{
	struct holder *h = c->holder;
	struct run_record end = {
		.start_ms = c->start_ms, .run = c->run, .command = c->command,
		.session = (char *)(uintptr_t)h->name,
		.status = reap_exit_code(m->value),
	};
	const struct footer how = {
		.mode = c->request.quiet ? FOOTER_NEVER : c->request.mode,
		.failed = end.status != 0, .verbose = c->request.verbose,
	};
	auto_buf struct buf footer = { 0 };

	monitor_part(h->run.monitor, &end, &how, &footer);
	(void)send_reply(c, &(struct session_reply){
		.event = SESSION_EXITED, .value = m->value, .read_to = m->read_to },
		buf_str(&footer), NULL);
	end_client(c);
}

static void take_init_message(void *arg, const struct sandbox_message *m, int *fds,
			 size_t nfds)
{
	struct holder *h = arg;
	struct client *c = client_of(h, m->member);

	if (!m->member && nfds == 1)
		h->pts = take_fd(&fds[0]);
	else if (c && m->event == SANDBOX_STARTED && nfds == 1)
		take_started(c, &fds[0]);
	else if (c && m->event == SANDBOX_STOPPED)
		(void)send_reply(c, &(struct session_reply){
			.event = SESSION_STOPPED, .value = m->value }, NULL, NULL);
	else if (c && m->event == SANDBOX_CONTINUED)
		(void)send_reply(c, &(struct session_reply){
			.event = SESSION_CONTINUED }, NULL, NULL);
	else if (c && m->event == SANDBOX_EXITED)
		take_exited(c, m);
	else if (c && m->event == SANDBOX_FAILED) {
		(void)send_reply(c, &(struct session_reply){
			.event = SESSION_REFUSED, .value = m->value,
			.code = m->code }, m->text, NULL);
		end_client(c);
	}
	for (size_t i = 0; i < nfds; i++)
		close_fd(&fds[i]);
}

/* Whose a refused process is: each command is a process group, which its children share, or a
 * session, if it has a terminal. That
 * of a command that has just started is not known yet, and a process may have ended: then it
 * is that of the only command that is possible. NULL: of none that runs.
 */
static const struct client *owner_of(const struct holder *h, pid_t pid)
{
	const pid_t group = pid > 0 ? getpgid(pid) : -1;
	const struct client *c, *only = NULL;
	size_t n = 0;

	TAILQ_FOREACH(c, &h->clients, link) {
		if (group > 0 && (c->pid == group || c->pid == getsid(pid)))
			return c;
		if (c->state == CLIENT_STARTS || (group < 0 && has_command(c))) {
			only = c;
			n++;
		}
	}
	return n == 1 ? only : NULL;
}

static void assign(void *arg, struct violation *v)
{
	const struct holder *h = arg;
	const struct client *c = owner_of(h, v->pid);

	free(v->command);
	v->command = c ? mem_strdup(c->command) : mem_printf("session %s", h->name);
	if (c) {
		free(v->run);
		v->run = mem_strdup(c->run);
	}
}

/* A command's refusals go to its client, if that passes them on to a program */
static int send_violation(void *arg, const struct violation *v)
{
	const struct holder *h = arg;
	const struct client *c;
	auto_buf struct buf json = { 0 };

	TAILQ_FOREACH(c, &h->clients, link) {
		if (!c->request.violations || strcmp(c->run, v->run) != 0)
			continue;
		violation_to_json(v, &json);
		return send_reply(c, &(struct session_reply){
			.event = SESSION_VIOLATION }, buf_str(&json), NULL) ? 0 : -EIO;
	}
	return 0;
}

/* The client that starts us reads how that went: the code, and a message */
static void send_ready(struct holder *h, int code)
{
	h->err.code = code;
	(void)fs_tell(h->ready, &h->err, sizeof(h->err));
	close_fd(&h->ready);
}

static int on_owner_end(void *arg)
{
	struct holder *h = arg;

	loop_stop(h->run.loop, 0);
	return 0;
}

static int watch_owner(struct holder *h)
{
	const char *text = options_get(h->run.options, OPTION_SESSION_OWNER);
	int r;

	if (!text)
		return 0;
	h->owner = (struct loop_source){ session_owner(text, &h->err), on_owner_end, h };
	if (h->owner.fd < 0)
		return h->owner.fd;
	r = loop_add(h->run.loop, &h->owner, EPOLLIN);
	return r < 0 ? fail(&h->err, r, "cannot wait for the end of the session's owner") : 0;
}

static int serve_clients(struct holder *h)
{
	struct run *run = &h->run;
	auto_close int dir = session_directory(&h->err);
	int r = dir;

	h->listener = (struct loop_source){ -1, on_connect, h };
	h->idle = (struct loop_source){ -1, on_idle, h };
	h->writable = (struct loop_source){
		fcntl(run->sandbox.socket, F_DUPFD_CLOEXEC, 3), on_writable, h };
	if (dir >= 0)
		r = h->listener.fd = session_listen(dir, h->name, &h->err);
	if (r >= 0 && (r = loop_add(run->loop, &h->listener, EPOLLIN)) < 0)
		fail(&h->err, r, "cannot wait for commands");
	if (r >= 0)
		r = watch_owner(h);
	send_ready(h, r < 0 ? r : 0);
	if (r < 0)
		return r;
	update_idle(h, h->idle_ms < FIRST_JOIN_MS ? h->idle_ms : FIRST_JOIN_MS);
	run->status = 0;
	return run_supervise(run);
}

static void __attribute__((noreturn)) hold(struct holder *h)
{
	int r;

	(void)prctl(PR_SET_NAME, "cloche-session");
	r = run_start(&h->run);
	if (r == 0 && h->run.decision.plan->tier != TIER_FULL)
		r = fail(&h->err, -EOPNOTSUPP, "a session needs tier full");
	if (r != 0) {
		run_release(&h->run);
		send_ready(h, r > 0 ? fail(&h->err, -EINVAL, "the command runs without a sandbox") : r);
		_exit(EXIT_NOT_BUILT);
	}
	h->start_ms = now_ms(CLOCK_REALTIME);
	r = serve_clients(h);
	session_unlisten(&h->listener.fd, h->name);
	if (r == 0)
		run_report(&h->run);
	run_release(&h->run);
	_exit(0);	/* Closes the connection of the client that asked for the end */
}

static void become_holder(const struct run *client, const char *name, int ready)
{
	static struct holder h;
	const char *idle = options_get(client->options, OPTION_SESSION_IDLE);

	h.ready = ready;
	h.name = name;
	h.idle_ms = SESSION_IDLE_MS;
	h.listener.fd = h.idle.fd = h.owner.fd = h.pts = -1;
	if (idle)
		(void)text_to_duration_ms(idle, &h.idle_ms);
	TAILQ_INIT(&h.clients);
	h.serve = (struct run_serve){ take_init_message, assign, send_violation, &h };
	h.output = (struct output){ .say = say, .print = print_nothing, .arg = &h };
	h.run = (struct run){
		.options = client->options, .argv = client->argv, .err = &h.err,
		.output = &h.output, .serve = &h.serve,
	};
	(void)setsid();
	if (proc_leave_streams() < 0 || proc_close_others(&ready, 1) < 0)
		_exit(EXIT_NOT_BUILT);
	hold(&h);
}

int session_start(const struct run *run, const char *name, int lock)
{
	struct err *err = run->err, theirs = { 0 };
	int ends[2];
	ssize_t n;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail_errno(err, "cannot make a pipe");
	(void)fflush(NULL);
	pid = fork();
	if (!pid) {
		/* Not our child, which a shell would wait for or a caller kill */
		if (fork() != 0)
			_exit(0);
		(void)close(lock);
		become_holder(run, name, ends[1]);
	}
	(void)close(ends[1]);
	(void)reap_wait(pid);
	do
		n = read(ends[0], &theirs, sizeof(theirs));
	while (n < 0 && errno == EINTR);
	(void)close(ends[0]);
	if (pid < 0)
		return fail(err, -EAGAIN, "cannot start a session: no process can be made");
	if (n != (ssize_t)sizeof(theirs))
		return fail(err, -ECHILD, "session '%s' ended while it was started", name);
	theirs.msg[sizeof(theirs.msg) - 1] = '\0';
	if (theirs.code < 0)
		*err = theirs;
	return theirs.code < 0 ? theirs.code : 0;
}
