/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan/overlay-path.c - paths that exist only in the staged changes
 *
 * What the overlay copied into the store when it was changed has a new time of birth there,
 * and old all the same: the store is asked only about what the host has not.
 */


#include <string.h>
#include <sys/stat.h>

#include "base/btime.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "plan/plan.h"

/* The layer that @path is written to, or NULL */
static const struct plan_mount *layer_of(const struct plan *plan,
					 const char *path)
{
	const struct plan_mount *layer = NULL;

	/* Parents come first */
	for (size_t i = 0; i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];

		if (m->kind == MOUNT_STAGED && path_is_below(m->path, path))
			layer = m;
	}
	return layer;
}

/* How much of @path, which is below @root, names the first thing that the host
 * does not have; 0 if it has all of it
 */
static size_t missing_at(const char *root, const char *path)
{
	const char *end = path + strlen(root);
	struct stat st;

	do {
		auto_free char *part = NULL;

		end = strchrnul(end + 1, '/');
		part = mem_strndup(path, (size_t)(end - path));
		if (lstat(part, &st) < 0)
			return (size_t)(end - path);
	} while (*end);
	return 0;
}

static char *in_store(const char *store, const struct plan_mount *layer,
		      const char *path)
{
	return mem_printf("%s/%u/u%s", store, layer->mask,
			  path + strlen(layer->path));
}

char *overlay_path_find(const struct plan *plan, const char *store,
		  const char *path)
{
	const struct plan_mount *layer = store ? layer_of(plan, path) : NULL;

	return layer && missing_at(layer->path, path) ?
	       in_store(store, layer, path) : mem_strdup(path);
}

bool overlay_path_in_repository(const struct plan *plan, const char *store,
			 const char *root, const char *path,
			 const struct timespec *since)
{
	const struct plan_mount *layer = store ? layer_of(plan, path) : NULL;
	const size_t n = layer ? missing_at(layer->path, path) : 0;
	auto_free char *first = n ? mem_strndup(path, n) : NULL;
	auto_free char *above = first ? path_parent(first) : NULL;
	auto_free char *upper = NULL, *upper_above = NULL;

	if (!first)
		return btime_in_repository(root, path, since);
	upper = in_store(store, layer, path);
	upper_above = in_store(store, layer, above);
	return btime_in_repository(upper_above, upper, since);
}
