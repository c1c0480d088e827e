/* SPDX-License-Identifier: Apache-2.0 */
/* run/host-channel.h - the supervisor's socket to the library that started it */

#ifndef RUN_HOST_CHANNEL_H
#define RUN_HOST_CHANNEL_H

#include <stdint.h>
#include <sys/types.h>

#include "ipc/wire.h"

struct err;
struct host;
struct host_channel;
struct run;
struct violation;

/* Over the socket @fd, which is taken; @parent is the process that has the
 * other end. 0, or a negative errno with a message.
 */
int host_channel_new(int fd, pid_t parent, struct host_channel **ret,
		     struct err *err);
void host_channel_free(struct host_channel *channel);

/* Serve it from the loop of @run: signals for the command, answers, updates of the
 * settings. What the library sent before is read then. When the program that
 * uses the library ends, or closes its end, the run ends.
 */
int host_channel_serve(struct host_channel *channel, struct run *run);
void host_channel_leave(struct host_channel *channel);

/* Send one of SAY, REPORT, STARTED, and BARE; @text may be NULL */
void host_channel_tell(struct host_channel *channel, enum wire_verb verb,
		       const char *text);
/* 0, or a negative errno if it is lost */
int host_channel_violation(void *channel, const struct violation *v);
int host_channel_ask(struct host_channel *channel, uint32_t id,
		     const struct host *host, const char *exe);
/* The last message: an exit status, or a negative errno and why */
void host_channel_ended(struct host_channel *channel, int status, const char *why);

#endif /* RUN_HOST_CHANNEL_H */
