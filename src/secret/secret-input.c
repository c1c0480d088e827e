/* SPDX-License-Identifier: Apache-2.0 */
/* secret/secret-input.c - values from standard input or the terminal, and out */

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
#include "secret/key-source.h"
#include "secret/locked-memory.h"
#include "secret/secret-name.h"
#include "secret/secret-verbs.h"

/* The kernel silently drops what exceeds this in one line */
enum { TERMINAL_LINE_MAX = 4094 };

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP };

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
	caught = number;
}

/* One line, byte by byte, because the shell reads what follows. Signals are blocked
 * except in ppoll(), so that one that comes before it interrupts it too.
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
	struct sigaction before[ARRAY_SIZE(signals)];
	struct termios usual, silent;
	sigset_t quiet, waiting;
	int r;

	if (tcgetattr(tty, &usual) < 0)
		return -ENOTTY;
	silent = usual;
	silent.c_lflag &= ~(tcflag_t)ECHO;
	caught = 0;
	(void)sigemptyset(&quiet);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		(void)sigaddset(&quiet, signals[i]);
	(void)sigprocmask(SIG_BLOCK, &quiet, &waiting);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		(void)sigaction(signals[i], &catch, &before[i]);
	r = tcsetattr(tty, TCSAFLUSH, &silent) < 0 ? -errno : 0;
	if (!r)
		r = fs_write_all(tty, question, strlen(question));
	if (!r)
		r = read_line(tty, &waiting, ret);
	(void)fs_write_all(tty, "\n", 1);
	(void)tcsetattr(tty, TCSAFLUSH, &usual);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		(void)sigaction(signals[i], &before[i], NULL);
	if (caught)
		(void)raise(caught);
	(void)sigprocmask(SIG_SETMASK, &waiting, NULL);
	return r;
}

/* Ask without an echo, and once more after a signal that did not end us: a stop,
 * or one that our caller ignores. 0, -ENOTTY, or another errno.
 */
static int ask_terminal(const char *question, struct bytes *ret, struct err *err)
{
	auto_close int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	int r;

	do {
		bytes_done(ret);
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

int input_passphrase(bool fresh, struct bytes *ret, struct err *err)
{
	auto_bytes struct bytes again = { 0 };
	int r;

	r = ask_terminal(fresh ? "New passphrase of the store: " :
			      "Passphrase of the store: ", ret, err);
	if (!r && !ret->len)
		r = fail(err, -ENOKEY, "a passphrase must not be empty");
	if (!r && fresh)
		r = ask_terminal("Once more: ", &again, err);
	if (!r && fresh && (ret->len != again.len ||
			    memcmp(ret->p, again.p, ret->len) != 0))
		r = fail(err, -ENOKEY, "the passphrases do not match");
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
		r = ask_terminal(question, ret, err);
	else
		r = input_all(VALUE_MAX_BYTES + 1, ret, err);
	if (r < 0)
		return r;
	/* The line end of `echo` is not part of the value */
	bytes_chomp(ret);
	return value_check(bytes_str(ret), ret->len, err);
}

int output_allowed(const struct arguments *args, struct err *err)
{
	if (isatty(STDOUT_FILENO) && !args->print)
		return fail(err, -EINVAL,
			    "standard output is a terminal: use --print to show the value");
	return 0;
}

int output_line(const char *text, struct err *err)
{
	auto_bytes struct bytes line = { 0 };
	int r;

	bytes_adds(&line, text);
	bytes_adds(&line, "\n");
	r = fs_write_all(STDOUT_FILENO, line.p, line.len);
	return r < 0 ? fail(err, r, "cannot write to standard output: %s",
			    strerror(-r)) : 0;
}

int output_json(const json_t *value, struct err *err)
{
	auto_bytes struct bytes text = { 0 };

	document_print(value, &text);
	return output_line(bytes_str(&text), err);
}
