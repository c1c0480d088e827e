/* SPDX-License-Identifier: Apache-2.0 */
/*
 * embed/launch.c - start the program that supervises a run
 *
 * posix_spawn() shares the caller's memory until the exec, so it costs the same in a
 * process of any size and is safe in one with threads. The descriptors for the program
 * are copied above the numbers that they get there; all others of the caller are
 * closed, also those without close-on-exec.
 */

#include "embed/run-api.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"
#include "ipc/wire.h"

enum { NFDS = 5, ABOVE = 16 };

static const char library_mark[] = "libcloche";	/* Lies where the library is */

static void add_word(struct buf *words, const char *word)
{
	buf_add(words, word, strlen(word) + 1);
}

static void add_option(struct buf *words, enum option_id id, const char *value)
{
	buf_addf(words, "--%s", option_row(id)->name);
	buf_addc(words, '\0');
	if (value)
		add_word(words, value);
}

/* The command's environment, which is not the supervisor's: that one has the
 * variables that say where the policy is
 */
static void add_env(struct buf *words, const char *const *env)
{
	size_t n = 0;

	while (env && env[n])
		n++;
	if (env)
		buf_addf(words, "%zu", n);
	else
		buf_adds(words, EMBED_OWN_ENV);
	buf_addc(words, '\0');
	for (size_t i = 0; i < n; i++)
		add_word(words, env[i]);
}

/* The library itself, or the program that it is a part of: what a command puts in
 * its place would run outside, in the next process that loads it
 */
static void deny_library(struct buf *words)
{
	auto_free char *real = NULL;
	Dl_info info;

	if (dladdr(library_mark, &info) && info.dli_fname)
		real = realpath(info.dli_fname, NULL);
	/* A name with a pattern in it would deny something else */
	if (real && !strpbrk(real, "*?[{"))
		add_option(words, OPTION_DENY_WRITE, real);
}

/* All of it as a file: /proc shows arguments to every user */
static int write_words(const struct cloche_sandbox *sandbox,
		       const struct cloche_run_options *o, bool ask,
		       struct err *err)
{
	auto_close int fd = memfd_create("cloche-options", MFD_CLOEXEC);
	auto_buf struct buf words = { 0 };
	int r;

	add_env(&words, o->env);
	for (size_t i = 0; i < sandbox->options.len; i++)
		add_option(&words, sandbox->options.v[i].id,
			   sandbox->options.v[i].value);
	if (o->directory)
		add_option(&words, OPTION_CWD, o->directory);
	if (ask)
		add_option(&words, OPTION_ASK, NULL);
	deny_library(&words);
	add_word(&words, "--");
	for (size_t i = 0; o->argv && o->argv[i]; i++)
		add_word(&words, o->argv[i]);
	if (words.len > EMBED_WORDS_MAX)
		return fail(err, -E2BIG, "the command is too long");
	if (fd < 0)
		return fail_errno(err, "cannot hand over the options");
	r = fs_write_all(fd, words.p, words.len);
	if (r < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return fail(err, r < 0 ? r : -errno, "cannot hand over the options");
	return take_fd(&fd);
}

/* A copy of @fd above all numbers that are used there; /dev/null for -1 */
static int lift(int fd, struct err *err)
{
	auto_close int null = fd < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC)
				     : -1;
	const int copy = fcntl(fd < 0 ? null : fd, F_DUPFD_CLOEXEC, ABOVE);

	/* The limit of open files is below ABOVE */
	if (copy < 0 && errno == EINVAL)
		errno = EMFILE;
	return copy < 0 ? fail_errno(err, "descriptor %d", fd) : copy;
}

static int if_open(int fd)
{
	return fcntl(fd, F_GETFD) < 0 ? -1 : fd;
}

static int arrange(posix_spawn_file_actions_t *actions, const int *fds)
{
	int r = 0;

	for (int i = 0; r == 0 && i < NFDS; i++)
		r = posix_spawn_file_actions_adddup2(actions, fds[i], i);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(actions, NFDS);
	return r;
}

/* The command gets default signal handlers and no blocked signals, whatever this thread
 * has
 */
static int reset_signals(posix_spawnattr_t *attr)
{
	sigset_t set;
	int r;

	sigemptyset(&set);
	r = posix_spawnattr_setsigmask(attr, &set);
	sigfillset(&set);
	if (r == 0)
		r = posix_spawnattr_setsigdefault(attr, &set);
	return r ? r : posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK |
						POSIX_SPAWN_SETSIGDEF);
}

static int start(const char *program, const int *fds, pid_t *ret)
{
	static char verb[] = EMBED_VERB, name[] = "cloche";
	char parent[16];
	char *argv[] = { name, verb, parent, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	int r;

	snprintf(parent, sizeof(parent), "%d", (int)getpid());
	r = posix_spawn_file_actions_init(&actions);
	if (r)
		return -r;
	r = posix_spawnattr_init(&attr);
	if (r == 0) {
		r = arrange(&actions, fds);
		if (r == 0)
			r = reset_signals(&attr);
		if (r == 0)
			r = posix_spawn(ret, program, &actions, &attr, argv,
					environ);
		(void)posix_spawnattr_destroy(&attr);
	}
	(void)posix_spawn_file_actions_destroy(&actions);
	return -r;
}

int launch_supervisor(struct cloche_sandbox *sandbox,
		     const struct cloche_run_options *o, bool ask, int socket,
		     pid_t *ret)
{
	const int own[3] = { if_open(0), if_open(1), if_open(2) };
	const int *stdio = o->stdio ? o->stdio : own;
	struct err *err = &sandbox->err;
	int fds[NFDS] = { -1, -1, -1, -1, -1 }, r = 0;

	for (int i = 0; r >= 0 && i < NFDS; i++) {
		auto_close int words = i == EMBED_WORDS ?
			write_words(sandbox, o, ask, err) : -1;

		if (i == EMBED_WORDS && words < 0)
			r = words;
		else
			r = fds[i] = lift(i < 3 ? stdio[i] :
					  i == EMBED_SOCKET ? socket : words,
					  err);
	}
	if (r >= 0) {
		r = start(sandbox->program, fds, ret);
		if (r < 0)
			fail(err, r, "cannot start '%s': %s", sandbox->program,
			     strerror(-r));
	}
	for (int i = 0; i < NFDS; i++)
		close_fd(&fds[i]);
	return r < 0 ? r : 0;
}
