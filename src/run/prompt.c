/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run/prompt.c - ask about hosts and paths that no rule mentions
 *
 * One question is on the terminal at a time; others wait behind it. The question is
 * a line of its own, and the answer is typed on the next one: a command that draws a
 * spinner erases the line with the cursor in it. A command that redraws more than that
 * may erase the question, which is shown again after REMIND_MS. The gate gives up on a
 * question after a minute by itself; the question is withdrawn shortly before, so that
 * an answer always counts. Paths are asked about on a terminal only: the call waits
 * (observe/observer.h), and what a yes allows is done by the observer, for the mounts and
 * the Landlock rules of the sandbox stay as they are.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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
#include "base/sys.h"
#include "base/terminal.h"
#include "base/text.h"
#include "gate/gate-wire.h"
#include "plan/plan.h"
#include "observe/observer.h"
#include "policy/glob.h"
#include "policy/host.h"
#include "policy/never-list.h"
#include "policy/policy.h"
#include "policy/srt-settings.h"
#include "run/host-channel.h"
#include "run/options.h"
#include "run/output.h"
#include "run/run.h"
#include "run/settings-edit.h"
#include "view/view.h"

enum {
	LINE_MAX_BYTES = 1 << 20,	/* Of one line on --control-fd */
	QUEUE_MAX = 64,			/* Questions that wait for the terminal */
	SUBJECT_AT = 8,			/* Where a question goes on in the next line */
	PROGRAM_MAX = 32,		/* Bytes shown of a program's name */
	PATH_SHOWN_MAX = 1024,		/* Longer paths are refused without a question */
	REFUSED_MAX = 256,		/* Paths that are not asked about again */
	ANSWER_MS = 55 * 1000,		/* Less than the gate's own minute */
	REMIND_MS = 10 * 1000,		/* When the question is shown again */
};

/* The rules that a line can't replace */
static bool is_kept(const struct policy *policy, enum string_list list,
		    const struct list_rule *rule)
{
	const struct source *source = rule->origin.source;

	/* srt's lines replace the denials as well */
	return (list == HOST_DENY && policy->profile != PROFILE_SRT) ||
	       (source && source->scope == SCOPE_MANAGED);
}

static int add_hosts(struct policy *p, enum string_list list, const json_t *net,
		     const char *name, const struct source *source,
		     struct err *err)
{
	const json_t *values = json_object_get(net, name);
	size_t i;
	json_t *value;

	if (values && !json_is_array(values))
		return fail(err, -EINVAL, "%s is not a list", name);
	json_array_foreach(values, i, value) {
		int r;

		if (!json_is_string(value))
			return fail(err, -EINVAL, "%s[%zu] is not a string",
				    name, i);
		r = policy_add_host(p, list, json_string_value(value), NULL,
				    origin_make(source, NULL, NULL), err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* A policy for the network with the lists of hosts of @net in the place of those that
 * the run was started with; denials (but for profile srt), and what an administrator
 * manages, stay. 0 and *@ret, or a negative errno with a message.
 */
static int read_policy(const json_t *net, const struct policy *from,
		       struct policy **ret, struct err *err)
{
	auto_policy struct policy *p = NULL;
	const struct source *source;
	int r = 0;

	if (!json_is_object(net))
		return fail(err, -EINVAL, "neither an answer nor a policy with \"network\"");
	p = gate_policy_copy(from, is_kept);
	if (!p)
		return fail(err, -EINVAL, "the present policy cannot be copied");
	source = policy_add_source(p, SCOPE_FLAG, "--control-fd", NULL, 0, NULL);
	if (!policy_flag(from, FLAG_MANAGED_DOMAINS_ONLY, false))
		r = add_hosts(p, HOST_ALLOW, net, "allowedDomains", source, err);
	if (r == 0)
		r = add_hosts(p, HOST_DENY, net, "deniedDomains", source, err);
	if (r == 0)
		*ret = take_ptr(p);
	return r;
}

/**
 * struct question - One about the host of the gate's question @id; or
 * @path:	about this path, the queue's; or NULL
 * @target:	What the command would write in it now
 */
struct question {
	uint32_t id;
	struct host host;
	char *path, *target;
	pid_t pid;
	int64_t until_ms;	/* When it is withdrawn, once it was shown twice */
	bool reminded;
};

/**
 * struct prompt - The terminal, the control descriptor, or the library
 * @channel:	The library that started us, or NULL
 * @tty:	-1 unless questions go there
 * @control:	-1 unless --control-fd
 * @connected:	It is a connection of our own
 * @answering:	An answer is being passed on: nothing is shown meanwhile
 * @line:	What came on it so far; @skips if that is too much
 * @queue:	Questions for the terminal; the first one is shown
 * @refused:	Paths that the user refused
 * @timer:	Shows it again, and withdraws it
 */
struct prompt {
	struct run *run;
	bool asks, connected, skips, answering;
	struct host_channel *channel;
	struct loop_source tty, control, timer;
	struct buf line;
	struct { struct question *v; size_t len, cap; } queue;
	struct strings refused;
};

/* The program that @pid runs, or the one that was started if that is unknown */
static char *program_of(const struct prompt *a, pid_t pid)
{
	const char *command = a->run->decision.plan->argv[0];
	char *exe = pid ? fs_link("/proc/%d/exe", (int)pid) : NULL;

	return exe ? exe : mem_strdup(command ? command : "the command");
}

/* Left to the question at the front, in milliseconds; 0 if it is too late */
static int64_t time_left(const struct prompt *a)
{
	const int64_t left = a->queue.v[0].until_ms - now_ms(CLOCK_MONOTONIC);

	return left > 0 ? left : 0;
}

static void set_timer(struct prompt *a)
{
	const int64_t left = a->queue.len ? time_left(a) : 0;

	if (a->queue.len || a->timer.fd >= 0)
		(void)loop_set_timer(a->run->loop, &a->timer,
				     !a->queue.len ? 0 : left < 1 ? 1 :
				     left < REMIND_MS ? (uint64_t)left : REMIND_MS,
				     false);
}

static void write_tty(const struct prompt *a, const struct buf *text)
{
	(void)fs_write_now(a->tty.fd, text->p, text->len);
}

static void add_subject(const struct question *q, struct buf *out)
{
	if (!q->path) {
		host_format(&q->host, 0, out);
		return;
	}
	buf_adds(out, "writing ");
	text_escape(out, q->path);
	if (strcmp(q->path, q->target) != 0) {
		buf_adds(out, " (now ");
		text_escape(out, q->target);
		buf_adds(out, ")");
	}
}

/* The cursor may be anywhere in a line of the command's: a carriage return and an
 * erased line are what its spinner does as well
 */
static void show_first(struct prompt *a)
{
	const struct question *q = a->queue.v;
	auto_free char *program = program_of(a, q->pid);
	auto_buf struct buf name = { 0 }, line = { 0 }, text = { 0 };

	text_escape(&name, path_base(program));
	buf_adds(&line, "cloche: allow ");
	add_subject(q, &line);
	buf_addf(&line, " for %.*s", PROGRAM_MAX, buf_str(&name));
	if (q->pid)
		buf_addf(&line, " (pid %d)", (int)q->pid);
	buf_addc(&line, '?');
	buf_addf(&text, "\r\033[K%s", terminal_style_fd(a->tty.fd, STYLE_HEAD));
	terminal_wrap(&text, line.p, line.len, SUBJECT_AT, terminal_columns(a->tty.fd));
	buf_addf(&text, "%s\ncloche: [y]es for this run, [o]nce, [a]lways, [n]o, and Enter",
		 terminal_style_fd(a->tty.fd, STYLE_NONE));
	if (a->queue.len > 1)
		buf_addf(&text, " (%zu more wait)", a->queue.len - 1);
	buf_adds(&text, "\n");
	write_tty(a, &text);
	set_timer(a);
}

static void show_new(struct prompt *a)
{
	/* What was typed before was no answer to this */
	(void)tcflush(a->tty.fd, TCIFLUSH);
	show_first(a);
}

static void say_about(const struct prompt *a, const struct question *q,
		      const char *what)
{
	auto_buf struct buf line = { 0 }, text = { 0 };

	buf_adds(&line, "cloche: ");
	add_subject(q, &line);
	buf_addf(&line, ": %s", what);
	buf_adds(&text, "\r\033[K");
	terminal_wrap(&text, line.p, line.len, SUBJECT_AT, terminal_columns(a->tty.fd));
	buf_addc(&text, '\n');
	write_tty(a, &text);
}

/* "always": into the user's own settings */
static void remember(const struct prompt *a, const struct question *q)
{
	const char *key = q->path ? "filesystem.allowWrite" : "network.allowedDomains";
	auto_free char *list = mem_printf("sandbox.%s", key);
	auto_buf struct buf text = { 0 };
	auto_free char *file = NULL;
	struct err err = { 0 };

	if (q->path)
		buf_adds(&text, q->path);
	else
		host_format(&q->host, q->host.port == 80 ? 80 : 443, &text);
	if (settings_edit_list(a->run->decision.policy->cwd, SCOPE_USER, true, list,
			       buf_str(&text), &file, &err) < 0)
		output_say(a->run->output, "not remembered: %s", err.msg);
	else if (a->tty.fd >= 0)
		output_say(a->run->output, "%s: %s += %s", file, key, buf_str(&text));
}

/* As an edit of the settings would */
static enum observer_consent allow_path(const struct prompt *a, const char *path)
{
	struct strings *granted = &a->run->options->granted;
	struct err err = { 0 };

	*vec_push(granted) = mem_strdup(path);
	if (monitor_reload(a->run->monitor, &err) < 0) {
		free(granted->v[--granted->len]);
		output_say(a->run->output, "refused: %s", err.msg);
		return CONSENT_REFUSED;
	}
	return CONSENT_RULES;
}

static void free_question(struct question *q)
{
	free(q->path);
	free(q->target);
}

/* Pass the answer on: a letter of letter_of(), or 0 if no answer came */
static void conclude(struct prompt *a, struct question *q, char letter)
{
	enum observer_consent consent = CONSENT_REFUSED;

	if (letter == 'a')
		remember(a, q);
	if (!q->path) {
		run_network_answer(a->run, q->id, letter && letter != 'n',
				   letter && letter != 'o' ? ASK_SESSION : ASK_ONCE);
		return;
	}
	if (letter == 'n' && a->refused.len < REFUSED_MAX)
		*vec_push(&a->refused) = mem_strdup(q->path);
	else if (letter == 'o')
		consent = CONSENT_ONCE;
	else if (letter == 'y' || letter == 'a')
		consent = allow_path(a, q->path);
	monitor_resume(a->run->monitor, q->path, consent);
	free_question(q);
}

static void forget(struct prompt *a, size_t i)
{
	a->queue.len--;
	memmove(a->queue.v + i, a->queue.v + i + 1,
		(a->queue.len - i) * sizeof(*a->queue.v));
}

/* The next question, or nothing more to wait for */
static void show_next(struct prompt *a)
{
	if (a->queue.len) {
		show_new(a);
		return;
	}
	set_timer(a);
	(void)loop_change(a->run->loop, &a->tty, 0);
}

static void answer_first(struct prompt *a, char letter)
{
	struct question q = a->queue.v[0];

	/* Calls that go on may ask again: behind the others */
	forget(a, 0);
	a->answering = true;
	conclude(a, &q, letter);
	a->answering = false;
	show_next(a);
}

static int on_question_timer(void *arg)
{
	struct prompt *a = arg;
	uint64_t n;

	(void)!read(a->timer.fd, &n, sizeof(n));
	if (!a->queue.len)
		return 0;
	if (time_left(a) || !a->queue.v[0].reminded) {
		a->queue.v[0].reminded = true;
		show_first(a);
		return 0;
	}
	say_about(a, &a->queue.v[0], "no answer in time, so it is refused");
	answer_first(a, 0);
	return 0;
}

/* No answer can come any more */
static void refuse_all(struct prompt *a)
{
	while (a->queue.len) {
		struct question q = a->queue.v[0];

		forget(a, 0);
		conclude(a, &q, 0);
	}
}

void prompt_interrupt(struct prompt *a)
{
	bool shown = false;

	for (size_t i = a ? a->queue.len : 0; i-- > 0;) {
		struct question q = a->queue.v[i];

		if (!q.path)
			continue;
		forget(a, i);
		shown |= !i;
		monitor_resume(a->run->monitor, q.path, CONSENT_INTERRUPTED);
		free_question(&q);
	}
	if (shown)
		show_next(a);
}

/* The letter of what was typed, a word or its beginning; 0 if it is anything
 * else: "cancel" has an "a" in it, too
 */
static char letter_of(const char *text, size_t n)
{
	static const struct { const char *word; char letter; } words[] = {
		{ "yes", 'y' }, { "no", 'n' }, { "once", 'o' }, { "always", 'a' },
		{ "session", 'y' }, { "run", 'y' },
		{ "\003", 'n' }, { "\004", 'n' },	/* Ctrl-C and Ctrl-D of a raw terminal */
	};

	for (; n && strchr(" \t", *text); n--)
		text++;
	while (n && strchr(" \t\r\n", text[n - 1]))
		n--;
	for (size_t i = 0; n && i < ARRAY_SIZE(words); i++) {
		if (!strncasecmp(text, words[i].word, n))
			return words[i].letter;
	}
	return 0;
}

static void ask_again(struct prompt *a)
{
	auto_buf struct buf text = { 0 };

	buf_adds(&text, "\r\033[Kcloche: this is not one of the answers\n");
	write_tty(a, &text);
	show_first(a);
}

/* What is typed while nothing is asked was not meant for us */
static int on_tty(void *arg)
{
	struct prompt *a = arg;
	char text[64], letter;
	ssize_t n;

	if (a->tty.events & (EPOLLERR | EPOLLHUP)) {
		loop_remove(a->run->loop, &a->tty);
		close_fd(&a->tty.fd);
		refuse_all(a);
		return 0;
	}
	if (!a->queue.len)
		return 0;
	n = read(a->tty.fd, text, sizeof(text));
	letter = n > 0 ? letter_of(text, (size_t)n) : 0;
	if (n == 0)	/* Ctrl-D */
		letter = 'n';
	if (letter)
		answer_first(a, letter);
	else if (n > 0)
		ask_again(a);
	return 0;
}

/* {"id":1,"allow":true,"scope":"session"}: only a true true is a yes */
static int take_answer(struct prompt *a, const json_t *answer,
		       struct err *err)
{
	const json_t *id = json_object_get(answer, "id");
	const json_t *allow = json_object_get(answer, "allow");
	const char *scope = json_get_text(answer, "scope");
	const bool always = scope && !strcmp(scope, "always");
	const bool session = always || (scope && !strcmp(scope, "session"));
	size_t i = 0;

	if (!json_is_integer(id) || !json_is_boolean(allow) ||
	    json_integer_value(id) < 0 || json_integer_value(id) > UINT32_MAX)
		return fail(err, -EINVAL, "an answer needs \"id\" and \"allow\"");
	while (i < a->queue.len && a->queue.v[i].id != json_integer_value(id))
		i++;
	if (i < a->queue.len && json_is_true(allow) && always)
		remember(a, &a->queue.v[i]);
	if (i < a->queue.len)
		forget(a, i);
	run_network_answer(a->run, (uint32_t)json_integer_value(id),
			   json_is_true(allow), session ? ASK_SESSION : ASK_ONCE);
	return 0;
}

static void tell_bad(const struct prompt *a, const char *why)
{
	output_say(a->run->output, "Invalid config on control fd %d: ignored, previous config still in force (%s)",
		  a->control.fd, why);
}

/* {"answer":{...}}, or a policy, of which the lists of hosts count: in the shape of srt
 * ("network":{"allowedDomains":[...]}) or of Claude Code, with "sandbox" above
 */
static int take_object(struct prompt *a, json_t *root, struct err *err)
{
	const struct policy *from = a->run->decision.policy;
	const json_t *answer = json_object_get(root, "answer");
	const json_t *sandbox = json_object_get(root, "sandbox");
	auto_policy struct policy *policy = NULL;
	int r;

	if (json_is_object(answer))
		return take_answer(a, answer, err);
	if (from->profile == PROFILE_SRT && (r = srt_check(root, err)) < 0)
		return r;
	if (!json_is_object(root))
		return fail(err, -EINVAL, "not an object");
	r = read_policy(json_object_get(sandbox ? sandbox : root, "network"),
			from, &policy, err);
	return r < 0 ? r : run_network_reload(a->run->network, policy, err);
}

static void take_line(struct prompt *a, const char *line, size_t n)
{
	struct err err = { 0 };
	auto_json json_t *root = json_parse(line, n, "control", &err);

	if (!root || take_object(a, root, &err) < 0)
		tell_bad(a, err.msg);
}

/* More of the present line; one that is too long is dropped to its end */
static void add_to_line(struct prompt *a, const char *text, size_t n)
{
	if (!a->skips && a->line.len + n > LINE_MAX_BYTES) {
		tell_bad(a, "a line of more than 1 MiB");
		a->skips = true;
	}
	if (!a->skips)
		buf_add(&a->line, text, n);
}

static void end_line(struct prompt *a)
{
	const size_t n = a->line.len;

	if (!a->skips && strspn(buf_str(&a->line), " \t\r") < n)
		take_line(a, a->line.p, n);
	a->skips = false;
	a->line.len = 0;
}

/* The descriptor is the caller's, the connection ours */
static void release_control(struct prompt *a)
{
	if (a->connected)
		close_fd(&a->control.fd);
	a->control.fd = -1;
}

static int on_control(void *arg)
{
	struct prompt *a = arg;
	char text[4096];
	const ssize_t n = read(a->control.fd, text, sizeof(text));
	const char *p = text, *end;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		loop_remove(a->run->loop, &a->control);
		release_control(a);
		refuse_all(a);
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
static int connect_control(struct prompt *a, const char *path, struct err *err)
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
static int check_control(const struct prompt *a, const char *path,
			 struct err *err)
{
	auto_free char *root = path ?
		view_root_of(a->run->decision.view, path) : NULL;

	return root ? fail(err, -EPERM, "--control-fd: '%s' lies where the command can write; use a socket or pipe without a name, or a socket elsewhere",
			   path) : 0;
}

static int find_control(struct prompt *a, const char *text, struct err *err)
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

static int open_control(struct prompt *a, const char *text, struct err *err)
{
	int r = find_control(a, text, err);

	if (r < 0)
		return r;
	r = loop_add(a->run->loop, &a->control, EPOLLIN);
	if (r < 0)
		return fail(err, r, "--control-fd: cannot wait for descriptor %s: %s",
			    text, strerror(-r));
	return 0;
}

/* Without a person at a terminal there is no prompt: what no rule mentions is refused, as
 * always
 */
static void open_tty(struct prompt *a)
{
	if (!isatty(STDIN_FILENO) || getenv("CLAUDECODE"))
		return;
	a->tty.fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY |
			 O_NONBLOCK);
	if (a->tty.fd >= 0 && loop_add(a->run->loop, &a->tty, 0) < 0)
		close_fd(&a->tty.fd);
}

int prompt_new(struct run *run, bool gate)
{
	const char *control = gate ? options_get(run->options, OPTION_CONTROL_FD) : NULL;
	struct prompt *a = mem_zalloc(sizeof(*a));
	int r = 0;

	a->run = run;
	a->asks = options_has(run->options, OPTION_ASK);
	a->tty = (struct loop_source){ -1, on_tty, a };
	a->control = (struct loop_source){ -1, on_control, a };
	a->timer = (struct loop_source){ -1, on_question_timer, a };
	a->channel = run->output->channel;
	if (control)
		r = open_control(a, control, run->err);
	else if (a->asks && !a->channel)
		open_tty(a);
	if (r < 0) {
		release_control(a);
		free(a);
		return r;
	}
	run->prompt = a;
	return 0;
}

void prompt_free(struct prompt *a)
{
	if (!a)
		return;
	if (a->tty.fd >= 0)
		loop_remove(a->run->loop, &a->tty);
	if (a->control.fd >= 0)
		loop_remove(a->run->loop, &a->control);
	if (a->timer.fd >= 0)
		loop_remove(a->run->loop, &a->timer);
	release_control(a);
	close_fd(&a->timer.fd);
	close_fd(&a->tty.fd);
	buf_done(&a->line);
	for (size_t i = 0; i < a->queue.len; i++)
		free_question(&a->queue.v[i]);
	free(a->queue.v);
	strings_done(&a->refused);
	free(a);
}

bool prompt_can_ask(const struct prompt *a)
{
	return a->asks && (a->channel || a->tty.fd >= 0 || a->control.fd >= 0);
}

static int ask_control(struct prompt *a, uint32_t id, const struct host *host,
		       const char *program)
{
	auto_json json_t *root = json_pack("{s:{s:i, s:s, s:i, s:o}}", "ask",
		"id", (int)id, "host", host->name, "port", (int)host->port,
		"exe", json_text(program));
	auto_free char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
	auto_free char *line = text ? mem_printf("%s\n", text) : NULL;

	return line ? fs_tell(a->control.fd, line, strlen(line)) : -EINVAL;
}

/* Show the question, or put it behind the others: 0; or -EBUSY, and @q is the caller's */
static int enqueue(struct prompt *a, struct question *q)
{
	if (a->tty.fd < 0 || a->queue.len == QUEUE_MAX)
		return -EBUSY;
	if (tcgetpgrp(a->tty.fd) != getpgrp()) {
		/* We could write there, but not read */
		say_about(a, q, "refused: --ask cannot ask while another job has the terminal");
		return -EBUSY;
	}
	q->until_ms = now_ms(CLOCK_MONOTONIC) + ANSWER_MS;
	*vec_push(&a->queue) = *q;
	if (a->queue.len > 1 || a->answering)
		return 0;
	(void)loop_change(a->run->loop, &a->tty, EPOLLIN);
	show_new(a);
	return 0;
}

void prompt_ask(struct prompt *a, uint32_t id, const struct host *host,
		     pid_t pid)
{
	struct question q = { .id = id, .host = *host, .pid = pid };
	const bool control = a->control.fd >= 0;
	auto_free char *program = program_of(a, pid);
	int r = 0;

	if (control)
		r = ask_control(a, id, host, program);
	else if (a->channel)
		r = host_channel_ask(a->channel, id, host, program);
	else
		r = enqueue(a, &q);
	if (r < 0)
		run_network_answer(a->run, id, false, ASK_ONCE);
	if (r < 0 || !control)
		return;
	/* The host of an "always"; it may never be answered */
	if (a->queue.len == QUEUE_MAX)
		forget(a, 0);
	*vec_push(&a->queue) = q;
}

/* A pattern would allow more than it says */
static bool may_ask(const struct prompt *a, const struct question *q)
{
	const struct policy *policy = a->run->decision.policy;

	return !strings_have(&a->refused, q->path) &&
	       strlen(q->target) <= PATH_SHOWN_MAX && !glob_is_pattern(q->path) &&
	       !never_list_path(policy, q->path) && !never_list_path(policy, q->target);
}

bool prompt_ask_path(struct prompt *a, const char *path, const char *target,
			  pid_t pid)
{
	struct question q = {
		.path = mem_strdup(path), .target = mem_strdup(target), .pid = pid,
	};
	bool is_asked = false;

	for (size_t i = 0; i < a->queue.len && !is_asked; i++)
		is_asked = a->queue.v[i].path && !strcmp(a->queue.v[i].path, path);
	if (!is_asked && may_ask(a, &q) && enqueue(a, &q) == 0)
		return true;
	free_question(&q);
	return is_asked;
}
