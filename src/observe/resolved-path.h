/* SPDX-License-Identifier: Apache-2.0 */
/* observe/resolved-path.h - where a path leads, as the kernel would see it from inside */

#ifndef OBSERVE_RESOLVED_PATH_H
#define OBSERVE_RESOLVED_PATH_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct tracee;

/* Is a link in the last place followed? A name that is to be made, moved or
 * removed is the link itself, however it is written.
 */
enum resolved_path_follow {
	RESOLVED_PATH_STAY,
	RESOLVED_PATH_SLASH,	/* If a slash comes after it */
	RESOLVED_PATH_FOLLOW,
};

enum { RESOLVED_PATH_LINKS_MAX = 40 };	/* As in the kernel */

/**
 * struct resolved_path - A name in a directory, links followed
 * @parent:	The directory, O_PATH; the place itself if @name is ""
 * @path:	Absolute, from inside, without symbolic links before @name
 * @name:	The last component, in @path; "" for "/" and "x/.."
 * @exists:	Something is there; then also:
 * @mode, @ino, @mount_root: its st_mode and st_ino; it is where something is
 *		mounted
 * @read_only:	It (or, if missing, the directory) is on a read-only mount
 * @closed:	The directory is on a read-only mount; of a @mount_root only
 * @slash:	It was written with a slash behind it
 * @proc:	The directory is on a procfs
 * @mount, @dev: The mount and the file system that the directory is on
 */
struct resolved_path {
	int parent;
	char path[PATH_MAX];
	const char *name;
	bool exists, mount_root, read_only, closed, slash, proc;
	mode_t mode;
	uint64_t mount, ino;
	dev_t dev;
};

/* Look up @text, given relative to the directory @base (absolute text), as
 * @tracee would. @root: the directory that is "/" to this call, or -1 for the
 * tracee's own. 0 and *@ret (release with resolved_path_done()); or a negative errno.
 * -ENOTNAM says that it is an object without a path, and that no other can be
 * reached through it: a pipe or a deleted file behind /proc/self/fd, a file of
 * /proc/PID itself. With -EACCES @ret->path is as far as it got: without links up
 * to where it may not look.
 */
int resolved_path_find(struct tracee *tracee, int root, const char *base,
	       const char *text, enum resolved_path_follow follow, struct resolved_path *ret);
void resolved_path_done(struct resolved_path *place);

/* What open() for writing would say of an existing @place by its permissions:
 * 0, -EACCES, or -EROFS
 */
int resolved_path_writable(const struct resolved_path *place);

#endif /* OBSERVE_RESOLVED_PATH_H */
