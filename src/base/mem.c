/* SPDX-License-Identifier: Apache-2.0 */
/* base/mem.c - allocation that does not fail: without memory we abort */

#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *mem_zalloc(size_t size)
{
	void *p = calloc(1, size ? size : 1);

	if (!p)
		abort();
	return p;
}

void *mem_alloc(size_t size)
{
	void *p = malloc(size ? size : 1);

	if (!p)
		abort();
	return p;
}

char *mem_strdup(const char *s)
{
	return mem_strndup(s, strlen(s));
}

char *mem_strndup(const char *s, size_t n)
{
	char *copy;

	n = strnlen(s, n);
	copy = malloc(n + 1);
	if (!copy)
		abort();
	memcpy(copy, s, n);
	copy[n] = '\0';
	return copy;
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
		*array = realloc(*array, more * size);
		if (!*array)
			abort();
		*cap = more;
	}

	slot = (char *)*array + len * size;
	memset(slot, 0, size);
	return slot;
}
