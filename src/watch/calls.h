/* SPDX-License-Identifier: Apache-2.0 */
/* watch/calls.h - system calls as rows of a table */

#ifndef WATCH_CALLS_H
#define WATCH_CALLS_H

enum { CALL_HERE = -1, CALL_NO = -2 };

enum call_what {
	CALL_OPEN,	/* By its flags */
	CALL_OPEN_HOW,	/* By struct open_how */
	CALL_CREAT,
	CALL_MAKE,	/* A new name: directory, node, symbolic link */
	CALL_UNLINK, CALL_RMDIR, CALL_RENAME, CALL_LINK,
	CALL_CUT,	/* A file, to a size */
	CALL_CHANGE,	/* Of what stands there: mode, owner, times, attributes */
	CALL_CHANGE_LINK,	/* Of a link itself, if it is one */
	CALL_LOOK,	/* May it be written? */
	CALL_TURN,	/* To another directory: never refused */
	CALL_SPLIT,	/* A thread with a directory of its own: likewise */
	CALL_GROUP,	/* To a process group */
	CALL_CONNECT, CALL_BIND, CALL_LISTEN,	/* Of sockets: from here on */
	CALL_SOCKET, CALL_PAIR,	/* Of datagram sockets */
};

/**
 * struct call - What a row of calls.def says
 */
struct call {
	int nr;
	const char *name;
	enum call_what what;
	int dir, path, dir2, path2, flags;
};

/* The row of a call, or NULL */
const struct call *call_find(int nr);

#endif /* WATCH_CALLS_H */
