/* SPDX-License-Identifier: Apache-2.0 */
/* observe/sockets.c - connect(), bind(): ports on demand, Unix sockets by owner */

#include "observe/sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/btime.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "ipc/socket.h"
#include "observe/tracee.h"

#ifndef SIOCUNIXFILE		/* linux/un.h and sys/un.h exclude each other */
#define SIOCUNIXFILE (SIOCPROTOPRIVATE + 0)
#endif
#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71	/* Linux 5.14 */
#endif

enum { TRY_EVERY_MS = 5 };

/**
 * struct address - A socket address, copied
 */
struct address {
	union {
		struct sockaddr sa;
		struct sockaddr_un un;
		struct sockaddr_storage storage;
	};
	socklen_t len;
};

/**
 * struct pending_connect - A connect() whose tracee waits
 * @source:	Readable when there is something to do: @fd, or a timer
 * @fd:		A copy of the tracee's socket
 * @inode:	The Unix socket to connect @fd to as soon as its queue has space, or -1:
 *		@fd is being connected. The kernel sends no event for such space, so it
 *		is tried every few milliseconds.
 */
struct pending_connect {
	struct addresses *addresses;
	LIST_ENTRY(pending_connect) link;
	struct loop_source source;
	uint64_t id;
	int listener, fd, inode;
};

/**
 * struct request - A call on a socket
 * @place:	Where its path leads
 * @copy:	Of its socket, for connect()
 * @address:	Copied from its arguments
 */
struct request {
	struct addresses *addresses;
	const struct observer_config *config;
	const struct notification *q;
	struct resolved_path *place;
	struct decision *ret;
	int copy;
	struct address address;
};

/* The socket is its owner's as well: closing alone would leave it in the loop */
static void drop_pending(struct pending_connect *p)
{
	loop_remove(p->addresses->loop, &p->source);
	if (p->inode >= 0)
		close_fd(&p->source.fd);
	close_fd(&p->fd);
	close_fd(&p->inode);
	LIST_REMOVE(p, link);
	p->addresses->n_pending--;
	free(p);
}

void addresses_done(struct addresses *a)
{
	while (!LIST_EMPTY(&a->pending))
		drop_pending(LIST_FIRST(&a->pending));
	for (size_t i = 0; i < a->allowed.len; i++)
		free(a->allowed.v[i].path);
	free(a->allowed.v);
	free(a->own.v);
	for (size_t i = 0; i < a->pinned.len; i++)
		close_fd(&a->pinned.v[i]);
	free(a->pinned.v);
	nested_sandboxes_done(&a->nested);
}

/* The socket that is open as @fd. An inode number is reused; the birth time is not. */
static bool is_listed(const struct observer_socket *v, size_t n, int fd,
		      const struct stat *st)
{
	const int64_t birth = btime_of(fd);

	for (size_t i = 0; i < n; i++) {
		if (v[i].dev == st->st_dev && v[i].ino == st->st_ino &&
		    v[i].birth == birth)
			return true;
	}
	return false;
}

/* 1 if there is an address for us to look at, 0 if the kernel will find it
 * wrong, or a negative errno. The length is an int: what stands above it in
 * the register is undefined.
 */
static int read_address(const struct tracee *t, const unsigned long long *args,
			struct address *ret)
{
	const int len = (int)args[2];
	int r;

	memset(ret, 0, sizeof(*ret));
	if (len < (int)sizeof(sa_family_t) || len > (int)sizeof(ret->storage))
		return 0;
	ret->len = (socklen_t)len;
	r = tracee_read(t, args[1], &ret->storage, ret->len);
	return r < 0 ? r : 1;
}

/* A Unix address that names a path, NUL-terminated; else NULL */
static const char *unix_path(const struct address *a, char ret[PATH_MAX])
{
	const size_t head = offsetof(struct sockaddr_un, sun_path);
	size_t n;

	if (a->len <= head || !a->un.sun_path[0])
		return NULL;
	n = strnlen(a->un.sun_path, a->len - head);
	memcpy(ret, a->un.sun_path, n);
	ret[n] = 0;
	return ret;
}

/* Where the path leads: 0, or a negative errno that is the call's */
static int find(struct tracee *t, const char *path, bool follow,
		struct resolved_path *place)
{
	char cwd[PATH_MAX];
	ssize_t n = 0;

	if (*path != '/')
		n = tracee_link(t, "cwd", cwd, sizeof(cwd));
	return n < 0 ? (int)n : resolved_path_find(t, -1, cwd, path, follow ?
					   RESOLVED_PATH_FOLLOW : RESOLVED_PATH_STAY, place);
}

/* Connect a copy of a socket, without waiting: 0 or an errno. *@waits if its owner
 * would have waited.
 */
static int connect_copy(int copy, const struct address *a, bool *waits)
{
	const int flags = fcntl(copy, F_GETFL);
	int r;

	*waits = !(flags & O_NONBLOCK);
	if (flags < 0 || fcntl(copy, F_SETFL, flags | O_NONBLOCK) < 0)
		return errno;
	r = connect(copy, &a->sa, a->len) < 0 ? errno : 0;
	(void)fcntl(copy, F_SETFL, flags);
	return r;
}

/* Connect it to the very socket that is open as @inode */
static int connect_inode(int copy, int inode, bool *waits)
{
	struct address a = { .un.sun_family = AF_UNIX, .len = sizeof(a.un) };

	snprintf(a.un.sun_path, sizeof(a.un.sun_path), "/proc/self/fd/%d",
		 inode);
	return connect_copy(copy, &a, waits);
}

static int socket_error(int sock)
{
	const int error = sys_socket_option(sock, SO_ERROR);

	return error < 0 ? -error : error;
}

/* Services that the C library contacts for names, users and logging. It goes on without
 * them, so a refusal is not reported: every program would be.
 */
static bool is_incidental(const char *path)
{
	static const char *const dirs[] = {
		"/run/nscd", "/run/nslcd", "/run/systemd/userdb",
		"/run/systemd/resolve", "/run/systemd/journal",
		"/var/lib/sss/pipes", "/run/samba/winbindd", "/run/avahi-daemon",
	};

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		if (path_is_within(dirs[i], path))
			return true;
	}
	return false;
}

static struct decision refuse_socket(const struct resolved_path *place)
{
	return (struct decision) {
		.error = EACCES, .report = true,
		.kind = VIOLATION_UNIX_SOCKET, .path = place,
		.verdict = {
			.reason = "a socket of the host",
			.rule_key = "sandbox.network.allowUnixSockets",
		},
	};
}

/* Refuse @name, a path that the sandbox does not have, or what is no path */
static struct decision refuse_named(struct resolved_path *place, const char *name,
				    int error)
{
	struct decision g = refuse_socket(place);

	snprintf(place->path, sizeof(place->path), "%s", name);
	place->name = *name == '/' ? path_base(place->path) : place->path;
	place->exists = true;
	place->mode = S_IFSOCK;
	g.error = error;
	return g;
}

/* The call was made: 0 or the errno that it failed with */
static void set_result(struct request *r, int error)
{
	*r->ret = (struct decision){ .answer = DECISION_DONE, .error = error };
}

static int on_pending(void *arg)
{
	struct pending_connect *p = arg;
	struct seccomp_notif_resp resp = { .id = p->id };
	uint64_t expired;
	bool waits;
	int error;

	if (p->inode < 0) {
		error = socket_error(p->fd);
	} else {
		(void)!read(p->source.fd, &expired, sizeof(expired));
		/* Only while the tracee waits */
		error = ioctl(p->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &p->id) < 0 ?
			EINTR : connect_inode(p->fd, p->inode, &waits);
		if (error == EAGAIN)
			return 0;
	}
	resp.error = -error;
	(void)sys_notif_send(p->listener, &resp);
	drop_pending(p);
	return 0;
}

/* The answer depends on what becomes of the copy; @inode is taken */
static void wait_connected(struct request *r, int inode)
{
	struct addresses *a = r->addresses;
	struct pending_connect *p = mem_zalloc(sizeof(*p));
	int error;

	*p = (struct pending_connect){
		.addresses = a, .id = r->q->notif->id, .inode = inode,
		.listener = r->config->listener, .fd = take_fd(&r->copy),
	};
	p->source = (struct loop_source){ inode < 0 ? p->fd : -1, on_pending, p };
	LIST_INSERT_HEAD(&a->pending, p, link);
	error = a->n_pending++ >= ADDRESS_PENDING_MAX ? -EBUSY :
		inode < 0 ? loop_add(a->loop, &p->source, EPOLLOUT) :
		loop_set_timer(a->loop, &p->source, TRY_EVERY_MS, true);
	*r->ret = (struct decision){ .answer = DECISION_PENDING };
	if (error < 0) {
		drop_pending(p);
		set_result(r, EAGAIN);
	}
}

static void connect_unix(struct request *r)
{
	const struct addresses *a = r->addresses;
	auto_close int fd = openat(r->place->parent, r->place->name,
				   O_PATH | O_NOFOLLOW | O_CLOEXEC);
	bool waits = false;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		set_result(r, errno);
		return;
	}
	if (!S_ISSOCK(st.st_mode)) {
		set_result(r, ECONNREFUSED);
		return;
	}
	if (is_listed(a->allowed.v, a->allowed.len, fd, &st) ||
	    is_listed(a->own.v, a->own.len, fd, &st)) {
		set_result(r, connect_inode(r->copy, fd, &waits));
		if (r->ret->error == EAGAIN && waits)
			wait_connected(r, take_fd(&fd));
	} else if (is_incidental(r->place->path) || socket_unix_listens(st.st_ino) == 0) {
		/* A server that has ended left its socket file: programs remove it then and
		 * bind again, as without a sandbox. Listeners in other network namespaces
		 * cannot be seen.
		 */
		set_result(r, ECONNREFUSED);
	} else {
		*r->ret = refuse_socket(r->place);
	}
}

/* The inode that the socket @copy is bound to, O_PATH. The kernel opens it for
 * the owner of the network namespace. To others it gives the number: that must be
 * what the socket's name leads to.
 */
static int open_bound(struct tracee *t, int copy, struct resolved_path *place)
{
	auto_close int fd = ioctl(copy, SIOCUNIXFILE);
	struct address a = { .len = sizeof(a.storage) };
	char text[PATH_MAX];
	const char *path;
	struct stat st;

	if (fd >= 0)
		return take_fd(&fd);
	path = getsockname(copy, &a.sa, &a.len) == 0 ? unix_path(&a, text)
						     : NULL;
	if (!path || find(t, path, false, place) < 0)
		return -1;
	fd = openat(place->parent, place->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 && fstat(fd, &st) == 0 &&
	       socket_unix_bound(copy) == (int64_t)(uint32_t)st.st_ino
		       ? take_fd(&fd) : -1;
}

/* A Unix socket of the sandbox's own is about to listen. A file system without
 * times of birth gives its number to the next inode, unless this one is held.
 */
static void remember(struct addresses *a, struct tracee *t, int copy,
		     struct resolved_path *place)
{
	auto_close int fd = open_bound(t, copy, place);
	struct observer_socket own = { 0 };
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return;
	own.dev = st.st_dev;
	own.ino = st.st_ino;
	own.birth = btime_of(fd);
	if (is_listed(a->own.v, a->own.len, fd, &st))
		return;
	if (!own.birth) {
		if (a->pinned.len == ADDRESS_PINNED_MAX)
			return;
		*vec_push(&a->pinned) = take_fd(&fd);
	}
	if (a->own.len < ADDRESS_OWN_MAX)
		*vec_push(&a->own) = own;
	else
		a->own.v[a->oldest++ % ADDRESS_OWN_MAX] = own;
}

static bool is_inet(const struct address *a)
{
	return a->sa.sa_family == AF_INET || a->sa.sa_family == AF_INET6;
}

static bool wants_connect(const struct observer_network *network,
			  const struct address *a)
{
	return network->connect && is_inet(a) &&
	       (!network->wants_connect ||
		network->wants_connect(network->arg, &a->sa, a->len));
}

static void note_listen(const struct request *r)
{
	const struct observer_network *network = &r->config->network;
	struct tracee *tracee = r->q->tracee;
	auto_close int copy = tracee_get_fd(tracee, (int)r->q->notif->data.args[0]);
	const int domain = copy < 0 ? copy : sys_socket_option(copy, SO_DOMAIN);

	if (domain == AF_UNIX && r->config->sockets_by_path)
		remember(r->addresses, tracee, copy, r->place);
	else if (domain >= 0 && network->listen)
		network->listen(network->arg, copy);
}

/* The one of the allowed sockets that the host has at @path: a descriptor, or
 * -ENOENT
 */
static int open_listed(const struct addresses *a, const char *path)
{
	for (size_t i = 0; i < a->allowed.len; i++) {
		const struct observer_socket *s = &a->allowed.v[i];
		auto_close int fd = -1;
		struct stat st;

		if (!s->path || strcmp(s->path, path) != 0)
			continue;
		fd = sys_open_nofollow(AT_FDCWD, s->path, O_PATH, 0);
		if (fd >= 0 && fstat(fd, &st) == 0 && is_listed(s, 1, fd, &st))
			return take_fd(&fd);
	}
	return -ENOENT;
}

/* The sandbox has nothing at @path, or may not look there: it is hidden, or another
 * directory is mounted there. An allowed socket of the host's is reached all the
 * same; another is reported, with the @error that says nothing about it.
 */
static void connect_hidden(struct request *r, const char *path, int error)
{
	char cwd[PATH_MAX] = "/";
	auto_free char *full = NULL;
	auto_close int fd = -1;
	struct stat st;
	bool waits;

	set_result(r, error);
	if (*path != '/' &&
	    tracee_link(r->q->tracee, "cwd", cwd, sizeof(cwd)) < 0)
		return;
	full = path_resolve(cwd, path);
	fd = open_listed(r->addresses, full);
	if (fd >= 0)
		set_result(r, connect_inode(r->copy, fd, &waits));
	else if (!is_incidental(full) && lstat(full, &st) == 0 &&
		 S_ISSOCK(st.st_mode) && socket_unix_listens(st.st_ino) != 0)
		*r->ret = refuse_named(r->place, full, error);
}

static uint64_t network_of(int sock)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);

	return getsockopt(sock, SOL_SOCKET, SO_NETNS_COOKIE, &cookie,
			  &len) < 0 ? 0 : cookie;
}

/* True if a name without a path is the sandbox's own: the socket is of another
 * network namespace than ours
 */
static bool is_own_network(int copy)
{
	auto_close int ours = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const uint64_t here = ours < 0 ? 0 : network_of(ours);
	const uint64_t there = network_of(copy);

	return here && there && here != there;
}

/* An abstract name as it is written everywhere, "@name" */
static void refuse_abstract(struct request *r)
{
	const struct address *a = &r->address;
	const size_t n = a->len - offsetof(struct sockaddr_un, sun_path);
	char name[sizeof(a->storage) + 1] = "@";

	memcpy(name + 1, a->un.sun_path + 1, n - 1);
	name[n] = '\0';
	*r->ret = refuse_named(r->place, name, EACCES);
	r->ret->verdict.reason = "an abstract name of the host's network";
	r->ret->verdict.rule_key = "sandbox.network.allowAllUnixSockets";
}

static bool is_abstract(const struct address *a)
{
	return a->len > offsetof(struct sockaddr_un, sun_path) &&
	       !a->un.sun_path[0];
}

static void connect_abstract(struct request *r)
{
	bool waits;

	if (nested_is_announcement(&r->address.sa, r->address.len))
		set_result(r, nested_announce(&r->addresses->nested,
					      r->q->tracee->tid, &r->address.sa));
	else if (is_own_network(r->copy))
		set_result(r, connect_copy(r->copy, &r->address, &waits));
	else if (is_abstract(&r->address))
		refuse_abstract(r);
	else
		set_result(r, EINVAL);
}

/* connect() of a Unix socket */
static void connect_by_path(struct request *r)
{
	char text[PATH_MAX];
	const char *path = unix_path(&r->address, text);
	int error;

	if (r->address.sa.sa_family != AF_UNIX) {
		set_result(r, EINVAL);
		return;
	}
	if (!path) {
		connect_abstract(r);
		return;
	}
	error = find(r->q->tracee, path, true, r->place);
	if (!error && !r->place->exists)
		error = -ENOENT;
	if (error == -EACCES || error == -ENOENT)
		connect_hidden(r, path, -error);
	else if (error < 0)
		set_result(r, -error);
	else
		connect_unix(r);
}

/* connect() of another socket: it may take its time */
static void connect_away(struct request *r)
{
	const struct observer_network *network = &r->config->network;
	const struct address *a = &r->address;
	struct pollfd p = { .fd = r->copy, .events = POLLOUT };
	int error = 0;
	bool waits;

	error = nested_check(&r->addresses->nested, r->q->tracee->tid, &a->sa, a->len);
	if (error) {
		set_result(r, error);
		return;
	}
	if (wants_connect(network, a))
		error = network->connect(network->arg, &a->sa, a->len, r->copy);
	if (error) {
		set_result(r, error < 0 ? -error : 0);
		return;
	}
	error = connect_copy(r->copy, a, &waits);
	set_result(r, error);
	/* EINVAL: of a blackhole */
	if (network->unreached && (error == ENETUNREACH || error == EHOSTUNREACH ||
				   error == EACCES || error == EINVAL))
		network->unreached(network->arg, &a->sa, a->len, r->copy, error);
	if (!waits || (error != EINPROGRESS && error != EALREADY))
		return;
	/* Mostly it is there at once */
	if (poll(&p, 1, 0) == 1)
		set_result(r, socket_error(r->copy));
	else
		wait_connected(r, -1);
}

/* Every connect() where Unix sockets go by path. Nothing is done once the tracee has
 * stopped waiting, because its number may be another process' by then.
 */
static void connect_here(struct request *r)
{
	const unsigned long long *args = r->q->notif->data.args;
	const int domain = r->copy < 0 ? r->copy : sys_socket_option(r->copy, SO_DOMAIN);
	const int read = domain < 0 ? domain :
			 read_address(r->q->tracee, args, &r->address);

	if (read <= 0)
		set_result(r, read < 0 ? -read : EINVAL);
	else if (!notification_waits(r->q, r->config->listener))
		set_result(r, EINTR);
	else if (domain == AF_UNIX)
		connect_by_path(r);
	else if (domain != AF_INET && domain != AF_INET6)
		set_result(r, EPERM);
	/* Without a namespace, what is let through is bounded by Landlock, which
	 * does not bound us
	 */
	else if (!r->config->no_mounts || r->config->network.connect)
		connect_away(r);
}

static bool is_held(const struct observer_network *network,
		    const struct address *a)
{
	return network->is_held && is_inet(a) &&
	       network->is_held(network->arg, &a->sa, a->len);
}

/* Hand one end of a pair in: its number, or a negative errno */
static int hand_in(const struct request *r, int fd, int flags)
{
	const struct seccomp_notif_addfd add = {
		.id = r->q->notif->id, .srcfd = (uint32_t)fd,
		.newfd_flags = flags & SOCK_CLOEXEC ? O_CLOEXEC : 0,
	};
	const int number = ioctl(r->config->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);

	return number < 0 ? -errno : number;
}

/* A pair of datagram sockets. Each end could be sent to any path, so it gets one
 * that keeps messages apart as well and is connected for life. 0 or an errno.
 */
static int make_pair(const struct request *r)
{
	const unsigned long long *args = r->q->notif->data.args;
	const int flags = (int)args[1];
	auto_close int one = -1, two = -1;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC |
		       (flags & SOCK_NONBLOCK), 0, ends) < 0)
		return errno;
	one = ends[0];
	two = ends[1];
	ends[0] = hand_in(r, one, flags);
	ends[1] = ends[0] < 0 ? ends[0] : hand_in(r, two, flags);
	if (ends[1] < 0)
		return -ends[1];
	return -tracee_write(r->q->tracee, args[3], ends, sizeof(ends));
}

/* bind(), and connect() where Unix sockets do not go by path */
static int answer_address(struct request *r)
{
	const struct observer_network *network = &r->config->network;
	const unsigned long long *args = r->q->notif->data.args;
	const bool binds = r->q->what == CALL_BIND;
	const struct address *a = &r->address;
	struct notification q = *r->q;
	char text[PATH_MAX];
	const char *path;
	int error = read_address(r->q->tracee, args, &r->address);

	if (error <= 0)
		return error;
	if (a->sa.sa_family == AF_UNIX) {
		path = binds ? unix_path(a, text) : NULL;
		if (!path && r->config->sockets_by_path && is_abstract(a)) {
			r->copy = tracee_get_fd(r->q->tracee, (int)args[0]);
			if (sys_socket_option(r->copy, SO_DOMAIN) == AF_UNIX &&
			    !is_own_network(r->copy))
				refuse_abstract(r);
		}
		error = path ? find(q.tracee, path, false, r->place) : 0;
		q.from = r->place;
		if (path && !error)
			*r->ret = decide_call(r->config, &q);
		return error;
	}
	if (binds && is_held(network, a))
		network->bind(network->arg, &a->sa, a->len);
	if (!binds && wants_connect(network, a)) {
		r->copy = tracee_get_fd(r->q->tracee, (int)args[0]);
		error = network->connect(network->arg, &a->sa, a->len,
						r->copy);
		r->ret->error = error < 0 ? -error : 0;
		r->ret->answer = error > 0 ? DECISION_DONE : DECISION_ERROR;
	}
	return 0;
}

int address_answer(struct addresses *addresses, const struct observer_config *config,
		   const struct notification *q, struct resolved_path *place,
		   struct decision *ret)
{
	struct request r = { addresses, config, q, place, ret, -1, { .len = 0 } };
	int error = 0;

	*ret = (struct decision){ 0 };
	if (q->what == CALL_SOCKET) {
		*ret = refuse_named(place, "SOCK_DGRAM", EPERM);
		ret->verdict.reason = "a datagram socket can send to every socket of the host; allow it only for a command that may";
		ret->verdict.rule_key = "sandbox.network.allowAllUnixSockets";
	} else if (q->what == CALL_SOCKETPAIR) {
		set_result(&r, make_pair(&r));
	} else if (q->what == CALL_LISTEN) {
		note_listen(&r);
	} else if (q->what == CALL_CONNECT && config->sockets_by_path) {
		r.copy = tracee_get_fd(q->tracee, (int)q->notif->data.args[0]);
		connect_here(&r);
	} else {
		error = answer_address(&r);
	}
	close_fd(&r.copy);
	return error;
}

bool address_is_served(const struct observer_network *network,
		       const struct tracee *tracee,
		       const unsigned long long *args)
{
	struct address a;

	return network->is_served && read_address(tracee, args, &a) == 1 && is_inet(&a) &&
	       network->is_served(network->arg, &a.sa, a.len);
}

bool address_is_free(const struct observer_network *network,
		     const struct tracee *tracee,
		     const unsigned long long *args)
{
	struct address a;

	return read_address(tracee, args, &a) == 1 &&
	       a.sa.sa_family != AF_UNIX && !is_held(network, &a);
}
