/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd-diff.c - cloche diff, apply, discard: changes staged by run --ephemeral */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/command-line.h"
#include "ephemeral/ephemeral-apply.h"
#include "ephemeral/ephemeral.h"
#include "policy/policy.h"
#include "report/violation.h"
#include "run/decision.h"
#include "run/options.h"
#include "view/view.h"

/**
 * struct staged - The changes that one of the three verbs is about
 * @paths:	Absolute; only these and what is below them
 */
struct staged {
	struct policy *policy;
	struct ephemeral ephemeral;
	struct { char **v; size_t len, cap; } paths;
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
	for (size_t i = 0; i < s->paths.len; i++)
		free(s->paths.v[i]);
	free(s->paths.v);
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

static void print_text(const struct staged *s)
{
	static const char letters[] = {
		[EPHEMERAL_ADDED] = 'A', [EPHEMERAL_MODIFIED] = 'M',
		[EPHEMERAL_DELETED] = 'D',
	};

	for (size_t i = 0; i < s->ephemeral.changes.len; i++) {
		const struct ephemeral_change *c = &s->ephemeral.changes.v[i];
		auto_buf struct buf line = { 0 };

		if (!is_chosen(s, c))
			continue;
		text_escape(&line, shown(s, c->path));
		printf("%c %s%s%s\n", letters[c->kind], buf_str(&line),
		       c->stale ? "  (the host's has changed since)" : "",
		       c->linked ? "  (its other names on the host stay as they are)" : "");
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

int cli_diff(struct call *call, struct err *err)
{
	struct staged staged;
	const int r = open_staged(ephemeral_open, call, &staged, err);
	const bool missing = r >= 0 && names_nothing(&staged);

	if (r >= 0 && call_flag(call, "json"))
		print_json(changes_json(&staged), JSON_INDENT(2));
	else if (r >= 0)
		print_text(&staged);
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
	size_t left = n;

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

	if (r > 0 && !missing) {
		r = check_choice(&staged, err);
		if (r == 0 && all)
			r = ephemeral_drop(&staged.ephemeral, NULL, err);
		for (size_t i = staged.ephemeral.changes.len;
		     r >= 0 && !all && i-- > 0;) {
			const struct ephemeral_change *c =
				&staged.ephemeral.changes.v[i];

			if (is_chosen(&staged, c))
				r = ephemeral_drop(&staged.ephemeral, c, err);
		}
	}
	close_staged(&staged);
	return r < 0 ? r : missing;
}
