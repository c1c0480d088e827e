/* SPDX-License-Identifier: Apache-2.0 */
/* cage/child.h - the sandbox's init, from clone() to the command's end */

#ifndef CAGE_CHILD_H
#define CAGE_CHILD_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cage/stages.h"

struct cage_birth;

/**
 * struct birth - What both sides of the fork need
 * @uid, @gid:	Who runs us
 * @cpus:	Where we may run, if @moves: then init begins on another processor
 * @crowded:	There is no third one
 */
struct birth {
	const struct cage_birth *how;
	uid_t uid;
	gid_t gid;
	int pair[2];
	bool moves, crowded;
	cpu_set_t cpus;
};

enum { BIRTH_NAMESPACES = CLONE_NEWUSER | CLONE_NEWPID };

/**
 * struct order - What init waits for
 * @request:	In memory that it has: shared, or copied by the fork
 * @host:	The supervisor's namespaces
 * @open:	Which of the request's standard descriptors come with it
 */
struct order {
	const struct cage_request *request;
	struct host_ids host;
	bool open[3];
};

/* Do what every sandbox needs, wait for a struct order, build the cage, run the
 * command; report over the second socket of the pair. Runs as process 1 of the
 * new pid namespace.
 */
void child_main(const struct birth *birth)
	__attribute__((noreturn));

/* start.c: forget the caller's arguments and environment, which /proc/1 shows */
void child_wipe(void);

/* init.c: run the command and stay until it has ended */
void init_run(const struct cage_request *request, int socket)
	__attribute__((noreturn));

/* Report and end: nothing has run. @status is one of plan/exit.h, @code a
 * negative errno.
 */
void child_fail(int socket, int status, int code, const char *text)
	__attribute__((noreturn));

#endif /* CAGE_CHILD_H */
