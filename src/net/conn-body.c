/* SPDX-License-Identifier: Apache-2.0 */
/* net/conn-body.c - a body on its way from one end to the other
 *
 * What is held in a flow is written before what is in its pipe. A chunk's data
 * may be piped, what is written around it is held: so nothing is held while the
 * pipe has bytes, or the two would change places. What is held waits for what
 * follows it, a head for its body: one packet instead of two.
 */

#include "net/conn.h"

#include "net/http-body.h"

enum { RAW_MIN = 32 << 10 };	/* Fewer bytes are not worth a pump */

ssize_t conn_move_body(struct http_body *body, struct input *in,
		       struct flow *flow)
{
	const uint64_t raw = http_body_raw(body);
	struct http_span out;
	const char *why;
	ssize_t n = 0;

	if (flow->piped || flow_waiting(flow) >= FLOW_HELD_MAX)
		n = flow_flush(flow);
	if (n < 0 || http_body_is_done(body) || flow->piped ||
	    flow_waiting(flow) >= FLOW_HELD_MAX)
		return n;
	if (in->len) {
		n = http_body_step(body, in->p + in->off, in->len, &out, &why);
		if (n > 0 && out.n)
			flow_hold(flow, out.p, out.n);
		if (n > 0)
			input_take(in, (size_t)n);
	} else if (raw >= RAW_MIN) {
		flow->limit = raw;
		n = flow_pump(flow);
		if (n > 0)
			http_body_skip(body, (uint64_t)n);
	} else {
		input_read(in, flow->from);
		n = (ssize_t)in->len;
	}
	return n;
}
