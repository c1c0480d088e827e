/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/probe-ns.c - namespaces, and what can be done inside them */

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "base/sys.h"
#include "cage/netns.h"
#include "doctor/probe.h"
#include "plan/listener.h"

/* All that the cage asks for at once */
#define CAGE_FLAGS							\
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC |	\
	 CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWNET)

static int put(const char *path, const char *text)
{
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

static int map_ids(uid_t uid, gid_t gid)
{
	char map[64];
	int r = put("/proc/self/setgroups", "deny");

	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	if (r == 0)
		r = put("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	if (r == 0)
		r = put("/proc/self/gid_map", map);
	return r;
}

static int wait_for(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
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
		r = map_ids(uid, gid);
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
	const pid_t pid = sys_fork_into(CAGE_FLAGS, NULL);
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

/* A read-only world with a tmpfs in it, as the cage makes it */
static int try_mounts(void)
{
	const struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID,
		.propagation = MS_PRIVATE,
	};
	auto_close int tree = -1, fs = -1, box = -1;

	tree = sys_open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE |
			     OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (tree < 0 || sys_mount_setattr(AT_FDCWD, "/", AT_RECURSIVE,
					  &attr) < 0)
		return -errno;
	fs = sys_fsopen("tmpfs", FSOPEN_CLOEXEC);
	if (fs < 0 || sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	box = sys_fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID);
	if (box < 0 || sys_move_mount(box, "", AT_FDCWD, "/dev",
				      MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return -errno;
	return sys_move_mount(tree, "", box, "", MOVE_MOUNT_F_EMPTY_PATH |
						 MOVE_MOUNT_T_EMPTY_PATH) < 0 ?
	       -errno : 0;
}

static int try_proc(void)
{
	auto_close int fs = sys_fsopen("proc", FSOPEN_CLOEXEC);
	auto_close int tree = -1;

	if (fs < 0 || sys_fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	tree = sys_fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID);
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

/* A no of something that needs namespaces first has their cause */
static void answer(struct probe_result *r, enum probe probe, uint64_t flags,
		   int (*fn)(void), enum cause otherwise)
{
	bool mapped = false;
	const int error = -probe_inside(flags, fn, &mapped);

	if (!error)
		return;
	probe_no(r, probe, mapped ? otherwise : why_no_userns(error), error);
	if (!mapped)
		probe_detail(r, "user namespaces are refused");
	else
		probe_detail(r, "%s", strerror(error));
}

void probe_mounts(struct probe_result *r)
{
	answer(r, PROBE_mounts, CLONE_NEWNS, try_mounts, CAUSE_NONE);
}

void probe_proc(struct probe_result *r)
{
	answer(r, PROBE_proc, CLONE_NEWNS | CLONE_NEWPID, try_proc,
	       CAUSE_NONE);
	if (r->error == EPERM && r->cause == CAUSE_NONE)
		r->cause = CAUSE_PROC_MASKED;
}

void probe_netns(struct probe_result *r)
{
	answer(r, PROBE_netns, CLONE_NEWNET, try_network, CAUSE_NONE);
}

void probe_overlay(struct probe_result *r)
{
	answer(r, PROBE_overlay, CLONE_NEWNS, try_overlay, CAUSE_NONE);
}

void probe_fuse(struct probe_result *r)
{
	answer(r, PROBE_fuse, CLONE_NEWNS, try_fuse, CAUSE_NONE);
	if (r->error == EACCES && r->cause == CAUSE_NONE)
		r->cause = CAUSE_DEVICE_MODE;
}

void probe_tun(struct probe_result *r)
{
	answer(r, PROBE_tun, CLONE_NEWNET, try_tun, CAUSE_NONE);
	if (r->error == EACCES && r->cause == CAUSE_NONE)
		r->cause = CAUSE_DEVICE_MODE;
}
