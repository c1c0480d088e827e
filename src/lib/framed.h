/* SPDX-License-Identifier: Apache-2.0 */
/* lib/framed.h - run a frame to its end, and tell who wants to know */

#ifndef LIB_FRAMED_H
#define LIB_FRAMED_H

struct err;
struct frame;

enum { EXIT_FRAME_FAILED = 1 };	/* As bubblewrap has it */

/* Run it; the caller's descriptors above 2 are closed on the way. The command's
 * exit status (128+N for signal N), or a negative errno with words: then
 * nothing ran, and the status to give is EXIT_FRAME_FAILED.
 */
int framed_run(struct frame *frame, struct err *err);

#endif /* LIB_FRAMED_H */
