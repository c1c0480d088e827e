/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret/run.c - run a helper program on the loop: bytes in, bytes out
 *
 * Theory of operation: four sources in the loop: its standard input (a socket,
 * because a pipe would raise SIGPIPE in whoever embeds us), its output, its
 * words (standard error) and a timer; the fifth is its pidfd, and the end of
 * the process is the end of the run: a grandchild that keeps the pipe open
 * holds nobody up.
 */

#include "secret/run.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "base/text.h"
#include "secret/timer.h"

static const char *const env_names[] = {
#define RUN_ENV(name) #name,
#include "secret/run-env.def"
#undef RUN_ENV
};

enum source { IN, OUT, WORDS, TIMER, CHILD, SOURCES };

/**
 * struct run - A helper under way
 * @source:	By enum source; fd -1 where there is none (any more)
 * @pid:	Its process, and its process group
 * @input:	What it still has to read is from @sent on
 * @words:	Its standard error so far, at most RUN_WORDS_MAX - 1 bytes
 * @slow:	To be called when @source[TIMER] fires, @rest_ms before the end
 */
struct run {
	struct run_list *list;
	struct run *next;
	struct loop *loop;
	struct loop_source source[SOURCES];
	pid_t pid;
	const struct bytes *input;
	size_t sent, output_max;
	char words[RUN_WORDS_MAX];
	size_t words_len;
	const char *program;
	unsigned int rest_ms;
	void (*slow)(void *arg);
	struct run_result result;
	run_fn done;
	void *arg;
};

static void drop(struct run *run, enum source which)
{
	struct loop_source *s = &run->source[which];

	if (s->fd < 0)
		return;
	loop_remove(run->loop, s);
	close_fd(&s->fd);
}

/* The first line of what it said, without what could move a cursor */
static void copy_words(struct run *run)
{
	const char *p = run->words;
	size_t used = 0;

	run->words[strcspn(run->words, "\r\n")] = '\0';
	while (*p && used + 5 < sizeof(run->result.words))
		used += text_escape_char(&p, run->result.words + used);
	run->result.words[used] = '\0';
	explicit_bzero(run->words, sizeof(run->words));
}

static void unlist(struct run *run)
{
	struct run **at = &run->list->first;

	while (*at != run)
		at = &(*at)->next;
	*at = run->next;
}

static void finish(struct run *run, int r)
{
	unlist(run);
	for (int i = 0; i < SOURCES; i++)
		drop(run, (enum source)i);
	copy_words(run);
	run->result.r = r;
	run->done(run->arg, &run->result);
	bytes_done(&run->result.out);
	free(run);
}

/* Kill the whole group and collect it. Its exit status, or -1. */
static int end_child(struct run *run, bool kill_it)
{
	siginfo_t info = { 0 };

	if (run->source[CHILD].fd < 0)
		return -1;
	if (kill_it)
		(void)sys_pidfd_send_signal(run->source[CHILD].fd, SIGKILL);
	(void)kill(-run->pid, SIGKILL);
	if (waitid(P_PIDFD, (id_t)run->source[CHILD].fd, &info,
		   WEXITED | __WALL) < 0)
		return -1;
	return info.si_code == CLD_EXITED ? info.si_status : -1;
}

static int stop(struct run *run, int r, const char *what)
{
	(void)end_child(run, true);
	fail(&run->result.err, r, "'%s' %s", run->program, what);
	finish(run, r);
	return 0;
}

void run_cancel_all(struct run_list *list)
{
	while (list->first)
		(void)stop(list->first, -ECANCELED, "was stopped");
}

static int on_timer(void *arg, uint32_t events)
{
	struct run *run = arg;
	void (*slow)(void *arg) = run->slow;

	(void)events;
	run->slow = NULL;
	if (slow && timer_set(run->source[TIMER].fd, run->rest_ms) == 0) {
		slow(run->arg);
		return 0;
	}
	return stop(run, -ETIMEDOUT, "did not answer in time and was killed");
}

static int on_in(void *arg, uint32_t events)
{
	struct run *run = arg;
	const struct bytes *in = run->input;
	const ssize_t n = send(run->source[IN].fd, bytes_str(in) + run->sent,
			       in->len - run->sent, MSG_NOSIGNAL);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	/* A helper that does not read may still answer: not an error here */
	if (n >= 0)
		run->sent += (size_t)n;
	if (n < 0 || run->sent == in->len)
		drop(run, IN);
	return 0;
}

/* What is there now. 1 if there may be more, 0 at the end, or too much. */
static int read_out(struct run *run)
{
	struct bytes *out = &run->result.out;
	ssize_t n;

	bytes_reserve(out, out->len + 4096);
	n = read(run->source[OUT].fd, out->p + out->len, 4096);
	if (n < 0)
		return errno == EINTR ? 1 : -errno;
	out->len += (size_t)n;
	out->p[out->len] = '\0';
	if (out->len > run->output_max)
		return -EMSGSIZE;
	return n > 0;
}

static int on_out(void *arg, uint32_t events)
{
	struct run *run = arg;
	const int r = read_out(run);

	(void)events;
	if (r == -EMSGSIZE)
		return stop(run, r, "printed too much and was killed");
	if (r == 0 || (r < 0 && r != -EAGAIN))
		drop(run, OUT);
	return 0;
}

/* As read_out(); beyond the room it is read and dropped, so that the helper
 * never blocks on a full pipe
 */
static int read_words(struct run *run)
{
	char chunk[512];
	const ssize_t n = read(run->source[WORDS].fd, chunk, sizeof(chunk));
	size_t room = sizeof(run->words) - 1 - run->words_len;

	if (n < 0)
		return errno == EINTR ? 1 : -errno;
	room = room < (size_t)n ? room : (size_t)n;
	memcpy(run->words + run->words_len, chunk, room);
	run->words_len += room;
	explicit_bzero(chunk, sizeof(chunk));
	return n > 0;
}

static int on_words(void *arg, uint32_t events)
{
	struct run *run = arg;
	const int r = read_words(run);

	(void)events;
	if (r == 0 || (r < 0 && r != -EAGAIN))
		drop(run, WORDS);
	return 0;
}

static int on_child(void *arg, uint32_t events)
{
	struct run *run = arg;
	const int code = end_child(run, false);
	int r = 1;

	(void)events;
	while (run->source[WORDS].fd >= 0 && r > 0)
		r = read_words(run);
	for (r = 1; run->source[OUT].fd >= 0 && r > 0;)
		r = read_out(run);
	if (r == -EMSGSIZE) {
		fail(&run->result.err, r, "'%s' printed too much",
		     run->program);
	} else if (code < 0) {
		r = fail(&run->result.err, -EPIPE, "'%s' crashed",
			 run->program);
	} else {
		run->result.code = code;
		r = 0;
	}
	finish(run, r);
	return 0;
}

/**
 * struct child_fds - The helper's ends
 */
struct child_fds {
	int in, out, words;
};

/* The child: only system calls between clone3() and execve() */
static _Noreturn void exec_helper(const struct child_fds *fds,
				  const char *const *argv, char **env)
{
	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Ours may be ignored, and ignored is inherited */
	(void)signal(SIGPIPE, SIG_DFL);
	(void)signal(SIGXFSZ, SIG_DFL);
	if (dup2(fds->in, 0) == 0 && dup2(fds->out, 1) == 1 &&
	    dup2(fds->words, 2) == 2 && sys_close_range(3, ~0U, 0) == 0)
		(void)execve(argv[0], (char *const *)(uintptr_t)argv, env);
	_exit(127);
}

static void make_env(char *env[static ARRAY_SIZE(env_names) + 1])
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(env_names); i++) {
		const char *value = getenv(env_names[i]);

		if (value)
			env[n++] = mem_printf("%s=%s", env_names[i], value);
	}
	env[n] = NULL;
}

static int start_child(struct run *run, const struct child_fds *fds,
		       const char *const *argv)
{
	char *env[ARRAY_SIZE(env_names) + 1];
	int pidfd = -1;
	const struct clone_args args = {
		.flags = CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)&pidfd,
		/* No exit signal: an embedder's SIGCHLD handler is not asked */
	};
	int saved;

	make_env(env);
	run->pid = sys_clone3(&args, sizeof(args));
	if (!run->pid)
		exec_helper(fds, argv, env);
	saved = errno;
	for (size_t i = 0; env[i]; i++)
		free(env[i]);
	if (run->pid < 0)
		return -saved;
	/* Also here: a kill of the group must not come before the group */
	(void)setpgid(run->pid, run->pid);
	run->source[CHILD].fd = fs_above_std(pidfd);
	return 0;
}

/* Both ends above the standard three: dup2() in the child must not overwrite one
 * that it still needs
 */
static int take_ends(const int ends[2], int *ours, int *theirs)
{
	*ours = fs_above_std(ends[0]);
	*theirs = fs_above_std(ends[1]);
	if (*ours < 0 || *theirs < 0)
		return -EMFILE;
	return fcntl(*ours, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

static int make_pipes(struct run *run, struct child_fds *fds)
{
	int ends[2], r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	r = take_ends(ends, &run->source[IN].fd, &fds->in);
	if (r == 0 && pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	if (r == 0)
		r = take_ends(ends, &run->source[OUT].fd, &fds->out);
	if (r == 0 && pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	if (r == 0)
		r = take_ends(ends, &run->source[WORDS].fd, &fds->words);
	return r;
}

static int watch(struct run *run)
{
	static const loop_fn fns[] = {
		[IN] = on_in, [OUT] = on_out, [WORDS] = on_words,
		[TIMER] = on_timer, [CHILD] = on_child,
	};

	for (int i = 0; i < SOURCES; i++) {
		struct loop_source *s = &run->source[i];
		int r;

		s->fn = fns[i];
		s->arg = run;
		r = loop_add(run->loop, s, i == IN ? EPOLLOUT : EPOLLIN);
		if (r < 0)
			return r;
	}
	return 0;
}

static int start(struct run *run, const struct run_spec *spec)
{
	struct child_fds fds = { -1, -1, -1 };
	int r;

	if (access(spec->argv[0], X_OK) < 0)
		return errno == ENOTDIR ? -ENOENT : -errno;
	if (spec->slow && spec->timeout_ms > RUN_SLOW_MS) {
		run->slow = spec->slow;
		run->rest_ms = spec->timeout_ms - RUN_SLOW_MS;
	}
	run->source[TIMER].fd = timer_new(run->slow ? RUN_SLOW_MS :
					  spec->timeout_ms, NULL);
	r = run->source[TIMER].fd;
	if (r >= 0)
		r = make_pipes(run, &fds);
	if (r >= 0)
		r = start_child(run, &fds, spec->argv);
	close_fd(&fds.in);
	close_fd(&fds.out);
	close_fd(&fds.words);
	if (r >= 0)
		r = watch(run);
	return r;
}

void run_start(struct run_list *list, struct loop *loop,
	       const struct run_spec *spec, run_fn done, void *arg)
{
	struct run *run = mem_zalloc(sizeof(*run));
	int r;

	run->loop = loop;
	run->input = spec->input;
	run->output_max = spec->output_max;
	run->program = path_base(spec->argv[0]);
	run->done = done;
	run->arg = arg;
	for (int i = 0; i < SOURCES; i++)
		run->source[i].fd = -1;
	run->list = list;
	run->next = list->first;
	list->first = run;
	r = start(run, spec);
	if (r < 0) {
		fail(&run->result.err, r, "cannot run '%s': %s", spec->argv[0],
		     strerror(-r));
		(void)end_child(run, true);
		finish(run, r);
	}
}
