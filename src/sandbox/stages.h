/* SPDX-License-Identifier: Apache-2.0 */
/* cage/stages.h - the stages of confinement; child.c calls them in order
 *
 * Each runs in the sandbox's init and returns 0 or a negative errno with
 * words. None can be undone.
 */

#ifndef CAGE_STAGES_H
#define CAGE_STAGES_H

#include <sys/types.h>

struct box;
struct cage_request;
struct err;
struct mask_ends;
struct plan;

enum { NAMESPACES = 7 };	/* user, mnt, pid, net, ipc, uts, cgroup */

/**
 * struct host_ids - What stage 2 compares with: the host's namespaces
 */
struct host_ids {
	ino_t ns[NAMESPACES];
};

void host_ids_read(struct host_ids *ids);

/* idmap.c: our own uid and gid, and no other. Until then no file can be made. */
int stage_idmap(uid_t uid, gid_t gid, struct err *err);
/* One user and one group of the namespace above, under whatever number; for a
 * process that is alone in a new user namespace. @self is its /proc/self.
 */
int idmap_write(int self, uid_t inside, uid_t outside, gid_t group_inside,
		gid_t group_outside, struct err *err);

/* tree.c: read-only world, writable roots, pins, masks; /proc, /dev, /tmp. What
 * had to be left out of it: CAGE_HOST_PROC, CAGE_NO_LAYER. @box was begun, and
 * is done for. *@masks is for whoever answers for masks that talk (cage/mask.h).
 */
int stage_tree(struct cage_request *request, struct box *box,
	       struct mask_ends *masks, struct err *err);

/* reopen.c: standard input, if it is a file, from the read-only world; its place
 * in @request is taken by the new descriptor. Before anything hides it.
 */
int reopen_file(struct cage_request *request, struct err *err);
/* Terminals and devices, from the sandbox's own /dev, as far as they are there */
void reopen_devices(struct cage_request *request);

/* confine.c: session keyring; no core dumps */
int stage_keyring(struct err *err);
int stage_core(struct err *err);
/* The command's resource limits, which init does not share. 0 or -errno. */
int limits_set(const struct cage_request *request);
/* No capability can be had anew; those that are there stay */
int stage_lock(struct err *err);
/* Every capability set empty and locked, no_new_privs */
int stage_privileges(const struct plan *plan, struct err *err);

/* landlock.c: the second layer behind the mounts; in the landlock tier, the
 * first
 */
int stage_landlock(const struct cage_request *request, int socket,
		   struct err *err);

/* The rules for reading beside what is hidden, made by the supervisor: a ruleset for
 * stage_landlock(), which takes it from @socket; -ENOENT if @plan needs none, or
 * another negative errno with words
 */
int landlock_prepare(const struct plan *plan, struct err *err);

/* shared.c: the landlock tier's second filter, for what only namespaces bound */
int stage_shared(const struct plan *plan, struct err *err);

/* Refuse connect(), where another program's listener would make it on the
 * command's behalf, and our Landlock does not bound that program
 */
int stage_unconnected(struct err *err);

/* assert.c: read back that all of it holds, or refuse to run anything.
 * @keep is the one descriptor above 2 that may be open.
 */
int stage_assert(const struct plan *plan, const struct host_ids *host,
		 int keep, struct err *err);

#endif /* CAGE_STAGES_H */
