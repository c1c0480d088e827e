/* SPDX-License-Identifier: Apache-2.0 */
/* tests/library/common.c - a host program for libcloche that records its events */

#include "common.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "test.h"

static void append(char *to, size_t size, const char *a, const char *b)
{
	const size_t n = strlen(to);

	snprintf(to + n, size - n, "%s%s%s\n", a, *b ? " " : "", b);
}

static void on_started(void *arg, cloche_run *run)
{
	struct story *s = arg;

	(void)run;
	s->started++;
}

static void on_violation(void *arg, cloche_run *run,
			 const struct cloche_violation *v)
{
	struct story *s = arg;

	(void)run;
	CHECK(v->size == sizeof(*v));
	CHECK(v->count >= 1);
	CHECK_CONTAINS(v->json, v->kind);
	s->violations++;
	append(s->kinds, sizeof(s->kinds), v->kind, v->target);
}

static void on_ask(void *arg, cloche_run *run,
		   const struct cloche_question *q)
{
	struct story *s = arg;

	s->questions++;
	s->port = q->port;
	snprintf(s->host, sizeof(s->host), "%s", q->host);
	if (s->on_ask)
		CHECK(cloche_run_update(run, s->on_ask) > 0);
	CHECK_INT(cloche_run_answer(run, q->id, s->answer, s->remember), 0);
}

static void on_updated(void *arg, cloche_run *run, unsigned int id, int error,
		       const char *why)
{
	struct story *s = arg;

	(void)run;
	s->updates++;
	CHECK_INT(id, s->updates);
	s->update_error = error;
	snprintf(s->why, sizeof(s->why), "%s", why);
}

static void on_message(void *arg, cloche_run *run, const char *line)
{
	struct story *s = arg;

	(void)run;
	append(s->lines, sizeof(s->lines), line, "");
}

static void on_report(void *arg, cloche_run *run, const char *text)
{
	struct story *s = arg;

	(void)run;
	append(s->report, sizeof(s->report), text, "");
}

static void on_ended(void *arg, cloche_run *run,
		     const struct cloche_result *result)
{
	struct story *s = arg;

	(void)run;
	s->ended++;
	s->result = *result;
	s->result.message = NULL;
	snprintf(s->why, sizeof(s->why), "%s", result->message);
}

const struct cloche_events story_events = {
	.size = sizeof(story_events), .started = on_started,
	.violation = on_violation, .ask = on_ask, .updated = on_updated,
	.message = on_message, .report = on_report, .ended = on_ended,
};

cloche_sandbox *make_box(const char *policy)
{
	const struct cloche_sandbox_options options = {
		.size = sizeof(options), .program = getenv("CLOCHE"),
		.policy = policy,
	};
	cloche_sandbox *box;
	char why[256] = "";

	CHECK(options.program);
	if (cloche_sandbox_new(&options, &box, why, sizeof(why)) < 0)
		test_fail(__FILE__, __LINE__, "%s", why);
	CHECK_STR(why, "");
	return box;
}

cloche_run *start(cloche_sandbox *box, struct story *story, int out,
		  const char *const *argv)
{
	const int stdio[3] = { -1, out, out };
	const struct cloche_run_options options = {
		.size = sizeof(options), .argv = argv, .stdio = stdio,
		.events = story ? &story_events : NULL, .arg = story,
	};
	cloche_run *run;

	if (cloche_start(box, &options, &run) < 0)
		test_fail(__FILE__, __LINE__, "%s",
			  cloche_sandbox_message(box));
	return run;
}

cloche_run *start_script(cloche_sandbox *box, struct story *story, int out,
			 const char *script)
{
	const char *const argv[] = { "sh", "-c", script, NULL };

	return start(box, story, out, argv);
}

void read_all(int fd, char *text, size_t size)
{
	size_t at = 0;
	ssize_t n = 1;

	while (n > 0 && at < size - 1) {
		n = read(fd, text + at, size - 1 - at);
		at += n > 0 ? (size_t)n : 0;
	}
	text[at] = '\0';
	close(fd);
}

int run_script(cloche_sandbox *box, struct story *story, const char *script,
	       char *text, size_t size)
{
	struct cloche_result how = { .size = sizeof(how) };
	int out[2] = { -1, -1 };
	cloche_run *run;

	if (text)
		CHECK_INT(pipe2(out, O_CLOEXEC), 0);
	run = start_script(box, story, out[1], script);
	if (text)
		close(out[1]);
	if (cloche_run_wait(run, &how) < 0)
		test_fail(__FILE__, __LINE__, "%s", how.message);
	if (text)
		read_all(out[0], text, size);
	cloche_run_free(run);
	return how.status;
}

void turn_until(cloche_run *run, const int *flag)
{
	struct pollfd p = { .fd = cloche_run_fd(run), .events = POLLIN };

	while (!*flag && cloche_run_turn(run) > 0 && !*flag)
		CHECK(poll(&p, 1, 60000) == 1 || errno == EINTR);
}

int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	CHECK(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

int count_children(void)
{
	char path[64], text[4096] = "";
	int n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children",
		 (int)getpid());
	file = fopen(path, "re");
	CHECK(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	for (const char *p = text; *p; p++)
		n += *p == ' ';
	return n;
}

cloche_run *start_piped(cloche_sandbox *box, struct story *story,
			const char *script, int in[2], int out[2])
{
	const char *const argv[] = { "bash", "-c", script, NULL };
	int stdio[3];
	const struct cloche_run_options options = {
		.size = sizeof(options), .argv = argv, .stdio = stdio,
		.events = &story_events, .arg = story,
	};
	cloche_run *run;

	CHECK_INT(pipe2(in, O_CLOEXEC), 0);
	CHECK_INT(pipe2(out, O_CLOEXEC), 0);
	stdio[0] = in[0];
	stdio[1] = stdio[2] = out[1];
	CHECK_INT(cloche_start(box, &options, &run), 0);
	close(in[0]);
	close(out[1]);
	turn_until(run, &story->started);
	return run;
}
