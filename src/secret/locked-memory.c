/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret/locked-memory.c - memory for secrets: locked, not dumped, wiped
 *
 * Theory of operation: small allocations are cut off a locked mapping one after
 * the other, in powers of two, and used again when they are freed: cloche-tls makes
 * some for each request. Large ones have a mapping of their own, which goes when
 * they are freed, so that a large document stays below RLIMIT_MEMLOCK. malloc() will not do: locks
 * and advice work on whole pages, which a secret must not share.
 */

#include "secret/locked-memory.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"

enum {
	PAGE = 4096,
	CHUNK = 64 << 10,	/* Mapping that small allocations share */
	LARGE = CHUNK / 4,	/* From here on a mapping of its own */
	HEADER = 16,		/* In front of each: its size, header included */
};

/* What lies in front of an allocation. A forked child finds zeros there, so that its
 * lists of free ones end at once.
 */
struct block {
	size_t size;
	struct block *next; /* Of equal size, while it is free */
};

_Static_assert(sizeof(struct block) <= HEADER, "an allocation is aligned");

static struct block *unused[16]; /* By the power of two */
static unsigned int failures;

unsigned int locked_failures(void)
{
	return failures;
}

static char *map_locked(size_t size)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		fputs("cloche: out of memory\n", stderr);
		abort();
	}
	if (mlock(p, size) < 0)
		failures++;
	/* Both exist since Linux 4.14. Without them, PR_SET_DUMPABLE and wiping
	 * are left, and there is nothing better to do.
	 */
	(void)madvise(p, size, MADV_DONTDUMP);
	(void)madvise(p, size, MADV_WIPEONFORK);
	return p;
}

/* The power of two that @size is rounded up to */
static size_t power_of(size_t size)
{
	size_t power = 0;

	while ((size_t)1 << power < size)
		power++;
	return power;
}

static struct block *cut_off(size_t size)
{
	static char *next, *end;
	struct block *block;

	if ((size_t)(end - next) < size) {
		next = map_locked(CHUNK);
		end = next + CHUNK;
	}
	block = (struct block *)(void *)next;
	next += size;
	return block;
}

void *locked_alloc(size_t n)
{
	struct block *block, **list;
	size_t size = n + HEADER;

	if (n > SIZE_MAX / 4)
		abort();
	if (size > LARGE / 2) {
		size = (size + PAGE - 1) / PAGE * PAGE;
		size = size < LARGE ? LARGE : size;
		block = (struct block *)(void *)map_locked(size);
	} else {
		list = &unused[power_of(size)];
		size = (size_t)1 << power_of(size);
		block = *list ? *list : cut_off(size);
		if (*list)
			*list = block->next;
	}
	block->size = size;
	block->next = NULL;
	return (char *)block + HEADER;
}

void locked_free(void *p)
{
	const int saved = errno;
	struct block *block =
		p ? (struct block *)(void *)((char *)p - HEADER) : NULL;
	const size_t size = block ? block->size : 0;

	/* In a forked child the kernel wiped it, with its size */
	if (size)
		explicit_bzero(block, size);
	if (size >= LARGE) {
		(void)munmap(block, size);
	} else if (size) {
		block->next = unused[power_of(size)];
		unused[power_of(size)] = block;
	}
	errno = saved;
}

void bytes_done(struct bytes *b)
{
	locked_free(b->p);
	*b = (struct bytes){ 0 };
}

void bytes_reserve(struct bytes *b, size_t n)
{
	struct bytes bigger = { .len = b->len };

	if (n < b->cap)
		return;
	bigger.cap = n + 1 > 2 * b->cap ? n + 1 : 2 * b->cap;
	bigger.p = locked_alloc(bigger.cap);
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

const char *bytes_str(const struct bytes *b)
{
	return b->p ? b->p : "";
}

void bytes_chomp(struct bytes *b)
{
	if (b->len && b->p[b->len - 1] == '\n')
		b->p[--b->len] = '\0';
}

int bytes_read_fd(struct bytes *b, int fd, size_t max, struct err *err)
{
	const size_t start = b->len;

	for (;;) {
		ssize_t n;

		bytes_reserve(b, b->len + PAGE);
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
