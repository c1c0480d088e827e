/* SPDX-License-Identifier: Apache-2.0 */
/* view/walk-cache.h - directories that have not changed are not read again
 *
 * A record holds the names in a directory that are worth a look (walk.c), as
 * long as the directory's inode and change time are the same. No process can set a
 * change time, so what a command plants is always seen. A directory that was
 * changed less than a second ago could change again in the same tick, and is
 * not kept.
 *
 * Names of files that a rule denies by another name are worth a look as well. Which
 * inodes these were is in the text; for others the records are of no use.
 */

#ifndef VIEW_WALK_CACHE_H
#define VIEW_WALK_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct dir_entry;
struct stat;
struct walk_cache;

enum {
	WALK_CACHE_MAX = 16 << 20,	/* Bytes; what is more is not kept */
	WALK_CACHE_WORTH = 2048,	/* Names read: fewer are not worth it */
	WALK_CACHE_LINKED_MAX = 256,	/* Inodes looked for; with more nothing is kept */
};

/* A file that a rule denies, and that has other names */
struct walk_inode {
	uint64_t dev, ino;
};

/* What is left of a directory's names */
struct walk_names {
	const char *p, *end;
};

/* From what walk_cache_text() made; empty if @text is damaged or NULL.
 * Never NULL.
 */
struct walk_cache *walk_cache_new(const void *text, size_t n);
void walk_cache_free(struct walk_cache *cache);

/* True if no directory is known: there is no need to look one up */
bool walk_cache_is_empty(const struct walk_cache *cache);

/* True and *@ret if the directory @st is known. @ret is valid as long as @cache
 */
bool walk_cache_find(struct walk_cache *cache, const struct stat *st,
		     struct walk_names *ret);

/* Names of @inodes are worth a look from now on, as those before. If what is known lacks
 * some, it is forgotten; if there are too many, for good. @again: what is known was
 * walked once, and unless it is forgotten nothing more is recorded.
 */
void walk_cache_look_for(struct walk_cache *cache, const struct walk_inode *inodes,
			 size_t n, bool again);

/* True if one of them has that number */
bool walk_cache_has_inode(const struct walk_cache *cache, uint64_t ino);

/* The next name, its inode not known. True, or false at the end. */
bool walk_names_next(struct walk_names *names, struct dir_entry *ret);

/* A name for the record that is being made in @names */
void walk_names_add(struct buf *names, const struct dir_entry *entry);

/* @st was read as a whole, @read names; those worth a look are in @names */
void walk_cache_add(struct walk_cache *cache, const struct stat *st,
		    size_t read, const struct buf *names);

/* If much was read that was not known, all that was found or read, as text for
 * the next time: true. After this nothing more is recorded.
 */
bool walk_cache_text(struct walk_cache *cache, struct buf *ret);

/* For tests: a text of @records, whole or not, in an empty @ret */
void walk_cache_seal(const struct walk_inode *linked, size_t nlinked,
		     const void *records, size_t n, struct buf *ret);

#endif /* VIEW_WALK_CACHE_H */
