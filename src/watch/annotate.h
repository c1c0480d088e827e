/* SPDX-License-Identifier: Apache-2.0 */
/* watch/annotate.h - what a person or an agent reads after the command */

#ifndef WATCH_ANNOTATE_H
#define WATCH_ANNOTATE_H

#include <stdbool.h>

struct buf;
struct ring;
struct violation;

enum {
	ANNOTATE_LINES_MAX = 8,		/* Lines of the text form */
	ANNOTATE_TARGET_MAX = 256,	/* Bytes of a name that are shown */
};

#define ANNOTATE_OPEN	"<sandbox_violations>"
#define ANNOTATE_CLOSE	"</sandbox_violations>"

enum annotate_mode {
	ANNOTATE_AUTO,	/* Tags for an agent that asks for them, else text */
	ANNOTATE_TEXT,
	ANNOTATE_TAGS,
	ANNOTATE_NEVER,
	ANNOTATE_COUNT,
};

/* "auto", "text", "tags", "never": 0 or -EINVAL */
int annotate_parse(const char *name, enum annotate_mode *ret);

/* What AUTO means with this environment variable CLAUDECODE (or NULL) */
enum annotate_mode annotate_choose(enum annotate_mode mode,
				   const char *claudecode);

/* "deny file-write /etc/hosts (why; allow: how)": one line without its end,
 * nothing in it can end a line, open a tag or move a cursor
 */
void annotate_line(const struct violation *v, struct buf *out);

/* The footer, or nothing if nothing was refused. What may have been nothing (a
 * hidden name that somebody only looked for, a system call, a cache) is in it if the
 * command @failed. @missing: what could
 * not be watched, in words, or NULL.
 */
void annotate_footer(const struct ring *ring, enum annotate_mode mode,
		     bool failed, const char *run, const char *missing,
		     struct buf *out);

#endif /* WATCH_ANNOTATE_H */
