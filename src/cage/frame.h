/* SPDX-License-Identifier: Apache-2.0 */
/* cage/frame.h - carry out a frame: a sandbox that its caller put together
 *
 * Beside cage_start(), not inside it: there, every stage is unconditional, and
 * that is what makes it safe to read. A frame shares the pieces (namespaces,
 * identities, trees, loopback) and not the order. The messages are those of
 * cage.h: CAGE_FAILED with words; CAGE_READY when only the command's execve()
 * is left; CAGE_EXITED where a process 1 of ours waits for it. After that, or
 * when the socket ends, the process itself is to be waited for.
 */

#ifndef CAGE_FRAME_H
#define CAGE_FRAME_H

#include <sys/types.h>

struct err;
struct frame;

/**
 * struct frame_child - The sandbox's first process
 * @pid:	As seen from here
 * @socket:	Messages from it, struct cage_message
 */
struct frame_child {
	pid_t pid;
	int socket;
};

/* Fork it. It waits for frame_go() before it does anything, if the frame has
 * somebody to tell of it first. The caller joins @frame->userns on the way.
 * 0, or a negative errno with words.
 */
int frame_start(struct frame *frame, struct frame_child *ret,
		struct err *err);
int frame_go(const struct frame *frame, const struct frame_child *child);

/* The rest of the caller's privileges, which it needs no more: joins
 * @frame->userns2 and drops every capability
 */
int frame_renounce(const struct frame *frame, struct err *err);

#endif /* CAGE_FRAME_H */
