/* SPDX-License-Identifier: Apache-2.0 */
/* base/mem.c - allocation that does not fail: without memory we abort */

#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *or_abort(void *p)
{
	if (!p)
		abort();
	return p;
}

void *mem_zalloc(size_t size)
{
	return or_abort(calloc(1, size ? size : 1));
}

void *mem_alloc(size_t size)
{
	return or_abort(malloc(size ? size : 1));
}

char *mem_strdup(const char *s)
{
	return or_abort(strdup(s));
}

char *mem_strndup(const char *s, size_t n)
{
	return or_abort(strndup(s, n));
}

char *mem_vprintf(const char *fmt, va_list ap)
{
	char *text = NULL;

	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	return text;
}

char *mem_printf(const char *fmt, ...)
{
	char *text;
	va_list ap;

	va_start(ap, fmt);
	text = mem_vprintf(fmt, ap);
	va_end(ap);
	return text;
}

void *mem_grow(void **array, size_t len, size_t *cap, size_t size)
{
	char *slot;

	if (len == *cap) {
		const size_t more = *cap ? *cap * 2 : 8;

		if (more > SIZE_MAX / size)
			abort();
		*array = or_abort(realloc(*array, more * size));
		*cap = more;
	}

	slot = (char *)*array + len * size;
	memset(slot, 0, size);
	return slot;
}

void strings_done(struct strings *s)
{
	for (size_t i = 0; i < s->len; i++)
		free(s->v[i]);
	free(s->v);
	*s = (struct strings){ 0 };
}

bool strings_have(const struct strings *s, const char *text)
{
	for (size_t i = 0; i < s->len; i++) {
		if (!strcmp(s->v[i], text))
			return true;
	}
	return false;
}
