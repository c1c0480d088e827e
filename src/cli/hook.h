/* SPDX-License-Identifier: Apache-2.0 */
/* cli/hook.h - the parts of `cloche hook` */

#ifndef CLI_HOOK_H
#define CLI_HOOK_H

#include <stddef.h>

struct agent;
struct agent_event;
struct buf;
struct err;

/* Answer one call of an agent, read from descriptor @in, with the options of
 * run in @argv (from argv[1] on). 0 with the answer in @out, or a negative
 * errno with words.
 */
int hook_answer(const struct agent *agent, const struct agent_event *event,
		int in, int argc, char **argv, struct buf *out,
		struct err *err);

/* cloche hook install|print|uninstall: argv[0] is that word. An exit status,
 * or a negative errno with words.
 */
int hook_manage(int argc, char **argv, struct err *err);

/* This very program, so that PATH cannot put another in its place */
const char *own_path(char *path, size_t size);

#endif /* CLI_HOOK_H */
