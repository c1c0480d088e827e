/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firewall/verify-rules.c - try what the active rules must refuse and allow
 *
 * Theory of operation: an allowed host must answer, and a denied one must not. Where the
 * user names no allowed host, one of the allowed addresses must answer at port 443, if only
 * by refusing the connection. Where no denied host is named, addresses for documentation are
 * tried. No host has them, so the proof is that the counter of refused packets grows. A
 * family without a route needs no proof.
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
	UNUSED_MS = 100,
	REACH_HOSTS_MAX = 16,	/* Tried at the same time */
	REACH_MS = 5000,	/* Enough for two lost packets */
};

/* A socket that connects to @host: 0 if it has, -EINPROGRESS, or why not. *@ret is
 * the socket, or -1.
 */
static int start_connect(const struct host *host, int type, int *ret)
{
	struct sockaddr_storage sa;
	socklen_t len;
	int r = address_to_sockaddr(host, &sa, &len);

	*ret = -1;
	if (r < 0)
		return r;
	*ret = socket(sa.ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*ret < 0)
		return -errno;
	r = connect(*ret, (const struct sockaddr *)&sa, len) < 0 ? -errno : 0;
	if (r < 0 && r != -EINPROGRESS)
		close_fd(ret);
	return r;
}

/* A refusal by the other end says more than silence or no way at all */
static int worse(int before, int now)
{
	if (before == -ECONNREFUSED || now == -ECONNREFUSED)
		return -ECONNREFUSED;
	return before == 0 || before == -ENETUNREACH ? now : before;
}

/* The index of the first of @hosts that answers; or -ECONNREFUSED if one refused,
 * -ENETUNREACH if there is no way, -ETIMEDOUT
 */
static int reach_any(const struct host *hosts, size_t n, int timeout_ms)
{
	struct pollfd p[REACH_HOSTS_MAX];
	const int64_t end = now_ms(CLOCK_MONOTONIC) + timeout_ms;
	size_t waiting = 0;
	int found = -1, error = 0;

	for (size_t i = 0; i < n; i++) {
		int r;

		p[i].events = POLLOUT;
		r = start_connect(&hosts[i], SOCK_STREAM, &p[i].fd);
		if (r == 0)
			found = (int)i;
		else if (r == -EINPROGRESS)
			waiting++;
		else
			error = worse(error, r);
	}
	while (found < 0 && waiting) {
		const int64_t left = end - now_ms(CLOCK_MONOTONIC);

		if (left <= 0 || poll(p, n, (int)left) <= 0) {
			error = worse(error, -ETIMEDOUT);
			break;
		}
		for (size_t i = 0; i < n && found < 0; i++) {
			int code;

			if (p[i].fd < 0 || !p[i].revents)
				continue;
			code = sys_socket_option(p[i].fd, SO_ERROR);
			if (!code) {
				found = (int)i;
				break;
			}
			error = worse(error, -code);
			close_fd(&p[i].fd);
			waiting--;
		}
	}
	for (size_t i = 0; i < n; i++)
		close_fd(&p[i].fd);
	return found >= 0 ? found : error ? error : -ENETUNREACH;
}

static const char *const unused[] = {
	"192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1",
};

/**
 * struct trial - One verification under way
 * @failed:	Something did not hold
 */
struct trial {
	const struct firewall *f;
	const struct ruleset *ruleset;
	json_t *report;
	bool failed;
};

static const char *reason_of(int r)
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

/* Its addresses with the port; how many, or a negative errno with a message */
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

static void note(struct trial *t, bool good, const char *what,
		 const char *text)
{
	(void)json_array_append_new(t->report, json_sprintf("%s: %s %s",
		good ? "ok" : "FAILED", what, text));
	t->failed |= !good;
}

static int try_target(struct trial *t, const struct firewall_target *target,
		      bool must, struct err *err)
{
	struct host hosts[REACH_HOSTS_MAX];
	int r = addresses_of(t->f, target, hosts, err);
	auto_buf struct buf text = { 0 };

	if (r < 0 && !must)
		return r;	/* Nothing was proved */
	if (r < 0) {
		note(t, false, target->text, "must be reachable, but has no address");
		return 0;
	}
	r = reach_any(hosts, (size_t)r, REACH_MS);
	if (must)
		buf_addf(&text, "must be reachable%s%s", r < 0 ? ", but " :
			 ", and is", r < 0 ? reason_of(r) : "");
	else	/* A host that refuses the connection was reached, too */
		buf_adds(&text, r >= 0 || r == -ECONNREFUSED ?
			 "must not be reachable, but is" :
			 "must not be reachable, and is not");
	note(t, must ? r >= 0 : r < 0 && r != -ECONNREFUSED, target->text,
	     buf_str(&text));
	return 0;
}

/* Single addresses that are allowed: one must answer */
static void guess_must(struct trial *t)
{
	struct host hosts[REACH_HOSTS_MAX];
	size_t n = 0;
	int r;

	for (enum ruleset_set set = SET_NAMES; set <= SET_RANGES; set++) {
		const struct range_list *list = &t->ruleset->sets[set];

		for (size_t i = 0; i < list->len && n < REACH_HOSTS_MAX; i++) {
			const struct host_range *a = &list->v[i].range;

			if (a->bits == (a->kind == HOST_IPV4 ? 32 : 128))
				host_of_address(a->address, a->bits / 8, HTTPS,
						&hosts[n++]);
		}
	}
	if (!n) {
		(void)json_array_append_new(t->report, json_string("note: only networks are allowed, and none of their hosts was tried; --verify-allowed HOST:PORT names one"));
		return;
	}
	r = reach_any(hosts, n, REACH_MS);
	if (r >= 0 || r == -ECONNREFUSED)
		note(t, true, "an allowed address", "answers");
	else
		note(t, false, "no allowed address answers", "at port 443; name one that must with --verify-allowed HOST:PORT, or give --no-verify");
}

static bool is_allowed(const struct ruleset *r, const struct host *host)
{
	return range_list_has(&r->sets[SET_NAMES], host) ||
	       range_list_has(&r->sets[SET_RANGES], host) ||
	       range_list_has(&r->sets[SET_LAN], host);
}

/* A documentation address that is not allowed and has a route */
static bool find_unused(const struct trial *t, enum host_kind kind,
			struct host *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(unused); i++) {
		auto_close int fd = -1;

		if (host_parse(unused[i], strlen(unused[i]), HTTPS, ret) == 0 &&
		    ret->kind == kind && !is_allowed(t->ruleset, ret))
			return start_connect(ret, SOCK_DGRAM, &fd) == 0;
	}
	return false;
}

/* The first packet is counted at once: no need to wait for more */
static int try_unused(struct trial *t, const struct host *host,
		      struct err *err)
{
	const size_t kind = host->kind == HOST_IPV4 ? COUNTER_IPV4 : COUNTER_IPV6;
	struct state before, after = { 0 };
	int r = state_read(&before, err), found = 0;

	if (r == 0) {
		found = reach_any(host, 1, UNUSED_MS);
		r = state_read(&after, err);
	}
	state_done(&before);
	state_done(&after);
	if (r < 0)
		return r;
	if (found < 0 && found != -ECONNREFUSED && after.packets[kind] > before.packets[kind])
		note(t, true, host->name, "is not allowed, and was refused");
	else
		note(t, false, host->name, "is not allowed, but was let through");
	return 0;
}

static int guess_must_not(struct trial *t, struct err *err)
{
	static const enum host_kind kinds[] = { HOST_IPV4, HOST_IPV6 };
	int r = 0;

	for (size_t k = 0; k < ARRAY_SIZE(kinds) && r == 0; k++) {
		struct host host;

		if (find_unused(t, kinds[k], &host))
			r = try_unused(t, &host, err);
	}
	return r;
}

int firewall_check_targets(const struct firewall *f, const struct ruleset *r,
			   json_t *report, struct err *err)
{
	struct trial t = { .f = f, .ruleset = r, .report = report };
	int result = 0;

	for (size_t i = 0; i < f->must.len && result == 0; i++)
		result = try_target(&t, &f->must.v[i], true, err);
	if (!f->must.len)
		guess_must(&t);
	for (size_t i = 0; i < f->must_not.len && result == 0; i++)
		result = try_target(&t, &f->must_not.v[i], false, err);
	if (!f->must_not.len && result == 0)
		result = guess_must_not(&t, err);
	return result < 0 ? result : t.failed;
}
