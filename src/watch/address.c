/* SPDX-License-Identifier: Apache-2.0 */
/* watch/address.c - connect() and bind(): ports on demand, sockets by path */

#include "watch/address.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "watch/birth.h"
#include "watch/tracee.h"

/**
 * struct address - A socket address, copied
 */
struct address {
	union {
		struct sockaddr sa;
		struct sockaddr_un un;
		struct sockaddr_storage room;
	};
	socklen_t len;
};

void addresses_done(struct addresses *a)
{
	for (size_t i = 0; i < a->allowed.len; i++)
		free(a->allowed.v[i].path);
	free(a->allowed.v);
	free(a->own.v);
}

/* The socket that is open as @fd: who removes one gives its number to the next */
static bool is_listed(const struct observer_socket *v, size_t n, int fd,
		      const struct stat *st)
{
	const int64_t birth = birth_of(fd);

	for (size_t i = 0; i < n; i++) {
		if (v[i].dev == st->st_dev && v[i].ino == st->st_ino &&
		    v[i].birth == birth)
			return true;
	}
	return false;
}

/* 1 if there is an address for us to look at, 0 if the kernel will find it
 * wrong, or a negative errno. The length is an int: what stands above it in
 * the register is nobody's.
 */
static int read_address(const struct tracee *t, const unsigned long long *args,
			struct address *ret)
{
	const int len = (int)args[2];
	int r;

	memset(ret, 0, sizeof(*ret));
	if (len < (int)sizeof(sa_family_t) || len > (int)sizeof(ret->room))
		return 0;
	ret->len = (socklen_t)len;
	r = tracee_read(t, args[1], &ret->room, ret->len);
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
		struct place *place)
{
	char cwd[PATH_MAX];
	ssize_t n = 0;

	if (*path != '/')
		n = tracee_link(t, "cwd", cwd, sizeof(cwd));
	return n < 0 ? (int)n : place_find(t, -1, cwd, path, follow ?
					   PLACE_FOLLOW : PLACE_STAY, place);
}

/* Make the call on a copy of a socket, without waiting: 0 or an errno. *@waits
 * if its owner would have waited.
 */
static int perform(int copy, const struct call *call, const struct address *a,
		   bool *waits)
{
	const int flags = fcntl(copy, F_GETFL);
	int r;

	*waits = !(flags & O_NONBLOCK);
	if (flags < 0 || fcntl(copy, F_SETFL, flags | O_NONBLOCK) < 0)
		return errno;
	r = call->what == CALL_BIND ? bind(copy, &a->sa, a->len)
				    : connect(copy, &a->sa, a->len);
	r = r < 0 ? errno : 0;
	(void)fcntl(copy, F_SETFL, flags);
	return r;
}

/* The same for a path of ours that stands for the one that was meant */
static int perform_path(int copy, const struct call *call, const char *path)
{
	struct address a = { .un.sun_family = AF_UNIX, .len = sizeof(a.un) };
	bool waits;

	if (snprintf(a.un.sun_path, sizeof(a.un.sun_path), "%s", path) >=
	    (int)sizeof(a.un.sun_path))
		return ENAMETOOLONG;
	return perform(copy, call, &a, &waits);
}

static int domain_of(int sock)
{
	int domain = AF_UNSPEC;
	socklen_t len = sizeof(domain);

	return getsockopt(sock, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0
		       ? -errno : domain;
}

static struct judgement refuse_socket(const struct place *place)
{
	return (struct judgement) {
		.error = EACCES, .report = true,
		.kind = VIOLATION_UNIX_SOCKET, .place = place,
		.verdict = {
			.reason = "not one of the sockets that may be reached",
			.rule_key = "sandbox.network.allowUnixSockets",
		},
	};
}

static void connect_unix(const struct addresses *a, int copy,
			 const struct call *call, const struct place *place,
			 struct address_answer *ret)
{
	auto_close int fd = openat(place->parent, place->name,
				   O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char path[32];
	struct stat st;

	ret->done = true;
	if (fd < 0 || fstat(fd, &st) < 0) {
		ret->error = errno;
		return;
	}
	if (!S_ISSOCK(st.st_mode)) {
		ret->error = ECONNREFUSED;
		return;
	}
	if (!is_listed(a->allowed.v, a->allowed.len, fd, &st) &&
	    !is_listed(a->own.v, a->own.len, fd, &st)) {
		ret->done = false;
		ret->judgement = refuse_socket(place);
		return;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ret->error = perform_path(copy, call, path);
}

static bool still_waits(const struct addresses *a)
{
	return ioctl(a->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &a->id) == 0;
}

/* What stands at @place is the sandbox's own, if it was made after @since: whoever
 * is quick could have put another there
 */
static void remember(struct addresses *a, const struct place *place,
		     const struct timespec *since)
{
	auto_close int fd = openat(place->parent, place->name,
				   O_PATH | O_NOFOLLOW | O_CLOEXEC);
	const int64_t birth = fd < 0 ? 0 : birth_of(fd);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || a->own.len >= ADDRESS_OWN_MAX ||
	    (birth && birth < (int64_t)since->tv_sec * 1000000000 +
			      since->tv_nsec))
		return;
	*vec_push(&a->own) = (struct observer_socket) {
		.dev = st.st_dev, .ino = st.st_ino, .birth = birth };
}

/* Bind, and remember what came of it: the sandbox may talk to itself */
static void bind_unix(struct addresses *a, struct tracee *t,
		      const struct call *call, int number,
		      const struct place *place, struct address_answer *ret)
{
	auto_close int copy = tracee_get_fd(t, number);
	char path[PATH_MAX];
	mode_t mask = 0, old;
	struct timespec now;

	ret->done = true;
	if (copy < 0) {
		ret->error = -copy;
		return;
	}
	tracee_process(t, &mask);
	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", place->parent,
		 place->name);
	if (!still_waits(a)) {
		ret->error = EINTR;
		return;
	}
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	old = umask(mask);
	ret->error = perform_path(copy, call, path);
	umask(old);
	if (!ret->error)
		remember(a, place, &now);
}

static int answer_bind(struct addresses *a, const struct judge *j,
		       struct tracee *t, const struct call *call,
		       const unsigned long long *args, const char *path,
		       struct place *place, struct address_answer *ret)
{
	const struct attempt attempt = { .what = CALL_BIND, .from = place };
	const int r = find(t, path, false, place);

	if (r < 0)
		return r;
	ret->judgement = judge(j, &attempt);
	if (!ret->judgement.error && a->by_path && !place->exists)
		bind_unix(a, t, call, (int)args[0], place, ret);
	return 0;
}

static bool wants_connect(const struct observer_policy *policy,
			  const struct address *a)
{
	return policy->network.connect &&
	       (a->sa.sa_family == AF_INET || a->sa.sa_family == AF_INET6) &&
	       (!policy->network.wants_connect ||
		policy->network.wants_connect(policy->network.arg, &a->sa, a->len));
}

static void tell_listen(const struct observer_policy *policy,
			struct tracee *tracee, int number)
{
	auto_close int copy = -1;

	if (!policy->network.listen)
		return;
	copy = tracee_get_fd(tracee, number);
	if (copy >= 0)
		policy->network.listen(policy->network.arg, copy);
}

/* An allowed socket in a directory that is closed to us, as the mask of a hidden
 * one is: it is the host's all the same. A descriptor, or -EACCES.
 */
static int open_listed(const struct addresses *a, struct tracee *t,
		       const char *path)
{
	char cwd[PATH_MAX] = "/";
	auto_free char *full = NULL;

	if (*path != '/' && tracee_link(t, "cwd", cwd, sizeof(cwd)) < 0)
		return -EACCES;
	full = path_resolve(cwd, path);
	for (size_t i = 0; i < a->allowed.len; i++) {
		const struct observer_socket *s = &a->allowed.v[i];
		auto_close int fd = -1;
		struct stat st;

		if (!s->path || strcmp(s->path, full) != 0)
			continue;
		fd = sys_open_nofollow(AT_FDCWD, s->path, O_PATH, 0);
		if (fd >= 0 && fstat(fd, &st) == 0 && is_listed(s, 1, fd, &st))
			return take_fd(&fd);
	}
	return -EACCES;
}

static int connect_listed(const struct addresses *a, struct tracee *t,
			  int copy, const struct call *call, const char *path)
{
	auto_close int fd = open_listed(a, t, path);
	char own[32];

	if (fd < 0)
		return -fd;
	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	return perform_path(copy, call, own);
}

/* connect() of a Unix socket. A name that is no path is nobody's: whoever it
 * leads to is not on the list, and it is not for us to ask.
 */
static void connect_by_path(const struct addresses *addresses,
			    struct tracee *t, int copy,
			    const struct call *call, const struct address *a,
			    struct place *place, struct address_answer *ret)
{
	char text[PATH_MAX];
	const char *path = unix_path(a, text);
	int r;

	if (a->sa.sa_family != AF_UNIX || !path) {
		ret->error = a->sa.sa_family != AF_UNIX ? EINVAL : EACCES;
		return;
	}
	r = find(t, path, true, place);
	if (r == -EACCES)
		ret->error = connect_listed(addresses, t, copy, call, path);
	else if (r < 0)
		ret->error = -r;
	else
		connect_unix(addresses, copy, call, place, ret);
}

/* connect() of another socket: it may take its time */
static void connect_away(const struct observer_policy *policy, int *copy,
			 const struct call *call, const struct address *a,
			 struct address_answer *ret)
{
	struct pollfd p = { .fd = *copy, .events = POLLOUT };
	bool waits;
	int r = 0;

	if (wants_connect(policy, a))
		r = policy->network.connect(policy->network.arg, &a->sa, a->len, *copy);
	if (r) {
		ret->error = r < 0 ? -r : 0;
		return;
	}
	ret->error = perform(*copy, call, a, &waits);
	if (!waits || (ret->error != EINPROGRESS && ret->error != EALREADY))
		return;
	/* Mostly it is there at once */
	if (poll(&p, 1, 0) == 1) {
		socklen_t len = sizeof(ret->error);

		if (getsockopt(*copy, SOL_SOCKET, SO_ERROR, &ret->error,
			       &len) < 0)
			ret->error = errno;
	} else {
		ret->later = take_fd(copy);
	}
}

/* Every connect() where Unix sockets go by path */
static int connect_here(struct addresses *addresses,
			const struct judge *judge, struct tracee *t,
			const struct call *call,
			const unsigned long long *args, struct place *place,
			struct address_answer *ret)
{
	auto_close int copy = tracee_get_fd(t, (int)args[0]);
	const int domain = copy < 0 ? copy : domain_of(copy);
	struct address a;
	int r;

	ret->done = true;
	if (domain < 0) {
		ret->error = -domain;
		return 0;
	}
	r = read_address(t, args, &a);
	if (r <= 0) {
		ret->error = r < 0 ? -r : EINVAL;
		return 0;
	}
	if (!still_waits(addresses)) {
		ret->error = EINTR;
		return 0;
	}
	if (domain == AF_UNIX) {
		connect_by_path(addresses, t, copy, call, &a, place, ret);
	} else if (domain == AF_INET || domain == AF_INET6) {
		/* Without a namespace, what is let through is bounded by
		 * Landlock, which does not bound us
		 */
		if (judge->no_mounts && !judge->policy->network.connect)
			ret->done = false;
		else
			connect_away(judge->policy, &copy, call, &a, ret);
	} else {
		ret->error = EPERM;
	}
	return 0;
}

static bool is_held(const struct observer_policy *policy,
		    const struct address *a)
{
	return policy->network.is_held &&
	       (a->sa.sa_family == AF_INET || a->sa.sa_family == AF_INET6) &&
	       policy->network.is_held(policy->network.arg, &a->sa, a->len);
}

int address_answer(struct addresses *addresses, const struct judge *judge,
		   struct tracee *tracee, const struct call *call,
		   const unsigned long long *args, struct place *place,
		   struct address_answer *ret)
{
	const struct observer_policy *policy = judge->policy;
	char text[PATH_MAX];
	const char *path;
	struct address a;
	int r;

	*ret = (struct address_answer) { .later = -1 };
	if (call->what == CALL_LISTEN) {
		tell_listen(policy, tracee, (int)args[0]);
		return 0;
	}
	if (call->what == CALL_CONNECT && addresses->by_path)
		return connect_here(addresses, judge, tracee, call, args,
				    place, ret);
	r = read_address(tracee, args, &a);
	if (r <= 0)
		return r;
	if (a.sa.sa_family == AF_UNIX) {
		path = call->what == CALL_BIND ? unix_path(&a, text) : NULL;
		return path ? answer_bind(addresses, judge, tracee, call, args,
					  path, place, ret) : 0;
	}
	if (call->what == CALL_BIND && is_held(policy, &a))
		policy->network.bind(policy->network.arg, &a.sa, a.len);
	if (call->what == CALL_CONNECT && wants_connect(policy, &a)) {
		auto_close int copy = tracee_get_fd(tracee, (int)args[0]);

		r = policy->network.connect(policy->network.arg, &a.sa, a.len, copy);
		ret->judgement.error = r < 0 ? -r : 0;
		ret->done = r > 0;
	}
	return 0;
}

bool address_is_served(const struct observer_policy *policy,
		       const struct tracee *tracee,
		       const unsigned long long *args)
{
	struct address a;

	return policy->network.is_served && read_address(tracee, args, &a) == 1 &&
	       (a.sa.sa_family == AF_INET || a.sa.sa_family == AF_INET6) &&
	       policy->network.is_served(policy->network.arg, &a.sa, a.len);
}

bool address_is_free(const struct observer_policy *policy,
		     const struct tracee *tracee,
		     const unsigned long long *args)
{
	struct address a;

	return read_address(tracee, args, &a) == 1 && !is_held(policy, &a);
}
