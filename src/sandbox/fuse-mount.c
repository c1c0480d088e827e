/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/fuse-mount.c - FUSE masks: build the mount behind them
 *
 * Theory of operation: one FUSE file system (a superblock is what costs) holds
 * a node for every mask, and each mask is a clone of its node. To reach the
 * nodes, a process must answer while we look them up; a second thread does, for
 * as long as the tree is built. One reading of the root brings all nodes into
 * the kernel's cache, so there are few questions.
 *
 * Both threads stay on one processor: to wake another one costs more than the
 * answers. They share errno, so the second makes no call that fails unless all
 * is lost anyway.
 *
 * Only the second thread has the device open, in a table of descriptors of its
 * own. If we are killed between a question and its answer, the device goes with
 * that thread, and the kernel ends the question. If we had it open as well, we
 * could not die before the answer, nor the device go before our death.
 *
 * Every process in the sandbox may ask (allow_other). One outside is refused at
 * once, which is why the supervisor can both answer for the masks and walk into
 * them without waiting for itself.
 */

#include "sandbox/fuse-mount.h"

#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/proc.h"
#include "base/sys.h"
#include "ipc/socket.h"
#include "plan/plan.h"
#include "sandbox/mount-fd.h"
#include "sandbox/tmpfs.h"

enum { STACK_SIZE = 32 << 10 };

/**
 * struct server - The second thread
 * @tid:	Its number; the kernel clears it, and wakes us, at its end
 * @stop:	The next look-up is the last
 * @back:	The way of the device back to us
 * @before:	Where we may run otherwise; @pinned if that counts
 */
struct server {
	const struct fuse_mask_tree *tree;
	int device;
	int tid;
	int back[2];
	bool stop, pinned;
	cpu_set_t before;
	uint64_t request[FUSE_MASK_REQUEST_MAX / 8], reply[FUSE_MASK_REPLY_MAX / 8];
	char stack[STACK_SIZE] __attribute__((aligned(16)));
};

static int set_number(int fs, const char *key, unsigned int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	return fsconfig(fs, FSCONFIG_SET_STRING, key, text, 0);
}

static int make_root(int device, uid_t uid, gid_t gid)
{
	auto_close int fs = fsopen("fuse", FSOPEN_CLOEXEC);

	if (fs < 0 || set_number(fs, "fd", (unsigned int)device) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "source", FUSE_MASK_SOURCE, 0) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "rootmode", "40555", 0) < 0 ||
	    set_number(fs, "user_id", uid) < 0 ||
	    set_number(fs, "group_id", gid) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_FLAG, "allow_other", NULL, 0) < 0 ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	return fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_RDONLY |
			   MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
			   MOUNT_ATTR_NOEXEC);
}

static void give_up(struct fuse_mount *masks)
{
	close_fd(&masks->root);
	close_fd(&masks->device);
}

void fuse_mount_begin(struct fuse_mount *masks, int dev, uid_t uid, gid_t gid)
{
	struct stat st;

	masks->begun = true;
	/* The kernel wants it opened in the namespace that mounts */
	masks->device = openat(dev, "fuse", O_RDWR | O_CLOEXEC);
	/* A file open for writing would keep the world from being read-only */
	if (masks->device >= 0 && fstat(masks->device, &st) == 0 &&
	    S_ISCHR(st.st_mode))
		masks->root = make_root(masks->device, uid, gid);
	if (masks->root < 0)
		give_up(masks);
}

void fuse_mount_prepare(struct fuse_mount *masks, const struct plan *plan, int dev)
{
	fuse_mask_tree_build(plan, &masks->tree);
	if (!masks->tree.len)
		give_up(masks);
	else if (!masks->begun)
		fuse_mount_begin(masks, dev, plan->machine.uid, plan->machine.gid);
}

/* Others may be queued before it, but this is the last that is waited for */
static bool is_last(const struct server *s)
{
	return __atomic_load_n(&s->stop, __ATOMIC_ACQUIRE) &&
	       ((const struct fuse_in_header *)s->request)->opcode ==
	       FUSE_LOOKUP;
}

static int serve_nodes(void *arg)
{
	struct server *s = arg;
	struct fuse_mask_event ignored;
	bool last;

	do {
		const ssize_t n = read(s->device, s->request,
				       sizeof(s->request));
		const ssize_t len = n < 0 ? n :
			fuse_mask_answer(s->tree, s->request, (size_t)n, s->reply,
				    &ignored);

		/* Before the answer: the process that gets it goes on */
		last = len > 0 && is_last(s);
		/* The process that asked would wait for ever */
		if (len < 0 || (len > 0 &&
				write(s->device, s->reply, (size_t)len) < 0))
			(void)syscall(SYS_exit_group, EXIT_NOT_BUILT);
	} while (!last);
	(void)socket_send(s->back[1], "", 1, &s->device, 1);
	return 0;
}

static void stay_here(struct server *s)
{
	cpu_set_t here;
	const int cpu = sched_getcpu();

	CPU_ZERO(&here);
	if (cpu < 0 || cpu >= CPU_SETSIZE ||
	    sched_getaffinity(0, sizeof(s->before), &s->before) < 0)
		return;
	CPU_SET(cpu, &here);
	s->pinned = sched_setaffinity(0, sizeof(here), &here) == 0;
}

static bool start_server(struct fuse_mount *masks)
{
	const int flags = CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD |
			  CLONE_SYSVSEM | CLONE_PARENT_SETTID |
			  CLONE_CHILD_CLEARTID;
	struct server *s = mem_alloc(sizeof(*s));	/* Mostly buffers */

	s->tree = &masks->tree;
	s->device = masks->device;
	s->tid = 0;
	s->stop = s->pinned = false;
	masks->server = s;
	if (socket_pair(s->back) < 0) {
		s->back[0] = s->back[1] = -1;
		return false;
	}
	stay_here(s);
	if (clone(serve_nodes, s->stack + STACK_SIZE, flags, s, &s->tid, NULL,
		  &s->tid) < 0) {
		s->tid = 0;
		return false;
	}
	close_fd(&masks->device);
	return true;
}

static void take_back(struct fuse_mount *masks)
{
	struct server *s = masks->server;
	size_t n = 1;
	char byte;

	close_fd(&s->back[1]);
	/* Without the device every request to a mask fails */
	if (masks->device < 0 &&
	    (socket_recv(s->back[0], &byte, 1, &masks->device, &n) < 0 || !n))
		masks->device = -1;
	close_fd(&s->back[0]);
}

static void stop_server(struct fuse_mount *masks)
{
	struct server *s = masks->server;
	struct stat st;
	int tid;

	if (!s)
		return;
	__atomic_store_n(&s->stop, true, __ATOMIC_RELEASE);
	if (s->tid)		/* There is no such name, but a question */
		(void)fstatat(masks->root, "stop", &st, 0);
	while ((tid = __atomic_load_n(&s->tid, __ATOMIC_ACQUIRE)) != 0)
		(void)syscall(SYS_futex, &s->tid, FUTEX_WAIT, tid, NULL, NULL,
			      0);
	if (s->pinned)
		(void)sched_setaffinity(0, sizeof(s->before), &s->before);
	take_back(masks);
	free(s);
	masks->server = NULL;
}

/* Make the kernel know the nodes of the root, a pageful with each answer. What
 * it does not know it will ask for.
 */
static bool read_root(const struct fuse_mount *masks)
{
	auto_close int fd = openat(masks->root, ".", O_RDONLY | O_DIRECTORY |
				   O_CLOEXEC);
	char buffer[8192] __attribute__((aligned(8)));
	struct dir dir = { .fd = fd, .buffer = buffer, .size = sizeof(buffer) };
	struct dir_entry entry;
	size_t left = 0;

	for (size_t i = 0; i < masks->tree.len; i++)
		left += masks->tree.v[i].parent == FUSE_MASK_TOP;
	/* The end would be one more question */
	while (fd >= 0 && left && dir_next(&dir, &entry) == 1)
		left--;
	return fd >= 0 && !left;
}

/* The number of the file system, without asking it */
static bool read_number(struct fuse_mount *masks)
{
	struct statx x;

	if (statx(masks->root, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0,
		  &x) < 0)
		return false;
	masks->dev = makedev(x.stx_dev_major, x.stx_dev_minor);
	return true;
}

void fuse_mount_start(struct fuse_mount *masks, int tmpfs)
{
	if (masks->device < 0)
		return;
	/* Kernels before 6.15 clone only what is attached somewhere */
	if (read_number(masks) &&
	    move_mount(masks->root, "", tmpfs, "masks",
			   MOVE_MOUNT_F_EMPTY_PATH) == 0 &&
	    start_server(masks) && read_root(masks))
		return;
	stop_server(masks);
	give_up(masks);
}

bool fuse_mount_source(struct fuse_mount *masks, size_t mount, char *name,
		  size_t size, struct stat *st)
{
	uint64_t node;

	if (masks->root < 0 || !fuse_mask_tree_find(&masks->tree, mount,
						&masks->next, &node))
		return false;
	snprintf(name, size, TMPFS_AT "/masks/%zu", mount);
	*st = (struct stat){ .st_dev = masks->dev, .st_ino = node };
	return true;
}

/* While the second thread answers */
static int open_ways(const struct fuse_mount *masks, struct mask_ends *ret,
		     struct err *err)
{
	for (size_t i = 0; i < masks->tree.ways.len; i++) {
		const char *path = masks->tree.ways.v[i];
		const int fd = tree_open(path, err);

		if (fd < 0)
			return fd;
		ret->v[ret->len++] = fd;
	}
	return 0;
}

int fuse_mount_finish(struct fuse_mount *masks, struct mask_ends *ret, struct err *err)
{
	int r = 0;

	*ret = (struct mask_ends){ .len = 1 };
	if (masks->server)
		r = open_ways(masks, ret, err);
	stop_server(masks);
	ret->v[0] = take_fd(&masks->device);
	if (ret->v[0] < 0 || r < 0)
		mask_ends_close(ret);
	close_fd(&masks->root);
	fuse_mask_tree_done(&masks->tree);
	return r;
}

void mask_ends_close(struct mask_ends *ends)
{
	for (size_t i = 0; i < ends->len; i++)
		close_fd(&ends->v[i]);
	ends->len = 0;
}
