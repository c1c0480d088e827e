/* SPDX-License-Identifier: Apache-2.0 */
/* tls/h2-absent.c - built without nghttp2: HTTP/2 is offered to neither side */

#include "tls/h2-relay.h"

bool h2_relay_exists(void)
{
	return false;
}

struct h2_relay *h2_relay_new(h2_judge judge, void *arg)
{
	(void)judge;
	(void)arg;
	return NULL;
}

void h2_relay_free(struct h2_relay *relay)
{
	(void)relay;
}

bool h2_relay_from_client(struct h2_relay *relay, const char *p, size_t n)
{
	(void)relay;
	(void)p;
	(void)n;
	return false;
}

bool h2_relay_from_server(struct h2_relay *relay, const char *p, size_t n)
{
	return h2_relay_from_client(relay, p, n);
}

void h2_relay_server_ended(struct h2_relay *relay)
{
	(void)relay;
}

bool h2_relay_to_client(struct h2_relay *relay, struct buf *out, size_t max)
{
	(void)relay;
	(void)out;
	(void)max;
	return false;
}

bool h2_relay_to_server(struct h2_relay *relay, struct bytes *head,
			struct buf *out, size_t max)
{
	(void)head;
	return h2_relay_to_client(relay, out, max);
}

bool h2_relay_holds(const struct h2_relay *relay)
{
	(void)relay;
	return false;
}

void h2_relay_release(struct h2_relay *relay)
{
	(void)relay;
}

bool h2_relay_is_done(const struct h2_relay *relay)
{
	(void)relay;
	return true;
}
