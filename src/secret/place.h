/* SPDX-License-Identifier: Apache-2.0 */
/* secret/place.h - the private directory of the stores, and its files
 *
 * Everything goes through one directory descriptor. A directory or a file that
 * somebody else could have put there, could change, or (files) could read is
 * refused, also for writing: it is never quietly replaced.
 */

#ifndef SECRET_PLACE_H
#define SECRET_PLACE_H

#include <stdbool.h>
#include <stddef.h>

struct bytes;
struct err;
struct place;

/* For the directory @path, which need not exist yet; nothing is touched */
struct place *place_new(const char *path);
void place_free(struct place *place);
const char *place_path(const struct place *place);

/* A descriptor of the directory, owned by @place. -ENOENT if there is none and
 * it is not to be made (@make); -EPERM if it is not safe to use.
 */
int place_fd(struct place *place, bool make, struct err *err);

/* True if there is something called @name; nothing is made */
bool place_has(struct place *place, const char *name);

/* Append the content of @name, at most @max bytes. 1, 0 if it does not exist,
 * -EPERM if it is not safe to use, -EFBIG, or another negative errno.
 */
int place_read(struct place *place, const char *name, size_t max,
	       struct bytes *ret, struct err *err);

/* Replace @name by @n bytes: a crash at any point leaves the old file or the
 * new one, and the one temporary file, private, that the next call replaces.
 * The caller holds the lock (secret/lock.h). 0 or a negative errno.
 */
int place_write(struct place *place, const char *name, const void *data,
		size_t n, struct err *err);

/* Remove @name. 1, 0 if it does not exist, or a negative errno. */
int place_remove(struct place *place, const char *name, struct err *err);

#endif /* SECRET_PLACE_H */
