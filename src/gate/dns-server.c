/* SPDX-License-Identifier: Apache-2.0 */
/* gate/dns-server.c - the sandbox's DNS: allowed names get an address of the pool
 *
 * An allowed name gets an address of its own, whatever it resolves to: it is
 * resolved when a program connects. So does a name that the user would be asked
 * about, because the connection puts the question.
 */

#include "gate/dns-server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "gate/address.h"
#include "gate/conn.h"
#include "gate/fake-ip.h"
#include "gate/proto/dns.h"
#include "ipc/listener.h"

#define BLANK " \t"

enum {
	RESOLV_CONF_MAX = 64 << 10,
	DATAGRAMS_MAX = 64,	/* Before other sources have their turn */
	PENDING_MAX = 256,		/* Answers that wait (struct seen_wait) */
};

/**
 * struct dns_pending - An answer to a datagram, until its refusal was looked at
 */
struct dns_pending {
	struct gate *gate;
	LIST_ENTRY(dns_pending) link;
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

/**
 * struct dns_client - A connection, or a datagram
 * @socket:	Of the connection, or 0
 * @wait:	What waits until a refusal was looked at, or NULL
 */
struct dns_client {
	int socket;
	const struct listener_client *datagram;
	struct seen_wait *wait;
};

static void set_list(struct search_list *ret, const char *p, size_t n)
{
	ret->text[0] = '\0';
	if (n >= sizeof(ret->text))
		return;
	memcpy(ret->text, p, n);
	ret->text[n] = '\0';
}

/* Of several lines the last one counts */
void search_list_parse(struct search_list *ret, const char *text, const char *hostname)
{
	const char *dot = strchr(hostname, '.');

	set_list(ret, dot ? dot + 1 : "", dot ? strlen(dot + 1) : 0);
	while (text && *text) {
		const size_t word = strcspn(text, BLANK "\n");
		const size_t line = strcspn(text, "\n");

		if (word == 6 && (!strncmp(text, "search", 6) ||
				  !strncmp(text, "domain", 6)))
			set_list(ret, text + word, line - word);
		text += line;
		text += *text == '\n';
	}
}

void search_list_read(struct search_list *ret)
{
	auto_buf struct buf text = { 0 };
	char name[HOST_NAME_MAX + 1] = "";

	(void)gethostname(name, sizeof(name) - 1);
	(void)fs_read(AT_FDCWD, "/etc/resolv.conf", RESOLV_CONF_MAX, &text,
		      NULL);
	search_list_parse(ret, buf_str(&text), name);
}

static bool has_domain(const char *name, const char *domain, size_t n)
{
	const size_t len = strlen(name);

	return n && len > n + 1 && name[len - n - 1] == '.' &&
	       !strncasecmp(name + len - n, domain, n);
}

bool search_list_next(const struct search_list *search, size_t *at,
		 const struct host *name, struct host *ret)
{
	while (search->text[*at]) {
		const char *domain;
		size_t n;

		*at += strspn(search->text + *at, BLANK);
		domain = search->text + *at;
		n = strcspn(domain, BLANK);
		*at += n;
		if (n && domain[n - 1] == '.')
			n--;
		if (name->kind == HOST_NAME && has_domain(name->name, domain, n) &&
		    host_parse(name->name, strlen(name->name) - n - 1,
			       name->port, ret) == 0)
			return true;
	}
	return false;
}

static void report_name(struct gate *gate, const struct dns_client *client,
			const struct host *host, const struct host_verdict *v)
{
	gate_report(gate, &(struct refusal){
		.kind = VIOLATION_NET_DNS, .op = "DNS", .host = host,
		.reason = v->reason, .rule = v->rule, .client = client->socket,
		.datagram = client->datagram,
	}, client->wait);
}

static enum dns_result from_pool(struct gate *gate,
				 const struct dns_client *client,
				 const struct dns_query *q, uint8_t address[16])
{
	const struct host_verdict full = {
		.reason = "too many names were looked up",
	};
	const int number = fake_ip_number(gate->pool, &q->host);

	if (number < 0) {
		report_name(gate, client, &q->host, &full);
		return DNS_SERVFAIL;
	}
	if (q->ask == DNS_ASK_A)
		fake_ip_v4(number, address);
	else
		fake_ip_v6(number, address);
	return DNS_ADDRESS;
}

/* A resolver made it from its search list, of a name that is allowed or was just
 * reported
 */
static bool is_made_up(const struct gate *gate, const struct host *host)
{
	struct host meant;
	size_t at = 0;

	while (search_list_next(gate->search, &at, host, &meant)) {
		if (gate_decide(gate, &meant).decision != HOST_DENIED ||
		    host_is_same(&meant, &gate->refused))
			return true;
	}
	return false;
}

static enum dns_result find_address(struct gate *gate,
				    const struct dns_client *client,
				    const struct dns_query *q,
				    uint8_t address[16])
{
	const bool wants = q->ask == DNS_ASK_A || q->ask == DNS_ASK_AAAA;
	struct host_verdict v;
	struct host local;

	if (q->ask == DNS_ASK_REVERSE || !q->named)
		return DNS_NXDOMAIN;
	if (host_is_localhost(&q->host)) {
		address_loopback(q->ask == DNS_ASK_A ? HOST_IPV4 : HOST_IPV6, 0,
				 &local);
		memcpy(address, local.address, sizeof(local.address));
		return wants ? DNS_ADDRESS : DNS_NODATA;
	}
	v = gate_decide(gate, &q->host);
	if (v.decision == HOST_DENIED) {
		if (!is_made_up(gate, &q->host)) {
			report_name(gate, client, &q->host, &v);
			gate->refused = q->host;
		}
		return DNS_NXDOMAIN;
	}
	return wants ? from_pool(gate, client, q, address) : DNS_NODATA;
}

/* Answer the @n bytes of one message. The answer's length, or 0: send nothing. */
static size_t serve(struct gate *gate, const struct dns_client *client,
		    const uint8_t *p, size_t n, uint8_t ret[DNS_ANSWER_MAX])
{
	struct dns_query query;
	uint8_t address[16] = { 0 };
	const int r = dns_query_parse(p, n, &query);

	if (r < 0)
		return 0;
	return dns_answer(&query, r ? (enum dns_result)r
				    : find_address(gate, client, &query,
						   address),
			  address, ret);
}

/* The answer's control message is the query's: the address it came to */
static void send_answer(int fd, struct msghdr *msg, uint8_t *p, size_t n)
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

/* Where a datagram came from and went to */
static void find_ends(struct dns_pending *h, struct listener_client *ret)
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

static void send_pending(void *arg)
{
	struct dns_pending *h = arg;

	send_answer(h->fd, &h->msg, h->out, h->n);
	seen_forget(&h->wait);
	LIST_REMOVE(h, link);
	h->gate->n_pending--;
	free(h);
}

void dns_send_pending(struct gate *gate)
{
	while (!LIST_EMPTY(&gate->pending))
		send_pending(LIST_FIRST(&gate->pending));
}

/* Take one datagram into @h and make an answer; false if there was none */
static bool serve_one(struct gate *gate, int fd, struct dns_pending *h)
{
	uint8_t in[DNS_QUERY_MAX + 1];
	struct iovec iov = { .iov_base = in, .iov_len = sizeof(in) };
	struct listener_client from;
	const struct dns_client client = {
		.datagram = &from,
		.wait = gate->n_pending < PENDING_MAX ? &h->wait : NULL,
	};
	ssize_t got;

	*h = (struct dns_pending){
		.gate = gate, .fd = fd, .wait = { .fn = send_pending, .arg = h },
		.msg = { .msg_name = &h->from, .msg_namelen = sizeof(h->from),
			 .msg_iov = &iov, .msg_iovlen = 1,
			 .msg_control = &h->control,
			 .msg_controllen = sizeof(h->control) },
	};
	got = recvmsg(fd, &h->msg, MSG_DONTWAIT);
	if (got < 0)
		return errno == EINTR;
	find_ends(h, &from);
	h->n = serve(gate, &client, in, (size_t)got, h->out);
	if (!h->n && from.family)
		udp_refusal_report_one(gate, &from, "UDP is not passed on, only DNS queries are answered");
	return true;
}

void dns_serve_datagrams(struct gate *gate, int fd)
{
	struct dns_pending *h = mem_zalloc(sizeof(*h));

	for (int i = 0; i < DATAGRAMS_MAX && serve_one(gate, fd, h); i++) {
		if (h->wait.id) {
			LIST_INSERT_HEAD(&gate->pending, h, link);
			gate->n_pending++;
			h = mem_zalloc(sizeof(*h));
		} else if (h->n) {
			send_answer(fd, &h->msg, h->out, h->n);
		}
	}
	free(h);
}

/* Over TCP: one query after the other */
static bool serve_next(struct conn *conn)
{
	const uint8_t *p = (const uint8_t *)conn->in.p + conn->in.off;
	uint8_t out[2 + DNS_ANSWER_MAX];
	const ssize_t n = dns_tcp_scan(p, conn->in.len);
	size_t len;

	if (n < 0) {
		conn_close(conn);
		return false;
	}
	if (!n)
		return false;
	len = serve(conn->gate, &(struct dns_client){
			.socket = conn->client.source.fd, .wait = &conn->seen },
		    p + 2, (size_t)n - 2, out + 2);
	if (!len) {
		conn_close(conn);
		return false;
	}
	out[0] = (uint8_t)(len >> 8);
	out[1] = (uint8_t)len;
	splice_queue(&conn->down, out, len + 2);
	input_take(&conn->in, (size_t)n);
	conn_wait(conn, TIMER_HEAD);
	return true;
}

static void step_dns(struct conn *conn)
{
	/* A refusal is reported before the client gets it */
	if (conn->seen.id)
		return;
	conn_read(conn);
	while (!conn->closed && conn->in.len && !conn->seen.id &&
	       splice_waiting(&conn->down) < SPLICE_PENDING_MAX && serve_next(conn))
		;
	if (conn->closed || conn->seen.id)
		return;
	if (splice_flush(&conn->down) < 0)
		conn_close(conn);
	else if (!splice_waiting(&conn->down) &&
		 (conn->client.eof || conn->client.failed))
		conn_close(conn);
	else if (conn->client.readable && !splice_waiting(&conn->down))
		conn->again = true;
}

void conn_start_dns(struct conn *conn)
{
	conn->step = step_dns;
	conn_wait(conn, TIMER_HEAD);
}
