/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view/verdict.c - whether a path may be read or written, and which rule decides
 *
 * Theory of operation: rules are kept sorted by path, so a verdict is one
 * binary search per ancestor of the path asked about, deepest first; a
 * thousand rules cost what ten cost. Reads: the deepest rule that covers the
 * path decides. Writes: an allow must cover it and no deny may, at any depth.
 */

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/glob.h"
#include "view/view.h"

/* First rule at or after the @n bytes of @path, in sorted order */
static size_t lower_bound(const struct view *view, const char *path, size_t n)
{
	return view_find(view, 0, view->rules.len, path, n, '\0');
}

/**
 * struct found - The rules that stand at one path, one per list
 * @private:	One of them makes it a private place
 */
struct found {
	const struct path_rule *by[PATH_LISTS];
	bool is_file, private;
};

static void keep_stronger(struct found *f, enum path_list list,
			  const struct path_rule *rule)
{
	if (!f->by[list] || rule->strength > f->by[list]->strength)
		f->by[list] = rule;
}

/* All rules whose path, or whose glob, is exactly the first @n bytes */
static struct found rules_at(const struct view *view, const char *path,
			     size_t n)
{
	struct found f = { 0 };

	for (size_t i = lower_bound(view, path, n); i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];

		if (strncmp(r->path, path, n) != 0 || r->path[n])
			break;
		keep_stronger(&f, r->list, r->rule);
		f.private |= r->rule->place == PLACE_PRIVATE;
		if (r->mode && !S_ISDIR(r->mode))
			f.is_file = true;
	}
	if (view->globs.len) {
		auto_free char *prefix = mem_strndup(path, n);

		for (size_t i = 0; i < view->globs.len; i++) {
			const struct glob_rule *g = &view->globs.v[i];

			if (glob_match(g->glob, prefix))
				keep_stronger(&f, g->list, g->rule);
		}
	}
	return f;
}

/* Both an allow and a deny stand at one path: which one holds for reading? */
static bool allow_wins(const struct view *view, const struct found *f,
		       const struct path_rule *allow)
{
	const struct path_rule *deny = f->by[PATH_DENY_READ];

	if (deny->strength == RULE_ALWAYS)
		return false;
	if (deny->strength == RULE_BASELINE)
		return true;
	/* What our tables show does not lift what a rule of the user denies */
	if (allow->strength == RULE_BASELINE)
		return false;
	/* A denied file is lifted by naming that file; srt lets allow win */
	return f->is_file || view->policy->profile == PROFILE_SRT;
}

/* The length of the parent of the first @n bytes of @path; 0 above "/" */
static size_t shorten(const char *path, size_t n)
{
	if (n <= 1)
		return 0;
	while (n > 1 && path[n - 1] != '/')
		n--;
	return n > 1 ? n - 1 : 1;
}

/* Which of the rules at one path holds for reading; NULL if none is there */
static const struct path_rule *reader(const struct view *view,
				      const struct found *f)
{
	const struct path_rule *deny = f->by[PATH_DENY_READ];
	const struct path_rule *allow = f->by[PATH_ALLOW_READ];

	/* Write access includes read access, but does not lift a user's denial
	 * (in srt it does, but for a file)
	 */
	if (!allow && (!deny || deny->strength == RULE_BASELINE ||
		       (view->policy->profile == PROFILE_SRT && !f->is_file)))
		allow = f->by[PATH_ALLOW_WRITE];
	return deny && (!allow || !allow_wins(view, f, allow)) ? deny : allow;
}

bool view_is_store(const struct view_rule *r)
{
	return r->list == PATH_DENY_READ && r->rule->strength == RULE_ALWAYS &&
	       r->rule->place == PLACE_HOST && r->rule->origin.source;
}

static const struct path_rule *store_of(const struct view *view,
					const char *path)
{
	for (size_t i = 0; i < view->rules.len; i++) {
		if (view_is_store(&view->rules.v[i]) &&
		    path_is_within(view->rules.v[i].path, path))
			return view->rules.v[i].rule;
	}
	return NULL;
}

static struct verdict read_verdict(const struct view *view, const char *path)
{
	for (size_t n = strlen(path); n; n = shorten(path, n)) {
		struct found f = rules_at(view, path, n);
		const struct path_rule *rule = reader(view, &f);

		/* Other rules for what is in a store are not in the view */
		if (rule && rule->glob && store_of(view, path))
			rule = f.by[PATH_DENY_READ] = store_of(view, path);
		if (rule && rule == f.by[PATH_DENY_READ])
			return (struct verdict){ false, rule,
						 "hidden by a rule" };
		if (rule)
			return (struct verdict){ true, rule,
						 "allowed by a rule" };
	}
	return (struct verdict){ true, NULL, "readable by default" };
}

static bool is_layer(const struct path_rule *rule)
{
	return rule && (rule->place == PLACE_LAYER ||
			rule->place == PLACE_CACHE);
}

/* In an empty place of the sandbox's own: nothing between shows the host's */
static bool is_in_private(const struct view *view, const char *path)
{
	if (view->policy->profile != PROFILE_HOME &&
	    !(view->private_var_tmp && path_is_within(VAR_TMP, path)) &&
	    !(view->own_dir && path_is_within(view->own_dir, path)))
		return false;
	for (size_t n = strlen(path); n; n = shorten(path, n)) {
		const struct found f = rules_at(view, path, n);
		const struct path_rule *rule = reader(view, &f);

		if (rule && rule != f.by[PATH_DENY_READ])
			return false;
		if (f.private)
			return true;
	}
	return false;
}

/* In a private /tmp, and not shown from the host's by a rule below it */
static bool is_in_tmp(const struct view *view, const char *path,
		      const struct verdict *readable)
{
	return view->private_tmp && path_is_within("/tmp", path) &&
	       !(readable->rule && path_is_below("/tmp", readable->rule->path));
}

enum view_place view_place_of(const struct view *view, const char *path,
			      const struct verdict *readable)
{
	if (is_in_private(view, path))
		return VIEW_PRIVATE;
	if (!readable->allowed)
		return VIEW_HOST;
	if (is_in_tmp(view, path, readable))
		return VIEW_TMP;
	return is_layer(readable->rule) ? VIEW_LAYER : VIEW_HOST;
}

enum view_place view_place(const struct view *view, const char *path)
{
	const struct verdict readable = read_verdict(view, path);

	return view_place_of(view, path, &readable);
}

bool view_is_private(const struct view *view, const char *path)
{
	return view_place(view, path) != VIEW_HOST;
}

/* The kernel's own places hold no files that a command could need to write, and
 * its switches obey root without asking for a capability. NULL elsewhere.
 */
static const char *closed_reason(const char *path)
{
	static const struct {
		const char *path, *reason;
	} places[] = {
		{ "/dev", "not a device of the sandbox, and no rule adds one" },
		{ "/proc", "the kernel's /proc, which no rule opens" },
		{ "/sys", "the kernel's switches, which no rule opens" },
	};
	size_t i = 0;

	while (i < ARRAY_SIZE(places) && !path_is_within(places[i].path, path))
		i++;
	return i < ARRAY_SIZE(places) ? places[i].reason : NULL;
}

const char *const view_devices[VIEW_DEVICES] = {
	"null", "zero", "full", "random", "urandom", "tty",
};

static bool is_device(const char *path)
{
	size_t i = 0;

	if (strncmp(path, "/dev/", 5) != 0)
		return false;
	while (i < VIEW_DEVICES && strcmp(view_devices[i], path + 5) != 0)
		i++;
	return i < VIEW_DEVICES;
}

static struct verdict write_verdict(const struct view *view, const char *path)
{
	const char *closed = closed_reason(path);
	const struct path_rule *allow = NULL;
	const struct verdict readable = read_verdict(view, path);
	const enum view_place place = view_place_of(view, path, &readable);
	bool reopened = false;

	if (place == VIEW_PRIVATE)
		return (struct verdict){ true, NULL,
					 path_is_within(VAR_TMP, path) ?
					 "the sandbox's own " VAR_TMP :
					 "the sandbox's own home" };
	if (!readable.allowed)
		return readable;
	if (place == VIEW_TMP)
		return (struct verdict){ true, NULL,
					 "the sandbox's own /tmp" };
	for (size_t n = strlen(path); n; n = shorten(path, n)) {
		const struct found f = rules_at(view, path, n);

		if (f.by[PATH_DENY_WRITE])
			return (struct verdict){ false, f.by[PATH_DENY_WRITE],
						 "denied by a rule" };
		if (!allow && !reopened)
			allow = f.by[PATH_ALLOW_WRITE];
		/* In srt what is opened again in a hidden place is read-only */
		if (view->policy->profile == PROFILE_SRT && !allow &&
		    f.by[PATH_DENY_READ])
			reopened = true;
	}
	if (is_device(path))
		return (struct verdict){ true, NULL,
					 "a device of the sandbox's own" };
	if (closed)
		return (struct verdict){ false, NULL, closed, true };
	if (place == VIEW_LAYER)
		return (struct verdict){ true, readable.rule,
					 "kept in a private layer" };
	if (!allow && policy_flag(view->policy, FLAG_FS_DISABLED, false))
		return (struct verdict){ true, NULL,
					 "file system rules are off" };
	if (!allow)
		return (struct verdict){ false, NULL,
					 "outside the writable paths" };
	return (struct verdict){ true, allow, "allowed by a rule" };
}

bool verdict_yields(const struct verdict *v, enum view_op op, const char *path)
{
	const struct path_rule *rule = v->rule;
	const struct source *source = rule ? rule->origin.source : NULL;

	if (v->allowed || v->final)
		return false;
	if (!rule || rule->strength == RULE_BASELINE ||
	    (op == VIEW_READ && rule->place == PLACE_PRIVATE && path_is_below(rule->path, path)))
		return true;
	return op == VIEW_READ && rule->strength == RULE_USER && source &&
	       source->scope != SCOPE_FLAG && source->scope != SCOPE_MANAGED &&
	       path_is_below(rule->path, path);
}

struct verdict view_verdict(const struct view *view, enum view_op op,
			    const char *path)
{
	return op == VIEW_READ ? read_verdict(view, path)
			       : write_verdict(view, path);
}

/* The length of the root that allows writing the first @n bytes of @path, or 0:
 * all of them, or what a pattern begins with, for all its matches are in there
 */
static size_t root_at(const struct view *view, const char *path, size_t n)
{
	auto_free char *prefix = mem_strndup(path, n);

	for (size_t i = 0; i < view->globs.len; i++) {
		const struct glob_rule *g = &view->globs.v[i];

		if (g->list == PATH_ALLOW_WRITE && glob_match(g->glob, prefix))
			return strlen(glob_prefix(g->glob));
	}
	for (size_t i = lower_bound(view, path, n); i < view->rules.len &&
	     !strcmp(view->rules.v[i].path, prefix); i++) {
		if (view->rules.v[i].list == PATH_ALLOW_WRITE)
			return n;
	}
	return 0;
}

char *view_root_of(const struct view *view, const char *path)
{
	size_t root = 0;

	for (size_t n = strlen(path); n && !root; n = shorten(path, n))
		root = root_at(view, path, n);
	return root ? mem_strndup(path, root) : NULL;
}

/* By a pattern, in a directory of the host's that the command sees */
static bool is_matched(const struct view *view, const char *path)
{
	const struct verdict v = view_verdict(view, VIEW_WRITE, path);
	struct verdict above;

	if (!v.allowed || !v.rule || !v.rule->glob ||
	    view->policy->profile == PROFILE_SRT)
		return false;
	above = view_verdict(view, VIEW_READ, v.rule->path);
	return above.allowed &&
	       view_place_of(view, v.rule->path, &above) == VIEW_HOST;
}

bool view_is_unmade(const struct view *view, const char *path)
{
	bool unmade = false;

	for (size_t i = 0; i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];

		if (r->list != PATH_ALLOW_WRITE ||
		    !path_is_within(r->path, path))
			continue;
		if (r->mode)
			return false;
		unmade = true;
	}
	return unmade || is_matched(view, path);
}

bool view_has_unmade(const struct view *view)
{
	for (size_t i = 0; i < view->rules.len; i++) {
		if (view->rules.v[i].list == PATH_ALLOW_WRITE &&
		    !view->rules.v[i].mode)
			return true;
	}
	for (size_t i = 0; i < view->globs.len; i++) {
		if (view->globs.v[i].list == PATH_ALLOW_WRITE)
			return true;
	}
	return false;
}
