/* SPDX-License-Identifier: Apache-2.0 */
/* watch/annotate.h - what a person or an agent reads after the command */

#ifndef WATCH_ANNOTATE_H
#define WATCH_ANNOTATE_H

#include <stdbool.h>

struct buf;
struct ring;
struct violation;

enum {
	ANNOTATE_LINES_MAX = 12,	/* Lines of the text form */
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

/* "deny file-write /etc/hosts (why)": one line without its end, nothing in it can
 * end a line, open a tag or move a cursor
 */
void annotate_line(const struct violation *v, struct buf *out);

/* "write /etc/hosts (why)", and on a line of its own, behind @indent, the command
 * that would allow it; both with their ends
 */
void annotate_text(const struct violation *v, const char *indent,
		   struct buf *out);

/**
 * struct annotate - What the footer is about
 * @failed:	The command did. Else what it did without is left out: hidden names
 *		that it only looked for, histories, caches, telemetry, what the
 *		user's own rules deny
 * @verbose:	Say how many were left out
 * @run:	The run's id, or NULL
 * @missing:	What could not be watched, in words; or NULL
 */
struct annotate {
	enum annotate_mode mode;
	bool failed, verbose;
	const char *run, *missing;
};

/* The footer, or nothing if nothing was refused */
void annotate_footer(const struct ring *ring, const struct annotate *how,
		     struct buf *out);

#endif /* WATCH_ANNOTATE_H */
