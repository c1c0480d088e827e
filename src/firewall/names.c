/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/names.c - the addresses of allowed names */

#include "firewall/names.h"

#include <errno.h>
#include <netdb.h>
#include <nss.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/nsswitch.h"
#include "base/own.h"
#include "firewall/ruleset.h"
#include "net/address.h"

enum {
	DNS_PORT = 53,
	TRY_MS = 2000,		/* For one question to one server */
	TRIES = 2,
};

/* What is left of @end, for poll() */
static int left_ms(const struct timespec *end)
{
	struct timespec now;
	int64_t ms;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ms = (int64_t)(end->tv_sec - now.tv_sec) * 1000 +
	     (end->tv_nsec - now.tv_nsec) / 1000000;
	return ms > 0 ? (int)ms : 0;
}

static int wait_for(int fd, short events, const struct timespec *end)
{
	struct pollfd p = { .fd = fd, .events = events };
	int r;

	do
		r = poll(&p, 1, left_ms(end));
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r ? 0 : -ETIMEDOUT;
}

static int open_to(const struct host *server, int type)
{
	struct sockaddr_storage sa;
	socklen_t len;
	auto_close int fd = -1;
	int r = address_to_sockaddr(server, &sa, &len);

	if (r < 0)
		return r;
	fd = socket(sa.ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&sa, len) < 0 &&
	    errno != EINPROGRESS)
		return -errno;
	return take_fd(&fd);
}

static int ask_udp(const struct host *server, const uint8_t *question,
		   size_t n, uint8_t *reply, const struct timespec *end)
{
	auto_close int fd = open_to(server, SOCK_DGRAM);
	ssize_t got;
	int r;

	if (fd < 0)
		return fd;
	if (send(fd, question, n, MSG_NOSIGNAL) < 0)
		return -errno;
	r = wait_for(fd, POLLIN, end);
	if (r < 0)
		return r;
	got = recv(fd, reply, ANSWER_MESSAGE_MAX, 0);
	return got < 0 ? -errno : (int)got;
}

static int recv_all(int fd, uint8_t *p, size_t n, const struct timespec *end)
{
	while (n) {
		const int r = wait_for(fd, POLLIN, end);
		const ssize_t got = r < 0 ? r : recv(fd, p, n, 0);

		if (r < 0)
			return r;
		if (got <= 0)
			return got ? -errno : -EPIPE;
		p += got;
		n -= (size_t)got;
	}
	return 0;
}

static int ask_tcp(const struct host *server, const uint8_t *question,
		   size_t n, uint8_t *reply, const struct timespec *end)
{
	auto_close int fd = open_to(server, SOCK_STREAM);
	uint8_t length[2] = { (uint8_t)(n >> 8), (uint8_t)n };
	uint8_t message[2 + ANSWER_QUESTION_MAX];
	int r;

	if (fd < 0)
		return fd;
	memcpy(message, length, 2);
	memcpy(message + 2, question, n);
	r = wait_for(fd, POLLOUT, end);
	if (r == 0 && send(fd, message, n + 2, MSG_NOSIGNAL) < 0)
		r = -errno;
	if (r == 0)
		r = recv_all(fd, length, 2, end);
	if (r == 0)
		r = recv_all(fd, reply, (size_t)(length[0] << 8 | length[1]),
			     end);
	return r < 0 ? r : length[0] << 8 | length[1];
}

static int ask_once(const struct host *server, const char *name,
		    enum host_kind kind, uint8_t *reply,
		    struct resolver_answer *ret)
{
	uint8_t question[ANSWER_QUESTION_MAX];
	struct timespec end;
	uint16_t id = 0;
	size_t n;
	int r;

	if (getrandom(&id, sizeof(id), 0) < 0)
		return -errno;
	n = answer_question(name, kind, id, question);
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += TRY_MS / 1000;
	r = ask_udp(server, question, n, reply, &end);
	if (r >= 0)
		r = answer_read(reply, (size_t)r, kind, id, ret);
	if (r != -EMSGSIZE)
		return r;
	r = ask_tcp(server, question, n, reply, &end);
	return r < 0 ? r : answer_read(reply, (size_t)r, kind, id, ret);
}

/* One family from the first server that knows; the last error otherwise */
static int ask(const struct range_list *servers, const char *name,
	       enum host_kind kind, struct resolver_answer *ret)
{
	auto_free uint8_t *reply = mem_zalloc(ANSWER_MESSAGE_MAX);
	int r = -EAGAIN;

	for (size_t i = 0; i < servers->len * TRIES; i++) {
		const struct host_range *s = &servers->v[i % servers->len];
		struct host server = { .kind = s->kind, .port = DNS_PORT };

		memcpy(server.address, s->address, sizeof(server.address));
		r = ask_once(&server, name, kind, reply, ret);
		if (r == 0 || r == -ENOENT)
			return r;
	}
	return r;
}

static int ask_library(const char *name, struct resolver_answer *ret)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	int code;

	if (!nss_will_do())
		nss_stay_inside();
	code = nss_mean(name);
	if (code)
		return code;
	code = getaddrinfo(name, NULL, &hints, &list);
	if (code)
		return code == EAI_AGAIN ? -EAGAIN : -ENOENT;
	for (const struct addrinfo *a = list;
	     a && ret->len < ANSWER_ADDRESSES_MAX; a = a->ai_next) {
		if (!address_from_sockaddr(a->ai_addr, a->ai_addrlen,
					   &ret->v[ret->len]))
			ret->len++;
	}
	freeaddrinfo(list);
	return ret->len ? 0 : -ENOENT;
}

static int ask_resolvers(const char *name, const struct range_list *resolvers,
			 struct resolver_answer *ret)
{
	int v4, v6;

	/* The library now knows /etc/hosts only */
	(void)__nss_configure_lookup("hosts", "files");
	if (ask_library(name, ret) == 0)
		return 0;
	v4 = ask(resolvers, name, HOST_IPV4, ret);
	v6 = ask(resolvers, name, HOST_IPV6, ret);
	if (ret->len)
		return 0;
	return v4 < 0 ? v4 : v6 < 0 ? v6 : -ENOENT;
}

int names_resolve(const char *name, const struct range_list *resolvers,
		  struct resolver_answer *ret, struct err *err)
{
	int r;

	ret->len = 0;
	/* The library's own patience is half a minute */
	(void)setenv("RES_OPTIONS", "timeout:3 attempts:2", 0);
	r = resolvers && resolvers->len ?
		ask_resolvers(name, resolvers, ret) : ask_library(name, ret);
	if (r == -ENOENT)
		return fail(err, r, "'%s' has no address; is the name right?",
			    name);
	if (r < 0)
		return fail(err, r, "cannot resolve '%s': no resolver answers",
			    name);
	return 0;
}

static const struct {
	const char *range, *what;
	bool private;
} special[] = {
#define REFUSED(range, what) { range, what, false },
#define PRIVATE(range, what) { range, what, true },
#define WRAPPED(range, byte, mask)
#include "net/address-ranges.def"
#undef REFUSED
#undef PRIVATE
#undef WRAPPED
};

/* Loopback is open anyway, and the others lead nowhere */
static const char *const harmless[] = {
	"a loopback address", "a reserved address", "a documentation address",
	"a relay address", "a benchmark address", "an IPv4-compatible address",
	"a local translation address", "a discard address",
	"a segment routing address",
};

static bool is_in(const char *text, const struct host *address)
{
	struct host_range range;

	return host_range_parse(text, strlen(text), &range) == 0 &&
	       host_range_has(&range, address);
}

/* The first row decides; one of a kind that is not listed above refuses. Names
 * that cannot be public may lead to private addresses.
 */
static const char *judge(const struct host *name, const struct host *address)
{
	size_t i = 0, k = 0;

	while (i < ARRAY_SIZE(special) && !is_in(special[i].range, address))
		i++;
	if (i == ARRAY_SIZE(special) ||
	    (special[i].private && address_is_private_name(name)))
		return NULL;
	while (k < ARRAY_SIZE(harmless) &&
	       strcmp(harmless[k], special[i].what) != 0)
		k++;
	return k < ARRAY_SIZE(harmless) ? NULL : special[i].what;
}

const char *names_guard(const struct host *name, const struct host *address)
{
	const char *what = judge(name, address);
	struct host inner;
	size_t next = 0;

	while (!what && address_unwrap(address, &next, &inner))
		what = judge(name, &inner);
	return what;
}
