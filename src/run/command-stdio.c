/* SPDX-License-Identifier: Apache-2.0 */
/* run/command-stdio.c - the command's standard descriptors: passed on, or relayed */

#include "run/command-stdio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/sys.h"
#include "plan/plan.h"
#include "policy/policy.h"
#include "sandbox/sandbox.h"
#include "view/view.h"

enum {
	CHUNK = 64 << 10,
	FROM_TERMINAL = 3,	/* The relay of what the command prints on its own one */
	RELAYS,
};

/**
 * struct relay - One descriptor that is copied
 * @pipe:	Our end, non-blocking; -1 when done
 * @inside:	The command's end; -1 once the sandbox has it
 * @from, @to:	Where bytes come from and go to
 * @full:	@source is @to: its reader is slow
 * @typed:	@from is a terminal, which is waited for
 * @pending:	The buffer: a stack may be small. For the command also bytes that its
 *		full pipe did not take.
 */
struct relay {
	int pipe, inside, from, to;
	bool full, typed;
	struct command_stdio *all;
	struct loop *loop;
	struct loop_source source;
	char *pending;
	size_t at, len;
};

/**
 * struct command_stdio - The three
 * @path:	The file that is opened again as standard input, or NULL
 * @copies_terminals: The caller's terminal does not go in
 * @terminal:	The command's own is to be that descriptor
 * @null:	Standard input instead of a terminal that is not ours to read; or -1
 * @limited:	@left is how many bytes may still be printed
 * @cut_off:	More was to be printed than that
 */
struct command_stdio {
	int fds[3];
	struct relay relays[RELAYS];
	char *path;
	bool terminal[3];
	bool copies_terminals, limited, cut_off;
	int null;
	uint64_t left;
};

static bool was_closed[3];

/* As long as they are open, nothing of ours gets these numbers */
void command_stdio_reserve(void)
{
	for (int i = 0; i < 3; i++) {
		was_closed[i] = was_closed[i] || fcntl(i, F_GETFD) < 0;
		if (fcntl(i, F_GETFD) < 0)
			(void)!open("/dev/null", O_RDWR | O_CLOEXEC);
	}
}

/* How a descriptor goes in: as it is, opened again by init, or as a pipe */
enum way { WAY_AS_IT_IS, WAY_AGAIN, WAY_COPIED };

/* Can init open the file @st by @path, too? It has its own /dev by then */
static bool is_there(const char *path, const struct stat *st)
{
	auto_close int fd = -1;
	struct stat named;

	if (path_is_within("/dev", path) || path_is_within("/proc", path) ||
	    path_is_within("/sys", path))
		return false;
	fd = sys_open_nofollow(AT_FDCWD, path, O_RDONLY | O_NOCTTY |
			       O_NONBLOCK, 0);
	return fd >= 0 && fstat(fd, &named) == 0 &&
	       named.st_dev == st->st_dev && named.st_ino == st->st_ino;
}

/* Standard input is read, also where it could be written */
static bool is_input(int fd)
{
	const int access = fcntl(fd, F_GETFL) & O_ACCMODE;

	return access == O_RDONLY || (fd == STDIN_FILENO && access == O_RDWR);
}

static enum way way_of(const struct plan *plan, int fd, const char *path,
		       const struct stat *st)
{
	if (!view_verdict(plan->view, VIEW_READ, path).allowed)
		return WAY_COPIED;
	if (view_verdict(plan->view, VIEW_WRITE, path).allowed &&
	    !view_is_private(plan->view, path) && !plan->ephemeral)
		return WAY_AS_IT_IS;
	/* A file for output must be open to "> /dev/stderr" all the same */
	if (!is_input(fd))
		return WAY_COPIED;
	/* Opening it again gives up writing, a pipe gives up seeking as well. A
	 * file without a name (memfd, O_TMPFILE) has nothing else to lose.
	 */
	if (plan->tier != TIER_FULL && st->st_nlink &&
	    (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
		return WAY_COPIED;
	/* Landlock refuses to open it for writing; without it nothing does */
	if (plan->tier != TIER_FULL || !st->st_nlink)
		return plan->machine.landlock_abi ? WAY_AS_IT_IS : WAY_COPIED;
	return fd == STDIN_FILENO && is_there(path, st) ? WAY_AGAIN
							 : WAY_COPIED;
}

static bool needs_relay(struct command_stdio *s, const struct plan *plan, int fd)
{
	auto_free char *path = NULL;
	enum way way;
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	path = fs_link("/proc/self/fd/%d", fd);
	if (!path || *path != '/')
		return true;
	way = way_of(plan, fd, path, &st);
	if (way == WAY_AGAIN)
		s->path = take_ptr(path);
	return way == WAY_COPIED;
}

/* True if the socket @fd reaches only its peer, or peers that the
 * policy lets a socket of the command's own reach. It is of the host's network,
 * whatever the sandbox has: all but connected Unix streams could be sent, or
 * connected, elsewhere.
 */
static bool is_tied(const struct plan *plan, int fd)
{
	const int domain = sys_socket_option(fd, SO_DOMAIN);
	const int type = sys_socket_option(fd, SO_TYPE);
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);

	if (domain == AF_INET || domain == AF_INET6)
		return plan->net == NET_HOST &&
		       (type == SOCK_STREAM || type == SOCK_DGRAM);
	return domain == AF_UNIX &&
	       (plan->unix_sockets ||
		((type == SOCK_STREAM || type == SOCK_SEQPACKET) &&
		 getpeername(fd, (struct sockaddr *)&peer, &len) == 0));
}

static int make_relay(struct relay *relay, int fd, struct err *err)
{
	const bool in = is_input(fd);
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail_errno(err, "cannot make a pipe");
	relay->pipe = in ? ends[1] : ends[0];
	relay->inside = in ? ends[0] : ends[1];
	relay->from = in ? fd : relay->pipe;
	relay->to = in ? relay->pipe : fd;
	if (fcntl(relay->pipe, F_SETFL, O_NONBLOCK) < 0)
		return fail_errno(err, "cannot set up a pipe");
	relay->pending = mem_alloc(CHUNK);
	return 0;
}

static bool is_same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 &&
	       x.st_dev == y.st_dev && x.st_ino == y.st_ino &&
	       is_input(a) == is_input(b) &&
	       (fcntl(a, F_GETFL) & O_ACCMODE) ==
	       (fcntl(b, F_GETFL) & O_ACCMODE);
}

/* Output to a terminal is not counted: programs behave differently on a pipe */
static bool is_counted(const struct command_stdio *s, int fd)
{
	return s->limited && fd != STDIN_FILENO && !isatty(fd);
}

/* A read from the terminal would stop us */
static bool is_in_background(void)
{
	const pid_t group = isatty(STDIN_FILENO) ? tcgetpgrp(STDIN_FILENO) : -1;

	return group > 0 && group != getpgrp();
}

static int look_at(struct command_stdio *s, const struct plan *plan, int fd,
		   struct err *err)
{
	struct stat st;

	s->fds[fd] = fd;
	if (was_closed[fd] || fstat(fd, &st) < 0) {
		s->fds[fd] = -1;	/* Closed for us, closed for the command */
		return 0;
	}
	/* From a directory of the host, ".." leads past every mask */
	if (S_ISDIR(st.st_mode) || (fcntl(fd, F_GETFL) & O_PATH))
		return fail(err, -EINVAL, "descriptor %d is a directory; it cannot go into the sandbox",
			    fd);
	if (S_ISSOCK(st.st_mode) && !is_tied(plan, fd))
		return fail(err, -EINVAL, "descriptor %d is a socket with which the command could reach others; put a pipe in between (| cat)",
			    fd);
	if (s->copies_terminals && fd == STDIN_FILENO && is_in_background()) {
		s->fds[fd] = s->null = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return 0;
	}
	if (s->copies_terminals && isatty(fd) && isatty(STDIN_FILENO) &&
	    !was_closed[STDIN_FILENO] && !is_in_background()) {
		s->terminal[fd] = true;
		s->fds[fd] = -1;
		return 0;
	}
	if (!needs_relay(s, plan, fd) && !is_counted(s, fd) &&
	    !(s->copies_terminals && isatty(fd)))
		return 0;
	/* One file, one pipe: or 2>&1 would lose its order */
	for (int i = 0; i < fd; i++) {
		if (s->relays[i].inside >= 0 && is_same_file(i, fd)) {
			s->fds[fd] = s->relays[i].inside;
			return 0;
		}
	}
	return make_relay(&s->relays[fd], fd, err);
}

int command_stdio_new(const struct plan *plan, const struct number *output,
	       bool copies_terminals, struct command_stdio **ret, struct err *err)
{
	struct command_stdio *s = mem_zalloc(sizeof(*s));
	int r = 0;

	s->copies_terminals = copies_terminals;
	s->null = -1;
	s->limited = output->set;
	s->left = output->value;
	for (int i = 0; i < RELAYS; i++) {
		s->relays[i].pipe = s->relays[i].inside = -1;
		s->relays[i].all = s;
	}
	for (int i = 0; r == 0 && i < 3; i++)
		r = look_at(s, plan, i, err);
	if (r < 0) {
		command_stdio_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void command_stdio_free(struct command_stdio *s)
{
	for (int i = 0; s && i < RELAYS; i++) {
		close_fd(&s->relays[i].pipe);
		close_fd(&s->relays[i].inside);
		free(s->relays[i].pending);
	}
	if (s) {
		close_fd(&s->null);
		free(s->path);
	}
	free(s);
}

void command_stdio_fill(const struct command_stdio *s, struct sandbox_request *request)
{
	for (int i = 0; i < 3; i++)
		request->stdio[i] = s->relays[i].inside >= 0 ?
				    s->relays[i].inside : s->fds[i];
	request->stdin_path = s->path;
}

void command_stdio_read_to(const struct command_stdio *s, int64_t place)
{
	if (s->path && place >= 0)
		(void)lseek(STDIN_FILENO, place, SEEK_SET);
}

bool command_stdio_has_terminal(const struct command_stdio *s, int i)
{
	return s->terminal[i];
}

/* What the command prints there goes to the caller's, whichever descriptor that is */
void command_stdio_terminal(struct command_stdio *s, int fd)
{
	struct relay *in = &s->relays[STDIN_FILENO], *out = &s->relays[FROM_TERMINAL];

	if (fd < 0)
		return;
	in->pipe = in->to = fd;
	in->from = STDIN_FILENO;
	in->pending = mem_alloc(CHUNK);
	out->pipe = out->from = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	out->to = s->terminal[STDOUT_FILENO] ? STDOUT_FILENO :
		  s->terminal[STDERR_FILENO] ? STDERR_FILENO : STDIN_FILENO;
	out->pending = mem_alloc(CHUNK);
}

bool command_stdio_resize(const struct command_stdio *s)
{
	const struct relay *in = &s->relays[STDIN_FILENO];
	struct winsize size;

	return s->terminal[STDIN_FILENO] && in->pipe >= 0 &&
	       ioctl(STDIN_FILENO, TIOCGWINSZ, &size) == 0 &&
	       ioctl(in->pipe, TIOCSWINSZ, &size) == 0;
}

static void finish(struct relay *r)
{
	if (r->pipe >= 0)
		loop_remove(r->loop, &r->source);
	close_fd(&r->pipe);
}

/* Nothing more goes out: the command gets EPIPE */
static void cut_off(struct command_stdio *s)
{
	s->cut_off = true;
	for (int i = 1; i < RELAYS; i++)
		finish(&s->relays[i]);
}

static bool is_writable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, 0) == 1;
}

/* From the command to the reader: what there is. False when nothing more is
 * ready. No more is written to a pipe than it takes without blocking.
 */
static bool copy_out(struct relay *r)
{
	struct command_stdio *all = r->all;
	const bool limited = all->limited && r != &all->relays[FROM_TERMINAL];
	ssize_t n = read(r->from, r->pending, all->limited ? PIPE_BUF : CHUNK);
	const bool over = limited && n > 0 && (uint64_t)n > all->left;

	if (n < 0 && errno == EIO)	/* Of a terminal that is closed inside */
		finish(r);
	if (n < 0)
		return errno == EINTR;
	if (over)
		n = (ssize_t)all->left;
	if (limited)
		all->left -= (uint64_t)n;
	if ((!n && !over) || fs_tell(r->to, r->pending, (size_t)n) < 0) {
		finish(r);
		return false;
	}
	if (over)
		cut_off(all);
	return !over;
}

/* To the command: a file is always ready, a terminal was waited for */
static void copy_in(struct relay *r)
{
	ssize_t n;

	if (r->at == r->len) {
		n = read(r->from, r->pending, CHUNK);
		if (n <= 0) {
			finish(r);
			return;
		}
		r->at = 0;
		r->len = (size_t)n;
	}
	n = fs_write_quietly(r->to, r->pending + r->at, r->len - r->at);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		finish(r);
	else if (n > 0)
		r->at += (size_t)n;
}

static int wait_for(struct relay *r, int fd, uint32_t events)
{
	loop_remove(r->loop, &r->source);
	r->source.fd = fd;
	return loop_add(r->loop, &r->source, events);
}

/* The supervisor must not block on a slow reader: it waits in the loop, and the command
 * waits for its pipe
 */
static int pass_on(struct relay *r)
{
	const bool full = r->all->limited && !is_writable(r->to);

	if (full != r->full) {
		r->full = full;
		return wait_for(r, full ? r->to : r->from,
				full ? EPOLLOUT : EPOLLIN);
	}
	if (!full)
		(void)copy_out(r);
	return 0;
}

static int on_ready(void *arg)
{
	struct relay *r = arg;

	if (r->from == r->pipe)
		return pass_on(r);
	if (r->source.events & EPOLLERR)
		finish(r);	/* The reader is gone */
	else
		copy_in(r);
	if (!r->typed || r->pipe < 0)
		return 0;
	return r->at == r->len ? wait_for(r, r->from, EPOLLIN) :
				 wait_for(r, r->to, EPOLLOUT);
}

int command_stdio_start(struct command_stdio *s, struct loop *loop, struct err *err)
{
	for (int i = 0; i < RELAYS; i++) {
		struct relay *r = &s->relays[i];
		int e;

		close_fd(&r->inside);
		if (r->pipe < 0)
			continue;
		r->loop = loop;
		r->typed = r->to == r->pipe && isatty(r->from);
		r->source = (struct loop_source){ r->typed ? r->from : r->pipe,
						  on_ready, r };
		e = loop_add(loop, &r->source, r->to == r->pipe && !r->typed ?
			     EPOLLOUT : EPOLLIN);
		if (e < 0)
			return fail(err, e, "cannot relay descriptor %d", i);
	}
	return 0;
}

void command_stdio_drain(struct command_stdio *s)
{
	for (int i = 0; i < RELAYS; i++) {
		struct relay *r = &s->relays[i];

		while (r->pipe >= 0 && r->from == r->pipe && copy_out(r))
			;
	}
}

/* True if output may still come */
static bool is_copying(const struct command_stdio *s)
{
	bool more = false;

	for (int i = 0; i < RELAYS; i++)
		more |= s->relays[i].pipe >= 0 && s->relays[i].from == s->relays[i].pipe;
	return more;
}

/* With copies of these descriptors only: a reader of any other must see its end */
static void keep_copying(struct command_stdio *s)
{
	struct pollfd from[RELAYS];
	int keep[2 * RELAYS];
	size_t n = 0;
	sigset_t none;

	for (int i = 0; i < RELAYS; i++) {
		struct relay *r = &s->relays[i];
		const bool copied = r->pipe >= 0 && r->from == r->pipe;

		from[i] = (struct pollfd){ .fd = copied ? r->pipe : -1, .events = POLLIN };
		if (!copied)
			continue;
		keep[n++] = r->pipe;
		keep[n++] = r->to = fcntl(r->to, F_DUPFD_CLOEXEC, 3);
	}
	(void)setsid();
	if (proc_leave_streams() < 0 || proc_close_others(keep, n) < 0)
		return;
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)prctl(PR_SET_NAME, "cloche-output");
	while (is_copying(s)) {
		(void)poll(from, RELAYS, -1);
		for (int i = 0; i < RELAYS; i++) {
			while (from[i].fd >= 0 && copy_out(&s->relays[i]))
				;
			if (s->relays[i].pipe < 0)
				from[i].fd = -1;
		}
	}
}

void command_stdio_leave(struct command_stdio *s)
{
	if (is_copying(s) && fork() == 0) {
		keep_copying(s);
		_exit(0);
	}
}

bool command_stdio_cut_off(const struct command_stdio *s)
{
	return s->cut_off;
}
