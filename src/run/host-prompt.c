/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run/host-prompt.c - ask about hosts that no rule mentions
 *
 * One question is on the terminal at a time; others wait behind it. The gate
 * gives up on a question after a minute by itself, so an answer that comes too
 * late changes nothing but the session's memory.
 */

#include "run/host-prompt.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
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
#include "gate/ask.h"
#include "plan/plan.h"
#include "policy/host.h"
#include "policy/policy.h"
#include "policy/settings.h"
#include "policy/srt-settings.h"
#include "run/decision.h"
#include "run/host-channel.h"
#include "run/options.h"
#include "run/output.h"
#include "run/settings-edit.h"
#include "view/view.h"

/* A line of --control-fd is {"answer":{"id":1,"allow":true,"scope":"session"}}, or a
 * policy, of which the lists of hosts count: in the shape of srt
 * ("network":{"allowedDomains":[...]}) or of Claude Code, with "sandbox" above
 */
enum control_kind { CONTROL_BAD, CONTROL_ANSWER, CONTROL_POLICY };

struct control_answer {
	uint32_t id;
	bool allow;
	enum ask_scope scope;
	bool always;	/* And in later runs: into the local settings */
};

static enum control_kind parse_answer(const json_t *answer,
				      struct control_answer *ret,
				      struct err *err)
{
	const json_t *id = json_object_get(answer, "id");
	const json_t *allow = json_object_get(answer, "allow");
	const char *scope = json_string_value(json_object_get(answer, "scope"));

	/* Only a true true is a yes */
	if (!json_is_integer(id) || !json_is_boolean(allow) ||
	    json_integer_value(id) < 0 ||
	    json_integer_value(id) > UINT32_MAX) {
		fail(err, -EINVAL, "an answer needs \"id\" and \"allow\"");
		return CONTROL_BAD;
	}
	*ret = (struct control_answer){
		.id = (uint32_t)json_integer_value(id),
		.allow = json_is_true(allow),
		.always = scope && !strcmp(scope, "always"),
	};
	ret->scope = ret->always || (scope && !strcmp(scope, "session")) ?
		     ASK_SESSION : ASK_ONCE;
	return CONTROL_ANSWER;
}

/* The rules of @from that a line can't replace */
static int keep_rules(struct policy *to, const struct policy *from,
		      enum host_list list, struct err *err)
{
	const struct host_rules *rules = &from->hosts[list];
	int r = 0;

	for (size_t i = 0; !r && i < rules->len; i++) {
		const struct host_rule *rule = &rules->v[i];
		const struct source *source = rule->origin.source;

		/* srt's lines replace the denials as well */
		if ((list == HOST_ALLOW || from->profile == PROFILE_SRT) &&
		    (!source || source->scope != SCOPE_MANAGED))
			continue;
		r = policy_add_host(to, list, rule->text, rule->reason,
				    rule->origin, err);
	}
	return r;
}

static int add_hosts(struct policy *p, enum host_list list, const json_t *values,
		    const struct source *source, const char *name,
		    struct err *err)
{
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

static void copy_values(struct policy *to, const struct policy *from)
{
	const struct string_rules *denied = &from->lists[LIST_DENIED_ADDRESSES];

	for (size_t i = 0; i < denied->len; i++)
		(void)policy_add_string(to, LIST_DENIED_ADDRESSES, denied->v[i].text,
				  denied->v[i].origin, NULL);
	for (size_t i = 0; i < FLAG_COUNT; i++) {
		if (from->flags[i].set)
			policy_set_flag(to, (enum policy_flag)i,
					from->flags[i].value,
					from->flags[i].origin);
	}
	for (size_t i = 0; i < NUMBER_COUNT; i++) {
		if (from->numbers[i].set)
			policy_set_number(to, (enum policy_number)i,
					from->numbers[i].value,
					from->numbers[i].origin);
	}
	for (size_t i = 0; i < TEXT_COUNT; i++) {
		if (from->texts[i].value)
			policy_set_text(to, (enum policy_text)i,
					from->texts[i].value,
					from->texts[i].origin);
	}
}

static enum control_kind parse_policy(const json_t *root,
				      const struct policy *from,
				      struct policy **ret, struct err *err)
{
	const json_t *sandbox = json_object_get(root, "sandbox");
	const json_t *net = json_object_get(sandbox ? sandbox : root,
					    "network");
	auto_policy struct policy *p = policy_new(from->cwd, from->home);
	const struct source *source = policy_add_source(p, SCOPE_FLAG,
		"--control-fd", NULL, 0, NULL);
	int r;

	if (!json_is_object(net)) {
		fail(err, -EINVAL, "neither an answer nor a policy with \"network\"");
		return CONTROL_BAD;
	}
	r = keep_rules(p, from, HOST_DENY, err);
	if (!r)
		r = keep_rules(p, from, HOST_ALLOW, err);
	if (!r && !policy_flag(from, FLAG_MANAGED_DOMAINS_ONLY, false))
		r = add_hosts(p, HOST_ALLOW,
			     json_object_get(net, "allowedDomains"), source,
			     "allowedDomains", err);
	if (!r)
		r = add_hosts(p, HOST_DENY,
			     json_object_get(net, "deniedDomains"), source,
			     "deniedDomains", err);
	if (r < 0)
		return CONTROL_BAD;
	copy_values(p, from);
	*ret = take_ptr(p);
	return CONTROL_POLICY;
}

/* Parse one line. CONTROL_POLICY: *@ret_policy is a new policy for the network
 * with the line's lists in the place of those that the run was started with;
 * denials (but for profile srt), and what an administrator manages, stay.
 * CONTROL_BAD: with a message.
 */
static enum control_kind parse_line(const char *line, size_t n,
				    const struct policy *policy,
				    struct control_answer *ret_answer,
				    struct policy **ret_policy, struct err *err)
{
	json_t *root = json_parse(line, n, "control", err);
	const json_t *answer = json_object_get(root, "answer");
	enum control_kind kind = CONTROL_BAD;

	if (json_is_object(answer))
		kind = parse_answer(answer, ret_answer, err);
	else if (policy->profile == PROFILE_SRT && srt_check(root, err) < 0)
		;	/* Explained in @err */
	else if (json_is_object(root))
		kind = parse_policy(root, policy, ret_policy, err);
	else if (root)
		fail(err, -EINVAL, "not an object");
	json_decref(root);
	return kind;
}

struct question {
	uint32_t id;
	struct host host;
	pid_t pid;
};

/**
 * struct host_prompt - The terminal, the control descriptor, or the library
 * @channel:	The library that started us, or NULL
 * @tty:	-1 unless questions go there
 * @control:	-1 unless --control-fd
 * @connected:	It is a connection of our own
 * @line:	What came on it so far; @skips if that is too much
 * @queue:	Questions for the terminal; the first one is shown
 */
struct host_prompt {
	struct host_prompt_config config;
	bool asks, connected, skips;
	struct host_channel *channel;
	struct loop_source tty, control;
	struct buf line;
	struct { struct question *v; size_t len, cap; } queue;
};

/* The program that @pid runs, or the one that was started if that is unknown */
static char *program_of(const struct host_prompt *a, pid_t pid)
{
	const char *command = a->config.decision->plan->argv[0];
	char path[32], exe[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = pid ? readlink(path, exe, sizeof(exe)) : -1;
	return n > 0 ? mem_strndup(exe, (size_t)n)
		     : mem_strdup(command ? command : "the command");
}

static void show_first(const struct host_prompt *a)
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
static void remember(const struct host_prompt *a, const struct host *host)
{
	struct settings_request req;
	auto_buf struct buf text = { 0 };
	auto_free char *file = NULL;
	struct err err = { 0 };

	host_format(host, host->port == 80 ? 80 : 443, &text);
	settings_request_init(&req, a->config.decision->policy->cwd);
	if (settings_edit_append(&req, SCOPE_USER, "sandbox.network.allowedDomains",
			  buf_str(&text), &file, &err) < 0)
		output_say(a->config.decision->output, "not remembered: %s",
			  err.msg);
	settings_request_done(&req);
}

static void forget(struct host_prompt *a, size_t i)
{
	a->queue.len--;
	memmove(a->queue.v + i, a->queue.v + i + 1,
		(a->queue.len - i) * sizeof(*a->queue.v));
}

static void answer_first(struct host_prompt *a, char letter)
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
	struct host_prompt *a = arg;
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

static void take_answer(struct host_prompt *a, const struct control_answer *answer)
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

static void tell_bad(const struct host_prompt *a, const char *why)
{
	output_say(a->config.decision->output, "Invalid config on control fd %d: ignored, previous config still in force (%s)",
		  a->control.fd, why);
}

static void take_line(struct host_prompt *a, const char *line, size_t n)
{
	struct err err = { 0 };
	struct control_answer answer;
	auto_policy struct policy *policy = NULL;

	switch (parse_line(line, n, a->config.decision->policy, &answer,
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
static void add_to_line(struct host_prompt *a, const char *text, size_t n)
{
	if (!a->skips && a->line.len + n > HOST_PROMPT_LINE_MAX) {
		tell_bad(a, "a line of more than 1 MiB");
		a->skips = true;
	}
	if (!a->skips)
		buf_add(&a->line, text, n);
}

static void end_line(struct host_prompt *a)
{
	const size_t n = a->line.len;

	if (!a->skips && strspn(buf_str(&a->line), " \t\r") < n)
		take_line(a, a->line.p, n);
	a->skips = false;
	a->line.len = 0;
}

/* The descriptor is the caller's, the connection ours */
static void release_control(struct host_prompt *a)
{
	if (a->connected)
		close_fd(&a->control.fd);
	a->control.fd = -1;
}

static void refuse_first(struct host_prompt *a)
{
	const uint32_t id = a->queue.v[0].id;

	forget(a, 0);
	a->config.answer(a->config.arg, id, false, ASK_ONCE);
}

static int on_control(void *arg, uint32_t events)
{
	struct host_prompt *a = arg;
	char text[4096];
	const ssize_t n = read(a->control.fd, text, sizeof(text));
	const char *p = text, *end;

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) {
		/* No answer can come any more */
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
static int connect_control(struct host_prompt *a, const char *path, struct err *err)
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
static int check_control(const struct host_prompt *a, const char *path,
			 struct err *err)
{
	auto_free char *root = path ?
		view_root_of(a->config.decision->view, path) : NULL;

	return root ? fail(err, -EPERM, "--control-fd: '%s' lies where the command can write; use a socket or pipe without a name, or a socket elsewhere",
			   path) : 0;
}

static int find_control(struct host_prompt *a, const char *text, struct err *err)
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

static int open_control(struct host_prompt *a, const char *text, struct err *err)
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

/* Without a terminal there is no prompt: unknown hosts are refused, as always */
static void open_tty(struct host_prompt *a)
{
	a->tty.fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY |
			 O_NONBLOCK);
	if (a->tty.fd >= 0 && loop_add(a->config.loop, &a->tty, 0) < 0)
		close_fd(&a->tty.fd);
}

int host_prompt_new(const struct host_prompt_config *config, struct host_prompt **ret,
	      struct err *err)
{
	const struct options *options = config->decision->options;
	const char *control = options_get(options, OPTION_CONTROL_FD);
	struct host_prompt *a = mem_zalloc(sizeof(*a));
	int r = 0;

	a->config = *config;
	a->asks = options_has(options, OPTION_ASK);
	a->tty = (struct loop_source){ -1, on_tty, a };
	a->control = (struct loop_source){ -1, on_control, a };
	a->channel = config->decision->output->channel;
	if (a->channel)
		host_channel_on_answer(a->channel, config->answer, config->arg);
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

void host_prompt_free(struct host_prompt *a)
{
	if (!a)
		return;
	if (a->tty.fd >= 0)
		loop_remove(a->config.loop, &a->tty);
	if (a->control.fd >= 0)
		loop_remove(a->config.loop, &a->control);
	release_control(a);
	if (a->channel)
		host_channel_on_answer(a->channel, NULL, NULL);
	close_fd(&a->tty.fd);
	buf_done(&a->line);
	free(a->queue.v);
	free(a);
}

bool host_prompt_can_ask(const struct host_prompt *a)
{
	return a->asks && (a->channel || a->tty.fd >= 0 || a->control.fd >= 0);
}

static void ask_control(struct host_prompt *a, uint32_t id, const struct host *host,
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
	if (a->queue.len == HOST_PROMPT_QUEUE_MAX)
		forget(a, 0);
	*vec_push(&a->queue) = (struct question){ id, *host, pid };
}

static void ask_library(const struct host_prompt *a, uint32_t id,
			const struct host *host, pid_t pid)
{
	auto_free char *program = program_of(a, pid);

	if (host_channel_ask(a->channel, id, host, program) < 0)
		a->config.answer(a->config.arg, id, false, ASK_ONCE);
}

void host_prompt_ask(struct host_prompt *a, uint32_t id, const struct host *host,
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
	if (a->tty.fd < 0 || a->queue.len == HOST_PROMPT_QUEUE_MAX) {
		a->config.answer(a->config.arg, id, false, ASK_ONCE);
		return;
	}
	*vec_push(&a->queue) = (struct question){ id, *host, pid };
	if (a->queue.len > 1)
		return;
	(void)loop_change(a->config.loop, &a->tty, EPOLLIN);
	show_first(a);
}
