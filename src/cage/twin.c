/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cage/twin.c - a second copy of a writable root, which binds are taken from
 *
 * Theory of operation: to bind a path on itself, the kernel looks at every
 * mount that is there already on the mount the path is in, whether it has to
 * be copied too. So the thousandth bind in a root would look at a thousand. A
 * copy of the root that nothing is ever mounted on makes each cost the same as
 * the first. It is attached to our own tmpfs, where only we get; the names in
 * it can be swapped as the root's own can, which is noticed in the same way
 * (bind.c), and it is gone before anything runs.
 */

#include "cage/twin.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "cage/box.h"
#include "plan/plan.h"

#define TWIN_AT	BOX_AT "/" BOX_TWIN

/* Only what must be what the plan saw: that is how a swapped name is noticed */
static bool is_taken_from(const struct plan_mount *m)
{
	return (m->kind == MOUNT_BIND_RO || m->kind == MOUNT_PIN) &&
	       !m->loose && !m->is_link;
}

/* The plan is sorted, parents first */
static bool is_worth_it(const struct plan *plan, size_t root)
{
	const char *path = plan->mounts.v[root].path;
	size_t n = 0;

	for (size_t i = root + 1; n < TWIN_MIN && i < plan->mounts.len; i++) {
		if (!path_is_below(path, plan->mounts.v[i].path))
			break;
		n += is_taken_from(&plan->mounts.v[i]);
	}
	return n == TWIN_MIN;
}

int twin_begin(struct twin *twin, const struct plan *plan, size_t root,
	       int tree, struct err *err)
{
	const struct plan_mount *m = &plan->mounts.v[root];
	auto_close int copy = -1;
	int r;

	if (m->kind != MOUNT_BIND_RW || !is_worth_it(plan, root))
		return 0;
	r = twin_end(twin, err);
	if (r < 0)
		return r;
	copy = tree_clone(tree, err, m->path);
	r = copy < 0 ? copy : box_attach(copy, TWIN_AT, err);
	if (r == 0)
		twin->root = m->path;
	return r;
}

const char *twin_source(const struct twin *twin, const struct plan_mount *m,
			char *room, size_t size)
{
	int n;

	if (!twin->root || !is_taken_from(m) ||
	    !path_is_below(twin->root, m->path))
		return NULL;
	n = snprintf(room, size, TWIN_AT "/%s",
		     m->path + strlen(twin->root) + (twin->root[1] != '\0'));
	return n > 0 && (size_t)n < size ? room : NULL;
}

int twin_end(struct twin *twin, struct err *err)
{
	if (twin->root && umount2(TWIN_AT, MNT_DETACH) < 0)
		return fail_errno(err, "cannot drop the copy of '%s'",
				  twin->root);
	twin->root = NULL;
	return 0;
}
