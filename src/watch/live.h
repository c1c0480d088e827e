/* SPDX-License-Identifier: Apache-2.0 */
/* watch/live.h - settings files that change while a command runs
 *
 * Their directories are watched, so that atomic saves count, and the nearest
 * directory that exists, so that a file made later counts too. A file that
 * is removed counts after a moment: an editor does that on its way. Where the user watches as much as is
 * allowed already, the files are looked at instead.
 */

#ifndef WATCH_LIVE_H
#define WATCH_LIVE_H

#include <stddef.h>

struct live;

enum { LIVE_FILES_MAX = 256 };

/* Watch @n absolute paths, and where they lead if they are links; @fn is called,
 * once per batch, when one of them was written, came into being or is gone. 0, or
 * a negative errno.
 */
int live_new(const char *const *files, size_t n, void (*fn)(void *arg),
	     void *arg, struct live **ret);
void live_free(struct live *live);

/* For the loop: EPOLLIN. It may be another one after live_dispatch(), which has
 * closed the old one then.
 */
int live_fd(const struct live *live);
void live_dispatch(struct live *live);

#endif /* WATCH_LIVE_H */
