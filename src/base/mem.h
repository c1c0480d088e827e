/* SPDX-License-Identifier: Apache-2.0 */
/* base/mem.h - allocation that does not fail: without memory we abort */

#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Every function here aborts the process when there is no memory: nothing
 * half-built can then be mistaken for a policy. Free with free().
 */
void *mem_zalloc(size_t size) __attribute__((malloc, returns_nonnull));
/* Not zeroed, and so not touched: for a buffer that is filled as it is used */
void *mem_alloc(size_t size) __attribute__((malloc, returns_nonnull));
char *mem_strdup(const char *s) __attribute__((malloc, returns_nonnull));
char *mem_strndup(const char *s, size_t n)
	__attribute__((malloc, returns_nonnull));
char *mem_vprintf(const char *fmt, va_list ap)
	__attribute__((malloc, returns_nonnull, format(printf, 1, 0)));
char *mem_printf(const char *fmt, ...)
	__attribute__((malloc, returns_nonnull, format(printf, 1, 2)));

/* Grow *@array, which holds @len elements of @size bytes and has space for *@cap,
 * by one. Returns the address of the new, zeroed element.
 */
void *mem_grow(void **array, size_t len, size_t *cap, size_t size)
	__attribute__((returns_nonnull));

/* Append one zeroed element to { T *v; size_t len, cap; } and point at it */
#define vec_push(vec)							\
	((__typeof__((vec)->v))mem_grow((void **)&(vec)->v,		\
		(vec)->len++, &(vec)->cap, sizeof(*(vec)->v)))

/* A growing list of strings, for vec_push(); it owns them */
struct strings {
	char **v;
	size_t len, cap;
};

void strings_done(struct strings *s);
bool strings_have(const struct strings *s, const char *text);

#define auto_strings	__attribute__((cleanup(strings_done)))

#endif /* BASE_MEM_H */
