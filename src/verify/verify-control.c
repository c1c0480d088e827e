/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/verify-control.c - the positive controls
 *
 * The same attempt outside must succeed, on things of its own that are like
 * those inside; otherwise a failure inside would prove nothing. What only a
 * privileged user may do is tried again as root of a new user namespace.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/proc.h"
#include "sandbox/stages.h"
#include "verify/verify.h"

/**
 * struct caller - A process set up as the sandbox's caller is
 * @keys:	It has a keyring of its own
 * @root:	Root of a new user namespace
 * @out:	Its standard output, or -1
 */
struct caller {
	const struct target *t;
	bool keys, root;
	int out;
};

static void become_root(void)
{
	const uid_t uid = getuid();
	const gid_t gid = getgid();
	auto_close int self = open("/proc/self", O_PATH | O_CLOEXEC);

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWNET |
		    CLONE_NEWIPC) == 0)
		(void)idmap_write(self, 0, uid, 0, gid, NULL);
}

static void become_caller(const void *arg)
{
	const struct caller *c = arg;

	target_arm(c->t, c->keys);
	if (c->out >= 0)
		(void)dup2(c->out, STDOUT_FILENO);
	if (c->root)
		become_root();
	(void)!chdir(c->t->w.root);
	(void)!chdir("project");
}

/* A process that outlives the attempt holds the pipe; then it is ended */
static bool survives(struct caller *c, size_t number, struct found *ret)
{
	struct pollfd p = { .events = POLLIN };
	bool lives;
	pid_t pid;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	c->out = ends[1];
	world_try(&c->t->w, number, become_caller, c, ret);
	(void)close(ends[1]);
	p.fd = ends[0];
	lives = poll(&p, 1, 0) == 0 && ret->len == sizeof(pid);
	if (lives) {
		memcpy(&pid, ret->bytes, sizeof(pid));
		(void)kill(pid, SIGKILL);
	}
	(void)close(ends[0]);
	return lives;
}

/* A process that was given the secret as an argument, as any other would be */
static bool is_seen(const struct target *t)
{
	char secret[CANARY_HEX + 1];
	pid_t pid;
	bool seen;

	passed_secret(t, secret);
	pid = victim_start(t, "cloche-verify", secret);
	seen = pid > 0 && seen_in_command_lines(t);
	proc_end(&(struct proc){ pid, -1 }, true);
	return seen;
}

static bool control_hits(struct target *t, const struct verify_row *row,
			 size_t number, struct found *f)
{
	struct caller c = {
		.t = t, .out = -1,
		.keys = row_is(row, "keyring-search") || row_is(row, "lines-with"),
	};
	bool hit;

	*f = (struct found){ 0 };
	if (row->proof == PROOF_GONE)
		return survives(&c, number, f);
	if (row->proof == PROOF_SEEN)
		return is_seen(t);
	do {
		world_try(&t->w, number, become_caller, &c, f);
		hit = proof_hit(t, NULL, number, row, f);
		c.root = !c.root;
	} while (!hit && c.root && row->proof == PROOF_CALL);
	return hit;
}

static int control(struct verify *v, struct target *t, size_t number,
		   const struct verify_row *row, struct err *err)
{
	struct verify_result *result = &v->results[number];
	struct found f;
	const int planted = target_plant(t, row);
	const int r = target_revive(t, err);

	result->control_error = -planted;
	if (r < 0 || planted < 0)
		return r;
	result->control = control_hits(t, row, number, &f);
	result->control_error = f.error;
	t->nameless = false;	/* A control that works sends its row's word */
	return 0;
}

/* What cannot be planted (an outer sandbox may object) has no control either */
static void plant_all(struct verify *v, struct target *t)
{
	for (size_t i = 0; i < verify_rows_len; i++) {
		if (v->results[i].asked)
			(void)target_plant(t, &verify_rows[i]);
	}
}

int verify_controls(struct verify *v, struct err *err)
{
	struct target t;
	int r = target_make(&t, v->parent, err);

	if (r == 0)
		plant_all(v, &t);
	for (size_t i = 0; i < verify_rows_len && r == 0; i++) {
		const struct verify_row *row = &verify_rows[i];

		if (verify_is_over())
			r = fail(err, -EINTR, "interrupted");
		else if (v->results[i].asked && row->proof != PROOF_EITHER &&
			 row->proof != PROOF_OWN)
			r = control(v, &t, i, row, err);
	}
	target_done(&t);
	if (r == 0)
		plant_all(v, &v->target);
	return r;
}
