/* SPDX-License-Identifier: Apache-2.0 */
/* base/arena.c - memory that a process shares with its later children */

#include "base/arena.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGN = 16 };

int arena_open(struct arena *arena, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	*arena = (struct arena){ .p = p, .size = size };
	return 0;
}

void arena_close(struct arena *arena)
{
	if (arena->p)
		(void)munmap(arena->p, arena->size);
	*arena = (struct arena){ 0 };
}

void *arena_copy(struct arena *arena, const void *data, size_t n)
{
	char *p = arena->p + arena->used;

	if (arena->full || n > arena->size - arena->used) {
		arena->full = true;
		return NULL;
	}
	if (n)
		memcpy(p, data, n);
	n = (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	arena->used += n < arena->size - arena->used ? n
						     : arena->size - arena->used;
	return p;
}

char *arena_strdup(struct arena *arena, const char *s)
{
	return s ? arena_copy(arena, s, strlen(s) + 1) : NULL;
}

char **arena_strings(struct arena *arena, char *const *strings)
{
	size_t n = 0;
	char **copy;

	if (!strings)
		return NULL;
	while (strings[n])
		n++;
	copy = arena_copy(arena, strings, (n + 1) * sizeof(*strings));
	for (size_t i = 0; copy && i < n; i++)
		copy[i] = arena_strdup(arena, strings[i]);
	return copy;
}
