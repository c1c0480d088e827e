/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/names.c - the addresses of allowed names */

#include "firewall/firewall.h"

#include <arpa/nameser.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <nss.h>
#include <resolv.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/nsswitch.h"
#include "base/own.h"
#include "gate/address.h"

enum { DNS_PORT = 53, TRY_SECONDS = 2, TRIES = 2, REPLY_MAX = 65535 };

/* One query to one server; the C library repeats a truncated one over TCP */
static int ask_server(const struct host *server, const char *name,
		      enum host_kind kind, unsigned char *reply)
{
	struct __res_state state = { 0 };
	struct sockaddr_storage sa;
	socklen_t len;
	int n;

	if (address_to_sockaddr(server, &sa, &len) < 0 || res_ninit(&state) < 0)
		return -EAGAIN;
	/* Ours instead of those of resolv.conf; IPv6 has its own place */
	state.nscount = 1;
	state._u._ext.nscount = 1;
	state._u._ext.nssocks[0] = -1;
	free(state._u._ext.nsaddrs[0]);
	state._u._ext.nsaddrs[0] = mem_zalloc(sizeof(struct sockaddr_in6));
	memcpy(state._u._ext.nsaddrs[0], &sa, len);
	memset(&state.nsaddr_list[0], 0, sizeof(state.nsaddr_list[0]));
	if (server->kind == HOST_IPV4)
		memcpy(&state.nsaddr_list[0], &sa, len);
	state.retrans = TRY_SECONDS;
	state.retry = 1;
	n = res_nquery(&state, name, ns_c_in,
		       kind == HOST_IPV4 ? ns_t_a : ns_t_aaaa, reply,
		       REPLY_MAX);
	if (n < 0)
		n = state.res_h_errno == HOST_NOT_FOUND ? -ENOENT :
		    state.res_h_errno == NO_DATA ? 0 : -EAGAIN;
	res_nclose(&state);
	return n < REPLY_MAX ? n : -EAGAIN;
}

/* A resolver follows aliases itself: every address in its answer counts */
static int read_reply(const unsigned char *reply, int n, enum host_kind kind,
		      struct name_addresses *ret)
{
	const ns_type type = kind == HOST_IPV4 ? ns_t_a : ns_t_aaaa;
	const size_t width = kind == HOST_IPV4 ? 4 : 16;
	ns_msg message;
	ns_rr record;

	if (n == 0)
		return 0;
	if (ns_initparse(reply, n, &message) < 0)
		return -EBADMSG;
	for (int i = 0; i < ns_msg_count(message, ns_s_an); i++) {
		if (ns_parserr(&message, ns_s_an, i, &record) < 0)
			return -EBADMSG;
		if (ns_rr_type(record) == type &&
		    ns_rr_class(record) == ns_c_in &&
		    ns_rr_rdlen(record) == width &&
		    ret->len < ANSWER_ADDRESSES_MAX)
			host_of_address(ns_rr_rdata(record), width, 0,
					&ret->v[ret->len++]);
	}
	return 0;
}

/* One family from the first server that answers; else the last error */
static int ask(const struct range_list *servers, const char *name,
	       enum host_kind kind, struct name_addresses *ret)
{
	auto_free unsigned char *reply = mem_zalloc(REPLY_MAX);
	int r = -EAGAIN;

	for (size_t i = 0; i < servers->len * TRIES; i++) {
		const struct host_range *s = &servers->v[i % servers->len].range;
		struct host server = { .kind = s->kind, .port = DNS_PORT };

		memcpy(server.address, s->address, sizeof(server.address));
		r = ask_server(&server, name, kind, reply);
		if (r >= 0)
			r = read_reply(reply, r, kind, ret);
		if (r == 0 || r == -ENOENT)
			return r;
	}
	return r;
}

static int ask_library(const char *name, struct name_addresses *ret)
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
			 struct name_addresses *ret)
{
	int v4, v6;

	/* The library reads /etc/hosts only from now on */
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
		  struct name_addresses *ret, struct err *err)
{
	int r;

	ret->len = 0;
	/* The library's own timeout is half a minute */
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
