/* SPDX-License-Identifier: Apache-2.0 */
/* base/buf.h - growing text buffer */

#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct buf - A growing string; zero-initialise it
 * @p:		The bytes, NUL-terminated once anything was added, else NULL
 * @len:	Bytes in use, without the NUL
 * @cap:	Bytes allocated
 */
struct buf {
	char *p;
	size_t len, cap;
};

void buf_add(struct buf *b, const void *bytes, size_t n);
void buf_adds(struct buf *b, const char *s);
void buf_addc(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A number, in decimal: where printf()'s time would count */
void buf_addu(struct buf *b, uint64_t number);

/* Give the string away; never NULL. The buffer is empty afterwards. */
char *buf_take(struct buf *b);

/* The text so far; never NULL, owned by the buffer */
const char *buf_str(const struct buf *b);

void buf_done(struct buf *b);

#define auto_buf	__attribute__((cleanup(buf_done)))

#endif /* BASE_BUF_H */
