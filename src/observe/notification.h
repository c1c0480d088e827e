/* SPDX-License-Identifier: Apache-2.0 */
/* observe/notification.h - a notified call: its row in the table, flags, path arguments */

#ifndef OBSERVE_NOTIFICATION_H
#define OBSERVE_NOTIFICATION_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "observe/resolved-path.h"

struct cwds;
struct seccomp_notif;
struct tracee;

enum { CALL_CWD = -1, CALL_NO = -2 };

enum call_what {
	CALL_OPEN,	/* By its flags */
	CALL_OPEN_HOW,	/* By struct open_how */
	CALL_CREAT,
	CALL_MAKE,	/* A new name: directory, node, symbolic link */
	CALL_UNLINK, CALL_RMDIR, CALL_RENAME, CALL_LINK, CALL_TRUNCATE,
	CALL_SETATTR,	/* Mode, owner, times, extended attributes */
	CALL_LSETATTR,	/* Of a link itself, if it is one */
	CALL_ACCESS,
	CALL_CHDIR,	/* Never refused */
	CALL_UNSHARE,	/* A thread with a current directory of its own; never refused */
	CALL_SETPGID,
	CALL_CONNECT, CALL_BIND, CALL_LISTEN,	/* Of sockets: from here on */
	CALL_SOCKET, CALL_SOCKETPAIR,	/* Of datagram sockets */
};

/**
 * struct call - A row of the table of calls
 */
struct call {
	int nr;
	const char *name;
	enum call_what what;
	int dir, path, dir2, path2, flags;
};

/* The row of a call, or NULL */
const struct call *call_find(int nr);

/**
 * struct name - A path argument
 * @text:	As given
 * @full:	With the directory it is relative to; only text
 * @dir, @dir_len: That directory's descriptor, and how much of @full it is; 0 if
 *		that is not all of it
 */
struct name {
	char text[PATH_MAX], full[2 * PATH_MAX];
	int dir;
	size_t dir_len;
};

/**
 * struct notification - The call that waits for an answer
 * @cwds:	Cache of current directories, or NULL
 * @what:	Never CALL_OPEN_HOW, CALL_CREAT or CALL_LSETATTR once it is read
 * @flags:	Of the call: O_*, AT_*, RENAME_*
 * @from, @to:	Its resolved paths: @to for CALL_RENAME and CALL_LINK, else NULL
 * @two:	It has a second name
 * @link, @dir:	It makes a symbolic link, a directory
 * @in_root:	RESOLVE_IN_ROOT: the directory that its name is relative to is its "/"
 * @open:	What gets a second name was given as a descriptor
 * @quiet:	It is about an open file, or access(): neither refused nor reported
 * @reads:	Its flags say that it changes nothing; its names are not read unless
 *		reads are observed
 */
struct notification {
	const struct seccomp_notif *notif;
	const struct call *call;
	struct tracee *tracee;
	struct cwds *cwds;
	enum call_what what;
	uint64_t flags, how_mode;
	enum resolved_path_follow follow;
	const struct resolved_path *from, *to;
	bool two, link, dir, in_root, open, quiet, reads;
};

/* Read the call's flags and names: 0, or a negative errno. @reads: those of a
 * call that changes nothing as well.
 */
int notification_read(struct notification *q, bool reads, struct name names[2]);

/* True as long as the call waits: then its thread's number is still the thread's */
bool notification_waits(const struct notification *q, int listener);

/* True if the call, let through, can create a name */
bool notification_makes(const struct notification *q);

#endif /* OBSERVE_NOTIFICATION_H */
