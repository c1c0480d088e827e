/* SPDX-License-Identifier: Apache-2.0 */
/* lib/asker.h - hosts that no rule mentions: who is asked, and how
 *
 * --ask puts a question to the terminal, or as a JSON line on --control-fd;
 * the same descriptor also takes new lists of hosts.
 */

#ifndef LIB_ASKER_H
#define LIB_ASKER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "net/ask.h"

struct asker;
struct err;
struct host;
struct loop;
struct options;
struct policy;
struct session;

enum {
	ASKER_LINE_MAX = 1 << 20,	/* Bytes of one line on --control-fd */
	ASKER_QUEUE_MAX = 64,		/* Questions that wait for the terminal */
};

/**
 * struct asker_config - Who wants to know; callbacks get @arg
 * @answer:	The answer to a question
 * @reload:	Other lists of hosts from now on; @policy is referenced if kept
 */
struct asker_config {
	struct loop *loop;
	const struct session *session;
	const struct options *options;
	void (*answer)(void *arg, uint32_t id, bool allow,
		       enum ask_scope scope);
	void (*reload)(void *arg, struct policy *policy);
	void *arg;
};

int asker_new(const struct asker_config *config, struct asker **ret,
	      struct err *err);
void asker_free(struct asker *asker);

/* True if there is somebody to ask */
bool asker_can_ask(const struct asker *asker);

/* Ask about @host for the process @pid, 0 if unknown; the answer comes by the
 * callback, maybe from within
 */
void asker_ask(struct asker *asker, uint32_t id, const struct host *host,
	       pid_t pid);

#endif /* LIB_ASKER_H */
