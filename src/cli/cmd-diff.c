/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd-diff.c - cloche diff, apply, discard: changes staged by run --ephemeral */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/command-line.h"
#include "ephemeral/ephemeral.h"
#include "policy/policy.h"
#include "report/violation.h"
#include "run/decision.h"
#include "view/view.h"

/**
 * struct staged - The changes that one of the three verbs is about
 * @paths:	Absolute; only these and what is below them
 */
struct staged {
	struct policy *policy;
	struct ephemeral ephemeral;
	struct strings paths;
};

/* 1 if there are staged changes, 0 if not. @open opens all of them. An empty PATH,
 * such as an unset variable, is refused: it would resolve to the whole project.
 */
static int open_staged(int (*open)(const struct policy *, struct ephemeral *,
				   struct err *),
		       struct call *call, struct staged *ret, struct err *err)
{
	int r;

	*ret = (struct staged){ .ephemeral = EPHEMERAL_NONE };
	r = decision_policy(&call->options, &ret->policy, err);
	if (r < 0)
		return r;
	for (int i = 0; i < call->count; i++) {
		if (!*call->args[i])
			return fail(err, -EINVAL, "a PATH is empty; name one, or leave it out for all staged changes");
		*vec_push(&ret->paths) = path_resolve(ret->policy->cwd,
						      call->args[i]);
	}
	return (ret->paths.len ? ephemeral_open : open)(ret->policy,
							&ret->ephemeral, err);
}

static void close_staged(struct staged *s)
{
	strings_done(&s->paths);
	ephemeral_done(&s->ephemeral);
	policy_unref(s->policy);
}

static bool is_chosen(const struct staged *s, const struct ephemeral_change *c)
{
	for (size_t i = 0; i < s->paths.len; i++) {
		if (path_is_within(s->paths.v[i], c->path))
			return true;
	}
	return !s->paths.len;
}

/* True, with a message, if a path that was named has no staged change */
static bool names_nothing(const struct staged *s)
{
	bool missing = false;

	if (!s->ephemeral.changes.len)		/* print_none() says so */
		return s->paths.len > 0;
	for (size_t i = 0; i < s->paths.len; i++) {
		const char *path = s->paths.v[i];
		auto_buf struct buf line = { 0 };
		size_t j = 0;

		while (j < s->ephemeral.changes.len &&
		       !path_is_within(path, s->ephemeral.changes.v[j].path))
			j++;
		if (j < s->ephemeral.changes.len)
			continue;
		text_escape(&line, path);
		fprintf(stderr, "cloche: '%s': no staged changes there; 'cloche diff' lists them\n",
			buf_str(&line));
		missing = true;
	}
	return missing;
}

/* The project's own paths without the project's */
static const char *shown(const struct staged *s, const char *path)
{
	return path_is_below(s->policy->cwd, path) ?
	       path + strlen(s->policy->cwd) + 1 : path;
}

/* What kind of file it is, as `ls -F` marks it */
static void add_type(const struct staged *s, const struct ephemeral_change *c,
		     struct buf *line)
{
	struct stat st;
	char target[PATH_MAX];
	const char *name;
	auto_close int at = c->kind == EPHEMERAL_DELETED ? -1 :
		ephemeral_open_staged(&s->ephemeral, c, &name, NULL);
	ssize_t n;

	if (at < 0 || fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (S_ISDIR(st.st_mode))
		buf_addc(line, '/');
	n = S_ISLNK(st.st_mode) ? readlinkat(at, name, target,
					     sizeof(target) - 1) : -1;
	if (n >= 0) {
		target[n] = 0;
		buf_adds(line, " -> ");
		text_escape(line, target);
	}
}

static const char letters[] = {
	[EPHEMERAL_ADDED] = 'A', [EPHEMERAL_MODIFIED] = 'M',
	[EPHEMERAL_DELETED] = 'D',
};

/* @style: of the letter and the name */
static void print_styled(const struct staged *s, const struct ephemeral_change *c,
			 enum style style)
{
	auto_buf struct buf line = { 0 };

	text_escape(&line, shown(s, c->path));
	add_type(s, c, &line);
	printf("%s%c %s%s%s%s\n", style ? terminal_style(stdout, style) : "", letters[c->kind],
	       buf_str(&line), style ? terminal_style(stdout, STYLE_NONE) : "",
	       c->stale ? "  (the host's has changed since)" : "",
	       c->linked ? "  (its other names on the host stay as they are)" : "");
}

static void print_change(const struct staged *s, const struct ephemeral_change *c)
{
	print_styled(s, c, c->kind == EPHEMERAL_ADDED ? STYLE_ADDED :
		     c->kind == EPHEMERAL_DELETED ? STYLE_REMOVED : STYLE_NONE);
}

/* A line of a diff: tabs stay, all else that moves a terminal's cursor does not */
static void print_diff_line(char *line, size_t n)
{
	const enum style style = *line == '+' ? STYLE_ADDED :
				 *line == '-' ? STYLE_REMOVED : STYLE_NONE;
	auto_buf struct buf safe = { 0 };

	line[n] = 0;
	for (char *tab; (tab = strchr(line, '\t')); line = tab + 1) {
		*tab = 0;
		text_escape(&safe, line);
		buf_addc(&safe, '\t');
	}
	text_escape(&safe, line);
	printf("%s%s%s\n", style ? terminal_style(stdout, style) : "",
	       buf_str(&safe), style ? terminal_style(stdout, STYLE_NONE) : "");
}

static void print_patch(const struct staged *s, const struct ephemeral_change *c)
{
	auto_buf struct buf hunks = { 0 };
	const char *why = ephemeral_compare(&s->ephemeral, c, &hunks);

	print_styled(s, c, STYLE_HEAD);
	if (why)
		printf("  (%s)\n", why);
	for (char *line = hunks.p, *end; line < hunks.p + hunks.len; line = end + 1) {
		end = strchr(line, '\n');
		print_diff_line(line, (size_t)(end - line));
	}
}

enum { KINDS = EPHEMERAL_DELETED + 1 };

enum { STAT_NAME_MAX = 40 };	/* Columns of a directory's name; a longer one juts out */

/**
 * struct stat_rows - The lines of --stat: a directory, and how many changes of each kind
 */
struct stat_rows {
	struct stat_row {
		char *name;
		size_t counts[KINDS];
	} *v;
	size_t len, cap;
};

static void print_stat_row(const struct stat_row *row, int width)
{
	const char *comma = "";

	printf("%-*s ", width, row->name);
	for (size_t kind = 0; kind < KINDS; kind++) {
		if (!row->counts[kind])
			continue;
		printf("%s %zu %s", comma, row->counts[kind],
		       ephemeral_kind_name((enum ephemeral_kind)kind));
		comma = ",";
	}
	puts("");
}

/* Bytes of the path that name its group: the first directory in the project, the
 * writable directory elsewhere; 0 for a file of the project's own directory
 */
static size_t group_len(const struct staged *s, const struct ephemeral_change *c)
{
	const char *path = shown(s, c->path), *slash = strchr(path, '/');

	if (*path == '/')
		return strlen(s->ephemeral.roots.v[c->root]);
	return slash ? (size_t)(slash - path) : 0;
}

/* The row of the @n bytes at @path. Changes are sorted, so that those of a directory follow
 * each other.
 */
static struct stat_row *row_of(struct stat_rows *rows, const char *path, size_t n)
{
	auto_buf struct buf name = { 0 };
	auto_free char *dir = mem_strndup(path, n);

	text_escape(&name, dir);
	buf_addc(&name, '/');
	if (!rows->len || strcmp(rows->v[rows->len - 1].name, buf_str(&name)) != 0)
		*vec_push(rows) = (struct stat_row){ .name = mem_strdup(buf_str(&name)) };
	return &rows->v[rows->len - 1];
}

static void print_stat(const struct staged *s)
{
	static char own[] = "./", total[] = "in all";
	struct stat_row here = { .name = own }, all = { .name = total };
	struct stat_rows rows = { 0 };
	size_t width = strlen(total);

	for (size_t i = 0; i < s->ephemeral.changes.len; i++) {
		const struct ephemeral_change *c = &s->ephemeral.changes.v[i];
		const size_t n = group_len(s, c);

		if (!is_chosen(s, c))
			continue;
		(n ? row_of(&rows, shown(s, c->path), n) : &here)->counts[c->kind]++;
		all.counts[c->kind]++;
	}
	for (size_t i = 0; i < rows.len; i++) {
		const size_t n = strlen(rows.v[i].name);

		width = n > width && n <= STAT_NAME_MAX ? n : width;
	}
	for (size_t i = 0; i < rows.len; i++) {
		print_stat_row(&rows.v[i], (int)width);
		free(rows.v[i].name);
	}
	free(rows.v);
	if (here.counts[EPHEMERAL_ADDED] || here.counts[EPHEMERAL_MODIFIED] ||
	    here.counts[EPHEMERAL_DELETED])
		print_stat_row(&here, (int)width);
	print_stat_row(&all, (int)width);
}

static void print_text(const struct staged *s, bool patch)
{
	for (size_t i = 0; i < s->ephemeral.changes.len; i++) {
		const struct ephemeral_change *c = &s->ephemeral.changes.v[i];

		if (is_chosen(s, c))
			(patch ? print_patch : print_change)(s, c);
	}
}

static json_t *changes_json(const struct staged *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->ephemeral.changes.len; i++) {
		const struct ephemeral_change *c = &s->ephemeral.changes.v[i];
		auto_buf struct buf safe = { 0 };

		if (!is_chosen(s, c))
			continue;
		text_escape(&safe, c->path);
		json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:b}",
			"change", ephemeral_kind_name(c->kind), "path",
			buf_str(&safe), "stale", c->stale, "linked",
			c->linked));
	}
	return json_pack("{s:i, s:o}", "version", 1, "changes", list);
}

/* So that silence is not taken for a success */
static void print_none(void)
{
	fprintf(stderr, "cloche: no staged changes; 'cloche run --ephemeral' stages some\n");
}

static void print_count(size_t n, const char *what)
{
	printf("%zu %s %s\n", n, n == 1 ? "change" : "changes", what);
}

int cli_diff(struct call *call, struct err *err)
{
	struct staged staged;
	const int r = open_staged(ephemeral_open, call, &staged, err);
	const bool missing = r >= 0 && names_nothing(&staged);

	if (r == 0 && (missing || !call_flag(call, "json")))
		print_none();
	if (r >= 0 && call_flag(call, "json"))
		print_json(changes_json(&staged), JSON_INDENT(2));
	else if (r > 0 && call_flag(call, "stat"))
		print_stat(&staged);
	else if (r > 0)
		print_text(&staged, call_flag(call, "patch"));
	close_staged(&staged);
	return r < 0 ? r : missing;
}

/* A directory that was replaced is taken or left as a whole */
static int check_choice(const struct staged *s, struct err *err)
{
	for (size_t i = 0; i < s->ephemeral.changes.len; i++) {
		const struct ephemeral_change *c = &s->ephemeral.changes.v[i];
		const struct ephemeral_change all = { .path = c->whole };

		if (c->whole && is_chosen(s, c) && !is_chosen(s, &all))
			return fail(err, -EINVAL, "'%s' was replaced; choose all of it, and not '%s'",
				    c->whole, c->path);
	}
	return 0;
}

/* Where a reader looks for it, and what to do */
static void print_quarantined(void *arg, const struct violation *v)
{
	auto_buf struct buf line = { 0 };

	*(bool *)arg = true;
	buf_adds(&line, "cloche: '");
	text_escape(&line, v->target);
	buf_adds(&line, "' went to quarantine: ");
	text_escape(&line, v->reason ? v->reason : "planted");
	if (v->suggest_command)
		buf_addf(&line, "; %s", v->suggest_command);
	fprintf(stderr, "%s\n", buf_str(&line));
}

/* Apply each change by itself; one that fails stays staged */
static int apply_all(struct staged *s, bool force, struct ephemeral_apply *applying)
{
	const size_t n = s->ephemeral.changes.len;
	auto_free bool *done = mem_zalloc(n + 1);
	const char *failed = NULL;
	size_t left = n, count = 0;

	for (size_t i = 0; i < n; i++) {
		const struct ephemeral_change *c = &s->ephemeral.changes.v[i];
		struct err err = { 0 };

		if (!is_chosen(s, c))
			continue;
		done[i] = ephemeral_apply_one(applying, &s->ephemeral, c, force,
					      &err) == 0;
		left -= done[i];
		if (done[i])
			continue;
		fprintf(stderr, "cloche: %s\n", err.msg);
		failed = c->whole ? c->whole : c->path;
	}
	/* What is in a directory before the directory */
	for (size_t i = n; left && i-- > 0;) {
		const struct ephemeral_change *c = &s->ephemeral.changes.v[i];

		if (done[i] && !(c->whole && failed))
			(void)ephemeral_drop(&s->ephemeral, c, NULL);
	}
	if (!left)
		(void)ephemeral_drop(&s->ephemeral, NULL, NULL);
	for (size_t i = 0; i < n; i++)
		count += done[i];
	print_count(count, "applied");
	return failed ? 1 : 0;
}

int cli_apply(struct call *call, struct err *err)
{
	struct staged staged;
	auto_view struct view *view = NULL;
	struct ephemeral_apply *applying = NULL;
	bool planted = false;
	const struct violation_sink sink = { print_quarantined, &planted };
	int r = open_staged(ephemeral_open, call, &staged, err);
	int status = r >= 0 && names_nothing(&staged);

	if (r == 0)
		print_none();
	if (r > 0 && !status) {
		r = check_choice(&staged, err);
		if (r == 0)
			r = view_build(staged.policy, &view, err);
		if (r == 0)
			r = ephemeral_apply_start(view, &sink, &applying, err);
		if (r == 0) {
			status = apply_all(&staged, call_flag(call, "force"),
					   applying);
			ephemeral_apply_finish(applying);
		}
	}
	close_staged(&staged);
	return r < 0 ? r : status || planted;
}

int cli_discard(struct call *call, struct err *err)
{
	struct staged staged;
	int r = open_staged(ephemeral_find, call, &staged, err);
	const bool missing = r >= 0 && names_nothing(&staged);
	const bool all = !staged.paths.len;
	size_t count = 0;

	if (r == 0)
		print_none();
	if (r > 0 && !missing) {
		r = check_choice(&staged, err);
		if (r == 0 && all)
			r = ephemeral_drop(&staged.ephemeral, NULL, err);
		for (size_t i = staged.ephemeral.changes.len;
		     r >= 0 && !all && i-- > 0;) {
			const struct ephemeral_change *c =
				&staged.ephemeral.changes.v[i];

			if (!is_chosen(&staged, c))
				continue;
			r = ephemeral_drop(&staged.ephemeral, c, err);
			count += r >= 0;
		}
		if (r >= 0 && all)
			puts("all changes discarded");
		else if (r >= 0)
			print_count(count, "discarded");
	}
	close_staged(&staged);
	return r < 0 ? r : missing;
}
