/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/landlock.c - Landlock rules, a second layer behind the mounts
 *
 * List and execute everywhere, read everywhere but where something is hidden, write
 * only beneath the writable roots. This also stops what mounts cannot: FIFOs on a read-only
 * mount, and files of the host re-opened for writing through /proc/self/fd. A
 * terminal that the caller handed over stays re-openable: "> /dev/stderr" must
 * work (files for output are relayed, run/command-stdio.c).
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "ipc/socket.h"
#include "plan/plan.h"
#include "sandbox/sandbox.h"
#include "sandbox/stages.h"
#include "view/view.h"

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

#define FILE_RIGHTS							\
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |	\
	 LANDLOCK_ACCESS_FS_WRITE_FILE | SYS_LANDLOCK_FS_TRUNCATE |	\
	 SYS_LANDLOCK_FS_IOCTL_DEV)

#define DEVICE_RIGHTS							\
	(LANDLOCK_ACCESS_FS_WRITE_FILE | SYS_LANDLOCK_FS_TRUNCATE |	\
	 SYS_LANDLOCK_FS_IOCTL_DEV)

enum { CARVED_MAX = 4096 };	/* Rules for what stands beside hidden paths */

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
	int r = 0;

	for (size_t i = 0; r == 0 && i < VIEW_DEVICES; i++) {
		char path[32];

		snprintf(path, sizeof(path), "/dev/%s", view_devices[i]);
		r = allow(ruleset, path, (READ_RIGHTS | DEVICE_RIGHTS) & handled, err);
	}
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

static bool is_root(const struct plan_mount *m)
{
	return m->kind == MOUNT_BIND_RW || m->kind == MOUNT_PRIVATE ||
	       m->kind == MOUNT_LAYER || m->kind == MOUNT_STAGED;
}

/**
 * struct carving - Directories that something hidden lies in
 * @above:	Mounts below which nothing is the host's
 * @hidden:	What is hidden, in the order of path_compare()
 * @left:	Rules that may still be made
 */
struct carving {
	int ruleset;
	const struct plan_mount **above, **hidden;
	size_t above_len, len, left;
};

/* True if nothing may be read at @m, and its directory is the host's alone: what a
 * command makes in its own would have no rule
 */
static bool is_hidden(const struct carving *c, const struct plan_mount *m)
{
	if (m->kind != MOUNT_MASK_FILE && m->kind != MOUNT_REDACTED &&
	    (m->kind != MOUNT_MASK_DIR || m->mask != MASK_EMPTY))
		return false;
	for (size_t i = 0; i < c->above_len; i++) {
		if (c->above[i] != m && path_is_within(c->above[i]->path, m->path))
			return false;
	}
	return !path_is_within("/dev", m->path) &&
	       !path_is_within("/proc", m->path) &&
	       !path_is_within("/tmp", m->path);
}

/* True if @path leads to a hidden file, or is hidden; then *@is is set. The mask on a
 * directory goes only with the directory itself, which is not worth a rule for each
 * entry around it.
 */
static bool leads(const struct carving *c, const char *path, bool *is)
{
	const size_t n = strlen(path);
	size_t lo = 0, hi = c->len;

	while (lo < hi) {
		const size_t mid = (lo + hi) / 2;

		if (path_compare(c->hidden[mid]->path, path) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < c->len && path_is_within(path, c->hidden[lo]->path); lo++) {
		*is = !c->hidden[lo]->path[n];
		if (*is || c->hidden[lo]->kind != MOUNT_MASK_DIR)
			return true;
	}
	return false;
}

/* Files in @path may be read, but for what is hidden: each entry has a rule of its
 * own, and a file that takes the place of a hidden one has none. A directory that
 * cannot be listed, or has too many entries, is granted as a whole.
 */
static int carve(struct carving *c, const char *path, struct err *err)
{
	struct landlock_path_beneath_attr attr = {
		.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE };
	auto_closedir DIR *dir = opendir(path);
	size_t n = 0;
	struct dirent *e;
	int r = 0;

	while (dir && readdir(dir) && n <= c->left)
		n++;
	if (!dir && err_is_shortage(errno))
		return fail_errno(err, "cannot list '%s'", path);
	if (!dir || n > c->left)
		return allow(c->ruleset, path, LANDLOCK_ACCESS_FS_READ_FILE,
			     err);
	c->left -= n;
	rewinddir(dir);
	while (r == 0 && (e = readdir(dir)) != NULL) {
		auto_free char *below = path_join(path, e->d_name);
		auto_close int fd = -1;
		bool hidden = false;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    e->d_type == DT_LNK)
			continue;
		if (leads(c, below, &hidden)) {
			if (!hidden)
				r = carve(c, below, err);
			continue;
		}
		fd = openat(dirfd(dir), e->d_name, O_PATH | O_NOFOLLOW |
			    O_CLOEXEC);
		attr.parent_fd = fd;
		/* It may be gone by now */
		if (fd < 0 ? err_is_shortage(errno) :
		    sys_landlock_add_rule(c->ruleset,
				LANDLOCK_RULE_PATH_BENEATH, &attr) < 0)
			r = fail_errno(err, "cannot allow '%s'", below);
	}
	return r;
}

static int compare_mounts(const void *a, const void *b)
{
	const struct plan_mount *const *x = a, *const *y = b;

	return path_compare((*x)->path, (*y)->path);
}

/* Room for the mounts of @plan, and those of them that @c->above is for */
static void carving_init(struct carving *c, const struct plan *plan)
{
	const size_t n = plan->mounts.len + 1;

	*c = (struct carving) { .ruleset = -1, .left = CARVED_MAX };
	c->above = mem_zalloc(2 * n * sizeof(*c->above));
	c->hidden = c->above + n;
	for (size_t i = 0; i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];

		if (is_root(m) || m->kind == MOUNT_MASK_DIR)
			c->above[c->above_len++] = m;
	}
}

static void list_hidden(struct carving *c, const struct plan *plan)
{
	for (size_t i = 0; i < plan->mounts.len; i++) {
		if (is_hidden(c, &plan->mounts.v[i]))
			c->hidden[c->len++] = &plan->mounts.v[i];
	}
	qsort(c->hidden, c->len, sizeof(*c->hidden), compare_mounts);
}

static bool hides_file(const struct plan *plan)
{
	struct carving c;
	bool found = false;

	carving_init(&c, plan);
	for (size_t i = 0; !found && i < plan->mounts.len; i++)
		found = plan->mounts.v[i].kind != MOUNT_MASK_DIR &&
			is_hidden(&c, &plan->mounts.v[i]);
	free(c.above);
	return found;
}

/* Any Landlock rule on files forbids mount(): a command that may make namespaces is
 * confined by the mounts alone
 */
static bool nests(const struct plan *plan)
{
	return plan->tier == TIER_FULL && plan->nested_userns;
}

bool landlock_carves(const struct plan *plan)
{
	return plan->tier == TIER_FULL && plan->machine.landlock_abi &&
	       !nests(plan) && !plan->root_writable && hides_file(plan);
}

static int create(const struct plan *plan, struct err *err);

/* Reading: everything but what is hidden, so that a mask which the host lifts for the
 * moment of a save lays nothing open. To make a hundred rules takes a fifth of a short
 * run, so the supervisor does it while the file system is put together: inodes are the
 * same in both.
 */
int landlock_prepare(const struct plan *plan, struct err *err)
{
	auto_close int ruleset = -1;
	struct carving c;
	int r;

	if (!landlock_carves(plan))
		return -ENOENT;
	ruleset = create(plan, err);
	if (ruleset < 0)
		return ruleset;
	carving_init(&c, plan);
	c.ruleset = ruleset;
	list_hidden(&c, plan);
	r = carve(&c, "/", err);
	free(c.above);
	return r < 0 ? r : take_fd(&ruleset);
}

/* A mask itself, which refuses and reports; not what has just taken its place */
static int allow_mask(int ruleset, const char *path, struct err *err)
{
	auto_close int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct statx x;

	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &x) < 0 ||
	    !(x.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return 0;
	return allow_fd(ruleset, fd, LANDLOCK_ACCESS_FS_READ_FILE, err, path);
}

/* What is not the host's, or stands in what is hidden */
static int allow_own_reads(int ruleset, const struct plan *plan,
			   struct err *err)
{
	int r = allow(ruleset, "/", READ_RIGHTS &
		      ~(uint64_t)LANDLOCK_ACCESS_FS_READ_FILE, err);

	if (r == 0)
		r = allow(ruleset, "/proc", READ_RIGHTS, err);
	for (size_t i = 0; r == 0 && i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];

		if (m->kind == MOUNT_SHOW || m->kind == MOUNT_MADE ||
		    m->kind == MOUNT_SPARE ||
		    (m->kind == MOUNT_MASK_DIR && m->mask != MASK_EMPTY))
			r = allow(ruleset, m->path, READ_RIGHTS, err);
		else if (m->kind == MOUNT_MASK_FILE || m->kind == MOUNT_REDACTED)
			r = allow_mask(ruleset, m->path, err);
	}
	return r;
}

static int allow_all(int ruleset, const struct plan *plan, uint64_t handled,
		     struct err *err)
{
	const uint64_t write = (READ_RIGHTS | WRITE_RIGHTS) & handled;
	int r = landlock_carves(plan) ? allow_own_reads(ruleset, plan, err) :
		allow(ruleset, "/", plan->root_writable ? write : READ_RIGHTS,
		      err);

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
		if (is_root(m))
			r = allow(ruleset, m->path, write, err);
	}
	return r;
}

/* The only layer: check that it works. This file may not be written, and without
 * Landlock (or an outer sandbox's read-only /proc) this process could.
 */
static int check_enforced(const struct plan *plan, struct err *err)
{
	auto_close int fd = -1;

	if (plan->tier == TIER_FULL || plan->root_writable)
		return 0;
	fd = open("/proc/self/comm", O_WRONLY | O_CLOEXEC);
	if (fd >= 0 || (errno != EACCES && errno != EROFS))
		return fail(err, -EPERM, "Landlock was set up, but does not refuse what it should");
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

static int create(const struct plan *plan, struct err *err)
{
	const int abi = plan->machine.landlock_abi;
	const struct sys_landlock_ruleset_attr attr = {
		.handled_access_fs = nests(plan) ? 0 : sys_landlock_fs(abi),
		.handled_access_net = plan->tier == TIER_FULL ||
				      plan->net == NET_HOST ? 0 :
				      SYS_LANDLOCK_NET_BIND_TCP |
				      SYS_LANDLOCK_NET_CONNECT_TCP,
		.scoped = abi < 6 ? 0 : SYS_LANDLOCK_SCOPE_ABSTRACT_UNIX |
					SYS_LANDLOCK_SCOPE_SIGNAL,
	};
	const int ruleset = sys_landlock_create_ruleset(&attr);

	return ruleset < 0 ? fail_errno(err, "cannot make a Landlock ruleset")
			   : ruleset;
}

/* The one that landlock_prepare() has made, on its way */
static int receive(int socket, struct err *err)
{
	size_t n = 1;
	int fd = -1;
	char c;

	if (socket_recv(socket, &c, 1, &fd, &n) != 1 || n != 1)
		return fail(err, -EPROTO, "no Landlock ruleset was received");
	return fd;
}

int stage_landlock(const struct sandbox_request *request, int socket,
		   struct err *err)
{
	const struct plan *plan = request->plan;
	const int abi = plan->machine.landlock_abi;
	auto_close int ruleset = -1;
	int r = check_abi(plan, err);

	if (r < 0 || !abi || (nests(plan) && abi < 6))
		return r;	/* The plan says so, and so does explain */
	ruleset = landlock_carves(plan) ? receive(socket, err) : create(plan, err);
	if (ruleset < 0)
		return ruleset;
	r = nests(plan) ? 0 : plan->tier == TIER_FULL ?
	    allow_all(ruleset, plan, sys_landlock_fs(abi), err) :
	    allow_grants(ruleset, plan, request->tmp_path, sys_landlock_fs(abi),
			 err);
	if (r < 0)
		return r;
	if (sys_landlock_restrict_self(ruleset) < 0)
		return fail_errno(err, "cannot enforce the Landlock ruleset");
	return check_enforced(plan, err);
}
