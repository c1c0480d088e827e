/* SPDX-License-Identifier: Apache-2.0 */
/* secret/bytes.c - bytes that are locked in memory, and wiped */

#include "secret/bytes.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"

enum { CHUNK = 4096 };

static unsigned int unlocked;

unsigned int bytes_unlocked(void)
{
	return unlocked;
}

/* A mapping of its own: locks and advice work on whole pages, and nothing else
 * may share one with a secret
 */
static char *map_pages(size_t size)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		fputs("cloche: out of memory\n", stderr);
		abort();
	}
	if (mlock(p, size) < 0)
		unlocked++;
	/* Both exist since Linux 4.14; a refusal leaves PR_SET_DUMPABLE and
	 * the wiping, and there is nothing better to do about it
	 */
	(void)madvise(p, size, MADV_DONTDUMP);
	(void)madvise(p, size, MADV_WIPEONFORK);
	return p;
}

void bytes_done(struct bytes *b)
{
	const int saved = errno;

	if (b->p) {
		explicit_bzero(b->p, b->cap);
		(void)munmap(b->p, b->cap);
	}
	*b = (struct bytes){ 0 };
	errno = saved;
}

void bytes_clear(struct bytes *b)
{
	if (b->p)
		explicit_bzero(b->p, b->cap);
	b->len = 0;
}

void bytes_reserve(struct bytes *b, size_t n)
{
	struct bytes bigger = { .len = b->len };

	if (n < b->cap)
		return;
	if (n > SIZE_MAX / 4)
		abort();
	bigger.cap = n + 1 > 2 * b->cap ? n + 1 : 2 * b->cap;
	bigger.cap = (bigger.cap + CHUNK - 1) / CHUNK * CHUNK;
	bigger.p = map_pages(bigger.cap);
	if (b->len)
		memcpy(bigger.p, b->p, b->len);
	bytes_done(b);
	*b = bigger;
}

void bytes_add(struct bytes *b, const void *data, size_t n)
{
	bytes_reserve(b, b->len + n);
	if (n)
		memcpy(b->p + b->len, data, n);
	b->len += n;
	b->p[b->len] = '\0';
}

void bytes_adds(struct bytes *b, const char *s)
{
	bytes_add(b, s, strlen(s));
}

void bytes_addc(struct bytes *b, char c)
{
	bytes_add(b, &c, 1);
}

const char *bytes_str(const struct bytes *b)
{
	return b->p ? b->p : "";
}

void bytes_move(struct bytes *to, struct bytes *from)
{
	const struct bytes moved = *from;

	*from = (struct bytes){ 0 };
	bytes_done(to);
	*to = moved;
}

void bytes_copy(struct bytes *to, const struct bytes *from)
{
	struct bytes copy = { 0 };

	bytes_add(&copy, from->p, from->len);
	bytes_move(to, &copy);
}

int bytes_read_fd(struct bytes *b, int fd, size_t max, struct err *err)
{
	const size_t start = b->len;

	for (;;) {
		ssize_t n;

		bytes_reserve(b, b->len + CHUNK);
		n = read(fd, b->p + b->len, b->cap - b->len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_errno(err, "cannot read");
		b->p[b->len + (size_t)n] = '\0';
		if (!n)
			return 0;
		b->len += (size_t)n;
		if (b->len - start > max)
			return fail(err, -EFBIG, "larger than %zu bytes", max);
	}
}

bool bytes_same(const void *a, size_t an, const void *b, size_t bn)
{
	const unsigned char *x = a, *y = b;
	unsigned char difference = 0;

	if (an != bn)
		return false;
	for (size_t i = 0; i < an; i++)
		difference |= x[i] ^ y[i];
	return !difference;
}

void bytes_add_hex(struct bytes *b, const void *data, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *p = data;

	bytes_reserve(b, b->len + 2 * n);
	for (size_t i = 0; i < n; i++) {
		bytes_addc(b, digits[p[i] >> 4]);
		bytes_addc(b, digits[p[i] & 15]);
	}
}

int bytes_add_unhex(struct bytes *b, const char *hex, size_t n)
{
	if (n % 2)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (text_hex_digit(hex[i]) < 0)
			return -EINVAL;
	}
	bytes_reserve(b, b->len + n / 2);
	for (size_t i = 0; i < n; i += 2)
		bytes_addc(b, (char)(text_hex_digit(hex[i]) << 4 |
				     text_hex_digit(hex[i + 1])));
	return 0;
}
