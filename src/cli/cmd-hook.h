/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd-hook.h - the answer to one call of an agent */

#ifndef CLI_CMD_HOOK_H
#define CLI_CMD_HOOK_H

struct agent;
struct agent_event;
struct buf;
struct call;
struct err;

/* Answer the call of an agent that standard input holds. 0 with the answer in @out,
 * or a negative errno with a message.
 */
int hook_answer(const struct agent *agent, const struct agent_event *event,
		struct call *call, struct buf *out, struct err *err);

#endif /* CLI_CMD_HOOK_H */
