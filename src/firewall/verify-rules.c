/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firewall/verify-rules.c - what the firewall promises, tried
 *
 * Theory of operation: somebody allowed must answer, and somebody denied must
 * not. Where the user names nobody, any allowed address will do that answers
 * at the port of HTTPS, if only with a refusal of its own: the packets went
 * and came. As the denied one serve addresses that documents use and nobody
 * has; they would not answer anyway, so for them the proof is that our
 * counter moved. A family without a route needs no proof.
 */

#include "firewall/firewall.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/sys.h"
#include "gate/address.h"

enum {
	HTTPS = 443,
	NOBODY_MS = 100,
	REACH_HOSTS_MAX = 16,	/* Tried at the same time */
	REACH_MS = 5000,	/* Enough for two lost packets */
};

/* 0 if it stands already, -EINPROGRESS with *@fd set, or why not */
static int start_connect(const struct host *host, int *fd)
{
	struct sockaddr_storage sa;
	socklen_t len;
	int r = address_to_sockaddr(host, &sa, &len);

	if (r < 0)
		return r;
	*fd = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
		     0);
	if (*fd < 0)
		return -errno;
	if (connect(*fd, (const struct sockaddr *)&sa, len) == 0)
		return 0;
	r = -errno;
	if (r != -EINPROGRESS)
		close_fd(fd);
	return r;
}

/* A refusal by the other end says more than silence or no way at all */
static int worse(int before, int now)
{
	if (before == -ECONNREFUSED || now == -ECONNREFUSED)
		return -ECONNREFUSED;
	return before == 0 || before == -ENETUNREACH ? now : before;
}

static int first_connected(struct pollfd *p, size_t n, int *error)
{
	for (size_t i = 0; i < n; i++) {
		int code = 0;
		socklen_t len = sizeof(code);

		if (p[i].fd < 0 || !p[i].revents)
			continue;
		if (getsockopt(p[i].fd, SOL_SOCKET, SO_ERROR, &code, &len) < 0)
			code = errno;
		if (!code)
			return (int)i;
		*error = worse(*error, -code);
		close_fd(&p[i].fd);
	}
	return -1;
}

static bool is_waiting(const struct pollfd *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i].fd >= 0)
			return true;
	}
	return false;
}

static bool reach_has_route(const struct host *host)
{
	struct sockaddr_storage sa;
	socklen_t len;
	auto_close int fd = -1;

	if (address_to_sockaddr(host, &sa, &len) < 0)
		return false;
	fd = socket(sa.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return fd >= 0 &&
	       connect(fd, (const struct sockaddr *)&sa, len) == 0;
}

/* The index of the first of @hosts that answers; or -ECONNREFUSED if one said no,
 * -ENETUNREACH if there is no way, -ETIMEDOUT
 */
static int reach_any(const struct host *hosts, size_t n, int timeout_ms)
{
	struct pollfd p[REACH_HOSTS_MAX];
	const int64_t end = now_ms(CLOCK_MONOTONIC) + timeout_ms;
	int found = -1, error = 0;

	if (n > REACH_HOSTS_MAX)
		n = REACH_HOSTS_MAX;
	for (size_t i = 0; i < n; i++) {
		int r;

		p[i] = (struct pollfd){ .fd = -1, .events = POLLOUT };
		r = start_connect(&hosts[i], &p[i].fd);
		if (r == 0)
			found = (int)i;
		else if (r != -EINPROGRESS)
			error = worse(error, r);
	}
	while (found < 0 && is_waiting(p, n)) {
		const int64_t left = end - now_ms(CLOCK_MONOTONIC);

		if (left <= 0 || poll(p, n, (int)left) == 0) {
			error = worse(error, -ETIMEDOUT);
			break;
		}
		found = first_connected(p, n, &error);
	}
	for (size_t i = 0; i < n; i++)
		close_fd(&p[i].fd);
	return found >= 0 ? found : error ? error : -ENETUNREACH;
}

static const char *const nobody[] = {
	"192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1",
};

/**
 * struct trial - One verification under way
 * @addresses:	Single addresses that are allowed, from the kernel's sets
 * @failed:	Something did not hold
 */
struct trial {
	const struct firewall *f;
	const struct range_list *addresses;
	const struct ruleset *ruleset;
	struct buf *said;
	bool failed;
};

static const char *words_of(int r)
{
	switch (r) {
	case -ETIMEDOUT:
		return "no answer";
	case -ECONNREFUSED:
		return "it refuses the connection";
	case -ENETUNREACH:
		return "there is no route";
	default:
		return "it is refused";
	}
}

/* Its addresses with the port; how many, or a negative errno with words */
static int addresses_of(const struct firewall *f,
			const struct firewall_target *t,
			struct host ret[REACH_HOSTS_MAX], struct err *err)
{
	struct name_addresses answer;
	int r;

	if (t->host.kind != HOST_NAME) {
		ret[0] = t->host;
		return 1;
	}
	r = names_resolve(t->host.name, &f->resolvers, &answer, err);
	if (r < 0)
		return r;
	for (r = 0; r < REACH_HOSTS_MAX && (size_t)r < answer.len; r++) {
		ret[r] = answer.v[r];
		ret[r].port = t->host.port;
	}
	return r;
}

static void tell(struct trial *t, bool good, const char *what,
		 const char *words)
{
	buf_addf(t->said, "%s: %s %s\n", good ? "ok" : "FAILED", what, words);
	t->failed |= !good;
}

static int try_must(struct trial *t, const struct firewall_target *target,
		    struct err *err)
{
	struct host hosts[REACH_HOSTS_MAX];
	int r = addresses_of(t->f, target, hosts, err);
	auto_buf struct buf words = { 0 };

	if (r < 0) {
		tell(t, false, target->text, "must be reachable, but has no address");
		return 0;
	}
	r = reach_any(hosts, (size_t)r, REACH_MS);
	buf_addf(&words, "must be reachable%s%s", r < 0 ? ", but " : ", and is",
		 r < 0 ? words_of(r) : "");
	tell(t, r >= 0, target->text, buf_str(&words));
	return 0;
}

static int try_must_not(struct trial *t, const struct firewall_target *target,
			struct err *err)
{
	struct host hosts[REACH_HOSTS_MAX];
	int r = addresses_of(t->f, target, hosts, err);

	if (r < 0)
		return r;	/* Nothing was proved */
	r = reach_any(hosts, (size_t)r, REACH_MS);
	/* Who refuses a connection was reached, too */
	if (r >= 0 || r == -ECONNREFUSED)
		tell(t, false, target->text, "must not be reachable, but is");
	else
		tell(t, true, target->text, "must not be reachable, and is not");
	return 0;
}

static void guess_must(struct trial *t)
{
	struct host hosts[REACH_HOSTS_MAX];
	size_t n = 0;
	int r;

	for (size_t i = 0; i < t->addresses->len && n < REACH_HOSTS_MAX; i++) {
		const struct host_range *a = &t->addresses->v[i];

		if (a->bits == (a->kind == HOST_IPV4 ? 32 : 128))
			host_of_address(a->address, a->bits / 8, HTTPS,
					&hosts[n++]);
	}
	if (!n) {
		buf_adds(t->said, "note: only networks are allowed, and none of their hosts was tried; --verify-allowed HOST:PORT names one\n");
		return;
	}
	r = reach_any(hosts, n, REACH_MS);
	if (r >= 0 || r == -ECONNREFUSED)
		tell(t, true, "an allowed address", "answers");
	else
		tell(t, false, "no allowed address answers", "at port 443; name one that must with --verify-allowed HOST:PORT, or give --no-verify");
}

static bool is_allowed(const struct trial *t, const struct host *host)
{
	return range_list_has(t->addresses, host) ||
	       (t->ruleset && (range_list_has(&t->ruleset->ranges, host) ||
			       range_list_has(&t->ruleset->lan, host) ||
			       named_list_has(&t->ruleset->names, host)));
}

/* An address that nobody has, is not allowed, and has a route */
static bool find_nobody(const struct trial *t, enum host_kind kind,
			struct host *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(nobody); i++) {
		if (host_parse(nobody[i], strlen(nobody[i]), HTTPS, ret) == 0 &&
		    ret->kind == kind && !is_allowed(t, ret))
			return reach_has_route(ret);
	}
	return false;
}

/* The first packet is counted at once: no need to wait for more */
static int try_nobody(struct trial *t, const struct host *host,
		      struct err *err)
{
	const char *counter = host->kind == HOST_IPV4 ? "ipv4" : "ipv6";
	uint64_t before, after;
	int r = state_count(counter, &before, err);
	int found;

	if (r < 0)
		return r;
	found = reach_any(host, 1, NOBODY_MS);
	r = state_count(counter, &after, err);
	if (r < 0)
		return r;
	if (found < 0 && found != -ECONNREFUSED && after > before)
		tell(t, true, host->name, "is not allowed, and was refused");
	else
		tell(t, false, host->name, "is not allowed, but was let through");
	return 0;
}

static int guess_must_not(struct trial *t, struct err *err)
{
	static const enum host_kind kinds[] = { HOST_IPV4, HOST_IPV6 };
	int r = 0;

	for (size_t k = 0; k < ARRAY_SIZE(kinds) && r == 0; k++) {
		struct host host;

		if (find_nobody(t, kinds[k], &host))
			r = try_nobody(t, &host, err);
	}
	return r;
}

int firewall_check_targets(const struct firewall *f,
			   const struct range_list *addresses,
			   const struct ruleset *ruleset, struct buf *said,
			   struct err *err)
{
	struct trial t = {
		.f = f, .addresses = addresses, .ruleset = ruleset,
		.said = said,
	};
	int r = 0;

	for (size_t i = 0; i < f->must.len && r == 0; i++)
		r = try_must(&t, &f->must.v[i], err);
	if (!f->must.len)
		guess_must(&t);
	for (size_t i = 0; i < f->must_not.len && r == 0; i++)
		r = try_must_not(&t, &f->must_not.v[i], err);
	if (!f->must_not.len && r == 0)
		r = guess_must_not(&t, err);
	return r < 0 ? r : t.failed;
}
