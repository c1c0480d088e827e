/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cage/landlock.c - the second layer behind the mounts
 *
 * Read and execute everywhere the mounts show something, write only beneath
 * the writable roots. This also stops what mounts cannot: FIFOs on a read-only
 * mount, and files of the host re-opened for writing through /proc/self/fd. A
 * terminal that the caller handed over stays re-openable: "> /dev/stderr" must
 * work (files for output are relayed, lib/stdfds.c).
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "cage/cage.h"
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
		    fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode))
			continue;
		r = allow_fd(ruleset, fd, DEVICE_RIGHTS & handled, err,
			     "the terminal");
		if (r < 0)
			return r;
	}
	return 0;
}

/* The landlock tier has the host's /dev: only what is harmless in there */
static int allow_devices(int ruleset, uint64_t handled, struct err *err)
{
	static const char *const devices[] = {
		"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
		"/dev/urandom", "/dev/tty",
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(devices); i++)
		r = allow(ruleset, devices[i], (READ_RIGHTS | DEVICE_RIGHTS) &
					       handled, err);
	return r;
}

/* What was granted for what stands beside it may be gone or replaced since:
 * then it has nothing. A rule's own path must be what the plan saw.
 */
static int allow_grant(int ruleset, const struct plan_grant *grant,
		       uint64_t handled, struct err *err)
{
	static const uint64_t rights[] = {
		[GRANT_LIST] = LANDLOCK_ACCESS_FS_READ_DIR,
		[GRANT_READ] = READ_RIGHTS,
		[GRANT_WRITE] = READ_RIGHTS | WRITE_RIGHTS,
	};
	auto_close int fd = sys_open_nofollow(AT_FDCWD, grant->path, O_PATH, 0);
	struct stat st;

	if (fd < 0 && grant->beside)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_errno(err, "cannot open '%s'", grant->path);
	if (st.st_dev != grant->dev || st.st_ino != grant->ino)
		return grant->beside ? 0 :
			fail(err, -ESTALE, "'%s' was replaced while the sandbox was being built; try again",
			     grant->path);
	return allow_fd(ruleset, fd, rights[grant->right] & handled, err,
			grant->path);
}

static int allow_grants(int ruleset, const struct plan *plan,
			const char *tmp_path, uint64_t handled,
			struct err *err)
{
	int r = allow_devices(ruleset, handled, err);

	if (r == 0 && tmp_path)
		r = allow(ruleset, tmp_path, (READ_RIGHTS | WRITE_RIGHTS) &
					     handled, err);
	if (r == 0)
		r = allow_stdio(ruleset, handled, err);
	for (size_t i = 0; r == 0 && i < plan->grants.len; i++)
		r = allow_grant(ruleset, &plan->grants.v[i], handled, err);
	return r;
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

		if (path_is_within("/dev", m->path) ||
		    path_is_within("/proc", m->path))
			continue;	/* They are not the host's */
		if (m->kind == MOUNT_BIND_RW || m->kind == MOUNT_PRIVATE ||
		    m->kind == MOUNT_LAYER || m->kind == MOUNT_ASIDE)
			r = allow(ruleset, m->path, write, err);
	}
	return r;
}

/* The only layer: it must be seen to work. Nobody may write here, and without
 * Landlock (or an outer sandbox's read-only /proc) this process could.
 */
static int check_enforced(const struct plan *plan, struct err *err)
{
	auto_close int fd = -1;

	if (plan->tier == TIER_FULL || plan->root_writable)
		return 0;
	fd = open("/proc/self/comm", O_WRONLY | O_CLOEXEC);
	if (fd >= 0 || (errno != EACCES && errno != EROFS))
		return fail(err, -EPERM, "Landlock does not hold here");
	return 0;
}

static int check_abi(const struct plan *plan, struct err *err)
{
	if (plan->tier == TIER_FULL ||
	    plan->machine.landlock_abi >= TIER_LANDLOCK_ABI)
		return 0;
	return fail(err, -EOPNOTSUPP, "the landlock tier needs Landlock ABI %d, and this kernel has %d; 'cloche doctor' says more",
		    TIER_LANDLOCK_ABI, plan->machine.landlock_abi);
}

int stage_landlock(const struct cage_request *request, struct err *err)
{
	const struct plan *plan = request->plan;
	const int abi = plan->machine.landlock_abi;
	/* Mounts inside are forbidden by any rule on files: who may make
	 * namespaces has the mounts around him alone
	 */
	const bool nesting = plan->tier == TIER_FULL && plan->nested_userns;
	const struct sys_landlock_ruleset_attr attr = {
		.handled_access_fs = nesting ? 0 : handled_by(abi),
		.handled_access_net = plan->tier == TIER_FULL ||
				      plan->net == NET_HOST ? 0 :
				      SYS_LANDLOCK_NET_BIND_TCP |
				      SYS_LANDLOCK_NET_CONNECT_TCP,
		.scoped = abi < 6 ? 0 : SYS_LANDLOCK_SCOPE_ABSTRACT_UNIX |
					SYS_LANDLOCK_SCOPE_SIGNAL,
	};
	/* Older kernels refuse a structure with more than they know */
	const size_t size = abi < 4 ? sizeof(uint64_t) :
			    abi < 6 ? 2 * sizeof(uint64_t) : sizeof(attr);
	auto_close int ruleset = -1;
	int r = check_abi(plan, err);

	if (r < 0 || !abi || (nesting && !attr.scoped))
		return r;	/* The plan says so, and so does explain */
	ruleset = sys_landlock_create_ruleset(&attr, size, 0);
	if (ruleset < 0)
		return fail_errno(err, "cannot make a Landlock ruleset");
	r = nesting ? 0 : plan->tier == TIER_FULL ?
	    allow_all(ruleset, plan, attr.handled_access_fs, err) :
	    allow_grants(ruleset, plan, request->tmp_path,
			 attr.handled_access_fs, err);
	if (r < 0)
		return r;
	if (sys_landlock_restrict_self(ruleset) < 0)
		return fail_errno(err, "cannot enforce the Landlock ruleset");
	return check_enforced(plan, err);
}
