/* SPDX-License-Identifier: Apache-2.0 */
/* secret/bytes.h - bytes that are locked in memory, left out of core dumps,
 * absent from forked children, and wiped when they are let go
 *
 * Every value, every document and every key lives in one of these and nowhere
 * else: not in the heap, not in stdio, not in a parser's tree. Growing moves
 * to a fresh mapping and wipes the old one; nothing is ever realloc'ed.
 */

#ifndef SECRET_BYTES_H
#define SECRET_BYTES_H

#include <stdbool.h>
#include <stddef.h>

struct err;

/**
 * struct bytes - A locked buffer; zero-initialise it
 * @p:		The bytes, NUL-terminated once anything was added, else NULL
 * @len:	Bytes in use, without the NUL
 * @cap:	Bytes mapped
 */
struct bytes {
	char *p;
	size_t len, cap;
};

void bytes_add(struct bytes *b, const void *data, size_t n);
void bytes_adds(struct bytes *b, const char *s);
void bytes_addc(struct bytes *b, char c);

/* Have room for @n bytes in all; like every growth, it aborts without memory */
void bytes_reserve(struct bytes *b, size_t n);

/* The text so far; never NULL, owned by the buffer */
const char *bytes_str(const struct bytes *b);

/* Wipe and forget; safe on an empty one */
void bytes_done(struct bytes *b);

/* Forget the content, keep the room */
void bytes_clear(struct bytes *b);

/* Let go of what @to holds and give it what @from holds */
void bytes_move(struct bytes *to, struct bytes *from);

/* Let go of what @to holds and give it a copy of @from */
void bytes_copy(struct bytes *to, const struct bytes *from);

/* Append what @fd holds up to its end, read(2) straight into the buffer.
 * 0, -EFBIG beyond @max bytes, or another negative errno.
 */
int bytes_read_fd(struct bytes *b, int fd, size_t max, struct err *err);

/* Compare without telling by the time it takes where the first difference is */
bool bytes_same(const void *a, size_t an, const void *b, size_t bn);

/* Append @n bytes as lower-case hexadecimal; or the bytes that @n hexadecimal
 * digits stand for (0, or -EINVAL with nothing appended)
 */
void bytes_add_hex(struct bytes *b, const void *data, size_t n);
int bytes_add_unhex(struct bytes *b, const char *hex, size_t n);

/* How many buffers could not be locked so far: RLIMIT_MEMLOCK is too small,
 * and a value may reach the swap. Everything else still holds.
 */
unsigned int bytes_unlocked(void);

#define auto_bytes	__attribute__((cleanup(bytes_done)))

#endif /* SECRET_BYTES_H */
