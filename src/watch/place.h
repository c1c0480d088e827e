/* SPDX-License-Identifier: Apache-2.0 */
/* watch/place.h - where a path leads, as the kernel would see it from inside */

#ifndef WATCH_PLACE_H
#define WATCH_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tracee;

enum { PLACE_LINKS_MAX = 40 };	/* As in the kernel */

/**
 * struct place - A name in a directory, links followed
 * @parent:	The directory, O_PATH; the place itself if @name is ""
 * @path:	Absolute, from inside, without symbolic links before @name
 * @name:	The last component, in @path; "" for "/" and "x/.."
 * @exists:	Something is there; then also:
 * @mode, @mount_root: its st_mode; it is where something is mounted
 * @read_only:	It (or, if missing, the directory) is on a read-only mount
 * @mount:	The mount that the directory is on
 */
struct place {
	int parent;
	char path[PATH_MAX];
	const char *name;
	bool exists, mount_root, read_only;
	mode_t mode;
	uint64_t mount;
};

/* Look up @text, given relative to the directory @base (absolute text), as
 * @tracee would. With @follow a link in the last place is followed. 0 and *@ret
 * (release with place_done()); -EXDEV if it leads to something that is no path
 * (a pipe behind /proc/self/fd); or a negative errno. With -EACCES @ret->path
 * is as far as it got: without links up to where it may not look.
 */
int place_find(struct tracee *tracee, const char *base, const char *text,
	       bool follow, struct place *ret);
void place_done(struct place *place);

/* What open() for writing would say of an existing @place by its permissions:
 * 0, -EACCES, or -EROFS
 */
int place_writable(const struct place *place);

#endif /* WATCH_PLACE_H */
