/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run/inner-report.c - refusals for a program inside that reads what its commands print
 *
 * Theory of operation: an agent in the sandbox starts commands, and a model reads what they
 * print. The footer comes when the agent ends, which the model does not see. With --annotate
 * each, every refusal is also written to the stderr of the command that the agent started: of
 * the refused process and its ancestors the topmost whose stderr is not that of the run's own
 * command. This happens while the refused call or connection waits for its answer, so the text
 * is there before the command can end.
 *
 * The descriptor is one of a tracee, which can put anything there. The text goes only where
 * the tracee can write itself, with the mode of its own descriptor, and to nothing outside
 * that would take the writer for ours: a pipe, a terminal, a regular file, a pair of sockets
 * without names. The supervisor never waits for the reader.
 */

#include "run/inner-report.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/proc.h"
#include "base/text.h"
#include "report/footer.h"
#include "report/violation.h"

static bool stat_stderr(pid_t pid, struct stat *ret)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, STDERR_FILENO);
	return stat(path, ret) == 0;
}

static bool is_same_output(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The process whose output has a reader of its own, and that output; 0: none */
static pid_t find_reader(pid_t pid, pid_t command, struct stat *ret)
{
	struct stat own, st;
	pid_t found = 0;

	if (command <= 0 || !stat_stderr(command, &own))
		return 0;
	for (int i = 0; i < INNER_PARENTS_MAX && pid > 1 && pid != command; i++) {
		if (stat_stderr(pid, &st) && !is_same_output(&st, &own)) {
			found = pid;
			*ret = st;
		}
		pid = proc_parent(pid);
	}
	return found;
}

/* A service outside may be at the other end of a socket with a name, a descriptor that is
 * only read may be the input of a program outside. Files of /proc are read-only inside.
 */
static bool may_write(int fd, const struct stat *st)
{
	struct sockaddr_un own, peer;
	socklen_t own_size = sizeof(own), peer_size = sizeof(peer);
	const int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || (flags & O_PATH) || (flags & O_ACCMODE) == O_RDONLY)
		return false;
	if (!S_ISSOCK(st->st_mode))
		return S_ISFIFO(st->st_mode) || S_ISREG(st->st_mode) || isatty(fd);
	return getsockname(fd, (struct sockaddr *)&own, &own_size) == 0 &&
	       getpeername(fd, (struct sockaddr *)&peer, &peer_size) == 0 &&
	       own.sun_family == AF_UNIX && own_size == sizeof(sa_family_t) &&
	       peer_size == sizeof(sa_family_t);
}

static void write_to(pid_t pid, const struct stat *st, const struct buf *text)
{
	auto_close int process = pidfd_open(pid, 0);
	auto_close int fd = process >= 0 ? pidfd_getfd(process, STDERR_FILENO, 0) : -1;
	struct stat now;

	/* The number may be another process's by now */
	if (fd >= 0 && fstat(fd, &now) == 0 && is_same_output(st, &now) && may_write(fd, &now))
		(void)fs_write_now(fd, text->p, text->len);
}

static struct inner_reader *reader_of(struct inner_report *inner, pid_t pid,
				      const struct stat *st)
{
	struct inner_reader *r;

	for (unsigned int i = 0; i < INNER_READERS_MAX; i++) {
		r = &inner->readers[i];
		if (r->pid == pid && r->dev == st->st_dev && r->ino == st->st_ino)
			return r;
	}
	r = &inner->readers[inner->next++ % INNER_READERS_MAX];
	*r = (struct inner_reader){ .pid = pid, .dev = st->st_dev, .ino = st->st_ino };
	return r;
}

/* A refusal that collides with another of the same command is not written */
static bool is_new(struct inner_reader *r, uint64_t line)
{
	for (unsigned int i = 0; i < r->n; i++) {
		if (r->lines[i] == line)
			return false;
	}
	if (r->n == INNER_LINES_MAX)
		return false;
	r->lines[r->n++] = line;
	return true;
}

void inner_report(struct inner_report *inner, pid_t command, const struct violation *v)
{
	auto_buf struct buf text = { 0 };
	struct inner_reader *r;
	struct stat st = { 0 };
	const pid_t pid = v->pid > 0 && !footer_is_minor(v) ?
			  find_reader(v->pid, command, &st) : 0;

	if (!pid)
		return;
	buf_adds(&text, "cloche: refused: ");
	footer_text(v, "            ", &text);
	r = reader_of(inner, pid, &st);
	if (!is_new(r, text_hash_bytes(text.p, text.len)))
		return;
	if (r->n == INNER_LINES_MAX)
		buf_addf(&text, "cloche: further refusals of this command: cloche violations list --run %s\n",
			 v->run);
	write_to(pid, &st, &text);
}
