/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cage/twin.c - a second copy of the world, which binds are taken from
 *
 * Theory of operation: what is shown or can be written is cloned before the
 * world is read-only, one by one: five calls, a descriptor and a namespace each.
 * And to bind a path on itself, the kernel looks at every mount that is there
 * already on the mount the path is in, whether it has to be copied too: the
 * thousandth bind in a root would look at a thousand. Where there are many,
 * the world is copied once, and each of them is one bind from that copy, on
 * which nothing is ever mounted. It is attached to our own tmpfs, where only we
 * get. The names in it can be swapped as all others can, so what was bound is
 * compared with what the plan saw (bind.c), and it is gone before anything runs.
 */

#include "cage/twin.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <stdio.h>
#include <sys/mount.h>

#include "base/err.h"
#include "base/own.h"
#include "cage/box.h"
#include "plan/plan.h"

#define TWIN_AT	BOX_AT "/" BOX_TWIN

static bool is_shown(const struct plan_mount *m)
{
	return m->kind == MOUNT_BIND_RW || m->kind == MOUNT_SHOW;
}

/* Only what must be what the plan saw: that is how a swapped name is noticed.
 * The root of all has no name.
 */
static bool can_have(const struct plan_mount *m)
{
	return (is_shown(m) || ((m->kind == MOUNT_BIND_RO ||
				 m->kind == MOUNT_PIN) && !m->loose)) &&
	       !m->is_link && m->path[1];
}

static bool is_worth_it(const struct plan *plan)
{
	size_t worth = 0;

	for (size_t i = 0; worth < TWIN_WORTH && i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];

		if (can_have(m))
			worth += is_shown(m) ? TWIN_SHOWN : TWIN_SELF;
	}
	return worth >= TWIN_WORTH;
}

void twin_begin(struct twin *twin, const struct plan *plan)
{
	auto_close int world = -1;

	*twin = (struct twin){ .fd = -1 };
	if (is_worth_it(plan))
		world = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (world >= 0)
		twin->fd = tree_clone(world, NULL, "/");
	if (twin->fd >= 0 &&
	    tree_set(twin->fd, MOUNT_ATTR_NODEV, 0, NULL, "/") < 0)
		close_fd(&twin->fd);
}

bool twin_has(const struct twin *twin, const struct plan_mount *m)
{
	return twin->fd >= 0 && can_have(m);
}

int twin_attach(struct twin *twin, struct err *err)
{
	int r = 0;

	if (twin->fd >= 0)
		r = box_attach(twin->fd, TWIN_AT, err);
	twin->attached = twin->fd >= 0 && r == 0;
	return r;
}

const char *twin_source(const struct twin *twin, const struct plan_mount *m,
			char *room, size_t size)
{
	int n;

	if (!twin_has(twin, m))
		return NULL;
	n = snprintf(room, size, TWIN_AT "%s", m->path);
	return n > 0 && (size_t)n < size ? room : NULL;
}

int twin_end(struct twin *twin, struct err *err)
{
	int r = 0;

	if (twin->attached && umount2(TWIN_AT, MNT_DETACH) < 0)
		r = fail_errno(err, "cannot drop the copy of the world");
	close_fd(&twin->fd);
	return r;
}
