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

#include "attack/lack.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/sys.h"
#include "verify/verify.h"
#include "view/view.h"

enum {
	RUN_MS = 60000,		/* A sandbox with all attempts */
	GONE_MS = 2000,		/* For what outlives it to go */
	REPORT_MAX = 4 << 20,
};

/**
 * struct probe_run - One that runs
 * @in:		Its standard input, or -1: it has the armed file
 * @out:	What it reports
 * @act:	The row for which the host acts when asked, or NULL
 * @seen:	What it saw then
 * @late:	It did not end in time, or says too much
 */
struct probe_run {
	pid_t pid;
	int pidfd, in, out;
	const struct verify_row *act;
	struct buf report;
	bool gone, survived, seen, late;
	int status;
};

/**
 * struct launch - A sandbox to start
 * @words:	The command line, owned
 * @keys:	The caller has a keyring; a user may have some hundred
 * @own:	In the user's own directory, with @feed as standard input
 * @lack:	What the kernel does not have, or NULL
 * @exe:	The program to start
 * @srt:	With profile srt, which makes a directory in the host's /tmp
 */
struct launch {
	struct { char **v; size_t len, cap; } words;
	bool keys, own, srt;
	const struct buf *feed;
	const char *lack;
	char exe[PATH_MAX];
};

static void launch_done(struct launch *l)
{
	for (size_t i = 0; i < l->words.len; i++)
		free(l->words.v[i]);
	free(l->words.v);
}

#define auto_launch	__attribute__((cleanup(launch_done)))

static void add(struct launch *l, const char *word)
{
	*vec_push(&l->words) = mem_strdup(word);
}

/* Up to the options: as the user starts it, in the scratch project */
static void begin(const struct verify *v, struct launch *l, const char *name)
{
	snprintf(l->exe, sizeof(l->exe), "%s", v->program);
	add(l, name);
	add(l, "run");
	add(l, "--quiet");
	add(l, "--annotate=never");
	/* Or the run has one of its own, without our scratch directory */
	if (path_is_within(VAR_TMP, v->target.w.root))
		add(l, "--read=" VAR_TMP);
}

/* What verify_attempt() takes, in its order: row @kind, "main" or "mark" */
static void add_attempt(const struct verify *v, const char *kind,
			struct launch *l)
{
	const struct world *w = &v->target.w;
	const long numbers[] = { w->tcp4, w->own_port, w->udp, w->victim,
				 w->key, verify_when(v) };

	add(l, "--");
	add(l, v->exe);
	add(l, "--attempt");
	add(l, kind);
	add(l, w->root);
	add(l, w->name);
	add(l, w->own);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		*vec_push(&l->words) = mem_printf("%ld", numbers[i]);
	*vec_push(&l->words) = NULL;
}

static void run_child(const struct verify *v, const struct launch *l,
		      int in, int out)
{
	char path[PATH_MAX], *list;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!l->own)
		target_arm(&v->target, l->keys);
	if (in >= 0)
		(void)dup2(in, STDIN_FILENO);
	(void)dup2(out, STDOUT_FILENO);
	world_expand(&v->target.w, "A/bin", NULL, path, sizeof(path));
	list = mem_printf("%s:%s", path, getenv("PATH") ?: "/usr/bin:/bin");
	(void)setenv("PATH", list, 1);
	(void)!chdir(verify_project(v));
	if (l->srt)
		(void)setenv("CLAUDE_TMPDIR", verify_project(v), 1);
	if (l->own)
		verify_go_home(v);
	if (l->lack && lack_of(l->lack) < 0)
		_exit(127);
	execv(l->exe, l->words.v);
	_exit(127);
}

static int start(const struct verify *v, const struct launch *l, bool talks,
		 struct probe_run *ret, struct err *err)
{
	int out[2] = { -1, -1 }, in[2] = { -1, -1 };

	*ret = (struct probe_run){ .pidfd = -1, .in = -1, .out = -1 };
	if (pipe2(out, O_CLOEXEC) < 0 ||
	    ((talks || l->feed) && pipe2(in, O_CLOEXEC) < 0))
		return fail_errno(err, "cannot make a pipe");
	if (l->feed) {	/* Less than a pipe holds */
		(void)!write(in[1], l->feed->p, l->feed->len);
		close_fd(&in[1]);
	}
	ret->pid = fork();
	if (ret->pid == 0)
		run_child(v, l, in[0], out[1]);
	(void)close(out[1]);
	close_fd(&in[0]);
	ret->out = out[0];
	ret->in = in[1];
	if (ret->pid < 0)
		return fail_errno(err, "cannot start the sandbox");
	ret->pidfd = pidfd_open(ret->pid, 0);
	return 0;
}

/* Take what there is; false at the end */
static bool take_output(struct verify *v, struct probe_run *s)
{
	char room[65536];
	const ssize_t n = read(s->out, room, sizeof(room));

	if (n <= 0 || s->report.len > REPORT_MAX)
		return false;
	buf_add(&s->report, room, (size_t)n);
	if (s->act && memchr(room, '!', (size_t)n)) {
		if (row_is(s->act, "passed"))
			s->seen = seen_in_command_lines(&v->target);
		else
			(void)target_replace(&v->target, s->act);
		(void)!write(s->in, "\n", 1);
	}
	return true;
}

/* To the end of its report. Whoever still holds the pipe when the sandbox is
 * gone has outlived it.
 */
static void follow(struct verify *v, struct probe_run *s)
{
	int64_t end = now_ms(CLOCK_MONOTONIC) + RUN_MS;
	struct pollfd p[2] = {
		{ .fd = s->out, .events = POLLIN },
		{ .fd = s->pidfd, .events = POLLIN },
	};

	while (!verify_is_over()) {
		const int64_t now = now_ms(CLOCK_MONOTONIC);

		if (now >= end)
			break;
		if (poll(p, 2, (int)(end - now)) < 0)
			continue;
		if (p[0].revents && !take_output(v, s)) {
			s->late = s->report.len > REPORT_MAX;
			return;
		}
		if (p[1].fd >= 0 && p[1].revents) {
			p[1].fd = -1;
			s->gone = true;
			end = now_ms(CLOCK_MONOTONIC) + GONE_MS;
		}
	}
	s->survived = s->gone;
	s->late = !s->gone;
}

/* Whoever was not started has no number: 0 and -1 would be everybody */
static void finish(struct probe_run *s)
{
	if (s->pid > 0) {
		if (s->late)
			(void)kill(s->pid, SIGKILL);
		while (waitpid(s->pid, &s->status, 0) < 0 && errno == EINTR)
			(void)kill(s->pid, SIGKILL);
	}
	close_fd(&s->pidfd);
	close_fd(&s->in);
	close_fd(&s->out);
}

/* Start it, take its report; @act: the row for which the host acts, or NULL */
static int run_sandbox(struct verify *v, const struct launch *l,
		       const struct verify_row *act, struct probe_run *s,
		       struct err *err)
{
	int r = start(v, l, act != NULL, s, err);

	s->act = act;
	if (r == 0)
		follow(v, s);
	finish(s);
	if (r == 0 && verify_is_over())
		r = fail(err, -EINTR, "interrupted");
	if (r == 0)
		verify_take_report(v, s->report.p, s->report.len);
	buf_done(&s->report);
	s->status = WIFEXITED(s->status) ? WEXITSTATUS(s->status) : -1;
	return r;
}

/* The first line of what cloche itself said, after the canary's */
static void keep_complaint(struct verify *v)
{
	char path[PATH_MAX], line[WHY_MAX];
	auto_fclose FILE *file = NULL;

	world_expand(&v->target.w, "A/stderr", NULL, path, sizeof(path));
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "cloche: ", 8) != 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(v->failure, sizeof(v->failure), "%.*s",
			 (int)sizeof(v->failure) - 1, line + 8);
	}
}

int verify_main_run(struct verify *v, struct err *err)
{
	auto_launch struct launch l = { .keys = true };
	struct probe_run s;
	int r;

	begin(v, &l, v->target.text);
	for (char *const *o = v->words.v; *o; o++)
		add(&l, *o);
	add_attempt(v, "main", &l);
	r = run_sandbox(v, &l, NULL, &s, err);
	if (r == 0) {
		v->started = s.status == 0;
		v->survived = s.survived;
		keep_complaint(v);
	}
	return r;
}

/* The options that an attempt is about */
static void add_options(const struct verify *v, const struct verify_row *row,
			struct launch *l)
{
	char line[WHY_MAX], path[PATH_MAX], *save = NULL;

	snprintf(line, sizeof(line), "%s", row->options);
	for (const char *p = strtok_r(line, " ", &save); p;
	     p = strtok_r(NULL, " ", &save)) {
		world_expand(&v->target.w, p, NULL, path, sizeof(path));
		add(l, path);
	}
}

/* A pipeline needs somebody who answers its first request */
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

/* The scratch place has no settings but those it is about, and those that an
 * attempt brings take the place of the user's: a run has one such file
 */
static bool is_left_out(const struct verify_row *row, const char *word)
{
	return strstr(row->options, "P/hostile") ? !strcmp(word, "--no-settings")
		: strstr(row->options, "--settings") &&
		  !strncmp(word, "--settings=", 11);
}

/* From a directory where a command may write */
static int move_program(const struct verify *v, const struct verify_row *row,
			struct launch *l, struct err *err)
{
	if (!(row->when & WHEN_MOVED))
		return 0;
	world_expand(&v->target.w, "P/tools/moved", NULL, l->exe,
		     sizeof(l->exe));
	return access(l->exe, X_OK) == 0 ? 0 :
	       verify_copy(v->program, l->exe, err);
}

static int live_run(struct verify *v, size_t number,
		    const struct verify_row *row, struct err *err)
{
	auto_launch struct launch l = {
		.srt = strstr(row->options, "--profile srt"),
	};
	struct verify_result *result = &v->results[number];
	char kind[32];
	struct probe_run s;
	pid_t server;
	int r;

	snprintf(kind, sizeof(kind), "%zu", number);
	/* The name must not be what shows a secret */
	begin(v, &l, row_is(row, "passed") ? "cloche" : v->target.text);
	for (char *const *o = v->words.v; *o; o++) {
		if (!is_left_out(row, *o))
			add(&l, *o);
	}
	add_options(v, row, &l);
	add_attempt(v, kind, &l);
	(void)target_plant(&v->target, row);
	r = move_program(v, row, &l, err);
	if (r < 0)
		return r;
	target_listen(&v->target);
	server = start_server(v, row);
	for (int again = (row->when & WHEN_TWICE) != 0; again >= 0; again--)
		r = run_sandbox(v, &l, row->when & WHEN_ACT ? row : NULL, &s,
				err);
	result->own_hit = s.seen;
	/* What the observer alone would stop does not start without it */
	if ((row_is(row, "seccomp-listener") || row->when & WHEN_FROZEN) &&
	    s.status == EXIT_NOT_BUILT)
		result->found.error = EACCES;
	if (server > 0) {
		(void)kill(server, SIGKILL);
		(void)waitpid(server, NULL, 0);
	}
	/* The gate dials before it sees what the client asks for */
	v->target.lenient = row_is(row, "other-sni");
	target_listen(&v->target);
	v->target.lenient = false;
	return r;
}

int verify_own_run(struct verify *v, size_t number, const struct buf *feed,
		   struct err *err)
{
	auto_launch struct launch l = { .own = true, .feed = feed };
	char kind[32];
	struct probe_run s;

	snprintf(kind, sizeof(kind), "%zu", number);
	begin(v, &l, v->target.text);
	for (char *const *o = v->words.v; *o; o++)
		add(&l, *o);
	add_attempt(v, kind, &l);
	return run_sandbox(v, &l, NULL, &s, err);
}

int verify_live_runs(struct verify *v, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < verify_rows_len && r == 0; i++) {
		const struct verify_row *row = &verify_rows[i];

		if (v->results[i].asked && row->options &&
		    row->proof != PROOF_OWN && row->proof != PROOF_EITHER)
			r = live_run(v, i, row, err);
	}
	return r;
}

/* A command line: 0 if the command ran all the same, EINVAL if it was refused */
static int refusal(struct verify *v, const char *option, const char *lack,
		   int *ret, struct err *err)
{
	auto_launch struct launch l = { .lack = lack };
	char path[PATH_MAX];
	struct probe_run s;
	int r;

	world_expand(&v->target.w, "P/ran", NULL, path, sizeof(path));
	(void)unlink(path);
	begin(v, &l, v->target.text);
	if (option[0] == '{')
		add(&l, "--settings");
	add(&l, option);
	add_attempt(v, "mark", &l);
	r = run_sandbox(v, &l, NULL, &s, err);
	*ret = access(path, F_OK) == 0 ? 0 :
	       s.status == EXIT_NOT_BUILT ? EINVAL : ATTACK_NOTHING;
	return r;
}

int verify_refusals(struct verify *v, struct err *err)
{
	int control, r = refusal(v, "--profile=default", NULL, &control, err);

	for (size_t i = 0; i < verify_rows_len && r == 0; i++) {
		const struct verify_row *row = &verify_rows[i];
		struct verify_result *result = &v->results[i];

		if (!result->asked || row->proof != PROOF_EITHER)
			continue;
		r = refusal(v, row->options, row_is(row, "lack") ?
			    strchr(row->attempt, ' ') + 1 : NULL,
			    &result->found.error, err);
		result->control = control == 0;
	}
	return r;
}
