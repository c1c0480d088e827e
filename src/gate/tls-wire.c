/* SPDX-License-Identifier: Apache-2.0 */
/* gate/tls-wire.c - the messages between a gate, its supervisor and cloche-tls */

#include "gate/tls-wire.h"

#include <string.h>

#include "base/buf.h"
#include "ipc/socket.h"

int tls_wire_send(int fd, enum tls_message_kind kind, uint32_t id,
		  const void *text, size_t n)
{
	const struct tls_message m = { .kind = kind, .id = id };
	auto_buf struct buf out = { 0 };

	buf_add(&out, &m, sizeof(m));
	buf_add(&out, text, n);
	return socket_send(fd, out.p, out.len, NULL, 0);
}

bool tls_wire_serve(const struct tls_message *m, const char *text, size_t n,
		    struct tls_serve *ret)
{
	ret->plain = m->kind == TLS_SERVE_PLAIN;
	if ((m->kind != TLS_SERVE && !ret->plain) || m->n > n ||
	    n - m->n > TLS_HELLO_MAX ||
	    host_parse(text, m->n, m->port, &ret->host) < 0 ||
	    ret->host.kind != HOST_NAME)
		return false;
	ret->hello = text + m->n;
	ret->n = n - m->n;
	return true;
}

bool tls_wire_refused(const char *text, size_t n, struct tls_refused *ret)
{
	const char *words[3];

	for (size_t i = 0; i < 3; i++) {
		const char *nul = n ? memchr(text, '\0', n) : NULL;

		if (!nul)
			return false;
		words[i] = text;
		n -= (size_t)(nul + 1 - text);
		text = nul + 1;
	}
	*ret = (struct tls_refused){
		.reason = words[0],
		.secret = *words[1] ? words[1] : NULL,
		.fix = *words[2] ? words[2] : NULL,
	};
	return n == 0;
}
