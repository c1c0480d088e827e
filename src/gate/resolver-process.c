/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate/resolver-process.c - the process that calls getaddrinfo()
 *
 * Each name is looked up in a child, which is ended by its own alarm if it takes
 * too long. With RESOLVE_HELPERS_MAX children, requests wait in the socket; names that are
 * late by then are not looked up, or a name server that does not answer would delay all names
 * for as long as it was asked. The end of the socket ends all of them.
 */

#include "gate/resolver.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/nsswitch.h"
#include "base/sys.h"
#include "gate/address.h"
#include "gate/gate-confine.h"
#include "ipc/helper-program.h"

enum { HELPER_SECONDS = 6 };	/* One more than the gate waits */

static bool address_of(const struct sockaddr *sa, struct host *ret)
{
	return sa && address_from_sockaddr(sa, sizeof(struct sockaddr_in6),
					   ret) == 0;
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
	struct host mine;

	if (getifaddrs(&list) < 0) {
		/* Unknown is as good as own: the guard then refuses */
		for (uint32_t i = 0; i < answer->count; i++)
			answer->v[i].own = true;
		return;
	}
	for (const struct ifaddrs *a = list; a; a = a->ifa_next) {
		const bool inet = address_of(a->ifa_addr, &mine);

		for (uint32_t i = 0; inet && i < answer->count; i++)
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
	int code;

	ret->error = nss_mean(name);
	if (ret->error)
		return;
	code = getaddrinfo(name, NULL, &hints, &list);
	if (code) {
		ret->error = error_of(code);
		return;
	}
	for (const struct addrinfo *a = list;
	     a && ret->count < RESOLVE_ADDRESSES_MAX; a = a->ai_next) {
		struct resolve_address *at = &ret->v[ret->count];
		struct host host;

		if (!address_of(a->ai_addr, &host))
			continue;
		at->len = host.kind == HOST_IPV4 ? 4 : 16;
		memcpy(at->bytes, host.address, sizeof(at->bytes));
		ret->count++;
	}
	freeaddrinfo(list);
	ret->error = ret->count ? 0 : -ENOENT;
	mark_own(ret);
}

/* Take one request: 1 if a child looks it up, else 0 */
static int start_lookup(int sock, resolve_fn fn, const sigset_t *signals)
{
	struct resolve_request in;
	struct resolve_reply out = { 0 };
	const pid_t parent = getpid();
	pid_t pid;

	if (recv(sock, &in, sizeof(in), 0) != sizeof(in) ||
	    !memchr(in.name, 0, sizeof(in.name)))
		_exit(1);
	if (in.deadline <= now_ms(CLOCK_MONOTONIC))
		return 0;
	out.id = in.id;
	pid = fork();
	if (!pid) {
		(void)sigprocmask(SIG_SETMASK, signals, NULL);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		alarm(HELPER_SECONDS);
		fn(in.name, &out.answer);
		_exit(send(sock, &out, sizeof(out), MSG_NOSIGNAL) < 0);
	}
	if (pid > 0)
		return 1;
	out.answer.error = -EAGAIN;
	(void)send(sock, &out, sizeof(out), MSG_NOSIGNAL);
	return 0;
}

static void on_child(int sig)
{
	(void)sig;	/* Only to interrupt the wait below */
}

void resolve_serve(int sock, resolve_fn fn)
{
	const struct sigaction act = { .sa_handler = on_child };
	sigset_t block, open;
	int children = 0;

	sigemptyset(&block);
	sigaddset(&block, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &block, &open);
	sigdelset(&open, SIGCHLD);
	(void)sigaction(SIGCHLD, &act, NULL);
	for (;;) {
		struct pollfd p = {
			.fd = sock,
			.events = children < RESOLVE_HELPERS_MAX ? POLLIN : 0,
		};
		const int ready = ppoll(&p, 1, NULL, &open);

		while (waitpid(-1, NULL, WNOHANG) > 0)
			children--;
		if (ready == 1 && (p.revents & ~POLLIN))
			_exit(0);
		if (ready == 1)
			children += start_lookup(sock, fn, &open);
	}
}

/* Where names need modules that are not built in, become the program that has the
 * system's library
 */
static void use_library(int sock)
{
	static char name[] = RESOLVE_PROGRAM, *none[] = { NULL };
	char number[16];
	char *const argv[] = { name, number, NULL };

	if (nss_will_do())
		return;
	snprintf(number, sizeof(number), "%d", sock);
	if (fcntl(sock, F_SETFD, 0) == 0)
		(void)helper_program_exec(RESOLVE_PROGRAM, argv, none);
	nss_stay_inside();
}

void resolve_main(int sock, resolve_fn fn)
{
	if (confine_inherit(&sock, 1, RESOLVE_PROGRAM, NULL) < 0)
		_exit(1);
	if (!fn)
		use_library(sock);
	if (confine_seal(CONFINED_RESOLVER, NULL) < 0)
		_exit(1);
	resolve_serve(sock, fn ? fn : resolve_system);
}
