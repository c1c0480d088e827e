/* SPDX-License-Identifier: Apache-2.0 */
/* report/footer.h - what a person or an agent reads after the command */

#ifndef REPORT_FOOTER_H
#define REPORT_FOOTER_H

#include <stdbool.h>

#include "report/violation.h"

struct buf;
struct ring;
struct violation;

enum {
	FOOTER_LINES_MAX = 12,	/* Lines of the text form */
	FOOTER_TARGET_MAX = 256,	/* Bytes of a name that are shown */
	FOOTER_ASK_MAX = 512,	/* Bytes of a line that is only offered */
};

#define FOOTER_OPEN	"<sandbox_violations>"
#define FOOTER_CLOSE	"</sandbox_violations>"

enum footer_mode {
	FOOTER_AUTO,	/* Tags for an agent that asks for them, else text */
	FOOTER_TEXT,
	FOOTER_TAGS,
	FOOTER_NEVER,
	FOOTER_EACH,	/* As AUTO; and each at once, for a program that reads the
			 * command's output inside (run/inner-report.c) */
	FOOTER_COUNT,
};

/* "auto", "text", "tags", "never", "each": 0 or -EINVAL */
int footer_parse(const char *name, enum footer_mode *ret);

/* What AUTO and EACH mean at the end, with this environment variable CLAUDECODE (or NULL) */
enum footer_mode footer_choose(enum footer_mode mode,
				   const char *claudecode);

/* "file-write", "network-dns": what tags call @kind */
void footer_kind(enum violation_kind kind, struct buf *out);

/* "deny file-write /etc/hosts (why)": one line without its end, nothing in it can
 * end a line, open a tag or move a cursor
 */
void footer_line(const struct violation *v, struct buf *out);

/* "write /etc/hosts (why)", and on a line of its own, behind @indent, the command
 * that would allow it; both with their ends
 */
void footer_text(const struct violation *v, const char *indent,
		   struct buf *out);

/* True if it says little about a command of which it is not known how it ends: state that
 * programs do without, hosts that count users, names that they only looked for
 */
bool footer_is_minor(const struct violation *v);

/**
 * struct footer - What the footer is about
 * @failed:	The command did. Else what it did without is left out: hidden names
 *		that it only looked for, histories, caches, telemetry, what the
 *		user's own rules deny
 * @verbose:	Say how many were left out
 * @may_ask:	The reader could have answered the questions of --ask
 * @ask:	The line that starts the run again with it; or NULL
 * @run:	The run's id, or NULL
 * @missing:	What could not be watched, in words; or NULL
 */
struct footer {
	enum footer_mode mode;
	bool failed, verbose, may_ask;
	const char *run, *missing, *ask;
};

/* The footer, or nothing if nothing was refused */
void footer_print(const struct ring *ring, const struct footer *how,
		     struct buf *out);

#endif /* REPORT_FOOTER_H */
