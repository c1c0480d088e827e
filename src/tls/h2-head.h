/* SPDX-License-Identifier: Apache-2.0 */
/* tls/h2-head.h - heads of HTTP/2 as heads of HTTP/1.1, and back
 *
 * A request of HTTP/2 is decided as the request of HTTP/1.1 that means the same, so that
 * both have one set of rules. Pure.
 */

#ifndef TLS_H2_HEAD_H
#define TLS_H2_HEAD_H

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/**
 * struct h2_head - A head on its way in; zero-initialise it
 * @method, @scheme, @authority, @path, @status: Pseudo-headers
 * @fields:	The others, as lines of HTTP/1.1
 * @malformed:	Something cannot be such a line
 */
struct h2_head {
	struct buf method, scheme, authority, path, status, fields;
	bool malformed;
};

/* Add a field. Of a head that is longer than TLS_HEAD_MAX, the rest is dropped, and it
 * stays longer.
 */
void h2_head_add(struct h2_head *head, const uint8_t *name, size_t n,
		 const uint8_t *value, size_t len);

/* Append the request to @out as HTTP/1.1 has it: false if it has no such form */
bool h2_head_write(const struct h2_head *head, struct buf *out);

void h2_head_done(struct h2_head *head);

/**
 * struct h2_fields - Fields for nghttp2; zero-initialise it, free @v
 */
struct h2_fields {
	nghttp2_nv *v;
	size_t len, cap;
};

void h2_fields_add(struct h2_fields *fields, const char *name,
		   const char *value, size_t n);

/* Add the header lines of @n bytes at @p, without Host and Connection. Names become
 * lower case in place. Lines that are not the ones at the same place of @before are
 * those that have values in them, which must not enter a table of the connection's;
 * @before may be NULL. @p is used until the fields are.
 */
void h2_fields_add_lines(struct h2_fields *fields, char *p, size_t n,
			 const char *before, size_t before_n);

#endif /* TLS_H2_HEAD_H */
