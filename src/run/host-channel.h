/* SPDX-License-Identifier: Apache-2.0 */
/* run/host-channel.h - a supervisor's line to the library that started it */

#ifndef RUN_HOST_CHANNEL_H
#define RUN_HOST_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "gate/ask.h"

struct host_channel;
struct err;
struct host;
struct loop;
struct options;
struct violation;

/**
 * struct host_channel_handlers - What the library asks for
 * @signal:	For the command
 * @reload:	The settings in the options are others now: 0, or a negative
 *		errno with a message and nothing has changed
 * @gone:	The program that uses the library has ended, or gave up
 */
struct host_channel_handlers {
	void (*signal)(void *arg, int number);
	int (*reload)(void *arg, struct err *err);
	void (*gone)(void *arg);
	void *arg;
};

typedef void (*channel_answer_fn)(void *arg, uint32_t id, bool allow,
				  enum ask_scope scope);

/* Over the socket @fd, which is taken; @parent is the process that has the
 * other end. An update changes OPTION_SETTINGS in @options. 0, or a negative
 * errno with a message.
 */
int host_channel_new(int fd, pid_t parent, struct options *options,
		struct host_channel **ret, struct err *err);
void host_channel_free(struct host_channel *channel);

/* Serve it from @loop. What the library has said so far waits until then. */
int host_channel_serve(struct host_channel *channel, struct loop *loop,
		  const struct host_channel_handlers *handlers);
void host_channel_leave(struct host_channel *channel);

void host_channel_say(struct host_channel *channel, const char *line);
void host_channel_report(struct host_channel *channel, const char *text);
void host_channel_started(struct host_channel *channel);
/* 0, or a negative errno if it is lost */
int host_channel_violation(void *channel, const struct violation *v);
/* This process becomes the command */
void host_channel_bare(struct host_channel *channel);
/* The last message: an exit status, or a negative errno and why */
void host_channel_ended(struct host_channel *channel, int status, const char *why);

/* Questions, and where the answers go */
int host_channel_ask(struct host_channel *channel, uint32_t id, const struct host *host,
		const char *exe);
void host_channel_on_answer(struct host_channel *channel, channel_answer_fn fn,
		       void *arg);

#endif /* RUN_HOST_CHANNEL_H */
