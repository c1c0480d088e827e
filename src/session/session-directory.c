/* SPDX-License-Identifier: Apache-2.0 */
/* session/session-directory.c - the directory of sockets, and the check of a peer */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/sys.h"
#include "base/text.h"
#include "report/violation-store.h"
#include "session/session-wire.h"
#include "session/session.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define FILTERS "\nSeccomp_filters:"

enum {
	LOCK_MS = 30000,	/* As long as a start may take on a loaded machine */
	STATUS_MAX = 64 << 10,	/* Bytes of /proc/PID/status */
};

int session_check_name(const char *name, struct err *err)
{
	static const char letters[] = "0123456789._-"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	const size_t n = strlen(name);

	if (!n || n > SESSION_NAME_MAX || strspn(name, letters) != n ||
	    *name == '.' || *name == '-')
		return fail(err, -EINVAL, "'%s' is not a session's name: up to %d letters, digits, dots, dashes and underscores, a letter or digit first",
			    name, SESSION_NAME_MAX);
	return 0;
}

int session_directory(struct err *err)
{
	auto_free char *state = violation_store_default_dir();

	if (!state)
		return fail(err, -ENOENT, "sessions need a home directory");
	return fs_open_private_below(state, "sessions", err);
}

int session_directory_locked(struct err *err)
{
	auto_close int dir = session_directory(err);
	int r;

	if (dir < 0)
		return dir;
	r = fs_flock_within(dir, LOCK_EX, LOCK_MS);
	if (r < 0)
		return fail(err, r, "another session is being started, and that takes too long");
	return take_fd(&dir);
}

/* By the directory's descriptor: a path of any length fits into an address so */
static void fill_address(int dir, const char *name, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%s",
		 dir, name);
}

int session_connect(int dir, const char *name, struct err *err)
{
	auto_close int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	auto_close int pidfd = -1;
	struct sockaddr_un address;

	if (fd < 0)
		return fail_errno(err, "cannot make a socket");
	fill_address(dir, name, &address);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return errno == ENOENT || errno == ECONNREFUSED ? -ENOENT :
		       fail_errno(err, "cannot reach session '%s'", name);
	if (session_peer(fd, &pidfd) < 0)
		return fail(err, -EPERM, "session '%s' is held by a process that is not yours",
			    name);
	return take_fd(&fd);
}

int session_listen(int dir, const char *name, struct err *err)
{
	auto_close int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC |
				   SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	mode_t mask;
	int r;

	fill_address(dir, name, &address);
	(void)unlinkat(dir, name, 0);	/* Of a holder that was killed */
	mask = umask(0177);
	r = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&address, sizeof(address));
	(void)umask(mask);
	if (r < 0 || listen(fd, SOMAXCONN) < 0)
		return fail_errno(err, "cannot listen for commands of session '%s'",
				  name);
	return take_fd(&fd);
}

void session_unlisten(int *listener, const char *name)
{
	struct err err = { 0 };
	int dir = *listener < 0 ? -1 : session_directory_locked(&err);

	/* A child that was forked a moment ago has a copy */
	(void)shutdown(*listener, SHUT_RDWR);
	close_fd(listener);
	if (dir < 0)
		return;
	session_remove_stale(dir, name);
	fs_unlock(&dir);
}

void session_remove_stale(int dir, const char *name)
{
	const int other = session_connect(dir, name, NULL);

	if (other == -ENOENT)
		(void)unlinkat(dir, name, 0);
	else if (other >= 0)
		(void)close(other);
}

static ino_t user_namespace(const char *path)
{
	struct stat st;

	return stat(path, &st) < 0 ? 0 : st.st_ino;
}

/* How many filters of system calls a process has; -1 if that is not known */
static long filters_of(const char *path)
{
	auto_buf struct buf status = { 0 };
	const char *line;

	if (fs_read(AT_FDCWD, path, STATUS_MAX, &status, NULL) < 0)
		return -1;
	line = strstr(buf_str(&status), FILTERS);
	return line ? strtol(line + strlen(FILTERS), NULL, 10) : -1;
}

static bool has_ended(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return poll(&p, 1, 0) != 0;
}

int session_owner(const char *text, struct err *err)
{
	uint64_t pid;
	int fd;

	if (text_to_u64(text, INT_MAX, &pid) < 0 || !pid)
		return fail(err, -EINVAL, "--session-owner: '%s' is not the number of a process",
			    text);
	fd = pidfd_open((pid_t)pid, 0);
	return fd < 0 ? fail_errno(err, "--session-owner: process %s", text) : fd;
}

/* The pidfd is of the process that connected, whatever its number was used for since;
 * before Linux 6.5 the number has to do
 */
static int pidfd_of(int fd, pid_t pid)
{
	int pidfd = -1;
	socklen_t len = sizeof(pidfd);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len) == 0)
		return pidfd;
	return errno == ENOPROTOOPT ? pidfd_open(pid, 0) : -1;
}

int session_peer(int fd, int *ret_pidfd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	auto_close int pidfd = -1;
	char path[64], status[64];
	ino_t theirs;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return -errno;
	if (peer.uid != geteuid() || peer.pid <= 0)
		return -EPERM;
	pidfd = pidfd_of(fd, peer.pid);
	if (pidfd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)peer.pid);
	snprintf(status, sizeof(status), "/proc/%d/status", (int)peer.pid);
	theirs = user_namespace(path);
	/* In the landlock tier a command has our user namespace, but more filters */
	if (!theirs || filters_of(status) > filters_of("/proc/self/status") || theirs != user_namespace("/proc/self/ns/user") ||
	    has_ended(pidfd))
		return -EPERM;
	*ret_pidfd = take_fd(&pidfd);
	return 0;
}
