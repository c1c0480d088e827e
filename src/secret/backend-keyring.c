/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret/backend-keyring.c - the desktop's Secret Service, through a helper
 *
 * The helper program links libsecret and GLib, which take longer to load than
 * all the rest takes to run. It gets a clean environment, no descriptor but its
 * three, and its own process group. It may hang, crash or print without end: it
 * is then killed, and the error says which.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/sys.h"
#include "ipc/helper-program.h"
#include "secret/backend.h"
#include "secret/keyring-helper.h"

enum { MESSAGE_MAX = 512, SLOW_MS = 1000 };

/* All that the helper gets of our environment */
static const char *const env_names[] = {
	"HOME", "USER", "LOGNAME", "PATH", "LANG", "LC_ALL", "TMPDIR",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
	"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
};

enum { IN, OUT, MESSAGE, CHILD, FDS };

/**
 * struct helper - A run of the helper
 * @fd:		Our ends of its standard descriptors, and its pidfd
 * @input:	For its standard input, from @sent on
 * @from:	What came from its OUT, and the beginning of its MESSAGE
 */
struct helper {
	pid_t pid;
	struct pollfd fd[FDS];
	const struct bytes *input;
	size_t sent;
	struct bytes from[FDS];
};

/* The child */
static _Noreturn void exec_helper(const struct store *s, const char *verb,
				  const int fds[static 3])
{
	const char *const argv[] = { KEYRING_HELPER, verb, s->entry, NULL };
	char *const *args = (char *const *)(uintptr_t)argv;
	char *env[ARRAY_SIZE(env_names) + 1] = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(env_names); i++) {
		const char *value = getenv(env_names[i]);

		if (value)
			env[n++] = mem_printf("%s=%s", env_names[i], value);
	}
	(void)setpgid(0, 0);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* harden_process() ignores them, and that would be inherited */
	(void)signal(SIGPIPE, SIG_DFL);
	(void)signal(SIGXFSZ, SIG_DFL);
	if (dup2(fds[0], 0) < 0 || dup2(fds[1], 1) < 0 || dup2(fds[2], 2) < 0 ||
	    close_range(3, ~0U, 0) < 0)
		_exit(KEYRING_FAILED);
	if (s->helper)
		(void)execve(s->helper, args, env);
	else
		(void)helper_program_exec(KEYRING_HELPER, args, env);
	_exit(errno == ENOENT ? KEYRING_NOT_INSTALLED : KEYRING_FAILED);
}

/* A socket instead of a pipe: send() can do without SIGPIPE. Both ends above the
 * standard three, so that dup2() in the child overwrites none that it needs.
 */
static int make_ends(struct pollfd *ours, int *theirs)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	ours->fd = fs_above_std(ends[0]);
	*theirs = fs_above_std(ends[1]);
	ours->events = POLLIN;
	return ours->fd < 0 || *theirs < 0 ? -EMFILE : 0;
}

static int start_helper(struct helper *h, const struct store *s,
			const char *verb)
{
	int theirs[3] = { -1, -1, -1 }, r = 0;

	for (int i = IN; i <= MESSAGE && !r; i++)
		r = make_ends(&h->fd[i], &theirs[i]);
	h->fd[IN].events = POLLOUT;
	h->fd[CHILD].events = POLLIN;
	if (!r) {
		h->pid = fork();
		if (!h->pid)
			exec_helper(s, verb, theirs);
		r = h->pid < 0 ? -errno : 0;
	}
	for (int i = IN; i <= MESSAGE; i++)
		close_fd(&theirs[i]);
	if (r < 0)
		return r;
	/* Here as well: a kill of the group must not come before the group */
	(void)setpgid(h->pid, h->pid);
	h->fd[CHILD].fd = pidfd_open(h->pid, 0);
	return h->fd[CHILD].fd < 0 ? -errno : 0;
}

static void send_input(struct helper *h)
{
	const ssize_t n = send(h->fd[IN].fd, bytes_str(h->input) + h->sent,
			       h->input->len - h->sent,
			       MSG_NOSIGNAL | MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* A helper that does not read may still answer: no error */
	h->sent += n > 0 ? (size_t)n : 0;
	if (n < 0 || h->sent == h->input->len)
		close_fd(&h->fd[IN].fd);
}

/* Receive from @which: 1 if there may be more, 0 if not now. More standard error
 * than fits is dropped, so that the helper never blocks.
 */
static int receive(struct helper *h, int which)
{
	struct bytes *to = &h->from[which];
	ssize_t n;

	bytes_reserve(to, to->len + 4096);
	n = recv(h->fd[which].fd, to->p + to->len, 4096, MSG_DONTWAIT);
	if (n > 0 && (which == OUT || to->len < MESSAGE_MAX))
		to->len += (size_t)n;
	to->p[to->len] = '\0';
	if (!n)
		close_fd(&h->fd[which].fd);
	return n > 0 && h->from[OUT].len <= DOCUMENT_MAX;
}

/* Until the helper ends; a grandchild may keep the sockets open. 0, -ETIMEDOUT or
 * -EMSGSIZE.
 */
static int talk(struct helper *h, const struct store *s)
{
	const int64_t start = now_ms(CLOCK_MONOTONIC);
	bool reported = !s->slow || s->helper_ms <= SLOW_MS;

	while (!(h->fd[CHILD].revents & POLLIN) &&
	       h->from[OUT].len <= DOCUMENT_MAX) {
		const int64_t gone = now_ms(CLOCK_MONOTONIC) - start;

		if (!reported && gone >= SLOW_MS) {
			s->slow();
			reported = true;
		}
		if (gone >= s->helper_ms)
			return -ETIMEDOUT;
		(void)poll(h->fd, FDS, (int)((reported ? s->helper_ms :
					      SLOW_MS) - gone));
		if (h->fd[IN].fd >= 0 && h->fd[IN].revents)
			send_input(h);
		for (int i = OUT; i <= MESSAGE; i++) {
			if (h->fd[i].fd >= 0 && h->fd[i].revents)
				(void)receive(h, i);
		}
	}
	for (int i = OUT; i <= MESSAGE; i++) {
		while (h->fd[i].fd >= 0 && receive(h, i))
			continue;
	}
	return h->from[OUT].len <= DOCUMENT_MAX ? 0 : -EMSGSIZE;
}

/* Kill what is left of the group. Its exit status, or -1 after a signal. */
static int end_helper(struct helper *h)
{
	int status;

	for (int i = 0; i < FDS; i++)
		close_fd(&h->fd[i].fd);
	if (h->pid <= 0)
		return -1;
	(void)kill(-h->pid, SIGKILL);
	status = reap_wait(h->pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* What the end of the helper means: 1, 0 or a negative errno */
static int result_of(const char *message, int code, struct err *err)
{
	switch (code) {
	case KEYRING_DONE:
		return 1;
	case KEYRING_EMPTY:
		return 0;
	case KEYRING_UNAVAILABLE:
		return fail(err, -ENOTSUP, "%s", message);
	case KEYRING_LOCKED:
		return fail(err, -EACCES, "%s", message);
	case KEYRING_NOT_INSTALLED:
		return fail(err, -ENOTSUP,
			    "there is no '" KEYRING_HELPER "': install it (Debian: package cloche-keyring)");
	case -1:
		return fail(err, -EPIPE, "'" KEYRING_HELPER "' crashed");
	default:
		return fail(err, -EIO, "'" KEYRING_HELPER "' failed (%d)%s%s",
			    code, *message ? ": " : "", message);
	}
}

static bool has_bus(void)
{
	const char *address = getenv("DBUS_SESSION_BUS_ADDRESS");
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	auto_free char *path = NULL;
	struct stat st;

	if (address && *address)
		return true;
	if (!runtime || *runtime != '/')
		return false;
	path = path_join(runtime, "bus");
	return !stat(path, &st) && S_ISSOCK(st.st_mode);
}

/* Run it; @output may be NULL. 1, 0 or a negative errno. */
static int run_helper(struct store *s, const char *verb,
		      const struct bytes *input, struct bytes *output,
		      struct err *err)
{
	static const struct bytes none;
	struct helper h = { .fd = { { -1 }, { -1 }, { -1 }, { -1 } },
			    .input = input ? input : &none };
	auto_bytes struct bytes message = { 0 }, out = { 0 };
	int r, code;

	if (!has_bus())
		return fail(err, -ENOTSUP, "there is no session bus");
	r = s->helper_hangs ? -ETIMEDOUT : start_helper(&h, s, verb);
	if (!r)
		r = talk(&h, s);
	s->helper_hangs = r == -ETIMEDOUT;
	code = end_helper(&h);
	message = h.from[MESSAGE];
	out = h.from[OUT];
	if (message.p)
		message.p[strcspn(message.p, "\r\n")] = '\0';
	if (r == -ETIMEDOUT)
		return fail(err, r, "'" KEYRING_HELPER "' did not answer in time and was killed");
	if (r == -EMSGSIZE)
		return fail(err, r, "'" KEYRING_HELPER "' printed too much and was killed");
	if (r < 0)
		return fail(err, r, "cannot run '" KEYRING_HELPER "': %s",
			    strerror(-r));
	r = result_of(bytes_str(&message), code, err);
	if (r > 0 && output) {
		*output = out;
		out = (struct bytes){ 0 };
	}
	return r;
}

static int keyring_read(struct store *s, json_t **ret, struct err *err)
{
	auto_bytes struct bytes text = { 0 };
	const int r = run_helper(s, "read", NULL, &text, err);

	if (r <= 0)
		return r;
	/* It shows a broken helper, and not that there is a store */
	return document_parse(bytes_str(&text), text.len, KEYRING_HELPER, ret,
			      err) < 0 ? -EPROTO : 1;
}

static int keyring_write(struct store *s, const struct bytes *text,
			 struct err *err)
{
	const int r = run_helper(s, "write", text, NULL, err);

	return r > 0 ? 0 : r ? r :
		fail(err, -EIO, "'" KEYRING_HELPER "' did not store it");
}

static int keyring_remove(struct store *s, struct err *err)
{
	return run_helper(s, "remove", NULL, NULL, err);
}

const struct backend backend_keyring = {
	"secret-service", keyring_read, keyring_write, keyring_remove,
};
