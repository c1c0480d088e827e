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
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "verify/verify.h"

static bool wants_keys(const struct verify_row *row)
{
	return row_is(row, "keyring-search") || row_is(row, "lines-with");
}

static void write_file(const char *path, const char *text)
{
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, text, strlen(text));
}

static void become_root(void)
{
	char map[64];
	const unsigned int uid = getuid(), gid = getgid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWNET |
		    CLONE_NEWIPC) < 0)
		return;
	write_file("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", gid);
	write_file("/proc/self/gid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", uid);
	write_file("/proc/self/uid_map", map);
}

/* As verify_try(), from a process that is set up as the sandbox's caller is */
static void try_armed(const struct target *t, const struct verify_row *row,
		      size_t number, bool as_root, int out, struct found *ret)
{
	int ends[2], status;
	pid_t pid;

	*ret = (struct found){ .error = ATTACK_NOTHING };
	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	pid = fork();
	if (pid == 0) {
		struct found f;

		target_arm(t, wants_keys(row));
		if (out >= 0)
			(void)dup2(out, STDOUT_FILENO);
		if (as_root)
			become_root();
		(void)!chdir(t->w.root);
		(void)!chdir("project");
		world_try(&t->w, number, &f);
		(void)!write(ends[1], &f, sizeof(f));
		_exit(0);
	}
	(void)close(ends[1]);
	if (read(ends[0], ret, sizeof(*ret)) != (ssize_t)sizeof(*ret))
		ret->error = ATTACK_NOTHING;
	(void)close(ends[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
}

/* The survivor holds the pipe; then it is ended */
static bool survives(const struct target *t, const struct verify_row *row,
		     size_t number, struct found *ret)
{
	struct pollfd p = { .events = POLLIN };
	bool lives;
	pid_t pid;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	try_armed(t, row, number, false, ends[1], ret);
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

/* A process that was given the secret as a word, as any other would be */
static bool is_seen(const struct target *t)
{
	char secret[CANARY_HEX + 1], byte;
	int ends[2];
	bool seen;
	pid_t pid;

	passed_secret(t, secret);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	pid = fork();
	if (pid == 0) {
		(void)dup2(ends[1], STDOUT_FILENO);
		execl("/proc/self/exe", "cloche-verify", "--attempt",
		      "victim", secret, NULL);
		_exit(1);
	}
	(void)close(ends[1]);
	seen = pid > 0 && read(ends[0], &byte, 1) == 1 &&
	       seen_in_command_lines(t);
	(void)close(ends[0]);
	if (pid > 0) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
	}
	return seen;
}

static bool control_hits(struct target *t, const struct verify_row *row,
			 size_t number, struct found *f)
{
	if (row->proof == PROOF_GONE)
		return survives(t, row, number, f);
	if (row->proof == PROOF_SEEN) {
		f->error = 0;
		return is_seen(t);
	}
	try_armed(t, row, number, false, -1, f);
	if (proof_hit(t, NULL, number, row, f))
		return true;
	if (row->proof != PROOF_CALL)
		return false;
	try_armed(t, row, number, true, -1, f);
	return proof_hit(t, NULL, number, row, f);
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
	t->nameless = false;	/* A control says its name, or is no control */
	return 0;
}

/* What cannot be planted (an outer sandbox may object) has no control either
 */
static void plant_all(struct verify *v, struct target *t)
{
	const struct verify_row *rows = verify_rows;
	const size_t n = verify_rows_len;

	for (size_t i = 0; i < n; i++) {
		if (v->results[i].asked)
			(void)target_plant(t, &rows[i]);
	}
}

int verify_controls(struct verify *v, struct err *err)
{
	const struct verify_row *rows = verify_rows;
	const size_t n = verify_rows_len;
	struct target t;
	int r = target_make(&t, v->parent, err);

	if (r == 0)
		plant_all(v, &t);
	for (size_t i = 0; i < n && r == 0; i++) {
		if (verify_is_over())
			r = fail(err, -EINTR, "interrupted");
		else if (v->results[i].asked &&
			 rows[i].proof != PROOF_EITHER &&
			 rows[i].proof != PROOF_OWN)
			r = control(v, &t, i, &rows[i], err);
	}
	target_done(&t);
	if (r == 0)
		plant_all(v, &v->target);
	return r;
}
