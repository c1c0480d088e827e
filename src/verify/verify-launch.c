/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/verify-launch.c - the sandboxes in which attempts are made
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

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "doctor/verify-lack.h"
#include "doctor/verify-listen.h"
#include "doctor/verify-state.h"
#include "plan/view.h"

enum {
	RUN_MS = 60000,		/* A sandbox with all attempts */
	GONE_MS = 2000,		/* For what outlives it to go */
	REPORT_MAX = 4 << 20,
};

/**
 * struct sandbox - One that runs
 * @in:		Its standard input, or -1: it has the armed file
 * @out:	What it reports
 * @act:	The row for which the host acts when asked, or NULL
 * @seen:	What it saw then
 * @late:	It did not end in time, or says too much
 */
struct sandbox {
	pid_t pid;
	int pidfd, in, out;
	const struct verify_row *act;
	struct buf report;
	bool gone, survived, seen, late;
	int status;
};

/**
 * struct words - A command line
 * @keys:	The caller has a keyring; a user has room for some hundred
 * @own:	In the user's own place, with @feed as standard input
 * @lack:	What the kernel does not have, or NULL
 * @exe:	A copy of this program to start, or ""
 * @srt:	With profile srt, which makes a directory in the host's /tmp
 */
struct words {
	const char **v;
	size_t len, cap;
	bool keys, own, srt;
	const char *feed, *lack;
	size_t feed_len;
	char room[9][PATH_MAX], exe[PATH_MAX];
	size_t used;
};

static void words_done(struct words *words)
{
	free(words->v);
}

#define auto_words	__attribute__((cleanup(words_done)))

static void add(struct words *words, const char *word)
{
	*vec_push(words) = word;
}

static void add_number(struct words *words, long value)
{
	char *room = words->room[words->used++];

	snprintf(room, sizeof(words->room[0]), "%ld", value);
	add(words, room);
}

/* What verify_attempt() takes, in its order */
static void add_attempt(const struct verify *v, const char *kind,
			struct words *words)
{
	const struct world *w = &v->target.w;

	add(words, "--");
	add(words, v->exe);
	add(words, "verify");
	add(words, "--attempt");
	add(words, kind);
	add(words, w->root);
	add(words, w->name);
	add(words, w->own);
	add_number(words, w->tcp4);
	add_number(words, w->own_port);
	add_number(words, w->udp);
	add_number(words, w->victim);
	add_number(words, w->key);
	add_number(words, v->request.full ? WHEN_QUICK | WHEN_FULL
					  : WHEN_QUICK);
	add(words, NULL);
}

static void add_start(const struct verify *v, struct words *words)
{
	add(words, v->target.text);
	add(words, "run");
	add(words, "--quiet");
	add(words, "--annotate=never");
	/* Or the run has one of its own, without our scratch place */
	if (path_is_within(VAR_TMP, v->target.w.root))
		add(words, "--read=" VAR_TMP);
}

static void run_child(const struct verify *v, const struct words *words,
		      int in, int out)
{
	char path[PATH_MAX], *list;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!words->own)
		target_arm(&v->target, words->keys);
	if (in >= 0)
		(void)dup2(in, STDIN_FILENO);
	(void)dup2(out, STDOUT_FILENO);
	world_path(&v->target.w, "A/bin", NULL, path, sizeof(path));
	list = mem_printf("%s:%s", path, getenv("PATH") ?: "/usr/bin:/bin");
	(void)setenv("PATH", list, 1);
	(void)!chdir(verify_project(v));
	if (words->srt)
		(void)setenv("CLAUDE_TMPDIR", verify_project(v), 1);
	if (words->own)
		verify_go_home(v);
	if (words->lack && lack_of(words->lack) < 0)
		_exit(127);
	execv(words->exe[0] ? words->exe : "/proc/self/exe", (char *const *)(uintptr_t)words->v);
	_exit(127);
}

static int start(const struct verify *v, const struct words *words, bool talks,
		 struct sandbox *ret, struct err *err)
{
	int out[2] = { -1, -1 }, in[2] = { -1, -1 };

	*ret = (struct sandbox){ .pidfd = -1, .in = -1, .out = -1 };
	if (pipe2(out, O_CLOEXEC) < 0 ||
	    ((talks || words->feed) && pipe2(in, O_CLOEXEC) < 0))
		return fail_errno(err, "cannot make a pipe");
	if (words->feed) {	/* Less than a pipe holds */
		(void)!write(in[1], words->feed, words->feed_len);
		close_fd(&in[1]);
	}
	ret->pid = fork();
	if (ret->pid == 0)
		run_child(v, words, in[0], out[1]);
	(void)close(out[1]);
	close_fd(&in[0]);
	ret->out = out[0];
	ret->in = in[1];
	if (ret->pid < 0)
		return fail_errno(err, "cannot start the sandbox");
	ret->pidfd = sys_pidfd_open(ret->pid, 0);
	return 0;
}

/* Take what there is; false at the end */
static bool take_output(struct verify *v, struct sandbox *s)
{
	char room[65536];
	const ssize_t n = read(s->out, room, sizeof(room));

	if (n <= 0 || s->report.len > REPORT_MAX)
		return false;
	buf_add(&s->report, room, (size_t)n);
	if (s->act && memchr(room, '!', (size_t)n)) {
		if (s->act->attempt == attempt_passed)
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
static void follow(struct verify *v, struct sandbox *s)
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
static void finish(struct sandbox *s)
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

static int run(struct verify *v, const struct words *words,
	       const struct verify_row *act, struct sandbox *s,
	       struct err *err)
{
	int r = start(v, words, act != NULL, s, err);

	s->act = act;
	if (r == 0)
		follow(v, s);
	finish(s);
	if (r == 0 && verify_is_over())
		r = fail(err, -EINTR, "interrupted");
	return r;
}

/* The first line of what cloche itself said, after the canary's */
static void keep_complaint(struct verify *v)
{
	char path[PATH_MAX], line[WHY_MAX];
	auto_fclose FILE *file = NULL;

	world_path(&v->target.w, "A/stderr", NULL, path, sizeof(path));
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
	auto_words struct words words = { .keys = true };
	struct sandbox s;
	int r;

	add_start(v, &words);
	for (char *const *o = v->request.options; *o; o++)
		add(&words, *o);
	add_attempt(v, "main", &words);
	r = run(v, &words, NULL, &s, err);
	if (r == 0) {
		verify_take_report(v, s.report.p, s.report.len);
		v->started = WIFEXITED(s.status) && !WEXITSTATUS(s.status);
		v->survived = s.survived;
		keep_complaint(v);
	}
	buf_done(&s.report);
	return r;
}

/* The rule that an attempt is about: an option, and its argument as the value
 * if there is no other; @path: one of the table's places
 */
static const struct {
	attempt_fn *attempt;
	const char *option, *value;
	bool path;
} rules[] = {
	{ attempt_denied, "--deny-read", NULL, true },
	{ attempt_reload, "--settings", NULL, true },
	{ attempt_hostile, "--cwd", "P/hostile", true },
	{ attempt_settings, "--cwd", "P/srt", true },
	{ attempt_settings, "--profile", "srt", false },
	{ attempt_settings, "--write", "P/srt", true },
	{ attempt_listener, "--observe", "off", false },	/* Or there is one */
	{ attempt_empty, "--settings", NULL, false },
	{ attempt_sni, "--allow", NULL, false },
	{ attempt_rebind, "--allow", NULL, false },
	{ attempt_wildcard, "--allow", NULL, false },
	{ attempt_pipeline, "--allow", NULL, false },
	{ attempt_other_port, "--allow", NULL, false },
	{ attempt_passed, "--env", PASSED_VARIABLE, false },
};

static void add_rule(const struct verify *v, const struct verify_row *row,
		     struct words *words)
{
	const size_t size = sizeof(words->room[0]);

	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		const char *value = rules[i].value ?: row->argument;
		char *room;

		if (rules[i].attempt != row->attempt)
			continue;
		room = words->room[words->used++];
		if (rules[i].path)
			world_path(&v->target.w, value, NULL, room, size);
		else
			snprintf(room, size, "%s", value);
		if (!strcmp(room, "HOSTNAME"))
			(void)gethostname(room, size);
		add(words, rules[i].option);
		add(words, room);
	}
}

/* A pipeline needs somebody who answers its first request */
static pid_t start_server(const struct verify *v, const struct verify_row *row)
{
	const int fd = v->target.listeners[HEARD_TCP4];
	pid_t pid;

	if (row->attempt != attempt_pipeline || fd < 0)
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
	if (row->attempt == attempt_hostile)
		return !strcmp(word, "--no-settings");
	return (row->attempt == attempt_empty ||
		row->attempt == attempt_reload) &&
	       !strncmp(word, "--settings=", 11);
}

/* From a place where a command may write */
static int move_program(const struct verify *v, const struct verify_row *row,
			struct words *words, struct err *err)
{
	if (row->attempt != attempt_program &&
	    row->attempt != attempt_companion)
		return 0;
	world_path(&v->target.w, "P/tools/moved", NULL, words->exe,
		   sizeof(words->exe));
	return access(words->exe, X_OK) == 0 ? 0
					     : verify_copy(words->exe, err);
}

static int live_run(struct verify *v, size_t number,
		    const struct verify_row *row, struct err *err)
{
	auto_words struct words words = {
		.srt = row->attempt == attempt_settings,
	};
	char kind[32];
	struct sandbox s;
	pid_t server;
	int r;

	snprintf(kind, sizeof(kind), "%zu", number);
	add_start(v, &words);
	if (row->attempt == attempt_passed)
		words.v[0] = "cloche";	/* Which must not be what shows it */
	for (char *const *o = v->request.options; *o; o++) {
		if (!is_left_out(row, *o))
			add(&words, *o);
	}
	add_rule(v, row, &words);
	add_attempt(v, kind, &words);
	(void)target_plant(&v->target, row);
	r = move_program(v, row, &words, err);
	if (r < 0)
		return r;
	target_listen(&v->target);
	server = start_server(v, row);
	for (int again = row->attempt == attempt_twice; again >= 0; again--) {
		r = run(v, &words, verify_has_act(row) ? row : NULL, &s, err);
		if (r == 0)
			verify_take_report(v, s.report.p, s.report.len);
		buf_done(&s.report);
	}
	v->results[number].own_hit = s.seen;
	if (server > 0) {
		(void)kill(server, SIGKILL);
		(void)waitpid(server, NULL, 0);
	}
	/* The gate dials before it sees what the client asks for */
	v->target.lenient = row->attempt == attempt_sni;
	target_listen(&v->target);
	v->target.lenient = false;
	return r;
}

int verify_own_run(struct verify *v, size_t number, const char *feed,
		   size_t n, struct err *err)
{
	auto_words struct words words = {
		.own = true, .feed = feed, .feed_len = n,
	};
	char kind[32];
	struct sandbox s;
	int r;

	snprintf(kind, sizeof(kind), "%zu", number);
	add_start(v, &words);
	for (char *const *o = v->request.options; *o; o++)
		add(&words, *o);
	add_attempt(v, kind, &words);
	r = run(v, &words, NULL, &s, err);
	if (r == 0)
		verify_take_report(v, s.report.p, s.report.len);
	buf_done(&s.report);
	return r;
}

int verify_live_runs(struct verify *v, struct err *err)
{
	size_t n;
	const struct verify_row *rows = verify_rows(&n);
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		if (v->results[i].asked && verify_is_live(&rows[i]) &&
		    rows[i].proof != PROOF_OWN)
			r = live_run(v, i, &rows[i], err);
	}
	return r;
}

/* A command line, and whether the command ran all the same */
static int refusal(struct verify *v, const char *word, const char *lack,
		   bool *ret_ran, int *ret_status, struct err *err)
{
	auto_words struct words words = { .lack = lack };
	char path[PATH_MAX];
	struct sandbox s;
	int r;

	world_path(&v->target.w, "P/ran", NULL, path, sizeof(path));
	(void)unlink(path);
	add_start(v, &words);
	if (word[0] == '{')
		add(&words, "--settings");
	add(&words, word);
	add_attempt(v, "mark", &words);
	r = run(v, &words, NULL, &s, err);
	buf_done(&s.report);
	*ret_ran = access(path, F_OK) == 0;
	*ret_status = WIFEXITED(s.status) ? WEXITSTATUS(s.status) : -1;
	return r;
}

int verify_refusals(struct verify *v, struct err *err)
{
	size_t n;
	const struct verify_row *rows = verify_rows(&n);
	bool control = false, ran;
	int status, r = refusal(v, "--profile=default", NULL, &control,
				&status, err);

	for (size_t i = 0; i < n && r == 0; i++) {
		struct verify_result *result = &v->results[i];

		if (!result->asked || rows[i].proof != PROOF_EITHER)
			continue;
		r = rows[i].attempt == attempt_lack
		    ? refusal(v, lack_option(rows[i].argument),
			      rows[i].argument, &ran, &status, err)
		    : refusal(v, rows[i].argument, NULL, &ran, &status, err);
		result->control = control;
		result->found.error = ran ? 0 : status == 125 ? EINVAL
							      : FOUND_NOTHING;
	}
	return r;
}
