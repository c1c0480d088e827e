/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view/walk-cache.c - directories that have not changed are not read again
 *
 * Theory of operation: the text is a header, the inodes whose names were looked for,
 * and records, each followed by its names (a byte for the type, the name, a NUL).
 * It is read once from start to
 * end, so that what the table points to is known to be whole. The text is for
 * this machine only: its byte order and sizes are the machine's.
 */

#include "view/walk-cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"

enum { SLOTS_MIN = 64 };

static const char magic[8] = "walk-3\n";

/**
 * struct header - How the text begins
 * @linked:	Inodes that follow
 * @sum:	Of all that follows: a file that was not written to its end
 */
struct header {
	char magic[sizeof(magic)];
	uint64_t linked, len, sum;
};

/**
 * struct record - One directory
 * @len:	Bytes of names that follow
 */
struct record {
	uint64_t dev, ino;
	int64_t sec;
	uint32_t nsec, len;
};

/**
 * struct walk_cache - What was known, and what was seen this time
 * @text:	The records of last time
 * @slots:	Where each begins, plus one; open addressing, a power of two
 * @seen:	The records of this time
 * @linked:	Both have all names of these
 * @read:	Names that were not known
 * @until:	Only what was changed before is kept
 * @done:	The text for the next time has been made
 */
struct walk_cache {
	struct buf text, seen;
	struct walk_inode linked[WALK_CACHE_LINKED_MAX];
	size_t nlinked;
	uint32_t *slots;
	size_t cap, read;
	time_t until;
	bool done;
};

static uint64_t checksum(const void *p, size_t n)
{
	const unsigned char *bytes = p;
	uint64_t h = 1469598103934665603ULL;

	/* Eight bytes at a time: this is on the start path */
	for (; n >= 8; n -= 8, bytes += 8) {
		uint64_t word;

		memcpy(&word, bytes, sizeof(word));
		h = (h ^ word) * 1099511628211ULL;
		h ^= h >> 29;
	}
	while (n--)
		h = (h ^ *bytes++) * 1099511628211ULL;
	return h;
}

static struct record record_at(const struct walk_cache *c, size_t at)
{
	struct record r;

	memcpy(&r, c->text.p + at, sizeof(r));
	return r;
}

static size_t slot_of(const struct walk_cache *c, uint64_t dev, uint64_t ino)
{
	const uint64_t h = (ino ^ dev << 32) * 0x9e3779b97f4a7c15u;

	return (size_t)(h >> 32) & (c->cap - 1);
}

static void put(struct walk_cache *c, size_t at)
{
	const struct record r = record_at(c, at);
	size_t i = slot_of(c, r.dev, r.ino);

	while (c->slots[i])
		i = (i + 1) & (c->cap - 1);
	c->slots[i] = (uint32_t)at + 1;
}

/* Where the record behind the one at @at begins, or 0 if that is not whole */
static size_t next_record(const struct walk_cache *c, size_t at)
{
	struct record r;

	if (c->text.len - at < sizeof(r))
		return 0;
	r = record_at(c, at);
	at += sizeof(r);
	if (r.len > c->text.len - at ||
	    (r.len && c->text.p[at + r.len - 1] != '\0'))
		return 0;
	return at + r.len;
}

static void index_text(struct walk_cache *c)
{
	size_t count = 0;

	for (size_t at = 0; at < c->text.len; count++) {
		at = next_record(c, at);
		if (!at) {
			buf_done(&c->text);
			count = 0;
			break;
		}
	}
	for (c->cap = SLOTS_MIN; c->cap < 2 * count; c->cap *= 2)
		;
	c->slots = mem_zalloc(c->cap * sizeof(*c->slots));
	for (size_t at = 0; at < c->text.len; at = next_record(c, at))
		put(c, at);
}

struct walk_cache *walk_cache_new(const void *text, size_t n)
{
	struct walk_cache *c = mem_zalloc(sizeof(*c));
	struct header head;

	c->until = time(NULL) - 1;
	if (n >= sizeof(head) && n <= WALK_CACHE_MAX) {
		const char *p = (const char *)text + sizeof(head);

		memcpy(&head, text, sizeof(head));
		if (!memcmp(head.magic, magic, sizeof(magic)) &&
		    head.len == n - sizeof(head) &&
		    head.linked <= WALK_CACHE_LINKED_MAX &&
		    head.linked * sizeof(*c->linked) <= head.len &&
		    head.sum == checksum(p, head.len)) {
			const size_t skip = head.linked * sizeof(*c->linked);

			memcpy(c->linked, p, skip);
			c->nlinked = head.linked;
			buf_add(&c->text, p + skip, head.len - skip);
		}
	}
	index_text(c);
	return c;
}

void walk_cache_free(struct walk_cache *c)
{
	if (!c)
		return;
	buf_done(&c->text);
	buf_done(&c->seen);
	free(c->slots);
	free(c);
}

static void keep(struct walk_cache *c, const struct stat *st, const void *names,
		 size_t len)
{
	const struct record r = {
		.dev = st->st_dev, .ino = st->st_ino,
		.sec = st->st_ctim.tv_sec,
		.nsec = (uint32_t)st->st_ctim.tv_nsec, .len = (uint32_t)len,
	};

	if (c->done || st->st_ctim.tv_sec >= c->until || len > WALK_CACHE_MAX ||
	    c->seen.len + sizeof(r) + len > WALK_CACHE_MAX)
		return;
	buf_add(&c->seen, &r, sizeof(r));
	buf_add(&c->seen, names, len);
}

bool walk_cache_is_empty(const struct walk_cache *c)
{
	return !c->text.len;
}

bool walk_cache_has_inode(const struct walk_cache *c, uint64_t ino)
{
	for (size_t i = 0; i < c->nlinked; i++) {
		if (c->linked[i].ino == ino)
			return true;
	}
	return false;
}

static bool covers(const struct walk_cache *c, const struct walk_inode *inode)
{
	for (size_t i = 0; i < c->nlinked; i++) {
		if (c->linked[i].ino == inode->ino && c->linked[i].dev == inode->dev)
			return true;
	}
	return false;
}

void walk_cache_look_for(struct walk_cache *c, const struct walk_inode *inodes,
			 size_t n, bool again)
{
	bool all = true;

	for (size_t i = 0; i < n; i++) {
		if (covers(c, &inodes[i]))
			continue;
		if (all) {	/* What is known lacks its names */
			buf_done(&c->text);
			buf_done(&c->seen);
			memset(c->slots, 0, c->cap * sizeof(*c->slots));
			c->read = 0;
			all = false;
		}
		if (c->nlinked == WALK_CACHE_LINKED_MAX) {
			c->done = true;
			return;
		}
		c->linked[c->nlinked++] = inodes[i];
	}
	c->done |= all && again;
}

bool walk_cache_find(struct walk_cache *c, const struct stat *st,
		     struct walk_names *ret)
{
	size_t i = slot_of(c, st->st_dev, st->st_ino);

	for (; c->slots[i]; i = (i + 1) & (c->cap - 1)) {
		const size_t at = c->slots[i] - 1;
		const struct record r = record_at(c, at);

		if (r.ino != st->st_ino || r.dev != st->st_dev ||
		    r.sec != st->st_ctim.tv_sec ||
		    r.nsec != (uint32_t)st->st_ctim.tv_nsec)
			continue;
		ret->p = c->text.p + at + sizeof(r);
		ret->end = ret->p + r.len;
		keep(c, st, ret->p, r.len);
		return true;
	}
	return false;
}

bool walk_names_next(struct walk_names *names, struct dir_entry *ret)
{
	if (names->end - names->p < 2)
		return false;
	ret->type = (unsigned char)names->p[0];
	ret->ino = 0;
	ret->name = names->p + 1;
	names->p += strlen(ret->name) + 2;
	return true;
}

void walk_names_add(struct buf *names, const struct dir_entry *entry)
{
	buf_addc(names, (char)entry->type);
	buf_add(names, entry->name, strlen(entry->name) + 1);
}

void walk_cache_add(struct walk_cache *c, const struct stat *st, size_t read,
		    const struct buf *names)
{
	c->read += read;
	keep(c, st, names->p, names->len);
}

void walk_cache_seal(const struct walk_inode *linked, size_t nlinked,
		     const void *records, size_t n, struct buf *ret)
{
	const size_t size = nlinked * sizeof(*linked);
	struct header head = { .linked = nlinked, .len = size + n };

	memcpy(head.magic, magic, sizeof(magic));
	buf_add(ret, &head, sizeof(head));
	buf_add(ret, linked, size);
	buf_add(ret, records, n);
	head.sum = checksum(ret->p + sizeof(head), head.len);
	memcpy(ret->p, &head, sizeof(head));
}

bool walk_cache_text(struct walk_cache *c, struct buf *ret)
{
	c->done = true;
	if (c->read < WALK_CACHE_WORTH || !c->seen.len)
		return false;
	walk_cache_seal(c->linked, c->nlinked, c->seen.p, c->seen.len, ret);
	return true;
}
