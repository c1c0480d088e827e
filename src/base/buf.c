/* SPDX-License-Identifier: Apache-2.0 */
/* base/buf.c - growing text buffer */

#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void reserve(struct buf *b, size_t more)
{
	size_t cap = b->cap ? b->cap : 64;

	if (more >= (size_t)-1 / 2 - b->len)
		abort();
	while (cap < b->len + more + 1)
		cap *= 2;
	if (cap == b->cap)
		return;
	b->p = realloc(b->p, cap);
	if (!b->p)
		abort();
	b->cap = cap;
}

void buf_add(struct buf *b, const void *bytes, size_t n)
{
	reserve(b, n);
	if (n)
		memcpy(b->p + b->len, bytes, n);
	b->len += n;
	b->p[b->len] = '\0';
}

void buf_adds(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_addc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	/* Mostly there is room; else it is written once more */
	reserve(b, strlen(fmt));
	n = vsnprintf(b->p + b->len, b->cap - b->len, fmt, ap);
	va_end(ap);
	if (n < 0)
		abort();
	if ((size_t)n >= b->cap - b->len) {
		reserve(b, (size_t)n);
		(void)vsnprintf(b->p + b->len, (size_t)n + 1, fmt, again);
	}
	va_end(again);
	b->len += (size_t)n;
}

void buf_addu(struct buf *b, uint64_t number)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	buf_add(b, digits + at, sizeof(digits) - at);
}

char *buf_take(struct buf *b)
{
	char *p = b->p ? b->p : mem_strdup("");

	*b = (struct buf){ 0 };
	return p;
}

const char *buf_str(const struct buf *b)
{
	return b->p ? b->p : "";
}

void buf_done(struct buf *b)
{
	const int saved = errno;

	free(b->p);
	*b = (struct buf){ 0 };
	errno = saved;
}
