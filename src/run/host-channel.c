/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run/host-channel.c - the supervisor's socket to the library that started it
 *
 * End of file on it ends the run: the library closes its end when the
 * run is freed. A copy of the descriptor may live on in a child that the
 * program forked, so the program's own death is watched for as well.
 */

#include "run/host-channel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/sys.h"
#include "base/text.h"
#include "policy/host.h"
#include "report/violation.h"
#include "run/options.h"
#include "run/run.h"

/**
 * struct host_channel - The supervisor's end
 * @parent:	The pidfd of the program that uses the library
 * @run:	The run that is served, or NULL
 */
struct host_channel {
	struct wire wire;
	struct loop_source parent;
	struct run *run;
};

#define SEND(channel, verb, ...)					\
	wire_send(&(channel)->wire, verb,				\
		  (const char *const[]){ __VA_ARGS__, NULL })

static void give_up(void *arg)
{
	struct host_channel *c = arg;

	if (c->run)
		run_abort(c->run);
}

static int on_parent(void *arg)
{
	struct host_channel *c = arg;

	loop_remove(c->run->loop, &c->parent);
	close_fd(&c->parent.fd);
	give_up(c);
	return 0;
}

static void take_answer(const struct host_channel *c, const char *const *words)
{
	uint64_t id;

	/* Only a clear yes is one */
	if (text_to_u64(words[0], UINT32_MAX, &id) == 0)
		run_network_answer(c->run, (uint32_t)id, !strcmp(words[1], "1"),
				   !strcmp(words[2], "1") ? ASK_SESSION :
							    ASK_ONCE);
}

static void take_update(struct host_channel *c, const char *const *words)
{
	struct options *options = c->run->options;
	struct err err = { 0 };
	auto_free char *old = NULL;
	char code[16];
	int r;

	if (words[1][strspn(words[1], " \t\r\n")] != '{') {
		r = fail(&err, -EINVAL, "the policy is not a JSON object");
	} else {
		old = options_swap(options, OPTION_SETTINGS, words[1]);
		r = monitor_reload(c->run->monitor, &err);
		if (r < 0)
			free(options_swap(options, OPTION_SETTINGS, old));
	}
	snprintf(code, sizeof(code), "%d", r < 0 ? -r : 0);
	(void)SEND(c, WIRE_UPDATED, words[0], code, err.msg);
}

static void take(void *arg, enum wire_verb verb, const char *const *words)
{
	struct host_channel *c = arg;
	uint64_t number;

	switch (verb) {
	case WIRE_ANSWER:
		take_answer(c, words);
		break;
	case WIRE_UPDATE:
		take_update(c, words);
		break;
	case WIRE_SIGNAL:
		if (text_to_u64(words[0], 64, &number) == 0 && number)
			job_signal(&c->run->job, (int)number);
		break;
	default:
		break;
	}
}

int host_channel_new(int fd, pid_t parent, struct host_channel **ret,
		     struct err *err)
{
	auto_close int socket = fd;
	auto_close int pidfd = pidfd_open(parent, 0);
	struct host_channel *c;

	/* The parent may be gone already, and its pid reused */
	if (pidfd < 0 || getppid() != parent)
		return fail(err, -EPIPE, "the program that started cloche has ended");
	c = mem_zalloc(sizeof(*c));
	wire_init(&c->wire, take_fd(&socket));
	c->wire.take = take;
	c->wire.gone = give_up;
	c->wire.arg = c;
	c->parent = (struct loop_source){ take_fd(&pidfd), on_parent, c };
	(void)SEND(c, WIRE_HELLO, WIRE_PROTOCOL, CLOCHE_VERSION);
	*ret = c;
	return 0;
}

void host_channel_free(struct host_channel *c)
{
	if (!c)
		return;
	host_channel_leave(c);
	wire_flush(&c->wire, c->parent.fd);
	wire_done(&c->wire);
	close_fd(&c->parent.fd);
	free(c);
}

int host_channel_serve(struct host_channel *c, struct run *run)
{
	const int r = wire_attach(&c->wire, run->loop);

	c->run = run;
	return r < 0 ? r : loop_add(run->loop, &c->parent, EPOLLIN);
}

void host_channel_leave(struct host_channel *c)
{
	wire_detach(&c->wire);
	if (c->run && c->parent.fd >= 0)
		loop_remove(c->run->loop, &c->parent);
	c->run = NULL;
}

void host_channel_tell(struct host_channel *c, enum wire_verb verb,
		       const char *text)
{
	(void)SEND(c, verb, text);
	if (verb == WIRE_BARE)	/* This process becomes the command */
		wire_flush(&c->wire, c->parent.fd);
}

int host_channel_violation(void *arg, const struct violation *v)
{
	struct host_channel *c = arg;
	auto_buf struct buf json = { 0 };
	char count[24];

	violation_to_json(v, &json);
	snprintf(count, sizeof(count), "%llu", (unsigned long long)v->count);
	return SEND(c, WIRE_VIOLATION, violation_kind_name(v->kind), v->op,
		    v->target, v->exe, v->reason,
		    v->rule_file ? v->rule_file : v->rule_key,
		    v->suggest_edit ? v->suggest_edit : v->suggest_command,
		    count, buf_str(&json));
}

void host_channel_ended(struct host_channel *c, int status, const char *why)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", status < 0 ? -status : status);
	if (status < 0)
		(void)SEND(c, WIRE_FAILED, number, why);
	else
		(void)SEND(c, WIRE_ENDED, number);
}

int host_channel_ask(struct host_channel *c, uint32_t id, const struct host *host,
		     const char *exe)
{
	char number[16], port[8];

	snprintf(number, sizeof(number), "%u", id);
	snprintf(port, sizeof(port), "%u", host->port);
	return SEND(c, WIRE_ASK, number, host->name, port, exe);
}
