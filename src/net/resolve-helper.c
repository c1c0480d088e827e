/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net/resolve-helper.c - the processes that call getaddrinfo()
 *
 * Theory of operation: requests are messages on one socket that all helpers
 * read from; the kernel gives each message to one of them. Their parent only
 * looks whether something waits, and then forks one more helper, up to the
 * limit. A helper that takes too long is ended by its own alarm and replaced
 * when the next request waits. The end of the socket ends everybody.
 */

#include "net/resolve.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/address.h"
#include "net/resolve-wire.h"

enum { HELPER_SECONDS = 6 };	/* One more than the asker waits */

static bool address_of(const struct sockaddr *sa, struct resolve_address *ret)
{
	if (!sa)
		return false;
	memset(ret, 0, sizeof(*ret));
	if (sa->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)sa;

		ret->len = 4;
		memcpy(ret->bytes, &in->sin_addr, 4);
		return true;
	}
	if (sa->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)sa;

		ret->len = 16;
		memcpy(ret->bytes, &in6->sin6_addr, 16);
		return true;
	}
	return false;
}

/* True if @a is @mine, in whatever wrapping it comes */
static bool leads_to(const struct resolve_address *a, const struct host *mine)
{
	struct host plain, inner;
	size_t next = 0;

	host_of_address(a->bytes, a->len, 0, &plain);
	if (host_is_same(&plain, mine))
		return true;
	while (address_unwrap(&plain, &next, &inner)) {
		if (host_is_same(&inner, mine))
			return true;
	}
	return false;
}

static void mark_own(struct resolve_answer *answer)
{
	struct ifaddrs *list = NULL;
	struct resolve_address at;
	struct host mine;

	if (getifaddrs(&list) < 0) {
		/* Unknown is as good as own: the guard then refuses */
		for (uint32_t i = 0; i < answer->count; i++)
			answer->v[i].own = true;
		return;
	}
	for (const struct ifaddrs *a = list; a; a = a->ifa_next) {
		if (!address_of(a->ifa_addr, &at))
			continue;
		host_of_address(at.bytes, at.len, 0, &mine);
		for (uint32_t i = 0; i < answer->count; i++)
			answer->v[i].own |= leads_to(&answer->v[i], &mine);
	}
	freeifaddrs(list);
}

static int error_of(int code)
{
	switch (code) {
	case EAI_AGAIN:
		return -EAGAIN;
	case EAI_NONAME:
	case EAI_NODATA:
	case EAI_ADDRFAMILY:
		return -ENOENT;
	default:
		return -EIO;
	}
}

void resolve_system(const char *name, struct resolve_answer *ret)
{
	const struct addrinfo hints = {
		.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM,
		.ai_flags = AI_ADDRCONFIG,
	};
	struct addrinfo *list = NULL;
	const int code = getaddrinfo(name, NULL, &hints, &list);

	if (code) {
		ret->error = error_of(code);
		return;
	}
	for (const struct addrinfo *a = list;
	     a && ret->count < RESOLVE_ADDRESSES_MAX; a = a->ai_next) {
		if (address_of(a->ai_addr, &ret->v[ret->count]))
			ret->count++;
	}
	freeaddrinfo(list);
	ret->error = ret->count ? 0 : -ENOENT;
	mark_own(ret);
}

static void serve_one(int sock, resolve_fn fn)
{
	struct resolve_request in;
	struct resolve_reply out = { 0 };
	const ssize_t got = recv(sock, &in, sizeof(in), 0);

	if (got <= 0)
		_exit(0);
	if (got != sizeof(in) || memchr(in.name, 0, sizeof(in.name)) == NULL)
		_exit(1);
	out.id = in.id;
	alarm(HELPER_SECONDS);
	fn(in.name, &out.answer);
	alarm(0);
	if (send(sock, &out, sizeof(out), MSG_NOSIGNAL) < 0)
		_exit(1);
}

static void helper(int sock, resolve_fn fn, pid_t parent)
{
	(void)signal(SIGCHLD, SIG_DFL);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	for (;;)
		serve_one(sock, fn);
}

static void on_child(int sig)
{
	(void)sig;	/* Only to interrupt the wait below */
}

void resolve_serve(int sock, resolve_fn fn)
{
	struct sigaction act = { .sa_handler = on_child };
	const pid_t self = getpid();
	struct pollfd p = { .fd = sock, .events = POLLIN };
	sigset_t block, open;
	int running = 0;

	sigemptyset(&block);
	sigaddset(&block, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &block, &open);
	sigdelset(&open, SIGCHLD);
	(void)sigaction(SIGCHLD, &act, NULL);
	for (;;) {
		/* With all helpers there, only their end is worth waking for */
		const bool full = running == RESOLVE_HELPERS_MAX;

		p.revents = 0;
		(void)ppoll(full ? NULL : &p, full ? 0 : 1, NULL, &open);
		while (running && waitpid(-1, NULL, WNOHANG) > 0)
			running--;
		if (full)
			continue;
		if (p.revents & (POLLHUP | POLLERR | POLLNVAL))
			_exit(0);
		if (p.revents & POLLIN) {
			const pid_t pid = fork();

			if (!pid) {
				(void)sigprocmask(SIG_SETMASK, &open, NULL);
				helper(sock, fn, self);
			}
			running += pid > 0;
		}
	}
}
