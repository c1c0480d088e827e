/* SPDX-License-Identifier: Apache-2.0 */
/* lib/tmpdir.h - the private /tmp of a project, kept between its runs */

#ifndef LIB_TMPDIR_H
#define LIB_TMPDIR_H

#include <stdbool.h>

struct err;
struct options;

enum {
	TMPDIR_ENTRIES_MAX = 1 << 17,	/* Names kept from a fresh /tmp */
	TMPDIR_BYTES_MAX = 1 << 28,
	TMPDIR_DEPTH_MAX = 64,
};

/**
 * struct tmpdir - One run's hold on it
 * @path:	Its place on the host, or NULL
 * @lock:	Held, shared, while the run lasts
 * @made_cache:	There was no cache directory before
 * @later:	Where to keep what a fresh /tmp holds in the end, or NULL
 * @fresh:	That /tmp; -1 until the sandbox has handed it over
 */
struct tmpdir {
	char *path;
	int lock;
	bool made_cache;
	char *later;
	int fresh;
};

/* Where the directory of @project is, below @cache (the user's cache
 * directory). What is @shown is not below our own directories, which no
 * command may see. The caller frees.
 */
char *tmpdir_path(const char *cache, const char *project, bool shown);

/* Make or reuse @path, made by tmpdir_path(). In the @full tier, where there is
 * no cache directory at all, nothing is made: /tmp is fresh, and kept in the end
 * if there is something in it; and without a place to keep it, it is fresh every
 * time. Elsewhere $TMPDIR names it, and it has to be there. 0, or a negative errno
 * with words.
 */
int tmpdir_open(const char *path, bool full, struct tmpdir *ret,
		struct err *err);

/* Let go of it, after the run. It is kept for the next; only where there was no
 * cache directory, and nothing was left in it, it goes again. False if not all
 * that a fresh one held could be kept: there are bounds to it.
 */
bool tmpdir_close(struct tmpdir *tmp);

/* Profile srt has $TMPDIR in the host's /tmp: make it, if @options ask for
 * that profile. /tmp/claude if it is ours, else one that is, which is then
 * added to @options and named by $CLAUDE_TMPDIR. 0, also where neither could
 * be had; or a negative errno with words.
 */
int tmpdir_srt(struct options *options, struct err *err);

#endif /* LIB_TMPDIR_H */
