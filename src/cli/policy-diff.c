/* SPDX-License-Identifier: Apache-2.0 */
/* cli/policy-diff.c - cloche policy diff: what NEW reaches that OLD does not */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "cli/command.h"
#include "cli/policy.h"
#include "policy/asks.h"
#include "policy/settings.h"

static int add_file(const char *path, const char *dir, bool required,
		    struct asks *ret, struct err *err)
{
	struct settings_request req;
	auto_buf struct buf text = { 0 };
	int r = fs_read(AT_FDCWD, path, JSON_TEXT_MAX, &text, err);

	if (r == -ENOENT && !required)
		return 0;
	if (r < 0)
		return r;
	settings_request_init(&req, dir);
	r = settings_reach(&req, path, dir, buf_str(&text), text.len, ret,
			   err);
	settings_request_done(&req);
	return r;
}

/* A settings file, or a directory with those of a repository */
static int read_reach(const char *path, struct asks *ret, struct err *err)
{
	static const char *const names[] = {
		".cloche.json", ".claude/settings.json",
		".claude/settings.local.json",
	};
	char real[PATH_MAX];
	auto_free char *dir = NULL;
	struct stat st;
	int r = 0;

	if (!realpath(path, real) || stat(real, &st) < 0)
		return fail_errno(err, "'%s'", path);
	if (!S_ISDIR(st.st_mode)) {
		dir = path_parent(real);
		if (!strcmp(path_base(dir), ".claude")) {
			auto_free char *claude = take_ptr(dir);

			dir = path_parent(claude);
		}
		return add_file(real, dir, true, ret, err);
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(names); i++) {
		auto_free char *file = path_join(real, names[i]);

		r = add_file(file, real, false, ret, err);
	}
	return r;
}

static bool is_covered(const struct asks *asks, const struct ask *ask)
{
	for (size_t i = 0; i < asks->len; i++) {
		if (ask_covers(&asks->v[i], ask))
			return true;
	}
	return false;
}

/* What @a opens beyond @b, and what @b denies beyond @a */
static size_t print_more(const struct asks *a, const struct asks *b, char sign,
			 json_t *list)
{
	size_t n = 0;

	for (size_t i = 0; i < a->len + b->len; i++) {
		const bool own = i < a->len;
		const struct ask *ask = own ? &a->v[i] : &b->v[i - a->len];
		auto_free char *line = ask_line(ask);
		auto_buf struct buf words = { 0 };

		if (ask->closes == own || is_covered(own ? b : a, ask))
			continue;
		n++;
		ask_describe(ask, &words);
		if (list)
			json_array_append_new(list, json_text(line));
		else
			cli_say(stdout, "%c %s%s", sign, ask->closes ?
				"no longer denied: " : "", buf_str(&words));
	}
	return n;
}

int policy_diff(const struct policy_call *call, struct err *err)
{
	json_t *more = call->json ? json_array() : NULL;
	json_t *less = call->json ? json_array() : NULL;
	struct asks old = { 0 }, new = { 0 };
	size_t n = 0;
	int r;

	if (call->count != 2)
		return -EINVAL;
	r = read_reach(call->words[0], &old, err);
	if (r == 0)
		r = read_reach(call->words[1], &new, err);
	if (r == 0) {
		n = print_more(&new, &old, '+', more);
		(void)print_more(&old, &new, '-', less);
	}
	if (r == 0 && call->json)
		policy_print_json(json_pack("{s:i, s:b, s:O, s:O}", "version",
			1, "ok", !n, "more", more, "less", less));
	json_decref(more);
	json_decref(less);
	asks_done(&old);
	asks_done(&new);
	return r < 0 ? r : n ? 1 : 0;
}
