/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/test-cases.c - settings files by scope, questions, and their answers
 *
 * Theory of operation: each folder below the directory on the command line is
 * a case (tests/cases/README). Its files are put where a user has them, in a
 * file system in memory; the settings are loaded; each line of "question" is
 * answered, and all must read as "answer" does. With CASES_WRITE=1 in the
 * environment the answers are written instead: read them before you commit.
 */

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/policy.h"
#include "policy/settings.h"
#include "policy/test-answer.h"
#include "policy/test-memory.h"

enum { FILE_MAX = 1 << 20 };

static const struct {
	const char *name, *path;
} places[] = {
	{ "managed.json", "/etc/claude-code/managed-settings.json" },
	{ "managed-10.json", "/etc/claude-code/managed-settings.d/10.json" },
	{ "managed-20.json", "/etc/claude-code/managed-settings.d/20.json" },
	{ "managed-hidden.json",
	  "/etc/claude-code/managed-settings.d/.30.json" },
	{ "managed-other.txt", "/etc/claude-code/managed-settings.d/40.txt" },
	{ "managed-own.json", "/etc/cloche/policy.json" },
	{ "managed-own-10.json", "/etc/cloche/policy.d/10.json" },
	{ "flag.json", "/home/u/flags/flag.json" },
	{ "local.json", "/home/u/p/.claude/settings.local.json" },
	{ "local-sub.json", "/home/u/p/sub/.claude/settings.local.json" },
	{ "project.json", "/home/u/p/.claude/settings.json" },
	{ "project-sub.json", "/home/u/p/sub/.claude/settings.json" },
	{ "own.json", "/home/u/p/.cloche.json" },
	{ "user.json", "/home/u/.claude/settings.json" },
	{ "user-moved.json", "/home/u/moved/settings.json" },
	{ "user-own.json", "/home/u/.config/cloche/policy.json" },
};

/**
 * struct trial - One case
 */
struct trial {
	struct memory files;
	struct settings_request req;
	struct { char **v; size_t len, cap; } options, approved;
	struct buf setup;
};

static char *slurp(const char *dir, const char *name)
{
	auto_free char *path = path_join(dir, name);
	struct buf b = { 0 };

	if (fs_read(AT_FDCWD, path, FILE_MAX, &b, NULL) < 0) {
		buf_done(&b);
		return NULL;
	}
	return buf_take(&b);
}

static int apply_options(void *arg, struct policy *policy, struct err *err)
{
	const struct trial *t = arg;

	for (size_t i = 0; i < t->options.len; i++) {
		const char *value = strchr(t->options.v[i], ' ');
		auto_free char *name = mem_strndup(t->options.v[i],
			strcspn(t->options.v[i], " "));
		const struct source *source = policy_add_source(policy,
			SCOPE_FLAG, name, NULL, 0, policy->cwd);
		const struct origin origin = origin_make(source, NULL, NULL);
		int r = 0;

		value = value ? value + 1 : "";
		if (!strcmp(name, "--allow"))
			r = policy_add_host(policy, HOST_ALLOW, value, NULL,
					    origin, err);
		else if (!strcmp(name, "--write"))
			r = policy_add_path(policy, PATH_ALLOW_WRITE, value,
					    RULE_USER, origin, err);
		else if (!strcmp(name, "--read"))
			r = policy_add_path(policy, PATH_ALLOW_READ, value,
					    RULE_USER, origin, err);
		else if (!strcmp(name, "--deny-read"))
			r = policy_add_path(policy, PATH_DENY_READ, value,
					    RULE_USER, origin, err);
		else if (!strcmp(name, "--net"))
			policy_set_net(policy, NET_HOST, origin);
		else
			r = fail(err, -1, "no such option: %s", name);
		if (r < 0)
			return r;
	}
	return 0;
}

/* All that a file asks for is approved, but where the case says what is */
static bool approves(void *arg, enum authority authority, const char *id,
		     const char *line)
{
	const struct trial *t = arg;

	(void)authority;
	(void)id;
	for (size_t i = 0; i < t->approved.len; i++) {
		if (!strcmp(t->approved.v[i], line))
			return true;
	}
	return !t->approved.len;
}

/* "\\n" and "\\t" in a file's text */
static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++, to++) {
		const bool escape = *text == '\\' &&
				    (text[1] == 'n' || text[1] == 't');

		*to = *text;
		if (escape)
			*to = *++text == 'n' ? '\n' : '\t';
	}
	*to = '\0';
}

/* One line of "setup": what the files do not say */
static void set_up(struct trial *t, char *line)
{
	char *value = strchr(line, ' ');
	char *second;

	if (value)
		*value++ = '\0';
	second = value ? strchr(value, ' ') : NULL;
	if (!strcmp(line, "cwd"))
		t->req.cwd = value;
	else if (!strcmp(line, "claude"))
		t->req.dirs[DIR_CLAUDE] = value;
	else if (!strcmp(line, "no-home"))
		t->req.home = NULL;
	else if (!strcmp(line, "no-settings"))
		t->req.no_settings = true;
	else if (!strcmp(line, "flag"))
		t->req.flag = value;
	else if (!strcmp(line, "option"))
		*vec_push(&t->options) = value;
	else if (!strcmp(line, "approved"))
		*vec_push(&t->approved) = value ? value : line;
	else if (!strcmp(line, "dir"))
		memory_add(&t->files, value, NULL);
	else if (!strcmp(line, "foreign"))
		memory_add_foreign(&t->files, value);
	else if (second && !strcmp(line, "file")) {
		*second++ = '\0';
		unescape(second);
		memory_add(&t->files, value, second);
	} else if (second && !strcmp(line, "link")) {
		*second++ = '\0';
		memory_add_link(&t->files, value, second);
	} else
		fprintf(stderr, "# setup: '%s' is not understood\n", line);
}

static void trial_init(struct trial *t, const char *dir)
{
	auto_free char *setup = slurp(dir, "setup");
	char *save = NULL;

	*t = (struct trial){
		.req = { .cwd = "/home/u/p", .home = "/home/u" },
	};
	memory_add(&t->files, "/home/u/p", NULL);
	memory_add(&t->files, "/usr/bin", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		auto_free char *text = slurp(dir, places[i].name);

		if (text)
			memory_add(&t->files, places[i].path, text);
		if (text && !strcmp(places[i].name, "flag.json"))
			t->req.flag = places[i].path;
	}
	if (!setup)
		return;
	buf_adds(&t->setup, setup);
	for (char *line = strtok_r(t->setup.p, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		set_up(t, line);
}

static void trial_done(struct trial *t)
{
	memory_done(&t->files);
	free(t->options.v);
	free(t->approved.v);
	buf_done(&t->setup);
}

static void ask_all(struct trial *t, char *questions, struct buf *out)
{
	struct file_reader reader = memory_reader(&t->files);
	auto_report struct settings_report report = { 0 };
	auto_policy struct policy *policy = NULL;
	struct err err = { 0 };
	char *save = NULL;
	int r;

	t->req.reader = &reader;
	t->req.options = apply_options;
	t->req.options_arg = t;
	t->req.approves = approves;
	t->req.approves_arg = t;
	t->req.check = !strncmp(questions, "check", 5);
	r = settings_load(&t->req, &policy, &report, &err);
	for (char *q = strtok_r(questions, "\n", &save); q;
	     q = strtok_r(NULL, "\n", &save)) {
		if (out->len)
			buf_addc(out, '\n');
		if (r < 0)
			buf_addf(out, "error: %s\n", err.msg);
		else
			answer(policy, &report, q, out);
	}
}

/* Each line as a comment of TAP */
static void print_text(const char *title, const char *text)
{
	printf("# %s\n", title);
	while (*text) {
		const size_t n = strcspn(text, "\n");

		printf("#   %.*s\n", (int)n, text);
		text += n + (text[n] == '\n');
	}
}

static bool run_case(const char *dir)
{
	auto_free char *questions = slurp(dir, "question");
	auto_free char *want = slurp(dir, "answer");
	auto_buf struct buf got = { 0 };
	struct trial t;
	bool same;

	if (!questions) {
		printf("# no question\n");
		return false;
	}
	trial_init(&t, dir);
	ask_all(&t, questions, &got);
	trial_done(&t);
	same = want && !strcmp(want, buf_str(&got));
	if (getenv("CASES_WRITE") && !same) {
		auto_close int fd = open(dir, O_RDONLY | O_DIRECTORY |
					 O_CLOEXEC);

		return fs_replace(fd, "answer", got.p, got.len, 0644,
				  NULL) == 0;
	}
	if (!same) {
		print_text("got:", buf_str(&got));
		print_text("not:", want ? want : "(no answer)\n");
	}
	return same;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int main(int argc, char **argv)
{
	const char *only = getenv("TEST_FILTER");
	struct dirent **entries = NULL;
	const int n = argc > 1 ? scandir(argv[1], &entries, NULL, by_name)
			       : -1;
	int count = 0, bad = 0;

	for (int i = 0; i < n; i++) {
		auto_free char *dir = path_join(argv[1], entries[i]->d_name);
		const bool is_case = strchr("0123456789",
					    entries[i]->d_name[0]) != NULL;

		if (is_case && (!only || strstr(dir, only))) {
			const bool good = run_case(dir);

			printf("%sok %d - %s\n", good ? "" : "not ", ++count,
			       entries[i]->d_name);
			bad += !good;
		}
		free(entries[i]);
	}
	free(entries);
	printf("1..%d\n", count);
	return bad || !count;
}
