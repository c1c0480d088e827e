/* SPDX-License-Identifier: Apache-2.0 */
/* lib/channel.h - a supervisor's line to the library that started it */

#ifndef LIB_CHANNEL_H
#define LIB_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "net/ask.h"

struct channel;
struct err;
struct host;
struct loop;
struct options;
struct violation;

/**
 * struct channel_handlers - Who carries out what the library wants
 * @signal:	For the command
 * @reload:	The settings in the options are others now: 0, or a negative
 *		errno with words and nothing has changed
 * @gone:	The program that uses the library has ended, or gave up
 */
struct channel_handlers {
	void (*signal)(void *arg, int number);
	int (*reload)(void *arg, struct err *err);
	void (*gone)(void *arg);
	void *arg;
};

typedef void (*channel_answer_fn)(void *arg, uint32_t id, bool allow,
				  enum ask_scope scope);

/* Over the socket @fd, which is taken; @parent is the process that has the
 * other end. An update changes OPTION_SETTINGS in @options. 0, or a negative
 * errno with words.
 */
int channel_new(int fd, pid_t parent, struct options *options,
		struct channel **ret, struct err *err);
void channel_free(struct channel *channel);

/* Serve it from @loop. What the library has said so far waits until then. */
int channel_serve(struct channel *channel, struct loop *loop,
		  const struct channel_handlers *handlers);
void channel_leave(struct channel *channel);

void channel_say(struct channel *channel, const char *line);
void channel_report(struct channel *channel, const char *text);
void channel_started(struct channel *channel);
/* 0, or a negative errno if it is lost */
int channel_violation(void *channel, const struct violation *v);
/* This process becomes the command */
void channel_bare(struct channel *channel);
/* The last words: an exit status, or a negative errno and why */
void channel_ended(struct channel *channel, int status, const char *why);

/* Questions, and where the answers go */
int channel_ask(struct channel *channel, uint32_t id, const struct host *host,
		const char *exe);
void channel_on_answer(struct channel *channel, channel_answer_fn fn,
		       void *arg);

#endif /* LIB_CHANNEL_H */
