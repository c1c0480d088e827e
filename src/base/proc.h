/* SPDX-License-Identifier: Apache-2.0 */
/* base/proc.h - helper processes: spawn one over a socket, end it, reap it */

#ifndef BASE_PROC_H
#define BASE_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { REAP_MAX = 64 };	/* Children that are ending at a time */

/* Exit statuses that are ours, as the manual promises them */
enum {
	EXIT_TIMED_OUT = 124,
	EXIT_NOT_BUILT = 125,		/* Nothing ran */
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
};

/**
 * struct proc - A helper process
 * @pid:	-1 if there is none
 * @socket:	Our end of a SOCK_SEQPACKET pair, or -1
 */
struct proc {
	pid_t pid;
	int socket;
};

#define PROC_NONE	((struct proc){ -1, -1 })

/**
 * proc_spawn - Fork a helper that talks to us over a socket
 * @name:	Its name in ps
 * @namespaces:	CLONE_NEW* flags of the namespaces to fork it into, or 0
 * @main:	Runs in the child with its end of the socket. It must not return, and
 *		inherits every descriptor: see proc_close_others().
 *
 * The child is a session of its own with no signal blocked, and is killed when we
 * die. Return: 0 and *@ret, or a negative errno.
 */
int proc_spawn(const char *name, uint64_t namespaces,
	       void (*main)(int socket, const void *arg), const void *arg,
	       struct proc *ret);

/* Have this process killed when @parent dies; 0 is the parent of a pid namespace's
 * first process. Again after setns() or a change of capabilities, which reset it.
 * 0, or a negative errno, also if the parent is dead already.
 */
int proc_die_with_parent(pid_t parent);

/* Close all descriptors above 2 but the @n of @keep (-1 is ignored). 0 or -errno. */
int proc_close_others(const int *keep, size_t n);
/* Let 0, 1 and 2 be /dev/null, so that a reader of the command's output sees its end.
 * 0 or -errno.
 */
int proc_leave_streams(void);

/* Kill it and close the socket. Unless @wait, it is reaped later. Safe on PROC_NONE. */
void proc_end(struct proc *proc, bool wait);

/* Wait for the child @pid, in spite of signals: its wait status, or -1 if there is none */
int reap_wait(pid_t pid);

/* Collect those that have ended since, and leave @pid, which is about to end,
 * for the next time. Waits only if too many are ending.
 */
void reap_later(pid_t pid);

/* Before we end: wait for those that are left, where no init would */
void reap_rest(void);

/* From now on, the children of a child that is killed are reaped by reap_rest() as
 * well, where no init would
 */
void reap_adopt(void);

/* Read /proc/@pid/stat into @text. The parenthesis behind the name, which may hold
 * anything itself: ") S 1 7 0 ...", state, parent, process group, session. NULL if there
 * is no such process.
 */
char *proc_stat(pid_t pid, char *text, size_t size);

/* The program @name where distributions put programs, never by $PATH: @path, or NULL */
const char *proc_find_program(const char *name, char *path, size_t size);

/* The parent of @pid; 0 if it is gone, or has none */
pid_t proc_parent(pid_t pid);

/* The process behind a pidfd; -1 if that is not known, or it was reaped */
pid_t proc_of_pidfd(int pidfd);

/* A wait status as a shell tells it: 128+N for signal N */
int reap_exit_code(int status);

#endif /* BASE_PROC_H */
