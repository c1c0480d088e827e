/* SPDX-License-Identifier: Apache-2.0 */
/* gate/proto/fuzz-dns.c - every question has an answer that a resolver can read */

#include <arpa/nameser.h>
#include <string.h>

#include "fuzz.h"
#include "gate/proto/dns.h"

/* The C library's own reader is the other opinion */
static void check_answer(const struct dns_query *q, enum dns_result result)
{
	static const uint8_t address[16] = { 198, 18, 1, 2 };
	uint8_t out[DNS_ANSWER_MAX];
	const size_t n = dns_answer(q, result, address, out);
	ns_msg msg;
	ns_rr rr;

	fuzz_want(n <= sizeof(out));
	fuzz_want(!ns_initparse(out, (int)n, &msg));
	fuzz_want(ns_msg_id(msg) == q->id && ns_msg_getflag(msg, ns_f_qr));
	fuzz_want(ns_msg_count(msg, ns_s_qd) == (q->question_n != 0));
	fuzz_want(ns_msg_count(msg, ns_s_an) == (result == DNS_ADDRESS));
	if (result != DNS_ADDRESS)
		return;
	if (ns_parserr(&msg, ns_s_an, 0, &rr) < 0)
		fuzz_want(!q->named);	/* It has no text for some names */
	else
		fuzz_want(ns_rr_rdlen(rr) ==
			  (q->ask == DNS_ASK_AAAA ? 16 : 4) &&
			  !memcmp(ns_rr_rdata(rr), address, ns_rr_rdlen(rr)));
}

static void check_query(const uint8_t *p, size_t n)
{
	struct dns_query q = { 0 }, again;
	const int r = dns_query_parse(p, n, &q);

	if (r < 0)
		return;
	fuzz_want(q.question_n <= DNS_QUESTION_MAX);
	for (int i = DNS_NODATA; i <= DNS_BADVERS; i++)
		check_answer(&q, (enum dns_result)i);
	if (r)
		return;
	if (q.named)
		fuzz_want(q.host.kind == HOST_NAME && *q.host.name);
	if (q.ask == DNS_ASK_A || q.ask == DNS_ASK_AAAA)
		check_answer(&q, DNS_ADDRESS);
	fuzz_want(n < 1 || dns_query_parse(p, n - 1, &again) != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const ssize_t framed = dns_tcp_scan(data, size);

	fuzz_want(framed <= (ssize_t)size);
	check_query(data, size);
	if (framed > 2)
		check_query(data + 2, (size_t)framed - 2);
	return 0;
}
