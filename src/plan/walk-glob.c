/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan/walk-glob.c - patterns that one walk looks for
 *
 * Theory of operation: a policy has its patterns in lists, most of them below
 * the project. They are looked for together, so that each directory is read
 * once; each remembers how far it has come with the directories above, so that
 * of all the names only the names are read; and most names are dismissed by how
 * they end.
 */

#include "plan/walk-glob.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "plan/view.h"
#include "policy/glob.h"

static const struct glob_rule *rule_of(const struct glob_set *set, size_t i)
{
	return &set->view->globs.v[set->first + i];
}

static const struct glob *glob_of(const struct glob_set *set, size_t i)
{
	return rule_of(set, i)->glob;
}

static bool is_denial(const struct glob_rule *glob)
{
	return glob->list == PATH_DENY_READ || glob->list == PATH_DENY_WRITE;
}

const char *glob_set_prefix(const struct glob_set *set)
{
	return glob_prefix(glob_of(set, 0));
}

void glob_set_init(struct glob_set *set, struct view *view, size_t first,
		   bool alone)
{
	*set = (struct glob_set){ .view = view, .first = first, .n = 1 };
	while (!alone && first + set->n < view->globs.len &&
	       !strcmp(glob_prefix(glob_of(set, set->n)),
		       glob_set_prefix(set)))
		set->n++;
	set->at[0] = mem_zalloc(set->n * sizeof(**set->at));
	for (size_t i = 0; i < set->n; i++)
		set->at[0][i] = glob_at(glob_of(set, i), glob_set_prefix(set));
}

void glob_set_done(struct glob_set *set)
{
	for (size_t i = 0; i < ARRAY_SIZE(set->at); i++)
		free(set->at[i]);
}

static void add_match(struct view *view, const struct glob_rule *rule,
		      const char *path)
{
	view_add(view, rule->list, path, rule->rule, true);
	if (S_ISLNK(view->rules.v[view->rules.len - 1].mode) &&
	    is_denial(rule))
		view_add_target(view, rule->list, path, rule->rule);
}

void glob_set_check(struct glob_set *set, const char *dir, const char *name,
		    unsigned int depth)
{
	auto_free char *path = NULL;

	for (size_t i = 0; i < set->n; i++) {
		const struct glob_rule *rule = rule_of(set, i);
		const uint64_t at = set->at[depth][i];

		if (at == GLOB_NOWHERE || !glob_may_end(rule->glob, name) ||
		    (at != GLOB_FAR && !glob_match_at(rule->glob, at, name)))
			continue;
		if (!path)
			path = path_join(dir, name);
		if (at != GLOB_FAR || glob_match(rule->glob, path))
			add_match(set->view, rule, path);
	}
}

bool glob_set_enter(struct glob_set *set, const char *path, const char *name,
		    unsigned int depth)
{
	uint64_t *below = set->at[depth + 1], any = 0;

	if (!below)
		below = set->at[depth + 1] = mem_alloc(set->n * sizeof(*below));
	for (size_t i = 0; i < set->n; i++) {
		const struct glob *glob = glob_of(set, i);
		const uint64_t at = set->at[depth][i];

		below[i] = at == GLOB_NOWHERE ? GLOB_NOWHERE :
			   at == GLOB_FAR ? glob_at(glob, path) :
			   glob_step(glob, at, name);
		any |= below[i];
	}
	return any;
}

bool glob_set_denies(const struct glob_set *set, unsigned int depth)
{
	for (size_t i = 0; i < set->n; i++) {
		if (set->at[depth][i] != GLOB_NOWHERE &&
		    is_denial(rule_of(set, i)))
			return true;
	}
	return false;
}

void glob_set_close(struct glob_set *set, const char *path, unsigned int depth)
{
	for (size_t i = 0; i < set->n; i++) {
		const struct glob_rule *rule = rule_of(set, i);

		if (set->at[depth][i] != GLOB_NOWHERE && is_denial(rule))
			view_add_closed(set->view, rule->list, path,
					rule->rule);
	}
}
