/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/asker.c - hosts that no rule mentions: who is asked, and how
 *
 * One question is on the terminal at a time; others wait behind it. The gate
 * gives up on a question after a minute by itself, so an answer that comes too
 * late changes nothing but the session's memory.
 */

#include "lib/asker.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "lib/change.h"
#include "lib/channel.h"
#include "lib/control.h"
#include "lib/hooks.h"
#include "lib/options.h"
#include "lib/session.h"
#include "plan/plan.h"
#include "plan/view.h"
#include "policy/host.h"
#include "policy/policy.h"
#include "policy/settings.h"

struct question {
	uint32_t id;
	struct host host;
	pid_t pid;
};

/**
 * struct asker - The terminal, the control descriptor, or the library
 * @channel:	The library that started us, or NULL
 * @tty:	-1 unless questions go there
 * @control:	-1 unless --control-fd
 * @connected:	It is a connection of our own
 * @line:	What came on it so far; @skips if that is too much
 * @queue:	Questions for the terminal; the first one is shown
 */
struct asker {
	struct asker_config config;
	bool asks, connected, skips;
	struct channel *channel;
	struct loop_source tty, control;
	struct buf line;
	struct { struct question *v; size_t len, cap; } queue;
};

/* The program that @pid runs, or the one that was started if nobody knows */
static char *program_of(const struct asker *a, pid_t pid)
{
	const char *command = a->config.session->plan->argv[0];
	char path[32], exe[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = pid ? readlink(path, exe, sizeof(exe)) : -1;
	return n > 0 ? mem_strndup(exe, (size_t)n)
		     : mem_strdup(command ? command : "the command");
}

static void show_first(const struct asker *a)
{
	const struct question *q = a->queue.v;
	auto_free char *program = program_of(a, q->pid);
	auto_buf struct buf text = { 0 };

	buf_adds(&text, "cloche: Allow ");
	host_format(&q->host, 0, &text);
	buf_adds(&text, " for ");
	text_escape(&text, path_base(program));
	if (q->pid)
		buf_addf(&text, " (pid %d)", (int)q->pid);
	buf_adds(&text, "? [o]nce [s]ession [a]lways [n]o ");
	/* What was typed before was no answer to this */
	(void)tcflush(a->tty.fd, TCIFLUSH);
	(void)fs_write_all(a->tty.fd, text.p, text.len);
}

/* "always": into the user's own settings */
static void remember(const struct asker *a, const struct host *host)
{
	struct settings_request req;
	auto_buf struct buf text = { 0 };
	auto_free char *file = NULL;
	struct err err = { 0 };

	host_format(host, host->port == 80 ? 80 : 443, &text);
	settings_request_init(&req, a->config.session->policy->cwd);
	if (change_append(&req, SCOPE_USER, "sandbox.network.allowedDomains",
			  buf_str(&text), &file, &err) < 0)
		hooks_say(a->config.options, "not remembered: %s",
			  err.msg);
	settings_request_done(&req);
}

static void forget(struct asker *a, size_t i)
{
	a->queue.len--;
	memmove(a->queue.v + i, a->queue.v + i + 1,
		(a->queue.len - i) * sizeof(*a->queue.v));
}

static void answer_first(struct asker *a, char letter)
{
	const struct question q = a->queue.v[0];
	const bool allow = letter == 'o' || letter == 's' || letter == 'a';

	forget(a, 0);
	if (letter == 'a')
		remember(a, &q.host);
	a->config.answer(a->config.arg, q.id, allow,
			 letter == 'o' ? ASK_ONCE : ASK_SESSION);
	if (a->queue.len)
		show_first(a);
}

/* The letter of what was typed, a word or its beginning; 0 if it is anything
 * else: "cancel" has an "a" in it, too
 */
static char letter_of(const char *text, size_t n)
{
	static const char *const words[] = { "once", "session", "always", "no" };

	for (; n && strchr(" \t", *text); n--)
		text++;
	while (n && strchr(" \t\r\n", text[n - 1]))
		n--;
	for (size_t i = 0; n && i < ARRAY_SIZE(words); i++) {
		if (!strncasecmp(text, words[i], n))
			return words[i][0];
	}
	return 0;
}

/* What is typed while nothing is asked was not meant for us */
static int on_tty(void *arg, uint32_t events)
{
	struct asker *a = arg;
	char text[64], letter;
	ssize_t n;

	if (events & (EPOLLERR | EPOLLHUP)) {
		loop_remove(a->config.loop, &a->tty);
		close_fd(&a->tty.fd);
		while (a->queue.len)
			answer_first(a, 'n');
		return 0;
	}
	if (!a->queue.len)
		return 0;
	n = read(a->tty.fd, text, sizeof(text));
	letter = n > 0 ? letter_of(text, (size_t)n) : 0;
	if (letter)
		answer_first(a, letter);
	else if (n > 0)
		show_first(a);
	if (!a->queue.len)
		(void)loop_change(a->config.loop, &a->tty, 0);
	return 0;
}

static void take_answer(struct asker *a, const struct control_answer *answer)
{
	size_t i = 0;

	while (i < a->queue.len && a->queue.v[i].id != answer->id)
		i++;
	if (i < a->queue.len && answer->allow && answer->always)
		remember(a, &a->queue.v[i].host);
	if (i < a->queue.len)
		forget(a, i);
	a->config.answer(a->config.arg, answer->id, answer->allow,
			 answer->scope);
}

static void tell_bad(const struct asker *a, const char *why)
{
	hooks_say(a->config.options, "Invalid config on control fd %d: ignored, previous config still in force (%s)",
		  a->control.fd, why);
}

static void take_line(struct asker *a, const char *line, size_t n)
{
	struct err err = { 0 };
	struct control_answer answer;
	auto_policy struct policy *policy = NULL;

	switch (control_parse(line, n, a->config.session->policy, &answer,
			      &policy, &err)) {
	case CONTROL_ANSWER:
		take_answer(a, &answer);
		break;
	case CONTROL_POLICY:
		a->config.reload(a->config.arg, policy);
		break;
	case CONTROL_BAD:
		tell_bad(a, err.msg);
		break;
	}
}

/* More of the present line; one that is too long is dropped to its end */
static void add_to_line(struct asker *a, const char *text, size_t n)
{
	if (!a->skips && a->line.len + n > ASKER_LINE_MAX) {
		tell_bad(a, "a line of more than 1 MiB");
		a->skips = true;
	}
	if (!a->skips)
		buf_add(&a->line, text, n);
}

static void end_line(struct asker *a)
{
	const size_t n = a->line.len;

	if (!a->skips && strspn(buf_str(&a->line), " \t\r") < n)
		take_line(a, a->line.p, n);
	a->skips = false;
	a->line.len = 0;
}

/* The descriptor is the caller's, the connection ours */
static void release_control(struct asker *a)
{
	if (a->connected)
		close_fd(&a->control.fd);
	a->control.fd = -1;
}

static void refuse_first(struct asker *a)
{
	const uint32_t id = a->queue.v[0].id;

	forget(a, 0);
	a->config.answer(a->config.arg, id, false, ASK_ONCE);
}

static int on_control(void *arg, uint32_t events)
{
	struct asker *a = arg;
	char text[4096];
	const ssize_t n = read(a->control.fd, text, sizeof(text));
	const char *p = text, *end;

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		/* Nobody is left who could answer */
		loop_remove(a->config.loop, &a->control);
		release_control(a);
		while (a->queue.len)
			refuse_first(a);
		return 0;
	}
	while ((end = memchr(p, '\n', (size_t)(text + n - p))) != NULL) {
		add_to_line(a, p, (size_t)(end - p));
		end_line(a);
		p = end + 1;
	}
	add_to_line(a, p, (size_t)(text + n - p));
	return 0;
}

/* For a program that cannot hand us a descriptor: a shell is in between */
static int connect_control(struct asker *a, const char *path, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(address.sun_path))
		return fail(err, -ENAMETOOLONG, "--control-fd: '%s' is too long for a socket",
			    path);
	memcpy(address.sun_path, path, strlen(path) + 1);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address,
			      sizeof(address)) < 0)
		return fail_errno(err, "--control-fd: cannot connect to '%s'",
				  path);
	a->control.fd = take_fd(&fd);
	a->connected = true;
	return 0;
}

/* What the command can write, or could have put there, gives no answers */
static int check_control(const struct asker *a, const char *path,
			 struct err *err)
{
	auto_free char *root = path ?
		view_root_of(a->config.session->view, path) : NULL;

	return root ? fail(err, -EPERM, "--control-fd: '%s' lies where the command can write; use a socket or pipe without a name, or a socket elsewhere",
			   path) : 0;
}

static int find_control(struct asker *a, const char *text, struct err *err)
{
	auto_free char *path = NULL;
	int fd, r;

	if (text[0] == '/') {
		r = check_control(a, text, err);
		return r < 0 ? r : connect_control(a, text, err);
	}
	fd = fs_given_fd(text);
	if (fd == -EINVAL || (fd >= 0 && fd < 3))
		return fail(err, -EINVAL, "--control-fd: '%s' is not a descriptor of 3 or more",
			    text);
	if (fd < 0)
		return fail(err, fd, "--control-fd: descriptor %s is not open; leave one end of a socket open for cloche, or give the path of one",
			    text);
	path = fs_fd_path(fd);
	r = check_control(a, path, err);
	if (r < 0)
		return r;
	a->control.fd = fd;
	return 0;
}

static int open_control(struct asker *a, const char *text, struct err *err)
{
	int r = find_control(a, text, err);

	if (r < 0)
		return r;
	r = loop_add(a->config.loop, &a->control, EPOLLIN);
	if (r < 0)
		return fail(err, r, "--control-fd: cannot wait for descriptor %s: %s",
			    text, strerror(-r));
	return 0;
}

/* Without a terminal nobody is asked: unknown hosts are refused, as always */
static void open_tty(struct asker *a)
{
	a->tty.fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY |
			 O_NONBLOCK);
	if (a->tty.fd >= 0 && loop_add(a->config.loop, &a->tty, 0) < 0)
		close_fd(&a->tty.fd);
}

int asker_new(const struct asker_config *config, struct asker **ret,
	      struct err *err)
{
	const char *control = options_get(config->options, OPTION_CONTROL_FD);
	struct asker *a = mem_zalloc(sizeof(*a));
	int r = 0;

	a->config = *config;
	a->asks = options_has(config->options, OPTION_ASK);
	a->tty = (struct loop_source){ -1, on_tty, a };
	a->control = (struct loop_source){ -1, on_control, a };
	a->channel = hooks_channel(config->options);
	if (a->channel)
		channel_on_answer(a->channel, config->answer, config->arg);
	if (control)
		r = open_control(a, control, err);
	else if (a->asks && !a->channel)
		open_tty(a);
	if (r < 0) {
		release_control(a);
		free(a);
		return r;
	}
	*ret = a;
	return 0;
}

void asker_free(struct asker *a)
{
	if (!a)
		return;
	if (a->tty.fd >= 0)
		loop_remove(a->config.loop, &a->tty);
	if (a->control.fd >= 0)
		loop_remove(a->config.loop, &a->control);
	release_control(a);
	if (a->channel)
		channel_on_answer(a->channel, NULL, NULL);
	close_fd(&a->tty.fd);
	buf_done(&a->line);
	free(a->queue.v);
	free(a);
}

bool asker_can_ask(const struct asker *a)
{
	return a->asks && (a->channel || a->tty.fd >= 0 || a->control.fd >= 0);
}

static void ask_control(struct asker *a, uint32_t id, const struct host *host,
			pid_t pid)
{
	auto_free char *program = program_of(a, pid);
	json_t *root = json_pack("{s:{s:i, s:s, s:i, s:o}}", "ask",
				 "id", (int)id, "host", host->name, "port",
				 (int)host->port, "exe", json_text(program));
	char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	auto_free char *line = text ? mem_printf("%s\n", text) : NULL;

	free(text);
	json_decref(root);
	if (!line || fs_tell(a->control.fd, line, strlen(line)) < 0)
		a->config.answer(a->config.arg, id, false, ASK_ONCE);
	/* The host of an "always"; old questions may never be answered */
	if (a->queue.len == ASKER_QUEUE_MAX)
		forget(a, 0);
	*vec_push(&a->queue) = (struct question){ id, *host, pid };
}

static void ask_library(const struct asker *a, uint32_t id,
			const struct host *host, pid_t pid)
{
	auto_free char *program = program_of(a, pid);

	if (channel_ask(a->channel, id, host, program) < 0)
		a->config.answer(a->config.arg, id, false, ASK_ONCE);
}

void asker_ask(struct asker *a, uint32_t id, const struct host *host,
	       pid_t pid)
{
	if (a->control.fd >= 0) {
		ask_control(a, id, host, pid);
		return;
	}
	if (a->channel) {
		ask_library(a, id, host, pid);
		return;
	}
	if (a->tty.fd < 0 || a->queue.len == ASKER_QUEUE_MAX) {
		a->config.answer(a->config.arg, id, false, ASK_ONCE);
		return;
	}
	*vec_push(&a->queue) = (struct question){ id, *host, pid };
	if (a->queue.len > 1)
		return;
	(void)loop_change(a->config.loop, &a->tty, EPOLLIN);
	show_first(a);
}
