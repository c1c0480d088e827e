/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learn/needs.c - refusals of trial runs as lines of a policy; and what is never one
 *
 * The record of a refusal says which rule would allow it. Most of these rules are for
 * a person to weigh: a key, a hook, a start-up file, the socket of a daemon that runs
 * as root. Such a rule is never proposed; it is listed with the
 * reason.
 */

#include "learn/needs.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/own.h"
#include "base/path.h"
#include "policy/never-list.h"
#include "policy/policy.h"
#include "report/violation.h"

enum { RANDOM_LEN_MIN = 4 };	/* Characters of a random part of a name */

const struct need_row need_rows[NEED_KINDS] = {
	[NEED_HOST] = { "host", "allow", "network.allowedDomains" },
	[NEED_READ] = { "read", "read", "filesystem.allowRead" },
	[NEED_WRITE] = { "write", "write", "filesystem.allowWrite" },
	[NEED_SOCKET] = { "socket", "unix-socket", "network.allowUnixSockets" },
	[NEED_PORT] = { "port", "host-port", "network.hostPorts" },
};

void needs_done(struct needs *needs)
{
	for (size_t i = 0; i < needs->lines.len; i++) {
		free(needs->lines.v[i].value);
		free(needs->lines.v[i].program);
	}
	free(needs->lines.v);
	strings_done(&needs->refused);
	strings_done(&needs->untried);
}

/* Why no line may allow @value; or NULL */
static const char *find_never(const struct needs *needs, enum need_kind kind,
			      const char *value)
{
	switch (kind) {
	case NEED_HOST:
		return never_list_host(value);
	case NEED_SOCKET:
		return never_list_socket(value);
	case NEED_READ:
	case NEED_WRITE:
		return *value == '/' ? never_list_path(needs->policy, value) :
				       "not a path";
	default:
		return NULL;
	}
}

/* Add @text, which it owns from now on, to @list */
static void keep_line(struct needs *needs, struct strings *list, char *text)
{
	auto_free char *line = text;

	if (strings_have(list, line))
		return;
	if (list->len == NEEDS_REFUSED_MAX)
		needs->unsaid++;
	else
		*vec_push(list) = take_ptr(line);
}

/* sandbox.KEY += "VALUE", as the record suggests it. The value, or NULL. */
static char *parse_edit(const char *edit, enum need_kind *ret)
{
	static const char head[] = "sandbox.", between[] = " += ";
	const char *middle = edit ? strstr(edit, between) : NULL;
	char *value = NULL;
	json_t *text;

	if (!middle || strncmp(edit, head, strlen(head)) != 0)
		return NULL;
	edit += strlen(head);
	text = json_loads(middle + strlen(between), JSON_DECODE_ANY, NULL);
	for (enum need_kind kind = 0; kind < NEED_KINDS; kind++) {
		if (strlen(need_rows[kind].key) == (size_t)(middle - edit) &&
		    !strncmp(need_rows[kind].key, edit, (size_t)(middle - edit))) {
			*ret = kind;
			value = json_is_string(text) ?
				mem_strdup(json_string_value(text)) :
				json_is_integer(text) ?
				mem_printf("%" JSON_INTEGER_FORMAT,
					   json_integer_value(text)) : NULL;
		}
	}
	json_decref(text);
	return value;
}

static struct need *find_line(struct needs *needs, enum need_kind kind,
			      const char *value)
{
	for (size_t i = 0; i < needs->lines.len; i++) {
		struct need *line = &needs->lines.v[i];

		if (line->kind == kind && !strcmp(line->value, value))
			return line;
	}
	return NULL;
}

/* Changes in a directory can be staged, those of a single file cannot: the line is about
 * the directory. @makes: the command would make a directory there. False if it may not be.
 */
static bool take_directory(const struct needs *needs, bool makes, char **path)
{
	auto_free char *dir = path_parent(*path);
	struct stat st;

	if (stat(*path, &st) < 0 ? makes : S_ISDIR(st.st_mode))
		return true;
	if (find_never(needs, NEED_WRITE, dir))
		return false;
	free(*path);
	*path = take_ptr(dir);
	return true;
}

/* Behind a socket or a port of the host a program of the user's may run what it is sent: an
 * editor, a debugger, a window manager. That is for a person to decide, before the command
 * gets there.
 */
static bool is_service(enum need_kind kind)
{
	return kind == NEED_SOCKET || kind == NEED_PORT;
}

void needs_add(struct needs *needs, const struct violation *v)
{
	enum need_kind kind = NEED_KINDS;
	auto_free char *value = parse_edit(v->suggest_edit, &kind);
	const char *never = value ? find_never(needs, kind, value) : NULL;

	if (value && !never &&
	    (is_service(kind) ||
	     (kind == NEED_WRITE &&
	      !take_directory(needs, v->op && strstr(v->op, "mkdir"), &value)))) {
		keep_line(needs, &needs->untried,
			  mem_strdup(v->suggest_command ? v->suggest_command : value));
		return;
	}
	/* What a default rule hides is a secret. The words of that rule, and of a
	 * protected name, are in the record.
	 */
	if (!value || never || (kind == NEED_READ && !v->rule_file)) {
		if (!never)
			never = v->reason ? v->reason : "cannot be allowed";
		keep_line(needs, &needs->refused,
			  mem_printf("%s %s (%s)", violation_kind_words(v->kind),
				     v->target ? v->target : "?", never));
		return;
	}
	if (find_line(needs, kind, value))
		return;
	if (needs->lines.len == NEEDS_MAX)
		needs->unsaid++;
	else
		*vec_push(&needs->lines) = (struct need){
			.kind = kind, .value = take_ptr(value), .round = needs->round,
			.program = v->exe ? mem_strdup(path_base(v->exe)) : NULL,
		};
}

static bool is_path(const struct need *need)
{
	return need->kind == NEED_READ || need->kind == NEED_WRITE;
}

/* Two names that one program made up: they differ in a number, or in as many characters
 * between parts that are the same
 */
static bool is_alike(const char *a, const char *b)
{
	size_t before = 0, after = 0, n = strlen(a), m = strlen(b);

	while (a[before] && a[before] == b[before])
		before++;
	while (before > 0 && isdigit((unsigned char)a[before - 1]))
		before--;
	while (after < n - before && after < m - before &&
	       a[n - after - 1] == b[m - after - 1])
		after++;
	n -= before + after;
	m -= before + after;
	if (strspn(a + before, "0123456789") >= n &&
	    strspn(b + before, "0123456789") >= m)
		return n && m;
	return n == m && before + after > 0 && n >= RANDOM_LEN_MIN;
}

/* Whether @line, of the current run, and an earlier one are names of @dir that a program
 * made up; or there are many files of @dir
 */
static bool stands_for_dir(const struct needs *needs, const struct need *line,
			   const char *dir)
{
	size_t files = 0;

	for (size_t i = 0; i < needs->lines.len; i++) {
		const struct need *other = &needs->lines.v[i];
		auto_free char *parent = is_path(other) ? path_parent(other->value) : NULL;
		struct stat st;

		if (other->kind != line->kind || other->dropped || !parent ||
		    strcmp(parent, dir) != 0)
			continue;
		if (other->round != line->round &&
		    is_alike(path_base(other->value), path_base(line->value)))
			return true;
		files += stat(other->value, &st) < 0 || !S_ISDIR(st.st_mode);
	}
	return files >= NEEDS_FILES_MANY;
}

/* The line becomes its directory's; those of other names there go with it */
static void widen(struct needs *needs, struct need *line, char *dir)
{
	for (size_t i = 0; i < needs->lines.len; i++) {
		struct need *other = &needs->lines.v[i];

		if (other != line && other->kind == line->kind &&
		    path_is_within(dir, other->value))
			other->dropped = "its directory is allowed";
	}
	free(line->value);
	line->value = dir;
	line->round = needs->round;
}

/* The host of "host:port", without the port */
static size_t host_length(const struct need *need)
{
	const char *colon = need->kind == NEED_HOST ? strrchr(need->value, ':') : NULL;

	return colon ? (size_t)(colon - need->value) : 0;
}

/* A port that another run did not use is none to write down */
static void drop_random_port(struct needs *needs, struct need *line)
{
	const size_t n = host_length(line);

	for (size_t i = 0; n && i < needs->lines.len; i++) {
		struct need *other = &needs->lines.v[i];

		if (other->round != line->round && host_length(other) == n &&
		    !strncmp(other->value, line->value, n))
			line->dropped = other->dropped =
				"the port differs between two runs";
	}
}

bool needs_end_round(struct needs *needs)
{
	bool changed = false;

	for (size_t i = 0; i < needs->lines.len; i++) {
		struct need *line = &needs->lines.v[i];
		auto_free char *dir = is_path(line) ? path_parent(line->value) : NULL;

		if (line->round != needs->round || line->dropped)
			continue;
		drop_random_port(needs, line);
		if (dir && stands_for_dir(needs, line, dir) &&
		    !find_never(needs, line->kind, dir))
			widen(needs, line, take_ptr(dir));
		changed |= !line->dropped;
	}
	return changed;
}
