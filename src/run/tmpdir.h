/* SPDX-License-Identifier: Apache-2.0 */
/* run/tmpdir.h - the private /tmp of a project, kept between its runs */

#ifndef RUN_TMPDIR_H
#define RUN_TMPDIR_H

#include <stdbool.h>

#include "policy/origin.h"

struct err;
struct options;
struct policy;

/* Below the XDG state directory, a directory for each project, with TMPDIR_FILES
 * and TMPDIR_PROJECT in it. What is shown is not in our own directory, which no
 * command may see.
 */
#define TMPDIR_HIDDEN	"cloche/tmp"
#define TMPDIR_SHOWN	"cloche-tmp/kept"	/* In the landlock tier */
#define TMPDIR_FILES	"tmp"
#define TMPDIR_PROJECT	"project"

/**
 * struct tmpdir - One run's hold on it
 * @path:	Its place on the host, or NULL
 * @lock:	The directory that it is in, locked while the run lasts
 */
struct tmpdir {
	char *path;
	int lock;
};

/* Where the directory of the project is, or NULL where there is no home; the
 * caller frees
 */
char *tmpdir_path(const struct policy *policy, bool shown);

/* Make or reuse @path, made by tmpdir_path() for @project. In the @full tier /tmp is
 * fresh where it cannot be made; elsewhere $TMPDIR names it, and it has to be there.
 * 0, or a negative errno with a message.
 */
int tmpdir_open(const char *path, const char *project, bool full,
		struct tmpdir *ret, struct err *err);

/* Let go of it, after the run. It is kept for the next. */
void tmpdir_close(struct tmpdir *tmp);

/* --share-tmp: the host's /tmp is writable, without what leads out of the sandbox or
 * into other sessions of agents
 */
void tmpdir_share(struct policy *policy, struct origin origin);

/* Profile srt has $TMPDIR in the host's /tmp: make it, if @options ask for
 * that profile. /tmp/claude if it is ours, else one that is, which is then
 * added to @options and named by $CLAUDE_TMPDIR. 0, also where neither could
 * be had; or a negative errno with a message.
 */
int tmpdir_srt(struct options *options, struct err *err);

#endif /* RUN_TMPDIR_H */
