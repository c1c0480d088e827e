/* SPDX-License-Identifier: Apache-2.0 */
/* run/host-prompt.h - ask about hosts that no rule mentions
 *
 * --ask puts a question to the terminal, or as a JSON line on --control-fd;
 * the same descriptor also takes new lists of hosts.
 */

#ifndef RUN_HOST_PROMPT_H
#define RUN_HOST_PROMPT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "gate/ask.h"

struct host_prompt;
struct err;
struct host;
struct loop;
struct policy;
struct decision;

enum {
	HOST_PROMPT_LINE_MAX = 1 << 20,	/* Bytes of one line on --control-fd */
	HOST_PROMPT_QUEUE_MAX = 64,		/* Questions that wait for the terminal */
};

/**
 * struct host_prompt_config - Where answers go; callbacks get @arg
 * @answer:	The answer to a question
 * @reload:	Other lists of hosts from now on; @policy is referenced if kept
 */
struct host_prompt_config {
	struct loop *loop;
	const struct decision *decision;
	void (*answer)(void *arg, uint32_t id, bool allow,
		       enum ask_scope scope);
	void (*reload)(void *arg, struct policy *policy);
	void *arg;
};

int host_prompt_new(const struct host_prompt_config *config, struct host_prompt **ret,
	      struct err *err);
void host_prompt_free(struct host_prompt *asker);

/* True if there is a terminal, a descriptor or a library to ask */
bool host_prompt_can_ask(const struct host_prompt *asker);

/* Ask about @host for the process @pid, 0 if unknown; the answer comes by the
 * callback, maybe from within
 */
void host_prompt_ask(struct host_prompt *asker, uint32_t id, const struct host *host,
	       pid_t pid);

#endif /* RUN_HOST_PROMPT_H */
