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
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "net/conn.h"
#include "net/pool.h"

enum { DATAGRAMS_MAX = 64 };	/* Before others have their turn */

static void report(struct gate *gate, const struct host *host,
		   const char *reason, const struct host_rule *rule)
{
	gate_report(gate, &(struct refusal){
		.kind = VIOLATION_NET_DNS, .op = "DNS", .host = host,
		.reason = reason, .rule = rule,
	});
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

static enum dns_result from_pool(struct gate *gate, const struct dns_query *q,
				 uint8_t address[16])
{
	const int number = pool_number(gate->pool, &q->host);

	if (number < 0) {
		report(gate, &q->host, "too many names were looked up", NULL);
		return DNS_SERVFAIL;
	}
	if (q->ask == DNS_ASK_A)
		pool_v4(number, address);
	else
		pool_v6(number, address);
	return DNS_ADDRESS;
}

static enum dns_result decide(struct gate *gate, const struct dns_query *q,
			      uint8_t address[16])
{
	const bool wants = q->ask == DNS_ASK_A || q->ask == DNS_ASK_AAAA;
	struct host_verdict v;

	if (q->ask == DNS_ASK_REVERSE || !q->named)
		return DNS_NXDOMAIN;
	if (host_is_localhost(&q->host))
		return wants ? localhost(q->ask, address) : DNS_NODATA;
	v = gate_decide(gate, &q->host);
	if (v.decision == HOST_DENIED) {
		report(gate, &q->host, v.reason, v.rule);
		return DNS_NXDOMAIN;
	}
	return wants ? from_pool(gate, q, address) : DNS_NODATA;
}

size_t dns_serve(struct gate *gate, const uint8_t *p, size_t n,
		 uint8_t ret[DNS_ANSWER_MAX])
{
	struct dns_query query;
	uint8_t address[16] = { 0 };
	const int r = dns_query_parse(p, n, &query);

	if (r < 0)
		return 0;
	return dns_answer(&query, r ? (enum dns_result)r
				    : decide(gate, &query, address),
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

void dns_serve_datagrams(struct gate *gate, int fd)
{
	for (int i = 0; i < DATAGRAMS_MAX; i++) {
		uint8_t in[DNS_QUERY_MAX + 1], out[DNS_ANSWER_MAX];
		union {
			struct cmsghdr align;
			char bytes[256];
		} control;
		struct sockaddr_storage from;
		struct iovec iov = { .iov_base = in, .iov_len = sizeof(in) };
		struct msghdr msg = {
			.msg_name = &from, .msg_namelen = sizeof(from),
			.msg_iov = &iov, .msg_iovlen = 1,
			.msg_control = &control,
			.msg_controllen = sizeof(control),
		};
		const ssize_t got = recvmsg(fd, &msg, MSG_DONTWAIT);
		size_t n;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			break;
		n = dns_serve(gate, in, (size_t)got, out);
		if (n)
			reply(fd, &msg, out, n);
	}
}
