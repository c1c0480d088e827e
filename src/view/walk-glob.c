/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view/walk-glob.c - patterns that one walk looks for
 *
 * Theory of operation: a policy has its patterns in lists, most of them below
 * the project. They are looked for together, so that each directory is read
 * once; each remembers how far it has come with the directories above, so that
 * of all the names only the names are read; and most names are dismissed by how
 * they end. Links are not followed on the way, where they would lead in circles,
 * but walked afterwards, each once for what may match in it.
 */

#include "view/walk-glob.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/glob.h"
#include "view/view.h"

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
	return path_list_denies(glob->list);
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
	for (size_t i = 0; i < set->links.len; i++) {
		free(set->links.v[i].path);
		free(set->links.v[i].real);
		free(set->links.v[i].at);
	}
	free(set->links.v);
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

/* How far each is in @path, which is @name in the directory at @depth. False if
 * none is anywhere.
 */
static bool step(const struct glob_set *set, const char *path,
		 const char *name, unsigned int depth, uint64_t *below)
{
	uint64_t any = 0;

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

bool glob_set_enter(struct glob_set *set, const char *path, const char *name,
		    unsigned int depth)
{
	uint64_t **below = &set->at[depth + 1];

	if (!*below)
		*below = mem_alloc(set->n * sizeof(**below));
	return step(set, path, name, depth, *below);
}

/* Keep in @below what are denials, and are further than by the names of the
 * directory @real. False if nothing is left.
 */
static bool keep_denials(const struct glob_set *set, const char *real,
			 uint64_t *below)
{
	uint64_t more = 0;

	for (size_t i = 0; i < set->n; i++) {
		/* Whole paths could be asked about, but there are none here */
		if (!is_denial(rule_of(set, i)) || below[i] == GLOB_FAR)
			below[i] = GLOB_NOWHERE;
		if (below[i] && real)
			below[i] &= ~glob_at(glob_of(set, i), real);
		more |= below[i];
	}
	return more;
}

static bool is_known(const struct glob_set *set, const char *real,
		     const uint64_t *at)
{
	for (size_t i = 0; i < set->links.len; i++) {
		if (!strcmp(set->links.v[i].real, real) &&
		    !memcmp(set->links.v[i].at, at, set->n * sizeof(*at)))
			return true;
	}
	return false;
}

/* What the link at @path says, as names. Where links are among them, they are met
 * by themselves, and followed no less far.
 */
static char *read_link(const char *dir, const char *path)
{
	auto_free char *target = fs_link("%s", path);

	return target ? path_resolve(dir, target) : NULL;
}

void glob_set_link(struct glob_set *set, const char *dir, const char *name,
		   unsigned int depth)
{
	auto_free uint64_t *below = mem_zalloc(set->n * sizeof(*below));
	auto_free char *path = path_join(dir, name), *target = NULL, *real = NULL;
	struct glob_link *link;
	struct stat st;

	if (set->many || !step(set, path, name, depth, below) ||
	    !keep_denials(set, NULL, below))
		return;
	target = read_link(dir, path);
	if (!target || !keep_denials(set, target, below))
		return;
	if (fstatat(AT_FDCWD, path, &st, AT_NO_AUTOMOUNT) == 0) {
		if (!S_ISDIR(st.st_mode))
			return;
		real = realpath(path, NULL);
	}
	if (!real)
		view_missed(set->view, errno);
	if (!real || path_is_within(real, path) ||
	    !keep_denials(set, real, below) || is_known(set, real, below))
		return;
	set->many = set->links.len == WALK_LINKS_MAX;
	if (set->many)
		return;
	link = vec_push(&set->links);
	link->path = take_ptr(path);
	link->real = take_ptr(real);
	link->at = take_ptr(below);
}

const struct glob_link *glob_set_next(struct glob_set *set)
{
	const struct glob_link *link;

	if (set->linked == set->links.len)
		return NULL;
	link = &set->links.v[set->linked++];
	memcpy(set->at[0], link->at, set->n * sizeof(*link->at));
	return link;
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
			view_add(set->view, rule->list, path, rule->rule, false)
				->closed = true;
	}
}
