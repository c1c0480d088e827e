/* SPDX-License-Identifier: Apache-2.0 */
/* watch/sealed.h - to quarantine, and say so */

#ifndef WATCH_SEALED_H
#define WATCH_SEALED_H

#include <stdbool.h>

struct buf;
struct gitrepo_config;

/* What to take away for @path below @root: itself, or the link that it is seen
 * through. The caller frees.
 */
char *sealed_plant(const char *root, const char *path);

/* Move @path to quarantine and report it. True if it is not there any more. */
bool sealed_move(const struct gitrepo_config *config, const char *path,
		 const char *reason);

/* Keep @old, the bytes of the file @path in @dir, and replace them by @text */
bool sealed_rewrite(const struct gitrepo_config *config, int dir,
		    const char *path, const struct buf *old,
		    const struct buf *text, const char *reason);

#endif /* WATCH_SEALED_H */
