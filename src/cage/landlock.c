/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cage/landlock.c - the second layer behind the mounts
 *
 * Read and execute everywhere the mounts show something, write only beneath
 * the writable roots. This also stops what mounts cannot: FIFOs on a read-only
 * mount, and files of the host re-opened for writing through /proc/self/fd. A
 * descriptor that the caller handed over for writing stays re-openable: that
 * gives away nothing, and "> /dev/stderr" must work.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/sys.h"
#include "cage/stages.h"
#include "plan/plan.h"

#define READ_RIGHTS							\
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |	\
	 LANDLOCK_ACCESS_FS_READ_DIR)

#define WRITE_RIGHTS							\
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |	\
	 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |	\
	 LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM |	\
	 LANDLOCK_ACCESS_FS_REFER | SYS_LANDLOCK_FS_TRUNCATE |		\
	 SYS_LANDLOCK_FS_IOCTL_DEV)

#define NEVER_RIGHTS							\
	(LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK)

#define FILE_RIGHTS							\
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |	\
	 LANDLOCK_ACCESS_FS_WRITE_FILE | SYS_LANDLOCK_FS_TRUNCATE |	\
	 SYS_LANDLOCK_FS_IOCTL_DEV)

#define DEVICE_RIGHTS							\
	(LANDLOCK_ACCESS_FS_WRITE_FILE | SYS_LANDLOCK_FS_TRUNCATE |	\
	 SYS_LANDLOCK_FS_IOCTL_DEV)

/* What each ABI knows; later ones only add */
static uint64_t handled_by(int abi)
{
	uint64_t rights = READ_RIGHTS | WRITE_RIGHTS | NEVER_RIGHTS;

	if (abi < 2)
		rights &= ~(uint64_t)LANDLOCK_ACCESS_FS_REFER;
	if (abi < 3)
		rights &= ~(uint64_t)SYS_LANDLOCK_FS_TRUNCATE;
	if (abi < 5)
		rights &= ~(uint64_t)SYS_LANDLOCK_FS_IOCTL_DEV;
	return rights;
}

static int allow_fd(int ruleset, int fd, uint64_t rights, struct err *err,
		    const char *name)
{
	struct landlock_path_beneath_attr attr = { .parent_fd = fd };
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail_errno(err, "cannot look at '%s'", name);
	/* The kernel refuses, rather than ignores, directory rights on a file */
	attr.allowed_access = S_ISDIR(st.st_mode) ? rights
						  : rights & FILE_RIGHTS;
	if (sys_landlock_add_rule(ruleset, LANDLOCK_RULE_PATH_BENEATH,
				  &attr) < 0)
		return fail_errno(err, "cannot allow '%s'", name);
	return 0;
}

static int allow(int ruleset, const char *path, uint64_t rights,
		 struct err *err)
{
	auto_close int fd = open(path, O_PATH | O_CLOEXEC);

	if (fd < 0)
		return fail_errno(err, "cannot open '%s'", path);
	return allow_fd(ruleset, fd, rights, err, path);
}

static int allow_stdio(int ruleset, uint64_t handled, struct err *err)
{
	for (int fd = 0; fd <= 2; fd++) {
		const int flags = fcntl(fd, F_GETFL);
		struct stat st;
		int r;

		if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY ||
		    fstat(fd, &st) < 0 ||
		    !(S_ISREG(st.st_mode) || S_ISCHR(st.st_mode)))
			continue;
		r = allow_fd(ruleset, fd, DEVICE_RIGHTS & handled, err,
			     "standard output");
		if (r < 0)
			return r;
	}
	return 0;
}

static int allow_all(int ruleset, const struct plan *plan, uint64_t handled,
		     struct err *err)
{
	const uint64_t write = (READ_RIGHTS | WRITE_RIGHTS) & handled;
	int r = allow(ruleset, "/", plan->root_writable ? write
						       : READ_RIGHTS, err);

	if (r == 0)
		r = allow(ruleset, "/dev", (READ_RIGHTS | DEVICE_RIGHTS) &
					   handled, err);
	if (r == 0)
		r = allow(ruleset, "/dev/shm", write, err);
	if (r == 0 && plan->tmp != TMP_HOST)
		r = allow(ruleset, "/tmp", write, err);
	if (r == 0)
		r = allow_stdio(ruleset, handled, err);
	for (size_t i = 0; r == 0 && i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];

		if (m->kind == MOUNT_BIND_RW)
			r = allow(ruleset, m->path, write, err);
	}
	return r;
}

int stage_landlock(const struct plan *plan, struct err *err)
{
	const int abi = plan->machine.landlock_abi;
	const struct sys_landlock_ruleset_attr attr = {
		.handled_access_fs = handled_by(abi),
		.scoped = abi < 6 ? 0 : SYS_LANDLOCK_SCOPE_ABSTRACT_UNIX |
					SYS_LANDLOCK_SCOPE_SIGNAL,
	};
	/* Older kernels refuse a structure with more than they know */
	const size_t size = abi < 4 ? sizeof(uint64_t) :
			    abi < 6 ? 2 * sizeof(uint64_t) : sizeof(attr);
	auto_close int ruleset = -1;
	int r;

	if (!abi)
		return 0;	/* The plan says so, and so does explain */
	ruleset = sys_landlock_create_ruleset(&attr, size, 0);
	if (ruleset < 0)
		return fail_errno(err, "cannot make a Landlock ruleset");
	r = allow_all(ruleset, plan, attr.handled_access_fs, err);
	if (r < 0)
		return r;
	if (sys_landlock_restrict_self(ruleset) < 0)
		return fail_errno(err, "cannot enforce the Landlock ruleset");
	return 0;
}
