/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/stages.h - init, from clone() to the command's end: start.c forks it,
 * child.c calls the stages of confinement in order, init.c runs the command
 *
 * Each stage runs in the sandbox's init and returns 0 or a negative errno with
 * words. None can be undone.
 */

#ifndef SANDBOX_STAGES_H
#define SANDBOX_STAGES_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

struct err;
struct fuse_mount;
struct mask_ends;
struct plan;
struct sandbox_kind;
struct sandbox_request;
struct tmpfs;

enum { NAMESPACES = 7 };	/* user, mnt, pid, net, ipc, uts, cgroup */

/* What stage 2 compares with: the host's namespaces */
struct host_ids {
	ino_t ns[NAMESPACES];
};

void host_ids_read(struct host_ids *ids);

/* drop-privileges.c: our own uid and gid, and no other. Until then no file can be made. */
int stage_idmap(uid_t uid, gid_t gid, struct err *err);
/* One user and one group of the namespace above, under whatever number; for a
 * process that is alone in a new user namespace. @self is its /proc/self.
 */
int idmap_write(int self, uid_t inside, uid_t outside, gid_t group_inside,
		gid_t group_outside, struct err *err);

/* mount-tree.c: read-only world, writable roots, pins, masks; /proc, /dev, /tmp. What
 * had to be left out of it: SANDBOX_HOST_PROC, SANDBOX_NO_LAYER. @tmpfs was begun,
 * @masks may have been; both are released here. *@ends is for the observer, which
 * answers for the masks (sandbox/fuse-mount.h).
 */
int stage_tree(struct sandbox_request *request, struct tmpfs *tmpfs,
	       struct fuse_mount *masks, struct mask_ends *ends, struct err *err);

/* stdio-reopen.c: standard input, if it is a file, from the read-only world; its place
 * in @request is taken by the new descriptor. Before anything hides it.
 */
int reopen_file(struct sandbox_request *request, struct err *err);
/* Open terminals and devices again in the sandbox's own /dev, where it has them */
void reopen_devices(struct sandbox_request *request);

/* Session keyring; no core dumps */
int stage_keyring(struct err *err);
int stage_core(struct err *err);
/* The command's resource limits, which init does not share. 0 or -errno. */
int limits_set(const struct sandbox_request *request);
/* Empty the bounding set and lock the securebits; capabilities of the process stay */
int stage_lock(struct err *err);
/* Every capability set empty and locked, no_new_privs */
int stage_privileges(const struct plan *plan, struct err *err);

/* landlock.c: the second layer behind the mounts; in the landlock tier, the
 * first
 */
int stage_landlock(const struct sandbox_request *request, int socket,
		   struct err *err);

/* The rules for reading beside what is hidden, made by the supervisor: a ruleset for
 * stage_landlock(), which takes it from @socket; -ENOENT if @plan needs none, or
 * another negative errno with a message
 */
int landlock_prepare(const struct plan *plan, struct err *err);
/* True if it needs one: then files that the host makes beside hidden ones cannot be read */
bool landlock_carves(const struct plan *plan);

/* landlock-filter.c: the landlock tier's second filter, for what only namespaces bound */
int stage_shared(const struct plan *plan, struct err *err);

/* Refuse connect(), where another program's listener would make it on the
 * command's behalf, and our Landlock does not bound that program
 */
int stage_unconnected(struct err *err);

/* final-check.c: read back that all of it holds, or refuse to run anything.
 * @keep is the one descriptor above 2 that may be open.
 */
int stage_assert(const struct plan *plan, const struct host_ids *host,
		 int keep, struct err *err);

/**
 * struct init_args - What both sides of the fork need
 * @kind:	Which sandbox
 * @uid, @gid:	The user's
 * @cpus:	Where we may run, if @other_cpu: then init begins on another processor
 * @two_cpus:	There is no third one
 */
struct init_args {
	const struct sandbox_kind *kind;
	uid_t uid;
	gid_t gid;
	int pair[2];
	bool other_cpu, two_cpus;
	cpu_set_t cpus;
};

enum { FORK_NAMESPACES = CLONE_NEWUSER | CLONE_NEWPID };

/**
 * struct order - What init waits for
 * @request:	In memory that it has: shared, or copied by the fork
 * @host:	The supervisor's namespaces
 * @open:	Which of the request's standard descriptors come with it
 */
struct order {
	const struct sandbox_request *request;
	struct host_ids host;
	bool open[3];
};

/* Do what every sandbox needs, wait for a struct order, build the sandbox, run the
 * command; report over the second socket of the pair. Runs as process 1 of the
 * new pid namespace.
 */
void child_main(const struct init_args *args)
	__attribute__((noreturn));

/* start.c: forget the caller's arguments and environment, which /proc/1 shows */
void child_wipe(void);

/* init.c: run the command and stay until it has ended */
void init_run(const struct sandbox_request *request, int socket)
	__attribute__((noreturn));

/* Make init opaque to the commands, and their ends readable: a signalfd */
int init_watch(int socket);

/* members.c: start commands as the supervisor asks, and stay until that is gone */
void members_serve(int socket) __attribute__((noreturn));

/* What is wrong with the program @name, that execve() failed for with @error. Returns
 * the exit status.
 */
int exec_describe(const char *name, int error, struct err *err);

/* Report and end: nothing has run. @status is one of base/proc.h, @code a
 * negative errno.
 */
void child_fail(int socket, int status, int code, const char *text)
	__attribute__((noreturn));

#endif /* SANDBOX_STAGES_H */
