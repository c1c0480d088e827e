/* SPDX-License-Identifier: Apache-2.0 */
/* cli/aside.c - cloche diff, apply, discard: what --ephemeral kept aside */

#include <errno.h>
#include <jansson.h>
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
#include "cli/command.h"
#include "lib/aside-apply.h"
#include "lib/aside.h"
#include "lib/options.h"
#include "lib/session.h"
#include "plan/view.h"
#include "policy/policy.h"
#include "policy/violation.h"

/**
 * struct call - One of the three, and the words behind it
 * @paths:	Absolute; only these and what is below them
 * @flag:	The verb's own option: --json of diff, --force of apply
 */
struct call {
	struct options options;
	struct policy *policy;
	struct aside aside;
	struct { char **v; size_t len, cap; } paths;
	bool flag;
};

/* Take the verb's own option, NULL for none, out of the words */
static bool take_flag(int *argc, char **argv, const char *flag)
{
	bool found = false;

	for (int i = 1; flag && i < *argc && strcmp(argv[i], "--") != 0;) {
		if (strcmp(argv[i], flag) != 0) {
			i++;
			continue;
		}
		memmove(argv + i, argv + i + 1,
			(size_t)(*argc - i) * sizeof(*argv));
		--*argc;
		found = true;
	}
	return found;
}

/* What is named. An empty word would be the project: whoever lost the value of a
 * variable does not mean all of it.
 */
static int take_paths(struct call *call, char **words, struct err *err)
{
	for (; *words; words++) {
		if (!**words)
			return fail(err, -EINVAL, "a PATH is empty; name one, or leave it out for all that is kept aside");
		*vec_push(&call->paths) = path_resolve(call->policy->cwd,
						       *words);
	}
	return 0;
}

/* 1 if something is aside, 0 if nothing is. @open is how all of it is
 * opened.
 */
static int begin_with(int (*open)(const struct policy *, struct aside *,
				  struct err *),
		      const char *flag, struct call *call, int argc,
		      char **argv, struct err *err)
{
	int first, r;

	call->aside = ASIDE_NONE;
	call->flag = take_flag(&argc, argv, flag);
	first = cli_parse_options(argc, argv, &call->options, err);
	if (first < 0)
		return first;
	r = session_policy(&call->options, &call->policy, err);
	if (r == 0)
		r = take_paths(call, argv + first, err);
	if (r < 0)
		return r;
	return (call->paths.len ? aside_open : open)(call->policy,
						     &call->aside, err);
}

static void end(struct call *call)
{
	for (size_t i = 0; i < call->paths.len; i++)
		free(call->paths.v[i]);
	free(call->paths.v);
	aside_done(&call->aside);
	policy_unref(call->policy);
	options_done(&call->options);
}

static bool is_chosen(const struct call *call, const struct aside_change *c)
{
	for (size_t i = 0; i < call->paths.len; i++) {
		if (path_is_within(call->paths.v[i], c->path))
			return true;
	}
	return !call->paths.len;
}

/* Somebody who names a path means something that is there */
static bool names_nothing(const struct call *call)
{
	bool missing = false;

	for (size_t i = 0; i < call->paths.len; i++) {
		const char *path = call->paths.v[i];
		auto_buf struct buf line = { 0 };
		size_t j = 0;

		while (j < call->aside.changes.len &&
		       !path_is_within(path, call->aside.changes.v[j].path))
			j++;
		if (j < call->aside.changes.len)
			continue;
		text_escape(&line, path);
		fprintf(stderr, "cloche: '%s': nothing is kept aside there; 'cloche diff' lists what is\n",
			buf_str(&line));
		missing = true;
	}
	return missing;
}

/* The project's own paths without the project's */
static const char *shown(const struct call *call, const char *path)
{
	return path_is_below(call->policy->cwd, path) ?
	       path + strlen(call->policy->cwd) + 1 : path;
}

static void print_text(const struct call *call)
{
	static const char letters[] = {
		[ASIDE_ADDED] = 'A', [ASIDE_MODIFIED] = 'M',
		[ASIDE_DELETED] = 'D',
	};

	for (size_t i = 0; i < call->aside.changes.len; i++) {
		const struct aside_change *c = &call->aside.changes.v[i];
		auto_buf struct buf line = { 0 };

		if (!is_chosen(call, c))
			continue;
		text_escape(&line, shown(call, c->path));
		printf("%c %s%s%s\n", letters[c->kind], buf_str(&line),
		       c->stale ? "  (the host's has changed since)" : "",
		       c->linked ? "  (its other names on the host stay as they are)" : "");
	}
}

static void print_json(const struct call *call)
{
	json_t *list = json_array(), *root;
	char *text;

	for (size_t i = 0; i < call->aside.changes.len; i++) {
		const struct aside_change *c = &call->aside.changes.v[i];
		auto_buf struct buf safe = { 0 };

		if (!is_chosen(call, c))
			continue;
		text_escape(&safe, c->path);
		json_array_append_new(list, json_pack("{s:s, s:s, s:b, s:b}",
			"change", aside_kind_name(c->kind), "path",
			buf_str(&safe), "stale", c->stale, "linked",
			c->linked));
	}
	root = json_pack("{s:i, s:o}", "version", 1, "changes", list);
	text = json_dumps(root, JSON_INDENT(2));
	puts(text ? text : "{}");
	free(text);
	json_decref(root);
}

int cli_diff(int argc, char **argv, struct err *err)
{
	struct call call = { 0 };
	const int r = begin_with(aside_open, "--json", &call, argc, argv, err);
	const bool missing = r >= 0 && names_nothing(&call);

	if (r >= 0 && call.flag)
		print_json(&call);
	else if (r >= 0)
		print_text(&call);
	end(&call);
	return r < 0 ? r : missing;
}

/* A directory that was replaced is taken or left as a whole */
static int check_choice(const struct call *call, struct err *err)
{
	for (size_t i = 0; i < call->aside.changes.len; i++) {
		const struct aside_change *c = &call->aside.changes.v[i];
		const struct aside_change all = { .path = c->whole };

		if (c->whole && is_chosen(call, c) && !is_chosen(call, &all))
			return fail(err, -EINVAL, "'%s' was replaced; choose all of it, and not '%s'",
				    c->whole, c->path);
	}
	return 0;
}

/* Where a reader looks for it, and what to do */
static void tell_quarantine(void *arg, const struct violation *v)
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

/* Each by itself, and what cannot be applied stays aside */
static int apply_all(struct call *call, struct applying *applying)
{
	const size_t n = call->aside.changes.len;
	auto_free bool *done = mem_zalloc(n + 1);
	const char *failed = NULL;
	size_t left = n;

	for (size_t i = 0; i < n; i++) {
		const struct aside_change *c = &call->aside.changes.v[i];
		struct err err = { 0 };

		if (!is_chosen(call, c))
			continue;
		done[i] = applying_one(applying, &call->aside, c, call->flag,
				       &err) == 0;
		left -= done[i];
		if (done[i])
			continue;
		fprintf(stderr, "cloche: %s\n", err.msg);
		failed = c->whole ? c->whole : c->path;
	}
	/* What is in a directory before the directory */
	for (size_t i = n; left && i-- > 0;) {
		const struct aside_change *c = &call->aside.changes.v[i];

		if (done[i] && !(c->whole && failed))
			(void)aside_drop(&call->aside, c, NULL);
	}
	if (!left)
		(void)aside_drop(&call->aside, NULL, NULL);
	return failed ? 1 : 0;
}

int cli_apply(int argc, char **argv, struct err *err)
{
	struct call call = { 0 };
	auto_view struct view *view = NULL;
	struct applying *applying = NULL;
	bool planted = false;
	const struct violation_sink sink = { tell_quarantine, &planted };
	int r = begin_with(aside_open, "--force", &call, argc, argv, err);
	int status = 0;

	if (r >= 0 && names_nothing(&call)) {
		end(&call);
		return 1;
	}
	if (r > 0 && check_choice(&call, err) < 0)
		r = err->code;
	if (r > 0) {
		r = view_build(call.policy, &view, err);
		if (r == 0)
			r = applying_start(view, &sink, &applying, err);
		if (r == 0) {
			status = apply_all(&call, applying);
			applying_finish(applying);
		}
	}
	end(&call);
	return r < 0 ? r : status || planted;
}

int cli_discard(int argc, char **argv, struct err *err)
{
	struct call call = { 0 };
	int r = begin_with(aside_find, NULL, &call, argc, argv, err);

	if (r >= 0 && names_nothing(&call)) {
		end(&call);
		return 1;
	}
	if (r > 0 && check_choice(&call, err) < 0)
		r = err->code;
	if (r > 0 && !call.paths.len)
		r = aside_drop(&call.aside, NULL, err);
	for (size_t i = call.aside.changes.len; r > 0 && call.paths.len &&
						i-- > 0;) {
		const struct aside_change *c = &call.aside.changes.v[i];
		const int dropped = is_chosen(&call, c) ?
				    aside_drop(&call.aside, c, err) : 0;

		r = dropped < 0 ? dropped : r;
	}
	end(&call);
	return r < 0 ? r : 0;
}
