/* SPDX-License-Identifier: Apache-2.0 */
/* attack/attack-net.c - attempts to reach a socket outside */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <netdb.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "attack/attack.h"
#include "base/own.h"
#include "base/sys.h"

enum { REPLY_SECONDS = 2, CONTROL_MS = 4000 };

int attack_say(const struct attack *a, int fd)
{
	const char *word = a->word ?: "x";

	return attack_result(send(fd, word, strlen(word), MSG_NOSIGNAL));
}

int attack_dial(const char *host, const char *port, int type)
{
	const struct addrinfo hints = { .ai_socktype = type };
	const struct timeval limit = { .tv_sec = REPLY_SECONDS };
	struct addrinfo *list = NULL;
	int fd = -1;

	if (getaddrinfo(host, port, &hints, &list) != 0) {
		errno = EHOSTUNREACH;
		return -1;
	}
	for (const struct addrinfo *i = list; i && fd < 0; i = i->ai_next) {
		fd = socket(i->ai_family, type | SOCK_CLOEXEC, 0);
		if (fd < 0)
			continue;
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit,
				 sizeof(limit));
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit,
				 sizeof(limit));
		if (connect(fd, i->ai_addr, i->ai_addrlen) < 0)
			close_fd(&fd);
	}
	freeaddrinfo(list);
	return fd;
}

/* An address has 107 bytes: by way of the start directory if need be */
static struct sockaddr_un unix_address(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char dir[PATH_MAX];
	const char *slash = strrchr(path, '/');

	if (slash && strlen(path) >= sizeof(address.sun_path)) {
		snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
		(void)!chdir(dir);
		path = slash + 1;
	}
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	return address;
}

static int connect_unix(const struct attack *a, int type,
			const struct sockaddr_un *address, size_t n)
{
	auto_close int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)address,
			      (socklen_t)n) < 0)
		return -errno;
	return a->word ? attack_say(a, fd) : 0;
}

static int unix_connect(struct attack *a)
{
	const struct sockaddr_un address = unix_address(a->argv[0]);

	return connect_unix(a, strcmp(a->name, "unix-dgram") ? SOCK_STREAM
							     : SOCK_DGRAM,
			    &address, sizeof(address));
}

/* Without connect() */
static int unix_send(struct attack *a)
{
	const struct sockaddr_un address = unix_address(a->argv[0]);
	auto_close int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	const char *word = a->word ?: "x";

	return attack_result(fd < 0 ? -1 :
			     sendto(fd, word, strlen(word), MSG_NOSIGNAL,
				    (const struct sockaddr *)&address,
				    sizeof(address)));
}

static int abstract(struct attack *a)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const size_t n = strnlen(a->argv[0], sizeof(address.sun_path) - 1);

	memcpy(address.sun_path + 1, a->argv[0], n);
	return connect_unix(a, SOCK_STREAM, &address,
			    offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

/* Sockets of services; one that answers is enough. "U/" is the user's own
 * directory of them.
 */
static int services(struct attack *a)
{
	const char *own = getenv("XDG_RUNTIME_DIR") ?: "/nonexistent";
	int r = -ENOENT;

	for (char **path = a->argv; *path; path++) {
		auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC,
					   0);
		struct sockaddr_un to = { .sun_family = AF_UNIX };

		snprintf(to.sun_path, sizeof(to.sun_path), "%s%s",
			 **path == 'U' ? own : "", *path + (**path == 'U'));
		if (fd >= 0 && connect(fd, (struct sockaddr *)&to,
				       sizeof(to)) == 0)
			return 0;
		if (errno != ENOENT)
			r = -EACCES;
	}
	return r;
}

static int tcp(struct attack *a)
{
	auto_close int fd = attack_dial(a->argv[0], a->argv[1], SOCK_STREAM);

	if (fd < 0)
		return -errno;
	return a->word ? attack_say(a, fd) : 0;
}

static int udp(struct attack *a)
{
	auto_close int fd = attack_dial(a->argv[0], a->argv[1], SOCK_DGRAM);

	return fd < 0 ? -errno : attack_say(a, fd);
}

/* A connection that is opened by sending, HOW: sendto, sendmsg, sendmmsg */
static int tcp_fast(struct attack *a)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)strtol(a->argv[1], NULL, 10)),
	};
	const char *word = a->word ?: "x";
	struct iovec bytes = { (void *)(uintptr_t)word, strlen(word) };
	struct mmsghdr m = { .msg_hdr = {
		.msg_name = &address, .msg_namelen = sizeof(address),
		.msg_iov = &bytes, .msg_iovlen = 1,
	} };
	const int flags = MSG_FASTOPEN | MSG_NOSIGNAL;
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || inet_pton(AF_INET, a->argv[0], &address.sin_addr) != 1)
		return -errno;
	if (!strcmp(a->argv[2], "sendmsg"))
		return attack_result(sendmsg(fd, &m.msg_hdr, flags));
	if (!strcmp(a->argv[2], "sendmmsg"))
		return attack_result(sendmmsg(fd, &m, 1, flags));
	return attack_result(sendto(fd, word, bytes.iov_len, flags,
				    (struct sockaddr *)&address,
				    sizeof(address)));
}

/* All; or those that are not the loopback */
static int interfaces(struct attack *a)
{
	struct if_nameindex *names = if_nameindex();
	const bool all = !strcmp(a->name, "interfaces");
	int r = all && names ? 0 : -ENOENT;

	for (const struct if_nameindex *i = names; i && i->if_index; i++) {
		if (!all && !strcmp(i->if_name, "lo"))
			continue;
		attack_learn(a, i->if_name, strlen(i->if_name));
		r = 0;
	}
	if (names)
		if_freenameindex(names);
	return r;
}

/* A control has as long as it takes, within reason */
static int64_t race_end(const struct attack *a)
{
	const int64_t ms = strtol(a->argv[0], NULL, 10);

	return now_ms(CLOCK_MONOTONIC) + (a->control ? CONTROL_MS : ms);
}

static void end_child(pid_t pid)
{
	if (pid <= 0)
		return;
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

/* A directory of ours and a link to @to change names without end */
static pid_t swap_links(const char *dir, const char *to)
{
	char link[PATH_MAX + 8];
	pid_t pid;

	snprintf(link, sizeof(link), "%s-link", dir);
	(void)mkdir(dir, 0700);
	(void)!symlink(to, link);
	pid = fork();
	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		(void)renameat2(AT_FDCWD, dir, AT_FDCWD, link, RENAME_EXCHANGE);
}

/* MS PATH: read it, or write it, by a path that changes meanwhile */
static int race_path(struct attack *a)
{
	const bool write = !strcmp(a->name, "race-write");
	const int64_t end = race_end(a);
	char dir[PATH_MAX], path[PATH_MAX], to[PATH_MAX];
	const char *slash = strrchr(a->argv[1], '/');
	bool done = false;
	pid_t pid;

	snprintf(to, sizeof(to), "%.*s", (int)(slash - a->argv[1]),
		 a->argv[1]);
	snprintf(dir, sizeof(dir), "race-%.64s", a->word ?: "x");
	snprintf(path, sizeof(path), "%.80s%.200s", dir, slash);
	pid = swap_links(dir, to);
	while (pid > 0 && !done && now_ms(CLOCK_MONOTONIC) < end) {
		const int fd = open(path, O_CLOEXEC |
				    (write ? O_WRONLY | O_CREAT : O_RDONLY),
				    0600);

		if (!write)
			(void)attack_read(a, fd);
		else if (fd >= 0)
			(void)close(fd);
		done = write ? access(a->argv[1], F_OK) == 0 : a->found.len > 0;
	}
	end_child(pid);
	return done ? 0 : -EACCES;
}

/* MS PORT OTHER: connect to one while the address changes to the other */
static int race_connect(struct attack *a)
{
	const int64_t end = race_end(a);
	struct sockaddr_in both[2] = { { 0 } };
	struct sockaddr_in *shared = mmap(NULL, sizeof(*shared),
					  PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int r = -EACCES;
	pid_t pid;

	for (size_t i = 0; i < ARRAY_SIZE(both); i++)
		both[i] = (struct sockaddr_in){
			.sin_family = AF_INET,
			.sin_port = htons((uint16_t)strtol(a->argv[1 + i],
							   NULL, 10)),
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		};
	pid = shared == MAP_FAILED ? -1 : fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (size_t i = 0;; i = !i) {
			memcpy(shared, &both[i], sizeof(*shared));
			__asm__ volatile("" : : : "memory");
		}
	}
	while (pid > 0 && r < 0 && now_ms(CLOCK_MONOTONIC) < end) {
		auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC,
					   0);
		struct sockaddr_in peer = { 0 };
		socklen_t n = sizeof(peer);

		if (connect(fd, (struct sockaddr *)shared,
			    sizeof(*shared)) == 0 &&
		    getpeername(fd, (struct sockaddr *)&peer, &n) == 0 &&
		    peer.sin_port == both[0].sin_port)
			r = attack_say(a, fd);
	}
	end_child(pid);
	return r;
}

const struct attempt attack_net[] = {
	{ "unix-connect", unix_connect, 1 }, { "unix-dgram", unix_connect, 1 },
	{ "unix-send", unix_send, 1 }, { "abstract", abstract, 1 },
	{ "services", services, -1 }, { "tcp", tcp, 2 }, { "udp", udp, 2 },
	{ "tcp-fast", tcp_fast, 3 }, { "interfaces", interfaces, 0 },
	{ "other-interfaces", interfaces, 0 }, { "race-read", race_path, 2 },
	{ "race-write", race_path, 2 }, { "race-connect", race_connect, 3 },
	{ 0 },
};
