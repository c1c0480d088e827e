/* SPDX-License-Identifier: Apache-2.0 */
/* secret/locked-memory.h - memory for secrets: locked, not dumped, wiped
 *
 * Every value, document and key lives here, also what jansson allocates
 * (secret/secret-document.c), and nowhere else. It is left out of core dumps and absent
 * from forked children. Nothing is ever realloc'ed: growing copies to a fresh
 * allocation and wipes the old one.
 */

#ifndef SECRET_LOCKED_MEMORY_H
#define SECRET_LOCKED_MEMORY_H

#include <stddef.h>

struct err;

/* @n bytes of zeros; aborts without memory */
void *locked_alloc(size_t n);

/* Wipe and free; NULL is ignored */
void locked_free(void *p);

/* How many mappings could not be locked so far: RLIMIT_MEMLOCK is too small,
 * and a value may be swapped out. Everything else still holds.
 */
unsigned int locked_failures(void);

/**
 * struct bytes - A buffer in locked memory; zero-initialise it
 * @p:		The bytes, NUL-terminated once anything was added, else NULL
 * @len:	Bytes in use, without the NUL
 * @cap:	Bytes allocated
 */
struct bytes {
	char *p;
	size_t len, cap;
};

/* Append @n bytes, or a string */
void bytes_add(struct bytes *b, const void *data, size_t n);
void bytes_adds(struct bytes *b, const char *s);

/* Make sure that @n bytes in all and a NUL fit */
void bytes_reserve(struct bytes *b, size_t n);

/* The text so far; never NULL, owned by the buffer */
const char *bytes_str(const struct bytes *b);

/* Remove one line feed at the end, if there is one */
void bytes_chomp(struct bytes *b);

/* Wipe and free; safe on an empty one */
void bytes_done(struct bytes *b);

/* Append what @fd holds up to its end, read(2) straight into the buffer.
 * 0, -EFBIG beyond @max bytes, or another negative errno.
 */
int bytes_read_fd(struct bytes *b, int fd, size_t max, struct err *err);

#define auto_bytes	__attribute__((cleanup(bytes_done)))

#endif /* SECRET_LOCKED_MEMORY_H */
