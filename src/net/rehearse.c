/* SPDX-License-Identifier: Apache-2.0 */
/* net/rehearse.c - a gate that was just forked, ready for its first caller */

#include "net/rehearse.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "net/address.h"
#include "net/dial.h"
#include "net/gate-state.h"
#include "net/http.h"

enum {
	HEAP = 32 << 10,	/* What one connection takes */
	STACK = 16 << 10,	/* Below who waits for events */
};

static void use_memory(void)
{
	char stack[STACK], *heap = mem_alloc(HEAP);

	explicit_bzero(stack, sizeof(stack));
	explicit_bzero(heap, HEAP);
	free(heap);
}

/* A request and its answer, from end to end; nobody asked, nobody is told */
static void read_and_write(const struct gate *gate)
{
	static const char asks[] = "GET http://localhost/ HTTP/1.1\r\n"
				   "Host: localhost\r\n\r\n";
	static const char says[] = "HTTP/1.1 200 OK\r\n"
				   "Content-Length: 1\r\n\r\n";
	struct http_scan scan = { 0 };
	struct http_request request;
	struct http_response response;
	auto_buf struct buf out = { 0 };
	const char *why;

	if (http_head_scan(&scan, asks, sizeof(asks) - 1) <= 0 ||
	    http_request_parse(asks, sizeof(asks) - 1, NULL, &request,
			       &why) < 0)
		return;
	(void)gate_decide(gate, &request.host);
	http_request_write(&request, false, &out);
	if (http_response_parse(says, sizeof(says) - 1, &request, &response,
				&why) == 0)
		http_response_write(&response, &request, false, &out);
}

void rehearse(const struct gate *gate)
{
	const struct sockaddr_in any = { .sin_family = AF_INET };
	struct host meant;

	use_memory();
	read_and_write(gate);
	(void)address_from_sockaddr((const struct sockaddr *)&any, sizeof(any),
				    &meant);
	(void)timer_now();
	dial_ahead();
}
