/* SPDX-License-Identifier: Apache-2.0 */
/* gate/proto/dns.h - DNS questions read, and answers made; nothing is forwarded */

#ifndef GATE_PROTO_DNS_H
#define GATE_PROTO_DNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "policy/host.h"

enum {
	DNS_QUERY_MAX = 4096,		/* Longer ones are dropped */
	DNS_QUESTION_MAX = 255 + 4,	/* Wire name, type and class */
	DNS_ANSWER_MAX = 512,		/* Every answer of ours fits */
	DNS_TTL = 60,			/* Seconds; pool addresses never change */
};

/* What a question is for, as far as its answer depends on it */
enum dns_ask {
	DNS_ASK_A,
	DNS_ASK_AAAA,
	DNS_ASK_OTHER,		/* Name allowed: DNS_NODATA; HTTPS, SVCB too */
	DNS_ASK_REVERSE,	/* Below in-addr.arpa or ip6.arpa: DNS_NXDOMAIN,
				 * and not worth a report */
};

enum dns_result {
	DNS_ADDRESS,		/* An A or AAAA answer */
	DNS_NODATA,		/* The name is there, this type is not */
	DNS_NXDOMAIN,
	DNS_SERVFAIL,
	DNS_FORMERR,
	DNS_NOTIMP,
	DNS_REFUSED,
	DNS_BADVERS,
};

/**
 * struct dns_query - One question
 * @id, @flags:	From its header, host order
 * @ask:	What for
 * @type:	The number behind @ask, for reports
 * @host:	The name, without a port; only if @named
 * @named:	False if it is no host name (spaces, numbers at the end, root):
 *		answer DNS_NXDOMAIN
 * @edns:	It had an OPT record; the answer gets one too
 * @question:	The question as received, to be repeated bit by bit
 * @question_n:	Its length; 0 if it could not be read
 */
struct dns_query {
	uint16_t id, flags;
	enum dns_ask ask;
	uint16_t type;
	struct host host;
	bool named, edns;
	uint8_t question[DNS_QUESTION_MAX];
	size_t question_n;
};

/* Parse a whole message. 0: decide on ret->host. Positive: *@ret holds enough to
 * answer with this enum dns_result and nothing else. -EBADMSG: not a question
 * at all (too short, too long, or a response): drop it.
 */
int dns_query_parse(const uint8_t *p, size_t n, struct dns_query *ret);

/* Write the answer; returns its length. @address is 4 bytes for DNS_ASK_A, 16
 * for DNS_ASK_AAAA, and only read for DNS_ADDRESS.
 */
size_t dns_answer(const struct dns_query *query, enum dns_result result,
		  const uint8_t *address, uint8_t ret[DNS_ANSWER_MAX]);

/* Messages over TCP have their length before them. Returns it with the 2 bytes
 * of the length itself, 0 if more of the @n bytes are needed, or -EMSGSIZE.
 * The message is then at @p + 2.
 */
ssize_t dns_tcp_scan(const uint8_t *p, size_t n);

#endif /* GATE_PROTO_DNS_H */
