/* SPDX-License-Identifier: Apache-2.0 */
/* lib/stdfds.h - the command's standard descriptors: given through, or relayed
 *
 * A regular file on descriptor 0, 1 or 2 can be opened again by its /proc
 * name. Where that would give the command more than the descriptor itself, it
 * gets a pipe, and we copy: a file that the policy hides; a file outside the
 * writable paths that it may append to, but not truncate or read. And so does
 * output that is counted (limits.output), unless it goes to a terminal. What it
 * may only read is opened again by init, where its mode cannot be changed, and
 * the caller's own descriptor is moved on in the end as if it had been shared.
 */

#ifndef LIB_STDFDS_H
#define LIB_STDFDS_H

#include <stdbool.h>
#include <stdint.h>

struct cage_request;
struct err;
struct loop;
struct number;
struct plan;

struct stdfds;

/* Before anything is opened: which of 0, 1 and 2 are closed, and so for the
 * command; meanwhile they are /dev/null
 */
void stdfds_reserve(void);

/* Look at 0, 1 and 2; make the pipes that are needed. -EINVAL with words for
 * descriptors that may not go in at all (directories). @output is how much may
 * be printed.
 */
int stdfds_new(const struct plan *plan, const struct number *output,
	       struct stdfds **ret, struct err *err);
void stdfds_free(struct stdfds *stdio);

/* What init is told of them: those that the caller does not have are -1 */
void stdfds_fill(const struct stdfds *stdio, struct cage_request *request);

/* The command has read its standard input so far; -1 if that is not known */
void stdfds_read_to(const struct stdfds *stdio, int64_t place);

/* Start copying, after the sandbox has its ends (which are closed here) */
int stdfds_start(struct stdfds *stdio, struct loop *loop, struct err *err);

/* Copy what is left after the command has ended */
void stdfds_drain(struct stdfds *stdio);

/* True if the command was to print more than it may */
bool stdfds_cut_off(const struct stdfds *stdio);

#endif /* LIB_STDFDS_H */
