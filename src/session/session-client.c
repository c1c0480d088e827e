/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session/session-client.c - a command in a session, as its caller's job
 *
 * The decision, the checks and relays of standard descriptors, signals, the time limit and
 * all that the user reads are those of an ordinary run, in this process. The command's
 * process is forked by process 1 of the session.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"
#include "ipc/socket.h"
#include "plan/plan.h"
#include "policy/policy.h"
#include "report/command-text.h"
#include "report/report.h"
#include "report/violation.h"
#include "run/command-stdio.h"
#include "run/host-channel.h"
#include "run/options.h"
#include "run/output.h"
#include "run/run.h"
#include "session/session-wire.h"
#include "session/session.h"
#include "view/view.h"

enum { CONNECTS_MAX = 5 };	/* To sessions that end just then */

enum { LOOP_OVER, LOOP_AGAIN };	/* Values of loop_stop() */

/**
 * struct joined - One command
 * @messages:	The connection to the holder
 * @early:	The same, made before the decision; -1 if the session did not live
 * @started:	The command runs, or has run
 * @raw:	The command has a terminal of its own, which acts on the keys
 * @answered:	The holder has sent something: the command is not sent again
 */
struct joined {
	struct run *run;
	const char *name;
	struct loop_source messages;
	int early;
	bool started, answered, raw;
};

/* What cannot be shared by several commands, or needs what only a run of its own has */
static int check_options(const struct options *options, const struct plan *plan,
			 struct err *err)
{
	static const struct {
		enum option_id id;
		const char *why;
	} rows[] = {
		{ OPTION_EPHEMERAL, "changes are staged for one run" },
		{ OPTION_ASK, "the session's network serves several commands, with one policy" },
		{ OPTION_CONTROL_FD, "the session's network serves several commands, with one policy" },
		{ OPTION_EVENTS, "'cloche violations follow' has the refusals of a session" },
		{ OPTION_SECRET, "a bound secret is for one run, and every command of the session could use it" },
	};
	const char *idle = options_get(options, OPTION_SESSION_IDLE);
	uint64_t ms;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (options_has(options, rows[i].id))
			return fail(err, -EINVAL, "--%s cannot be combined with --session: %s",
				    option_row(rows[i].id)->name, rows[i].why);
	}
	if (idle && text_to_duration_ms(idle, &ms) < 0)
		return fail(err, -EINVAL, "--session-idle: '%s' is not a time like 30s, 5m or 2h",
			    idle);
	if (plan && plan->tier != TIER_FULL)
		return fail(err, -EOPNOTSUPP, "a session needs tier full, and this is tier %s",
			    tier_name(plan->tier));
	if (plan && plan->view->policy->lists[LIST_SECRETS].len)
		return fail(err, -EOPNOTSUPP, "the settings bind secrets, which do not go into a session: every command of it could use them");
	return 0;
}

static void add_string(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s) + 1);
}

static uint32_t add_strings(struct buf *b, char *const *v)
{
	uint32_t n = 0;

	for (; v && v[n]; n++)
		add_string(b, v[n]);
	return n;
}

/* The strings in a file that cannot change any more, or a negative errno */
static int write_strings(const struct run *run, const char *stdin_path,
			 struct sandbox_join *join)
{
	const struct plan *plan = run->decision.plan;
	auto_close int fd = memfd_create("cloche-session", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	auto_buf struct buf text = { 0 }, command = { 0 }, policy = { 0 };
	int r;

	if (fd < 0)
		return -errno;
	add_string(&text, plan->cwd);
	add_string(&text, stdin_path ? stdin_path : "");
	join->argc = add_strings(&text, plan->argv);
	join->envc = add_strings(&text, plan->env);
	(void)run_report_command_text(run, plan->argv, REPORT_COMMAND_MAX, &command);
	add_string(&text, buf_str(&command));
	session_policy(run->decision.policy, plan, &policy);
	add_string(&text, buf_str(&policy));
	if (text.len > SANDBOX_JOIN_MAX)
		return -E2BIG;
	r = fs_write_all(fd, text.p, text.len);
	if (r == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK |
			    F_SEAL_GROW | F_SEAL_WRITE) < 0)
		r = -errno;
	return r < 0 ? r : take_fd(&fd);
}

static void find_ignored(sigset_t *ret)
{
	sigemptyset(ret);
	for (int i = 1; i < NSIG; i++) {
		struct sigaction action;

		if (sigaction(i, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
			sigaddset(ret, i);
	}
}

static void fill_footer(const struct options *options, struct session_request *q)
{
	const char *form = options_get(options, OPTION_ANNOTATE);
	enum footer_mode mode = FOOTER_AUTO;

	if (form)
		(void)footer_parse(form, &mode);
	q->mode = footer_choose(mode, getenv("CLAUDECODE"));
	q->verbose = options_has(options, OPTION_VERBOSE);
	q->quiet = options_has(options, OPTION_QUIET);
}

static int send_join(struct joined *j, int fd)
{
	struct run *run = j->run;
	const struct number *size = &run->decision.policy->numbers[NUMBER_FILE_SIZE];
	struct session_request q = {
		.version = SESSION_WIRE_VERSION, .verb = SESSION_JOIN,
		.file_size = size->value, .limited = size->set,
		.violations = run->output->channel,
	};
	struct sandbox_request request = { 0 };
	auto_close int text = -1;
	int fds[SESSION_JOIN_FDS], r;
	size_t n = 1;

	command_stdio_fill(run->stdio, &request);
	text = fds[0] = write_strings(run, request.stdin_path, &q.join);
	if (text < 0)
		return fail(run->err, text, "cannot hand the command to session '%s': %s",
			    j->name, strerror(-text));
	for (size_t i = 0; i < 3; i++) {
		q.join.open[i] = request.stdio[i] >= 0;
		if (q.join.open[i])
			fds[n++] = request.stdio[i];
		q.join.terminal[i] = command_stdio_has_terminal(run->stdio, (int)i);
	}
	q.terminal = run->job.terminal;
	(void)ioctl(STDIN_FILENO, TIOCGWINSZ, &q.size);
	q.join.umask = umask(0);
	(void)umask(q.join.umask);
	q.join.mask = run->mask;
	find_ignored(&q.join.ignored);
	fill_footer(run->options, &q);
	r = socket_send(fd, &q, sizeof(q), fds, n);
	/* A session that ends just now is noticed when its answer is read */
	return r < 0 && r != -EPIPE && r != -ECONNRESET ?
	       socket_fail(r, "cannot hand over the command", run->err) : 0;
}

/* A connection to the session, which is started if there is none */
static int reach(struct joined *j)
{
	struct err *err = j->run->err;
	auto_close int dir = session_directory(err);
	int lock, fd, r;

	if (j->early >= 0)
		return take_fd(&j->early);
	if (dir < 0)
		return dir;
	fd = session_connect(dir, j->name, err);
	if (fd != -ENOENT)
		return fd;
	lock = session_directory_locked(err);
	if (lock < 0)
		return lock;
	fd = session_connect(lock, j->name, err);
	if (fd == -ENOENT) {
		r = session_start(j->run, j->name, lock);
		if (r < 0)
			err->code = r = -EOPNOTSUPP;
		fd = r < 0 ? r : session_connect(lock, j->name, err);
		if (fd == -ENOENT)
			fail(err, fd, "session '%s' ended as soon as it was started", j->name);
	}
	fs_unlock(&lock);
	return fd;
}

static void take_refusal(const struct joined *j, const struct session_packet *p)
{
	struct run *run = j->run;

	run->failed = true;
	run->status = p->head.value;
	fail(run->err, p->head.code < 0 ? p->head.code : -ECANCELED, "%s", p->text);
	loop_stop(run->loop, 0);
}

static void take_difference(const struct joined *j, const struct session_packet *p)
{
	struct run *run = j->run;

	output_print(run->output, p->text, strlen(p->text));
	run->failed = true;
	run->status = EXIT_NOT_BUILT;
	fail(run->err, -EPERM, "session '%s' has another policy, as shown above; use another name, or end it: cloche session stop %s",
	     j->name, j->name);
	loop_stop(run->loop, 0);
}

static void take_started(struct joined *j, int fd, int terminal)
{
	j->started = true;
	job_started(&j->run->job, fd);
	command_stdio_terminal(j->run->stdio, terminal);
	j->raw = terminal >= 0;
	job_set_raw(&j->run->job, j->raw);
	/* Its ends of the pipes are there: ours are closed, so that they end */
	if (command_stdio_start(j->run->stdio, j->run->loop, j->run->err) < 0)
		loop_stop(j->run->loop, LOOP_OVER);
	if (j->run->output->channel)
		host_channel_tell(j->run->output->channel, WIRE_STARTED, NULL);
}

static void take_exited(const struct joined *j, const struct session_packet *p)
{
	static const struct signalfd_siginfo ctrl_c = {
		.ssi_signo = SIGINT, .ssi_code = SI_KERNEL,
	};
	struct run *run = j->run;

	command_stdio_read_to(run->stdio, p->head.read_to);
	run->status = reap_exit_code(p->head.value);
	command_stdio_drain(run->stdio);
	job_set_raw(&run->job, false);
	if (*p->text)
		output_print(run->output, p->text, strlen(p->text));
	/* Its terminal's Ctrl-C ends our job too, as the caller's would have */
	if (j->raw && WIFSIGNALED(p->head.value) && WTERMSIG(p->head.value) == SIGINT) {
		(void)job_concerns(&run->job, &ctrl_c);
		(void)kill(0, SIGINT);
	}
	loop_stop(run->loop, 0);
}

static void take_violation(const struct joined *j, const struct session_packet *p)
{
	struct host_channel *channel = j->run->output->channel;
	auto_violation struct violation v = { 0 };

	if (channel && violation_from_json(p->text, strlen(p->text), &v, NULL) == 0)
		(void)host_channel_violation(channel, &v);
}

static int on_message(void *arg)
{
	struct joined *j = arg;
	static struct session_packet p;
	int fds[2] = { -1, -1 };
	size_t nfds = 2;
	const ssize_t n = socket_recv(j->messages.fd, &p, sizeof(p) - 1, fds, &nfds);

	if (n < (ssize_t)sizeof(p.head)) {	/* It has ended, and the command with it */
		loop_stop(j->run->loop, j->answered ? LOOP_OVER : LOOP_AGAIN);
		return 0;
	}
	p.text[(size_t)n - sizeof(p.head)] = '\0';
	j->answered = true;
	switch (p.head.event) {
	case SESSION_REFUSED:
		take_refusal(j, &p);
		break;
	case SESSION_DIFFERS:
		take_difference(j, &p);
		break;
	case SESSION_STARTED:
		if (nfds)
			take_started(j, take_fd(&fds[0]), nfds == 2 ? take_fd(&fds[1]) : -1);
		break;
	case SESSION_STOPPED:
		job_set_raw(&j->run->job, false);
		job_stop(&j->run->job, p.head.value, j->messages.fd);
		job_set_raw(&j->run->job, j->raw);
		break;
	case SESSION_EXITED:
		take_exited(j, &p);
		break;
	case SESSION_SAY:
		output_say(j->run->output, "%s", p.text);
		break;
	case SESSION_VIOLATION:
		take_violation(j, &p);
		break;
	case SESSION_ANSWER:
	case SESSION_CONTINUED:
		break;
	}
	for (size_t i = 0; i < nfds; i++)
		close_fd(&fds[i]);
	return 0;
}

static void signal_group(const struct joined *j, int sig)
{
	const struct session_request q = {
		.version = SESSION_WIRE_VERSION, .verb = SESSION_SIGNAL, .value = sig,
	};

	(void)socket_send(j->messages.fd, &q, sizeof(q), NULL, 0);
}

/* What the terminal sent to our process group did not reach the command's */
static int on_job_signal(void *arg)
{
	struct joined *j = arg;
	struct job *job = &j->run->job;
	struct signalfd_siginfo info;
	int sig;

	if (read(j->run->signals.fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return 0;
	sig = (int)info.ssi_signo;
	if (sig == SIGCHLD || (sig == SIGWINCH && command_stdio_resize(j->run->stdio)))
		return 0;
	(void)job_concerns(job, &info);		/* Remembers Ctrl-C */
	/* The second one ends us, in case that the holder hangs; the first is sent
	 * when the command has started
	 */
	if (!j->started && sigismember(&job->pending, sig) == 1 &&
	    (sig == SIGINT || sig == SIGTERM || sig == SIGHUP || sig == SIGQUIT)) {
		j->run->status = 128 + sig;
		loop_stop(j->run->loop, LOOP_OVER);
		return 0;
	}
	if (job_is_continued(job, sig))
		return 0;
	if ((info.ssi_code == SI_KERNEL || sig == SIGCONT) && job->command >= 0)
		signal_group(j, sig);
	else
		job_signal(job, sig);
	return 0;
}

static int prepare(struct joined *j)
{
	struct run *run = j->run;
	const struct policy *policy = run->decision.policy;
	int r;

	(void)sigprocmask(SIG_SETMASK, NULL, &run->mask);
	if ((r = loop_new(&run->loop, run->err)) < 0 ||
	    (r = command_stdio_new(run->decision.plan, &policy->numbers[NUMBER_OUTPUT],
				   true, &run->stdio, run->err)) < 0 ||
	    (r = run_take_signals(run, on_job_signal, j)) < 0)
		return r;
	return job_limit_time(&run->job, run->loop, &policy->numbers[NUMBER_TIMEOUT_MS],
			      run->err);
}

static int join(struct joined *j)
{
	int fd = reach(j), r;

	if (fd < 0)
		return fd;
	r = send_join(j, fd);
	if (r < 0) {
		(void)close(fd);
		return r;
	}
	return run_add_source(j->run, &j->messages, fd, on_message, j);
}

/* Until the command has ended. Again, if the session ended before it took the command:
 * then nothing ran.
 */
static int supervise(struct joined *j)
{
	struct run *run = j->run;
	int r, tries = 0;

	do {
		if (j->messages.fd >= 0)
			loop_remove(run->loop, &j->messages);
		close_fd(&j->messages.fd);
		r = ++tries > CONNECTS_MAX ?
		    fail(run->err, -ECHILD, "session '%s' ends whenever a command is to join",
			 j->name) : join(j);
		if (r == 0)
			r = loop_run(run->loop);
	} while (r == LOOP_AGAIN);
	if (run->job.timed_out && run->status < 0)
		signal_group(j, SIGKILL);
	command_stdio_drain(run->stdio);
	job_set_raw(&run->job, false);
	if (r == 0 && run->status >= 0 && !run->failed)
		command_stdio_leave(run->stdio);
	return r;
}

static int end_joined(struct joined *j)
{
	struct run *run = j->run;

	if (run->failed && run->status == EXIT_NOT_BUILT)
		return run->err->code;
	if (run->failed) {
		run_report_unstarted(run);
		return run->status;
	}
	if (run->status < 0 && !run->job.timed_out)
		return fail(run->err, -ECHILD, "session '%s' ended before the command did",
			    j->name);
	run_report_command(run);
	run_report_hints(run);
	return run_exit_status(run);
}

static int run_joined(struct joined *j)
{
	struct run *run = j->run;
	int r = prepare(j);

	if (r == 0)
		r = supervise(j);
	if (r >= 0)
		r = end_joined(j);
	close_fd(&j->messages.fd);
	run_release(run);
	return r;
}

/* A file goes in as the view says of its path, and may be one of the protected names */
static bool has_shown_file(const struct view *view)
{
	struct stat st;

	for (int i = 0; i < 3; i++) {
		auto_free char *path = fstat(i, &st) < 0 || !S_ISREG(st.st_mode) ? NULL :
				       fs_link("/proc/self/fd/%d", i);

		if (path && view_verdict(view, VIEW_READ, path).allowed)
			return true;
	}
	return false;
}

/* Where the session lives, the client decides what the policy is, not what is built from
 * it: then the project is not searched for protected names
 */
static int decide(struct joined *j)
{
	struct run *run = j->run;
	struct err err = { 0 };
	auto_close int dir = session_directory(&err);
	int r;

	command_stdio_reserve();
	j->early = dir < 0 ? -1 : session_connect(dir, j->name, &err);
	run->options->joins = j->early >= 0;
	r = run_decide(run);
	if (r == 0 && run->options->joins && has_shown_file(run->decision.view)) {
		run->options->joins = false;
		r = run_decide(run);
	}
	return r;
}

int session_run(struct run *run)
{
	struct joined j = { .run = run, .messages.fd = -1, .early = -1,
			    .name = options_get(run->options, OPTION_SESSION) };
	int r = session_check_name(j.name, run->err);

	run_reset(run);
	if (r < 0 || (r = check_options(run->options, NULL, run->err)) < 0)
		return r;
	r = decide(&j);
	if (r == 0)
		r = check_options(run->options, run->decision.plan, run->err);
	if (r == 0)
		r = run_joined(&j);
	else
		run_release(run);
	close_fd(&j.early);
	run_store_recovered(run);
	return run->unsandboxed ? run_unsandboxed(run) : r;
}

/* The name that a holder left which was killed. One that is being started has it too, and
 * does not listen yet: that one is locked.
 */
static void remove_stale(const char *name)
{
	int lock = session_directory_locked(NULL);

	if (lock < 0)
		return;
	session_remove_stale(lock, name);
	fs_unlock(&lock);
}

/* One question, and its answer in *@p: 0, or a negative errno with a message. Without @p,
 * wait for the end of the connection.
 */
static int ask(const char *name, const struct session_request *q,
	       struct session_packet *p, struct err *err)
{
	auto_close int dir = session_directory(err), fd = -1, pidfd = -1;
	struct pollfd wait = { .events = POLLIN };
	ssize_t n = 0;

	if (dir < 0)
		return dir;
	fd = session_connect(dir, name, err);
	if (fd == -ENOENT)
		return fail(err, fd, "there is no session '%s'; 'cloche session list' shows those that live",
			    name);
	if (fd < 0)
		return fd;
	(void)session_peer(fd, &pidfd);
	wait.fd = fd;
	if (socket_send(fd, q, sizeof(*q), NULL, 0) < 0 ||
	    poll(&wait, 1, SESSION_ANSWER_MS) != 1) {
		if (p)
			return fail(err, -ETIMEDOUT, "session '%s' does not answer; 'cloche session stop %s' ends it",
				    name, name);
		/* A holder that hangs, or was stopped: with it, the kernel ends the rest */
		if (pidfd >= 0)
			(void)pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
		wait.fd = pidfd;
		(void)poll(&wait, 1, SESSION_ANSWER_MS);
		remove_stale(name);
		return 0;
	}
	if (!p)
		return 0;
	n = socket_recv(fd, p, sizeof(*p) - 1, NULL, NULL);
	if (n < (ssize_t)sizeof(p->head))
		return fail(err, -ENOENT, "session '%s' has just ended", name);
	p->text[(size_t)n - sizeof(p->head)] = '\0';
	return p->head.event == SESSION_REFUSED ? fail(err, p->head.code, "%s", p->text) : 0;
}

int session_stop(const char *name, struct err *err)
{
	const struct session_request q = {
		.version = SESSION_WIRE_VERSION, .verb = SESSION_STOP,
	};
	const int r = session_check_name(name, err);

	return r < 0 ? r : ask(name, &q, NULL, err);
}

int session_publish(const char *name, uint16_t port, struct err *err)
{
	static struct session_packet p;
	const struct session_request q = {
		.version = SESSION_WIRE_VERSION, .verb = SESSION_PUBLISH, .value = port,
	};
	const int r = session_check_name(name, err);

	return r < 0 ? r : ask(name, &q, &p, err);
}

json_t *session_list(struct err *err)
{
	static struct session_packet p;
	const struct session_request q = {
		.version = SESSION_WIRE_VERSION, .verb = SESSION_STATUS,
	};
	auto_close int fd = session_directory(err);
	auto_dir struct dir dir = dir_of(fd);
	struct dir_entry entry;
	json_t *list;

	if (fd < 0)
		return NULL;
	list = json_array();
	while (dir_next(&dir, &entry) > 0) {
		struct err why = { 0 };
		const int r = ask(entry.name, &q, &p, &why);
		json_t *one = r < 0 ? NULL : json_loads(p.text, 0, NULL);

		if (r == -ENOENT)
			remove_stale(entry.name);
		else
			json_array_append_new(list, one ? one : json_pack("{s:s, s:s}",
				"name", entry.name, "error", why.msg));
	}
	return list;
}
