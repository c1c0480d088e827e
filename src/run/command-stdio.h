/* SPDX-License-Identifier: Apache-2.0 */
/* run/command-stdio.h - the command's standard descriptors: passed on, or relayed
 *
 * A regular file on descriptor 0, 1 or 2 can be opened again by its /proc
 * name. Where that would give the command more than the descriptor itself, it
 * gets a pipe, and we copy: a file that the policy hides; a file outside the
 * writable paths that it may append to, but not truncate or read. It also gets a pipe
 * for output that is counted (limits.output), unless it goes to a terminal. A
 * file that it may only read is opened again by init, where its mode cannot be changed;
 * at the end the caller's offset is set as if the descriptor had been shared.
 */

#ifndef RUN_COMMAND_STDIO_H
#define RUN_COMMAND_STDIO_H

#include <stdbool.h>
#include <stdint.h>

struct sandbox_request;
struct err;
struct loop;
struct number;
struct plan;

struct command_stdio;

/* Before anything is opened: which of 0, 1 and 2 are closed, and so for the
 * command; meanwhile they are /dev/null
 */
void command_stdio_reserve(void);

/* Look at 0, 1 and 2; make the pipes that are needed. -EINVAL with a message for
 * descriptors that may not go in at all (directories). @output is how much may
 * be printed. @copies_terminals: the sandbox has no name of its own for the caller's
 * terminal, and fchmod() would reach the host's, so the command gets a terminal of its own
 * (command_stdio_terminal()); or pipes where the caller cannot read from its terminal.
 */
int command_stdio_new(const struct plan *plan, const struct number *output,
	       bool copies_terminals, struct command_stdio **ret, struct err *err);
void command_stdio_free(struct command_stdio *stdio);

/* Fill in what init gets; a descriptor that the caller does not have is -1 */
void command_stdio_fill(const struct command_stdio *stdio, struct sandbox_request *request);

/* Set the offset to which the command has read its standard input; -1: unknown */
void command_stdio_read_to(const struct command_stdio *stdio, int64_t place);

/* True if the command is to have a terminal of its own as descriptor @i */
bool command_stdio_has_terminal(const struct command_stdio *stdio, int i);
/* Before the start: @fd is the other end of that, taken over; -1 if there is none */
void command_stdio_terminal(struct command_stdio *stdio, int fd);
/* It gets the size of the caller's; false if there is none */
bool command_stdio_resize(const struct command_stdio *stdio);

/* Start copying, after the sandbox has its ends (which are closed here) */
int command_stdio_start(struct command_stdio *stdio, struct loop *loop, struct err *err);

/* Copy what is left after the command has ended */
void command_stdio_drain(struct command_stdio *stdio);

/* In a session, background jobs of the command may still print: fork a process that goes
 * on copying until they end. The caller exits right after this.
 */
void command_stdio_leave(struct command_stdio *stdio);

/* True if the command was to print more than it may */
bool command_stdio_cut_off(const struct command_stdio *stdio);

#endif /* RUN_COMMAND_STDIO_H */
