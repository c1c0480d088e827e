/* SPDX-License-Identifier: Apache-2.0 */
/* session/session-wire.h - messages between a session's holder and its clients, and what both
 * sides have in common
 *
 * One SOCK_SEQPACKET connection for each command, and for each question. The two ends
 * are the same version of the program, or the holder refuses.
 */

#ifndef SESSION_SESSION_WIRE_H
#define SESSION_SESSION_WIRE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <termios.h>

#include "report/footer.h"
#include "sandbox/sandbox.h"

struct buf;
struct err;
struct limits;
struct plan;
struct policy;
struct run;

enum {
	SESSION_WIRE_VERSION = 1,
	SESSION_TEXT_MAX = 64 << 10,	/* Bytes of text in a reply */
	SESSION_JOIN_FDS = 4,		/* The strings, and the standard descriptors */
	SESSION_ANSWER_MS = 2000,	/* In which a holder answers, or is taken for hung */
};

enum session_verb {
	SESSION_JOIN, SESSION_SIGNAL, SESSION_STATUS, SESSION_STOP, SESSION_PUBLISH,
};

/**
 * struct session_request - From a client
 * @value:	The signal (for the process group: the command itself the client reaches
 *		by its pidfd), or the port
 * @join:	The command. Behind the strings that process 1 takes, the first descriptor
 *		has the command line for records and, as session_policy() has it, the policy.
 * @file_size:	Its limit, if @limited
 * @mode, @verbose, @quiet: Its footer
 * @terminal, @size: How the command's terminal is to be, if it is to have one
 * @violations:	The client wants its refusals, too
 */
struct session_request {
	uint32_t version;
	enum session_verb verb;
	int value;
	struct sandbox_join join;
	uint64_t file_size;
	bool limited, verbose, quiet, violations;
	struct termios terminal;
	struct winsize size;
	enum footer_mode mode;
};

enum session_event {
	SESSION_REFUSED,	/* Nothing ran: @code, @value is the exit status; the text says why */
	SESSION_DIFFERS,	/* Nothing ran: the policies differ, as the text says */
	SESSION_STARTED,	/* Descriptors: the command's pidfd, our end of its terminal */
	SESSION_STOPPED,	/* By signal @value */
	SESSION_EXITED,		/* @value is the wait status; the text is the footer */
	SESSION_SAY,		/* One line for the user */
	SESSION_VIOLATION,	/* The text is a violation record, as JSON */
	SESSION_ANSWER,		/* The text is JSON, or empty */
	SESSION_CONTINUED,	/* It runs again; wakes a client that has stopped with it */
};

/* From the holder; its text follows */
struct session_reply {
	enum session_event event;
	int value, code;
	int64_t read_to;
};

/* A reply with its text */
struct session_packet {
	struct session_reply head;
	char text[SESSION_TEXT_MAX];
};

/* session-directory.c: the directory of sockets, which only this user may enter and every
 * plan hides. A descriptor, or a negative errno with a message.
 */
int session_directory(struct err *err);

/* Locked against others that start, end or remove a session; fs_unlock() releases it */
int session_directory_locked(struct err *err);

/* A socket connected to the session's holder, a process of this user; -ENOENT, without a
 * message, if it does not live; or another negative errno with one
 */
int session_connect(int dir, const char *name, struct err *err);

/* A socket at which the session listens. @dir is locked, and nothing lives there. */
int session_listen(int dir, const char *name, struct err *err);

/* Stop listening at *@listener, unless it is -1. The name goes only if it is still ours:
 * another session may have it by now.
 */
void session_unlisten(int *listener, const char *name);

/* Remove @name from @dir, which is locked, unless a session listens there */
void session_remove_stale(int dir, const char *name);

/* The process at the other end of @fd: 0 and its pidfd if it is this user's and in our user
 * namespace, or a negative errno
 */
int session_peer(int fd, int *ret_pidfd);

/* A pidfd of the process that --session-owner names in @text, or a negative errno with a
 * message
 */
int session_owner(const char *text, struct err *err);

/* session-policy.c: all of the policy that the commands of a session share, a line for each
 * rule, sorted
 */
void session_policy(const struct policy *policy, const struct plan *plan,
		    struct buf *out);
/* What only one of the two has, for the user; nothing if they are equal */
void session_policy_diff(const char *ours, const char *theirs, struct buf *out);

/* Fill in the command's: memory and processes as @limits of the session, file size its own */
void session_limits(const struct limits *limits, struct session_request *q);

/* session-holder.c: fork the holder of the session @name with the options of @run. 0 when it
 * listens, or a negative errno with a message. @lock is held by the caller.
 */
int session_start(const struct run *run, const char *name, int lock);

/* session-status.c: what is known of the processes below the process 1 @init: how many, their
 * processor time, memory and the ports at which they listen
 */
json_t *session_usage(pid_t init);

#endif /* SESSION_SESSION_WIRE_H */
