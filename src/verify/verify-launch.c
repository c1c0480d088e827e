/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/verify-launch.c - the sandboxes in which attempts are made
 *
 * They are started as a user starts them: this program, `run`, the user's own
 * options. So the whole way from the command line to the kernel is tested, not
 * a shorter one.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack/attack.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/proc.h"
#include "base/mem.h"
#include "base/sys.h"
#include "base/own.h"
#include "base/path.h"
#include "verify/verify.h"
#include "view/view.h"

enum {
	RUN_MS = 60000,		/* A sandbox with all attempts */
	GONE_MS = 2000,		/* For what outlives it to go */
	REPORT_MAX = 4 << 20,
};

/**
 * struct launch - A sandbox: what is to be started, and how it ended
 * @row:	Whose sandbox it is, or NULL: it is the one that rows share
 * @feed:	PROOF_OWN: its standard input, in the user's own directory
 * @argv:	The command line, owned
 * @in:		Its standard input, or -1: it has the armed file
 * @out:	What it reports
 * @survived:	A process in it outlived it
 * @seen:	What the host saw when it was asked to look
 * @late:	It did not end in time, or reported too much
 * @status:	Exit status, -1 for a signal
 */
struct launch {
	const struct verify_row *row;
	struct buf feed;
	struct strings argv;
	char exe[PATH_MAX];
	pid_t pid;
	int pidfd, in, out;
	struct buf report;
	bool survived, seen, late;
	int status;
};

static void launch_done(struct launch *l)
{
	strings_done(&l->argv);
	buf_done(&l->feed);
}

#define auto_launch	__attribute__((cleanup(launch_done)))

static bool proves_by(const struct launch *l, enum verify_proof proof)
{
	return l->row && l->row->proof == proof;
}

static void add(struct launch *l, const char *word)
{
	*vec_push(&l->argv) = mem_strdup(word);
}

/* A sandbox's own settings take the place of the user's: a run has one such file.
 * The scratch directory has no settings but those that a row is about.
 */
static bool is_left_out(const struct verify_row *row, const char *word)
{
	return row && (strstr(row->options, "P/hostile") ?
		       !strcmp(word, "--no-settings") :
		       strstr(row->options, "--settings") &&
		       !strncmp(word, "--settings=", 11));
}

/* The user's options, then those that the row is about. What must be refused is
 * refused without the user's.
 */
static void add_options(const struct verify *v, struct launch *l)
{
	auto_free char *line = mem_strdup(l->row && l->row->options ?
					  l->row->options : "");
	char *save = NULL;

	for (char *const *o = v->words.v; *o; o++) {
		/* No value of the user's is read in any run */
		if (proves_by(l, PROOF_EITHER) ? !strncmp(*o, "--secret-from=", 14) :
						 !is_left_out(l->row, *o))
			add(l, *o);
	}
	if (proves_by(l, PROOF_EITHER)) {
		if (line[0] == '{')
			add(l, "--settings");
		add(l, line);
		return;
	}
	for (const char *p = strtok_r(line, " ", &save); p;
	     p = strtok_r(NULL, " ", &save))
		*vec_push(&l->argv) = target_path(&v->target, p);
}

/* As the user starts it, in the scratch project; then what verify_attempt() takes,
 * in its order: a row's number, "main" or "mark"
 */
static void add_command(const struct verify *v, struct launch *l)
{
	const struct world *w = &v->target.w;
	const long numbers[] = { w->tcp4, w->own_port, w->udp, w->victim,
				 w->key, v->full };

	/* The name must not be what shows a secret */
	add(l, l->row && row_is(l->row, "passed") ? "cloche" : v->target.text);
	add(l, "run");
	add(l, "--quiet");
	add(l, "--annotate=never");
	/* Or the run has one of its own, without our scratch directory */
	if (path_is_within(VAR_TMP, w->root))
		add(l, "--read=" VAR_TMP);
	add_options(v, l);
	add(l, "--");
	add(l, v->exe);
	add(l, "--attempt");
	*vec_push(&l->argv) = !l->row ? mem_strdup("main") :
		proves_by(l, PROOF_EITHER) ? mem_strdup("mark") :
		mem_printf("%td", l->row - verify_rows);
	add(l, w->root);
	add(l, w->name);
	add(l, w->own);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		*vec_push(&l->argv) = mem_printf("%ld", numbers[i]);
	*vec_push(&l->argv) = NULL;
}

static void run_child(const struct verify *v, const struct launch *l,
		      int in, int out)
{
	const struct target *t = &v->target;
	const char *bin = target_path(t, "A/bin"), *project = target_path(t, "P");

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The caller has a keyring in one run: a user may have some hundred */
	if (!proves_by(l, PROOF_OWN))
		target_arm(t, !l->row);
	if (in >= 0)
		(void)dup2(in, STDIN_FILENO);
	(void)dup2(out, STDOUT_FILENO);
	(void)setenv("PATH", mem_printf("%s:%s", bin, getenv("PATH") ?:
					"/usr/bin:/bin"), 1);
	(void)!chdir(project);
	/* The profile makes a directory in the host's /tmp otherwise */
	if (l->row && strstr(l->row->options, "--profile srt"))
		(void)setenv("CLAUDE_TMPDIR", project, 1);
	if (proves_by(l, PROOF_OWN)) {
		(void)setenv(BOUND_VARIABLE, bound_secret(t), 1);
		verify_go_home(v);
	}
	if (l->row && row_is(l->row, "lack") &&
	    lack_of(strchr(l->row->attempt, ' ') + 1) < 0)
		_exit(127);
	execv(l->exe, l->argv.v);
	_exit(127);
}

static int start(const struct verify *v, struct launch *l, struct err *err)
{
	const bool talks = l->row && l->row->when & WHEN_ACT;
	int out[2] = { -1, -1 }, in[2] = { -1, -1 };

	l->pidfd = l->in = l->out = -1;
	if (pipe2(out, O_CLOEXEC) < 0 ||
	    ((talks || l->feed.len) && pipe2(in, O_CLOEXEC) < 0))
		return fail_errno(err, "cannot make a pipe");
	if (l->feed.len) {	/* Less than a pipe holds */
		(void)!write(in[1], l->feed.p, l->feed.len);
		close_fd(&in[1]);
	}
	l->pid = fork();
	if (l->pid == 0)
		run_child(v, l, in[0], out[1]);
	(void)close(out[1]);
	close_fd(&in[0]);
	l->out = out[0];
	l->in = in[1];
	if (l->pid < 0)
		return fail_errno(err, "cannot start the sandbox");
	l->pidfd = pidfd_open(l->pid, 0);
	return 0;
}

/* Take what there is, and act if the attempt asks for it; false at the end */
static bool take_output(struct verify *v, struct launch *l)
{
	char bytes[65536];
	const ssize_t n = read(l->out, bytes, sizeof(bytes));

	if (n <= 0 || l->report.len > REPORT_MAX)
		return false;
	buf_add(&l->report, bytes, (size_t)n);
	if (l->in >= 0 && memchr(bytes, '!', (size_t)n)) {
		if (row_is(l->row, "passed"))
			l->seen = seen_in_command_lines(&v->target);
		else
			(void)target_replace(&v->target, l->row);
		(void)!write(l->in, "\n", 1);
	}
	return true;
}

/* To the end of its report. A process that still holds the pipe when the sandbox
 * is gone has outlived it.
 */
static void follow(struct verify *v, struct launch *l)
{
	int64_t end = now_ms(CLOCK_MONOTONIC) + RUN_MS;
	struct pollfd p[2] = {
		{ .fd = l->out, .events = POLLIN },
		{ .fd = l->pidfd, .events = POLLIN },
	};
	bool gone = false;

	while (!verify_is_over()) {
		const int64_t now = now_ms(CLOCK_MONOTONIC);

		if (now >= end)
			break;
		if (poll(p, 2, (int)(end - now)) < 0)
			continue;
		if (p[0].revents && !take_output(v, l)) {
			l->late = l->report.len > REPORT_MAX;
			return;
		}
		if (p[1].fd >= 0 && p[1].revents) {
			p[1].fd = -1;
			gone = true;
			end = now_ms(CLOCK_MONOTONIC) + GONE_MS;
		}
	}
	l->survived = gone;
	l->late = !gone;
}

/* Start it, take its report, wait for its end */
static int run_sandbox(struct verify *v, struct launch *l, struct err *err)
{
	int r = start(v, l, err), status = 0;

	if (r == 0)
		follow(v, l);
	/* 0 and -1 as the number of a process would be every process */
	if (l->pid > 0) {
		if (l->late)
			(void)kill(l->pid, SIGKILL);
		while (waitpid(l->pid, &status, 0) < 0 && errno == EINTR)
			(void)kill(l->pid, SIGKILL);
	}
	l->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	close_fd(&l->pidfd);
	close_fd(&l->in);
	close_fd(&l->out);
	if (r == 0 && verify_is_over())
		r = fail(err, -EINTR, "interrupted");
	if (r == 0 && l->report.len)
		verify_take_report(v, l->report.p);
	buf_done(&l->report);
	return r;
}

/* The first line that cloche itself printed, after the canary's */
static void keep_message(struct verify *v)
{
	auto_free char *path = target_path(&v->target, "A/stderr");
	auto_fclose FILE *file = fopen(path, "re");
	char line[WHY_MAX];

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "cloche: ", 8) != 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(v->failure, sizeof(v->failure), "%.*s",
			 (int)sizeof(v->failure) - 1, line + 8);
	}
}

static int launch(struct verify *v, struct launch *l, struct err *err)
{
	if (!l->exe[0])
		snprintf(l->exe, sizeof(l->exe), "%s", v->program);
	add_command(v, l);
	return run_sandbox(v, l, err);
}

int verify_main_run(struct verify *v, struct err *err)
{
	auto_launch struct launch l = { 0 };
	const int r = launch(v, &l, err);

	for (size_t i = 0; i < verify_rows_len; i++)
		v->results[i].hit = verify_rows[i].proof == PROOF_GONE &&
				    l.survived;
	if (r == 0)
		keep_message(v);
	return r;
}

/* A pipeline needs a server that answers its first request */
static pid_t start_server(const struct verify *v, const struct verify_row *row)
{
	const int fd = v->target.listeners[LISTENER_TCP4];
	pid_t pid;

	if (!(row->when & WHEN_SERVED) || fd < 0)
		return 0;
	pid = fork();
	if (pid == 0)
		listen_answer(fd);
	return pid;
}

/* From a directory where a command may write */
static int move_program(const struct verify *v, struct launch *l,
			struct err *err)
{
	auto_free char *moved = target_path(&v->target, "P/tools/moved");

	if (!(l->row->when & WHEN_MOVED))
		return 0;
	snprintf(l->exe, sizeof(l->exe), "%s", moved);
	return access(moved, X_OK) == 0 ? 0 :
	       verify_copy(v->program, moved, err);
}

static int live_run(struct verify *v, struct launch *l,
		    struct verify_result *result, struct err *err)
{
	const struct verify_row *row = l->row;
	pid_t server;
	int r;

	(void)target_plant(&v->target, row);
	r = move_program(v, l, err);
	if (r < 0)
		return r;
	target_listen(&v->target);
	server = start_server(v, row);
	r = launch(v, l, err);
	if (row->when & WHEN_TWICE)
		r = run_sandbox(v, l, err);
	result->hit = l->seen;
	/* What the observer alone would stop does not start without it */
	if ((row_is(row, "seccomp-listener") || row->when & WHEN_FROZEN) &&
	    l->status == EXIT_NOT_BUILT)
		result->found.error = EACCES;
	proc_end(&(struct proc){ server, -1 }, true);
	/* The gate dials before it sees what the client asks for */
	v->target.lenient = row_is(row, "other-sni") || row_binds(row);
	target_listen(&v->target);
	v->target.lenient = false;
	return r;
}

/* The user's own files, by the user's own rules, from the user's own directory */
static int own_run(struct verify *v, struct launch *l,
		   struct verify_result *result, struct err *err)
{
	const bool write = row_is(l->row, "own-writes");
	int r = 0;

	own_collect(v, write, &l->feed);
	result->control = l->feed.len > 0;
	result->control_error = ENOENT;
	if (l->feed.len)
		r = launch(v, l, err);
	result->hit = own_hit(v, write, &l->feed, &result->found);
	return r;
}

/* A command line: 0 if the command ran all the same, EINVAL if it was refused */
static int refused_run(struct verify *v, struct launch *l, int *ret,
		       struct err *err)
{
	auto_free char *ran = target_path(&v->target, "P/ran");
	int r;

	(void)unlink(ran);
	r = launch(v, l, err);
	*ret = access(ran, F_OK) == 0 ? 0 :
	       l->status == EXIT_NOT_BUILT ? EINVAL : ATTACK_NOTHING;
	return r;
}

int verify_row_runs(struct verify *v, struct err *err)
{
	static const struct verify_row good = {
		.attempt = "launch", .proof = PROOF_EITHER,
		.options = "--profile=default",
	};
	auto_launch struct launch control = { .row = &good };
	int ran, r = refused_run(v, &control, &ran, err);

	for (size_t i = 0; i < verify_rows_len && r == 0; i++) {
		const struct verify_row *row = &verify_rows[i];
		struct verify_result *result = &v->results[i];
		auto_launch struct launch l = { .row = row };

		if (!result->asked || !row->options)
			continue;
		if (row->proof == PROOF_EITHER) {
			result->control = ran == 0;
			r = refused_run(v, &l, &result->found.error, err);
		} else if (row->proof == PROOF_OWN) {
			r = own_run(v, &l, result, err);
		} else {
			r = live_run(v, &l, result, err);
		}
	}
	return r;
}
