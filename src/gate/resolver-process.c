/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net/resolve-helper.c - the processes that call getaddrinfo()
 *
 * Theory of operation: requests are messages on one socket that all helpers
 * read from; the kernel gives each message to one of them. Who has got one says
 * so, and their parent then sees to it that somebody waits for the next, up to
 * the limit: it never looks at the requests themselves, since what one of the
 * helpers is about to take would look as if nobody did. A helper that takes too
 * long is ended by its own alarm and replaced. The end of the socket ends
 * everybody.
 */

#include "net/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/nsswitch.h"
#include "net/address.h"
#include "net/resolve-wire.h"

enum {
	HELPER_SECONDS = 6,	/* One more than the asker waits */
	RETRY_SECONDS = 1,	/* After a fork that failed */
};

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
		if (address_of(a->ai_addr, &ret->v[ret->count]))
			ret->count++;
	}
	freeaddrinfo(list);
	ret->error = ret->count ? 0 : -ENOENT;
	mark_own(ret);
}

/**
 * struct crew - The helpers, as their parent has them
 * @sock:	Where requests come from
 * @told:	A pipe: somebody has taken one
 * @pids:	Of the helpers; 0 for none
 * @busy:	Shared with them: each says whether it has something to do
 */
struct crew {
	int sock, told[2];
	resolve_fn fn;
	pid_t pids[RESOLVE_HELPERS_MAX];
	atomic_bool *busy;
};

static void serve_one(const struct crew *crew, atomic_bool *busy)
{
	struct resolve_request in;
	struct resolve_reply out = { 0 };
	const ssize_t got = recv(crew->sock, &in, sizeof(in), 0);

	if (got <= 0)
		_exit(0);
	atomic_store(busy, true);
	/* If there is no room, enough was said already */
	(void)!write(crew->told[1], "", 1);
	if (got != sizeof(in) || memchr(in.name, 0, sizeof(in.name)) == NULL)
		_exit(1);
	out.id = in.id;
	alarm(HELPER_SECONDS);
	crew->fn(in.name, &out.answer);
	alarm(0);
	/* First: who hears the answer may have another question at once */
	atomic_store(busy, false);
	if (send(crew->sock, &out, sizeof(out), MSG_NOSIGNAL) < 0)
		_exit(1);
}

static void helper(const struct crew *crew, atomic_bool *busy, pid_t parent)
{
	(void)signal(SIGCHLD, SIG_DFL);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	for (;;)
		serve_one(crew, busy);
}

static void reap(struct crew *crew)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
		for (int i = 0; i < RESOLVE_HELPERS_MAX; i++) {
			if (crew->pids[i] == pid)
				crew->pids[i] = 0;
		}
	}
}

/* See to it that somebody waits for the next request; false if nobody could be
 * had who does
 */
static bool keep_one_free(struct crew *crew, const sigset_t *signals)
{
	const pid_t self = getpid();
	int empty = -1;

	for (int i = 0; i < RESOLVE_HELPERS_MAX; i++) {
		if (!crew->pids[i])
			empty = i;
		else if (!atomic_load(&crew->busy[i]))
			return true;
	}
	if (empty < 0)
		return true;	/* As many as there may be */
	atomic_store(&crew->busy[empty], false);
	crew->pids[empty] = fork();
	if (!crew->pids[empty]) {
		(void)sigprocmask(SIG_SETMASK, signals, NULL);
		helper(crew, &crew->busy[empty], self);
	}
	if (crew->pids[empty] > 0)
		return true;
	crew->pids[empty] = 0;
	return false;
}

static void on_child(int sig)
{
	(void)sig;	/* Only to interrupt the wait below */
}

void resolve_serve(int sock, resolve_fn fn)
{
	static const struct timespec retry = { .tv_sec = RETRY_SECONDS };
	struct sigaction act = { .sa_handler = on_child };
	struct crew crew = { .sock = sock, .fn = fn };
	sigset_t block, open;

	crew.busy = mmap(NULL, RESOLVE_HELPERS_MAX * sizeof(*crew.busy),
			 PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			 -1, 0);
	if (crew.busy == MAP_FAILED ||
	    pipe2(crew.told, O_CLOEXEC | O_NONBLOCK) < 0)
		_exit(1);
	sigemptyset(&block);
	sigaddset(&block, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &block, &open);
	sigdelset(&open, SIGCHLD);
	(void)sigaction(SIGCHLD, &act, NULL);
	for (;;) {
		struct pollfd p[] = { { .fd = sock },
				      { .fd = crew.told[0], .events = POLLIN } };
		char told[RESOLVE_HELPERS_MAX];

		(void)ppoll(p, 2, keep_one_free(&crew, &open) ? NULL : &retry,
			    &open);
		if (p[0].revents)
			_exit(0);
		(void)!read(crew.told[0], told, sizeof(told));
		reap(&crew);
	}
}
