/* SPDX-License-Identifier: Apache-2.0 */
/* net/dns-server.c - the sandbox's DNS: policy in, pool addresses out
 *
 * An allowed name gets an address of its own, whatever it resolves to: what it
 * really is, is looked up when somebody connects. A name that would have to be
 * asked about gets one too, because the question is put at the connection.
 */

#include "net/dns-server.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/mem.h"
#include "net/address.h"
#include "net/conn.h"
#include "net/pool.h"

enum {
	DATAGRAMS_MAX = 64,	/* Before others have their turn */
	HELD_MAX = 256,		/* Answers that wait (struct seen_wait) */
};

/**
 * struct dns_held - An answer to a datagram, until its refusal was looked at
 */
struct dns_held {
	struct gate *gate;
	struct dns_held *prev, *next;
	struct seen_wait wait;
	int fd;
	struct sockaddr_storage from;
	union {
		struct cmsghdr align;
		char bytes[256];
	} control;
	struct msghdr msg;
	uint8_t out[DNS_ANSWER_MAX];
	size_t n;
};

static void report(struct gate *gate, const struct dns_client *client,
		   const struct host *host, const struct host_verdict *v)
{
	gate_report(gate, &(struct refusal){
		.kind = VIOLATION_NET_DNS, .op = "DNS", .host = host,
		.reason = v->reason, .rule = v->rule, .conn = client->conn,
		.datagram = client->datagram,
	}, client->wait);
}

static enum dns_result localhost(enum dns_ask ask, uint8_t address[16])
{
	static const uint8_t four[4] = { 127, 0, 0, 1 };
	static const uint8_t six[16] = { [15] = 1 };

	if (ask == DNS_ASK_A)
		memcpy(address, four, sizeof(four));
	else
		memcpy(address, six, sizeof(six));
	return DNS_ADDRESS;
}

static enum dns_result from_pool(struct gate *gate,
				 const struct dns_client *client,
				 const struct dns_query *q, uint8_t address[16])
{
	const struct host_verdict full = {
		.reason = "too many names were looked up",
	};
	const int number = pool_number(gate->pool, &q->host);

	if (number < 0) {
		report(gate, client, &q->host, &full);
		return DNS_SERVFAIL;
	}
	if (q->ask == DNS_ASK_A)
		pool_v4(number, address);
	else
		pool_v6(number, address);
	return DNS_ADDRESS;
}

/* Made up from a name that is allowed, or was refused just now and told: nobody
 * meant this one
 */
static bool is_made_up(const struct gate *gate, const struct host *host)
{
	struct host meant;
	size_t at = 0;

	while (search_next(&gate->search, &at, host, &meant)) {
		if (gate_decide(gate, &meant).decision != HOST_DENIED ||
		    host_is_same(&meant, &gate->refused))
			return true;
	}
	return false;
}

static enum dns_result decide(struct gate *gate,
			      const struct dns_client *client,
			      const struct dns_query *q, uint8_t address[16])
{
	const bool wants = q->ask == DNS_ASK_A || q->ask == DNS_ASK_AAAA;
	struct host_verdict v;

	if (q->ask == DNS_ASK_REVERSE || !q->named)
		return DNS_NXDOMAIN;
	if (host_is_localhost(&q->host))
		return wants ? localhost(q->ask, address) : DNS_NODATA;
	v = gate_decide(gate, &q->host);
	if (v.decision == HOST_DENIED) {
		if (!is_made_up(gate, &q->host)) {
			report(gate, client, &q->host, &v);
			gate->refused = q->host;
		}
		return DNS_NXDOMAIN;
	}
	return wants ? from_pool(gate, client, q, address) : DNS_NODATA;
}

size_t dns_serve(struct gate *gate, const struct dns_client *client,
		 const uint8_t *p, size_t n, uint8_t ret[DNS_ANSWER_MAX])
{
	struct dns_query query;
	uint8_t address[16] = { 0 };
	const int r = dns_query_parse(p, n, &query);

	if (r < 0)
		return 0;
	return dns_answer(&query, r ? (enum dns_result)r
				    : decide(gate, client, &query, address),
			  address, ret);
}

/* The answer's control message is the question's: the address it came to */
static void reply(int fd, struct msghdr *msg, uint8_t *p, size_t n)
{
	struct iovec iov = { .iov_base = p, .iov_len = n };
	struct cmsghdr *c = CMSG_FIRSTHDR(msg);

	msg->msg_iov = &iov;
	msg->msg_flags = 0;
	if (c && c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
		struct in_pktinfo info;

		memcpy(&info, CMSG_DATA(c), sizeof(info));
		info.ipi_spec_dst = info.ipi_addr;
		memcpy(CMSG_DATA(c), &info, sizeof(info));
	}
	(void)sendmsg(fd, msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Where a datagram came from and went to, for who wants to know whose it was */
static void look_at(struct dns_held *h, struct listener_client *ret)
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(&h->msg);
	struct host from, to;

	*ret = (struct listener_client){ 0 };
	if (!c || address_from_sockaddr((struct sockaddr *)&h->from,
					h->msg.msg_namelen, &from) < 0)
		return;
	if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
		struct in_pktinfo four;

		memcpy(&four, CMSG_DATA(c), sizeof(four));
		host_of_address((const uint8_t *)&four.ipi_addr, 4,
				LISTENER_DNS_PORT, &to);
	} else if (c->cmsg_level == IPPROTO_IPV6 &&
		   c->cmsg_type == IPV6_PKTINFO) {
		struct in6_pktinfo six;

		memcpy(&six, CMSG_DATA(c), sizeof(six));
		host_of_address((const uint8_t *)&six.ipi6_addr, 16,
				LISTENER_DNS_PORT, &to);
	} else {
		return;
	}
	address_client(&from, &to, true, ret);
}

static void drop(struct dns_held *h)
{
	seen_forget(&h->wait);
	*(h->prev ? &h->prev->next : &h->gate->held) = h->next;
	if (h->next)
		h->next->prev = h->prev;
	h->gate->n_held--;
	free(h);
}

static void send_held(void *arg)
{
	struct dns_held *h = arg;

	reply(h->fd, &h->msg, h->out, h->n);
	drop(h);
}

void dns_send_held(struct gate *gate)
{
	while (gate->held)
		send_held(gate->held);
}

static void keep(struct gate *gate, struct dns_held *h)
{
	h->next = gate->held;
	if (h->next)
		h->next->prev = h;
	gate->held = h;
	gate->n_held++;
}

/* Take one datagram into @h and make an answer; false if there was none */
static bool serve_one(struct gate *gate, int fd, struct dns_held *h)
{
	uint8_t in[DNS_QUERY_MAX + 1];
	struct iovec iov = { .iov_base = in, .iov_len = sizeof(in) };
	struct listener_client from;
	const struct dns_client client = {
		.datagram = &from,
		.wait = gate->n_held < HELD_MAX ? &h->wait : NULL,
	};
	ssize_t got;

	*h = (struct dns_held){
		.gate = gate, .fd = fd, .wait = { .fn = send_held, .arg = h },
		.msg = { .msg_name = &h->from, .msg_namelen = sizeof(h->from),
			 .msg_iov = &iov, .msg_iovlen = 1,
			 .msg_control = &h->control,
			 .msg_controllen = sizeof(h->control) },
	};
	got = recvmsg(fd, &h->msg, MSG_DONTWAIT);
	if (got < 0)
		return errno == EINTR;
	look_at(h, &from);
	h->n = dns_serve(gate, &client, in, (size_t)got, h->out);
	return true;
}

void dns_serve_datagrams(struct gate *gate, int fd)
{
	struct dns_held *h = mem_zalloc(sizeof(*h));

	for (int i = 0; i < DATAGRAMS_MAX && serve_one(gate, fd, h); i++) {
		if (h->wait.id) {
			keep(gate, h);
			h = mem_zalloc(sizeof(*h));
		} else if (h->n) {
			reply(fd, &h->msg, h->out, h->n);
		}
	}
	free(h);
}
