/* SPDX-License-Identifier: Apache-2.0 */
/* base/arena.h - memory that a process shares with its later children */

#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct arena - Room that is given out once and never taken back
 * @p:		Where it starts: at the same address after a fork(); or NULL
 * @full:	Something did not fit, so nothing in it is to be used
 */
struct arena {
	char *p;
	size_t size, used;
	bool full;
};

/* Pages are taken only when they are written to. 0 or a negative errno. */
int arena_open(struct arena *arena, size_t size);
void arena_close(struct arena *arena);

/* A copy of @n bytes, aligned for anything; NULL if it is full, and from then
 * on for ever
 */
void *arena_copy(struct arena *arena, const void *data, size_t n);

/* A copy of a string; NULL for NULL */
char *arena_strdup(struct arena *arena, const char *s);

/* A copy of strings with NULL at the end, and of that list */
char **arena_strings(struct arena *arena, char *const *strings);

#endif /* BASE_ARENA_H */
