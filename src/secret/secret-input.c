/* SPDX-License-Identifier: Apache-2.0 */
/* cli/secret/input.c - values come from standard input or from a person */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "cli/secret/secret.h"
#include "secret/bytes.h"
#include "secret/key.h"
#include "secret/name.h"

enum { QUIET_SIGNALS = 5 };

/* Of a longer line the kernel drops the rest, and tells nobody */
enum { TERMINAL_LINE_MAX = 4094 };

static const int signals[QUIET_SIGNALS] = {
	SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP,
};

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
	caught = number;
}

/* One line, read(2) byte by byte: what follows is somebody else's. Signals are
 * blocked but for the moments of waiting, so that none comes just before.
 */
static int read_line(int fd, const sigset_t *waiting, struct bytes *ret)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	ssize_t n = 1;

	bytes_reserve(ret, PASSPHRASE_MAX);
	while (n == 1) {
		if (ppoll(&ready, 1, NULL, waiting) < 0)
			return -errno;
		n = read(fd, ret->p + ret->len, 1);
		if (n < 1 || ret->p[ret->len] == '\n')
			break;
		if (++ret->len == VALUE_MAX_BYTES)
			return -EFBIG;
		bytes_reserve(ret, ret->len + 1);
	}
	if (n < 0)
		return -errno;
	ret->p[ret->len] = '\0';
	return ret->len > TERMINAL_LINE_MAX ? -EMSGSIZE : 0;
}

/* The terminal without an echo, and back as it was, also when a signal comes */
static int ask_on(int tty, const char *question, struct bytes *ret)
{
	const struct sigaction catch = { .sa_handler = on_signal };
	struct sigaction before[QUIET_SIGNALS];
	struct termios usual, silent;
	sigset_t quiet, waiting;
	int r;

	if (tcgetattr(tty, &usual) < 0)
		return -ENOTTY;
	silent = usual;
	silent.c_lflag &= ~(tcflag_t)ECHO;
	caught = 0;
	(void)sigemptyset(&quiet);
	for (size_t i = 0; i < QUIET_SIGNALS; i++)
		(void)sigaddset(&quiet, signals[i]);
	(void)sigprocmask(SIG_BLOCK, &quiet, &waiting);
	for (size_t i = 0; i < QUIET_SIGNALS; i++)
		(void)sigaction(signals[i], &catch, &before[i]);
	r = tcsetattr(tty, TCSAFLUSH, &silent) < 0 ? -errno : 0;
	if (!r)
		r = fs_write_all(tty, question, strlen(question));
	if (!r)
		r = read_line(tty, &waiting, ret);
	(void)fs_write_all(tty, "\n", 1);
	(void)tcsetattr(tty, TCSAFLUSH, &usual);
	for (size_t i = 0; i < QUIET_SIGNALS; i++)
		(void)sigaction(signals[i], &before[i], NULL);
	if (caught)
		(void)raise(caught);
	(void)sigprocmask(SIG_SETMASK, &waiting, NULL);
	return r;
}

/* Ask without an echo, and once more after a signal that did not end us: a stop,
 * or one that our caller ignores. 0, -ENOTTY, or another errno.
 */
static int ask(const char *question, struct bytes *ret, struct err *err)
{
	auto_close int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	int r;

	do {
		bytes_clear(ret);
		r = tty < 0 ? -ENOTTY : ask_on(tty, question, ret);
	} while (r == -EINTR);

	if (r == -EMSGSIZE)
		return fail(err, r,
			    "a terminal passes on at most %d bytes of a line: use standard input or a file",
			    TERMINAL_LINE_MAX);
	if (r < 0)
		return fail(err, r, "cannot ask on the terminal: %s",
			    strerror(-r));
	return 0;
}

int input_passphrase(void *arg, bool fresh, struct bytes *ret,
		     struct err *err)
{
	auto_bytes struct bytes again = { 0 };
	int r;

	if (fresh && !*(const bool *)arg)
		return fail(err, -ENOKEY,
			    "there is no encrypted store; --backend file makes one");
	r = ask(fresh ? "New passphrase of the store: " :
			      "Passphrase of the store: ", ret, err);
	if (!r && !ret->len)
		r = fail(err, -ENOKEY, "there is no empty passphrase");
	if (!r && fresh)
		r = ask("Once more: ", &again, err);
	if (!r && fresh && !bytes_same(ret->p, ret->len, again.p, again.len))
		r = fail(err, -ENOKEY, "these were two passphrases");
	return r;
}

int input_all(size_t max, struct bytes *ret, struct err *err)
{
	const int r = bytes_read_fd(ret, STDIN_FILENO, max, err);

	return r < 0 ? fail_in(err, r, "standard input") : 0;
}

int input_value(const char *name, struct bytes *ret, struct err *err)
{
	auto_free char *question = mem_printf("Value of %s: ", name);
	int r;

	if (isatty(STDIN_FILENO))
		r = ask(question, ret, err);
	else
		r = input_all(VALUE_MAX_BYTES + 1, ret, err);
	if (r < 0)
		return r;
	/* The line end of `echo` is not part of the value */
	if (ret->len && ret->p[ret->len - 1] == '\n')
		ret->p[--ret->len] = '\0';
	return value_check(bytes_str(ret), ret->len, err);
}

int output_allowed(const struct secret_session *s, struct err *err)
{
	if (isatty(STDOUT_FILENO) && !s->args->print)
		return fail(err, -EINVAL,
			    "standard output is a terminal: use --print to show the value");
	return 0;
}

int output_line(const struct bytes *b, struct err *err)
{
	auto_bytes struct bytes line = { 0 };
	int r;

	bytes_add(&line, b->p, b->len);
	bytes_addc(&line, '\n');
	r = fs_write_all(STDOUT_FILENO, line.p, line.len);
	return r < 0 ? fail(err, r, "cannot write to standard output: %s",
			    strerror(-r)) : 0;
}
