/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/probe-sandbox.c - namespaces and what is done inside them; the filter, Landlock */

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/proc.h"
#include "base/sys.h"
#include "doctor/probe.h"
#include "ipc/listener.h"
#include "sandbox/netns.h"
#include "sandbox/seccomp.h"
#include "sandbox/stages.h"

/* All that a sandbox asks for at once */
#define SANDBOX_FLAGS							\
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC |	\
	 CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWNET)

static int wait_for(pid_t pid)
{
	const int status = reap_wait(pid);

	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

int probe_inside(uint64_t flags, int (*fn)(void), bool *ret_mapped)
{
	const uid_t uid = geteuid();
	const gid_t gid = getegid();
	bool *mapped = mmap(NULL, sizeof(*mapped), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;
	int r;

	if (mapped == MAP_FAILED)
		return -errno;
	pid = sys_fork_into(flags | CLONE_NEWUSER, NULL);
	if (!pid) {
		r = stage_idmap(uid, gid, NULL);
		*mapped = r == 0;
		if (r == 0 && fn)
			r = fn();
		_exit(r < 0 ? -r : 0);
	}
	r = pid < 0 ? -errno : wait_for(pid);
	if (ret_mapped)
		*ret_mapped = *mapped;
	(void)munmap(mapped, sizeof(*mapped));
	return r;
}

void probe_userns(struct probe_result *r)
{
	const pid_t pid = sys_fork_into(SANDBOX_FLAGS, NULL);
	const int error = errno;

	if (!pid)
		_exit(0);
	if (pid < 0)
		probe_no(r, PROBE_userns, why_no_userns(error), error);
	else
		(void)wait_for(pid);
}

void probe_uidmap(struct probe_result *r)
{
	const int error = -probe_inside(CLONE_NEWNS, NULL, NULL);

	if (error)
		probe_no(r, PROBE_uidmap, why_no_userns(error), error);
}

/* A read-only world with a tmpfs in it, as a run makes it */
static int try_mounts(void)
{
	const struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID,
		.propagation = MS_PRIVATE,
	};
	auto_close int tree = -1, fs = -1, tmpfs = -1;

	tree = open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE |
			     OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (tree < 0 || sys_mount_setattr(AT_FDCWD, "/", AT_RECURSIVE,
					  &attr) < 0)
		return -errno;
	fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	tmpfs = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID);
	if (tmpfs < 0 || move_mount(tmpfs, "", AT_FDCWD, "/dev",
				      MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -errno;
	return move_mount(tree, "", tmpfs, "", MOVE_MOUNT_F_EMPTY_PATH |
						 MOVE_MOUNT_T_EMPTY_PATH) < 0 ?
	       -errno : 0;
}

static int try_proc(void)
{
	auto_close int fs = fsopen("proc", FSOPEN_CLOEXEC);
	auto_close int tree = -1;

	if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	tree = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID);
	return tree < 0 ? -errno : 0;
}

static int try_network(void)
{
	const struct netns_config config = { .filtered = true };
	struct listener_set set = { 0 };
	const int r = netns_setup(&config, &set, NULL);

	listener_done(&set);
	return r;
}

static int try_overlay(void)
{
	static const char *const dirs[] = {
		"/tmp/lower", "/tmp/upper", "/tmp/work", "/tmp/merged",
	};

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", "/tmp", "tmpfs", 0, NULL) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		if (mkdir(dirs[i], 0755) < 0)
			return -errno;
	}
	return mount("overlay", "/tmp/merged", "overlay", 0,
		     "lowerdir=/tmp/lower,upperdir=/tmp/upper,workdir=/tmp/work,userxattr") < 0 ?
	       -errno : 0;
}

static int try_fuse(void)
{
	auto_close int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[128];

	if (fd < 0)
		return -errno;
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=%u,group_id=%u", fd, geteuid(),
		 getegid());
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return -errno;
	return mount("probe", "/tmp", "fuse", MS_NOSUID | MS_NODEV,
		     options) < 0 ? -errno : 0;
}

static int try_tun(void)
{
	auto_close int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	struct ifreq request = {
		.ifr_name = "cloche0", .ifr_flags = IFF_TUN | IFF_NO_PI,
	};

	if (fd < 0)
		return -errno;
	return ioctl(fd, TUNSETIFF, &request) < 0 ? -errno : 0;
}

/* A no of something that needs namespaces first has their cause; what says
 * @refusal to the rest has @why
 */
static void try_inside(struct probe_result *r, enum probe probe, uint64_t flags,
		       int (*fn)(void), int refusal, enum cause why)
{
	bool mapped = false;
	const int error = -probe_inside(flags, fn, &mapped);

	if (error && mapped)
		probe_failed(r, probe, error == refusal ? why : CAUSE_NONE,
			     error);
	if (!error || mapped)
		return;
	probe_no(r, probe, why_no_userns(error), error);
	probe_detail(r, "user namespaces are refused");
}

#define INSIDE(id, flags, fn, refusal, why)				\
	void probe_##id(struct probe_result *r)				\
	{								\
		try_inside(r, PROBE_##id, flags, fn, refusal, CAUSE_##why); \
	}
INSIDE(mounts, CLONE_NEWNS, try_mounts, 0, NONE)
INSIDE(proc, CLONE_NEWNS | CLONE_NEWPID, try_proc, EPERM, PROC_MASKED)
INSIDE(netns, CLONE_NEWNET, try_network, 0, NONE)
INSIDE(overlay, CLONE_NEWNS, try_overlay, 0, NONE)
INSIDE(fuse, CLONE_NEWNS, try_fuse, EACCES, DEVICE_MODE)
INSIDE(tun, CLONE_NEWNET, try_tun, EACCES, DEVICE_MODE)

static int try_filter(enum seccomp_observe observe)
{
	const struct seccomp_config config = { .observe = observe };
	int listener;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return seccomp_install(&config, &listener, NULL);
}

/* In a sandbox of ours there is no openat2(), and no listener to need it for */
static int try_calls(void)
{
	auto_close int pidfd = pidfd_open(getpid(), 0);

	if (pidfd < 0 || pidfd_send_signal(pidfd, 0, NULL, 0) < 0 ||
	    close_range(100, ~0U, 0) < 0)
		return -errno;
	return sys_has_openat2() || try_filter(SECCOMP_OBSERVE_ON) == -EBUSY ?
	       0 : -ENOSYS;
}

void probe_calls(struct probe_result *r)
{
	const int error = -try_calls();

	if (error)
		probe_failed(r, PROBE_calls, CAUSE_NONE, error);
}

void probe_seccomp(struct probe_result *r)
{
	const int error = -try_filter(SECCOMP_OBSERVE_OFF);

	if (error)
		probe_failed(r, PROBE_seccomp, host_is_gvisor() ?
			     CAUSE_GVISOR : CAUSE_NONE, error);
}

void probe_notify(struct probe_result *r)
{
	const int error = -try_filter(SECCOMP_OBSERVE_ON);

	if (error)
		probe_failed(r, PROBE_notify, error == EBUSY ?
			     CAUSE_LISTENER : CAUSE_NONE, error);
}

/* Close the file system, and see it closed */
static int try_landlock(void)
{
	const struct sys_landlock_ruleset_attr attr = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_READ_DIR,
	};
	auto_close int ruleset = -1;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	ruleset = sys_landlock_create_ruleset(&attr);
	if (ruleset < 0 || sys_landlock_restrict_self(ruleset) < 0)
		return -errno;
	if (open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0)
		return -EPROTO;
	return errno == EACCES ? 0 : -errno;
}

/* What a kernel with less than this ABI cannot restrict */
static const struct {
	int abi;
	const char *text;
} abis[] = {
	{ 1, "anything" }, { 2, "moving files between directories" },
	{ 3, "truncate()" }, { 4, "TCP" }, { 5, "ioctl() on devices" },
	{ 6, "signals and abstract Unix sockets" },
	{ 9, "connecting to Unix sockets by path" },
};

void probe_landlock(struct probe_result *r)
{
	const int abi = sys_landlock_abi();
	const int error = -try_landlock();
	auto_buf struct buf lacks = { 0 };

	if (!abi || error) {
		probe_failed(r, PROBE_landlock, CAUSE_NONE, error);
		return;
	}
	r->value = abi;
	for (size_t i = 0; i < ARRAY_SIZE(abis); i++) {
		if (abis[i].abi > abi)
			buf_addf(&lacks, "%s%s", lacks.len ? ", " : "",
				 abis[i].text);
	}
	probe_detail(r, "ABI %d%s%s", abi, lacks.len ? "; does not cover " : "",
		     buf_str(&lacks));
	if (abi < 6)
		probe_no(r, PROBE_landlock, CAUSE_LANDLOCK_OLD, 0);
}
