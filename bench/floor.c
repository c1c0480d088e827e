/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/floor.c - what the kernel takes for such a sandbox, and nothing else
 *
 * floor [-o] COMMAND...
 *
 * The same promises with no settings, plan or report: seven namespaces (the
 * network's in a thread), a read-only world, /dev, /proc, the current directory
 * writable, our filter, Landlock. -o: an observer that lets everything go on
 * unread. No sandbox for use: whatever fails ends it, but nobody has looked at what
 * it lets through.
 */

#include <err.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/sys.h"
#include "ipc/socket.h"
#include "sandbox/seccomp.h"

#define CHECK(call) do { if ((call) < 0) err(125, "%s", #call); } while (0)

static bool observed;
static char **extra, **extra_end;	/* Options with a path */

static void write_file(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);

	CHECK(fd);
	CHECK(write(fd, text, strlen(text)));
	close(fd);
}

static void write_ids(unsigned int uid, unsigned int gid)
{
	char text[32];

	write_file("/proc/self/setgroups", "deny");
	snprintf(text, sizeof(text), "%u %u 1", uid, uid);
	write_file("/proc/self/uid_map", text);
	snprintf(text, sizeof(text), "%u %u 1", gid, gid);
	write_file("/proc/self/gid_map", text);
}

static void *make_network(void *ret)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd;

	CHECK(unshare(CLONE_NEWNET));
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CHECK(ioctl(fd, SIOCSIFFLAGS, &lo));
	close(fd);
	*(int *)ret = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	return NULL;
}

static int clone_tree(const char *path)
{
	const int fd = open_tree(AT_FDCWD, path, OPEN_TREE_CLONE |
				     OPEN_TREE_CLOEXEC);

	if (fd < 0)
		err(125, "%s", path);
	return fd;
}

static void attach(int tree, const char *path)
{
	CHECK(move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH));
	close(tree);
}

static void make_devices(void)
{
	static const char *const names[] = {
		"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
		"/dev/urandom", "/dev/tty",
	};
	int trees[6];

	for (size_t i = 0; i < 6; i++)
		trees[i] = clone_tree(names[i]);
	CHECK(mount("tmpfs", "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC,
		    "mode=755"));
	for (size_t i = 0; i < 6; i++) {
		close(open(names[i], O_CREAT | O_WRONLY | O_CLOEXEC, 0));
		attach(trees[i], names[i]);
	}
	CHECK(mkdir("/dev/pts", 0755) | mkdir("/dev/shm", 01777));
	CHECK(mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		    "newinstance,ptmxmode=666"));
	CHECK(mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, ""));
	CHECK(symlink("pts/ptmx", "/dev/ptmx"));
}

/* What the policy of a real home adds: see main() */
static void add_mounts(void)
{
	struct stat st;

	for (char **word = extra; word < extra_end; word += 2) {
		if (!strcmp(word[0], "-r")) {
			CHECK(mount(word[1], word[1], NULL, MS_BIND, NULL));
			CHECK(mount(NULL, word[1], NULL, MS_REMOUNT | MS_BIND |
				    MS_RDONLY | MS_NOSUID | MS_NODEV, NULL));
		} else if (!strcmp(word[0], "-h")) {
			CHECK(stat(word[1], &st));
			if (S_ISDIR(st.st_mode))
				CHECK(mount("tmpfs", word[1], "tmpfs", MS_RDONLY, ""));
			else
				CHECK(mount("/dev/null", word[1], NULL, MS_BIND, NULL));
		}
	}
}

/* In place: nothing is pivoted, so nothing has to be taken down meanwhile */
static void make_world(const char *cwd)
{
	const struct mount_attr closed = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID,
		.propagation = MS_PRIVATE,
	};
	const int project = clone_tree(cwd);

	CHECK(sys_mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &closed));
	make_devices();
	CHECK(mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, ""));
	CHECK(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		    NULL));
	attach(project, cwd);
	add_mounts();
	CHECK(chdir(cwd));
}

static void allow(int rules, const char *path, uint64_t rights)
{
	struct landlock_path_beneath_attr rule = {
		.allowed_access = rights,
		.parent_fd = open(path, O_PATH | O_CLOEXEC),
	};

	CHECK(sys_landlock_add_rule(rules, LANDLOCK_RULE_PATH_BENEATH, &rule));
	close(rule.parent_fd);
}

static void restrict_files(const char *cwd)
{
	const uint64_t all = (LANDLOCK_ACCESS_FS_MAKE_SYM << 3) - 1;
	const uint64_t look = LANDLOCK_ACCESS_FS_EXECUTE |
			      LANDLOCK_ACCESS_FS_READ_FILE |
			      LANDLOCK_ACCESS_FS_READ_DIR;
	const struct sys_landlock_ruleset_attr handled = {
		.handled_access_fs = all,
	};
	const int rules = sys_landlock_create_ruleset(&handled);

	CHECK(rules);
	allow(rules, "/", look);
	for (char **word = extra; word < extra_end; word += 2) {
		struct stat st;

		if (strcmp(word[0], "-a") != 0)
			continue;
		CHECK(stat(word[1], &st));
		allow(rules, word[1], S_ISDIR(st.st_mode) ? look :
		      LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE);
	}
	allow(rules, cwd, all);
	allow(rules, "/tmp", all);
	allow(rules, "/dev", all);
	CHECK(sys_landlock_restrict_self(rules));
	close(rules);
}

static void confine(int socket)
{
	const struct seccomp_config config = {
		.observe = observed ? SECCOMP_OBSERVE_ON : SECCOMP_OBSERVE_OFF,
	};
	struct err why = { 0 };
	int listener;

	CHECK(seccomp_install(&config, &listener, &why));
	if (observed)
		CHECK(socket_send(socket, "", 1, &listener, 1));
	close(listener);
}

static void init_main(char **command, unsigned int uid, unsigned int gid,
		      int socket)
{
	char *cwd = getcwd(NULL, 0);
	pthread_t thread;
	int net = -1, status;
	pid_t pid;

	CHECK(prctl(PR_SET_PDEATHSIG, SIGKILL));
	write_ids(uid, gid);
	if (pthread_create(&thread, NULL, make_network, &net) != 0)
		errx(125, "no thread");
	make_world(cwd);
	pthread_join(thread, NULL);
	CHECK(setns(net, CLONE_NEWNET));
	for (int i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
		CHECK(prctl(PR_CAPBSET_DROP, i, 0, 0, 0));
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	restrict_files(cwd);
	confine(socket);
	pid = fork();
	if (pid == 0) {
		CHECK(close_range(3, ~0U, 0));
		execvp(command[0], command);
		_exit(127);
	}
	while (wait(&status) != pid)
		;
	/* Nobody waits for the end of the namespaces */
	CHECK(socket_send(socket, &status, sizeof(status), NULL, 0));
	for (;;)
		pause();
}

/* Let everybody go on, unread */
static void *answer(void *arg)
{
	const int listener = *(int *)arg;
	struct seccomp_notif question;

	for (;;) {
		struct seccomp_notif_resp reply = {
			.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE,
		};

		memset(&question, 0, sizeof(question));
		if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &question) < 0)
			continue;
		reply.id = question.id;
		(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply);
	}
	return NULL;
}

static void observe(int socket)
{
	static int listener;
	pthread_t thread;
	size_t one = 1;
	char byte;

	if (socket_recv(socket, &byte, 1, &listener, &one) != 1 || one != 1 ||
	    pthread_create(&thread, NULL, answer, &listener) != 0)
		errx(125, "no observer");
}

int main(int argc, char **argv)
{
	const unsigned int uid = getuid(), gid = getgid();
	char **command = argv + 1;
	int pair[2], status;
	size_t none = 0;
	long pid;

	if (argc > 1 && strcmp(*command, "-o") == 0) {
		observed = true;
		command++;
	}
	extra = command;
	while (command[0] && command[1] && command[0][0] == '-')
		command += 2;
	extra_end = command;
	if (!*command)
		errx(2, "usage: floor [-o] [-h HIDDEN | -r READ-ONLY | -a READABLE]... COMMAND...");
	CHECK(socket_pair(pair));
	pid = syscall(SYS_clone, SIGCHLD | CLONE_NEWUSER | CLONE_NEWNS |
		      CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |
		      CLONE_NEWCGROUP, 0, 0, 0, 0);
	CHECK(pid);
	if (pid == 0)
		init_main(command, uid, gid, pair[1]);
	if (observed)
		observe(pair[0]);
	close(pair[1]);
	if (socket_recv(pair[0], &status, sizeof(status), NULL, &none) !=
	    (ssize_t)sizeof(status))
		errx(125, "it did not start");
	_exit(WEXITSTATUS(status));
}
