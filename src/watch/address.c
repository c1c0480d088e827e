/* SPDX-License-Identifier: Apache-2.0 */
/* watch/address.c - connect() and bind(): ports on demand, sockets by path */

#include "watch/address.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
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
	free(a->allowed.v);
	free(a->own.v);
}

static bool is_listed(const struct observer_socket *v, size_t n,
		      const struct stat *st)
{
	for (size_t i = 0; i < n; i++) {
		if (v[i].dev == st->st_dev && v[i].ino == st->st_ino)
			return true;
	}
	return false;
}

/* 1 if there is an address for us to look at, 0 if the kernel will find it
 * wrong, or a negative errno
 */
static int read_address(const struct tracee *t, const unsigned long long *args,
			struct address *ret)
{
	int r;

	memset(ret, 0, sizeof(*ret));
	ret->len = (socklen_t)args[2];
	if (args[2] > sizeof(ret->room) || args[2] < sizeof(sa_family_t))
		return 0;
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
	return n < 0 ? (int)n : place_find(t, cwd, path, follow, place);
}

/* Make the call on a copy of the socket, without waiting: 0 or an errno */
static int perform(struct tracee *t, const struct call *call, int number,
		   const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	auto_close int copy = tracee_get_fd(t, number);
	int flags, r;

	if (copy < 0)
		return -copy;
	if (snprintf(un.sun_path, sizeof(un.sun_path), "%s", path) >=
	    (int)sizeof(un.sun_path))
		return ENAMETOOLONG;
	flags = fcntl(copy, F_GETFL);
	if (flags < 0 || fcntl(copy, F_SETFL, flags | O_NONBLOCK) < 0)
		return errno;
	r = call->what == CALL_BIND
	    ? bind(copy, (struct sockaddr *)&un, sizeof(un))
	    : connect(copy, (struct sockaddr *)&un, sizeof(un));
	r = r < 0 ? errno : 0;
	(void)fcntl(copy, F_SETFL, flags);
	return r;
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

static void connect_unix(const struct addresses *a, struct tracee *t,
			 const struct call *call, int number,
			 const struct place *place, struct address_answer *ret)
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
	if (!is_listed(a->allowed.v, a->allowed.len, &st) &&
	    !is_listed(a->own.v, a->own.len, &st)) {
		ret->done = false;
		ret->judgement = refuse_socket(place);
		return;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ret->error = perform(t, call, number, path);
}

/* Bind, and remember what came of it: the sandbox may talk to itself */
static void bind_unix(struct addresses *a, struct tracee *t,
		      const struct call *call, int number,
		      const struct place *place, struct address_answer *ret)
{
	char path[PATH_MAX];
	mode_t mask = 0, old;
	struct stat st;

	tracee_process(t, &mask);
	snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", place->parent,
		 place->name);
	old = umask(mask);
	ret->done = true;
	ret->error = perform(t, call, number, path);
	umask(old);
	if (!ret->error && a->own.len < ADDRESS_OWN_MAX &&
	    !fstatat(place->parent, place->name, &st, AT_SYMLINK_NOFOLLOW))
		*vec_push(&a->own) = (struct observer_socket) {
			st.st_dev, st.st_ino };
}

static int answer_unix(struct addresses *a, const struct judge *j,
		       struct tracee *t, const struct call *call,
		       const unsigned long long *args, const char *path,
		       struct place *place, struct address_answer *ret)
{
	const bool is_bind = call->what == CALL_BIND;
	const struct attempt attempt = { .what = CALL_BIND, .from = place };
	int r;

	if (!is_bind && !a->by_path)
		return 0;
	r = find(t, path, !is_bind, place);
	if (r < 0)
		return r;
	if (!is_bind) {
		connect_unix(a, t, call, (int)args[0], place, ret);
		return 0;
	}
	ret->judgement = judge(j, &attempt);
	if (!ret->judgement.error && a->by_path && !place->exists)
		bind_unix(a, t, call, (int)args[0], place, ret);
	return 0;
}

static bool wants_connect(const struct observer_policy *policy,
			  const struct address *a)
{
	return policy->connect &&
	       (a->sa.sa_family == AF_INET || a->sa.sa_family == AF_INET6) &&
	       (!policy->wants_connect ||
		policy->wants_connect(policy->arg, &a->sa, a->len));
}

static void tell_listen(const struct observer_policy *policy,
			struct tracee *tracee, int number)
{
	auto_close int copy = -1;

	if (!policy->listen)
		return;
	copy = tracee_get_fd(tracee, number);
	if (copy >= 0)
		policy->listen(policy->arg, copy);
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

	*ret = (struct address_answer) { 0 };
	if (call->what == CALL_LISTEN) {
		tell_listen(policy, tracee, (int)args[0]);
		return 0;
	}
	r = read_address(tracee, args, &a);
	if (r <= 0)
		return r;
	if (a.sa.sa_family == AF_UNIX) {
		path = unix_path(&a, text);
		return path ? answer_unix(addresses, judge, tracee, call, args,
					  path, place, ret) : 0;
	}
	if (call->what == CALL_CONNECT && wants_connect(policy, &a)) {
		auto_close int copy = tracee_get_fd(tracee, (int)args[0]);

		r = policy->connect(policy->arg, &a.sa, a.len, copy);
		ret->judgement.error = r < 0 ? -r : 0;
		ret->done = r > 0;
	}
	return 0;
}
