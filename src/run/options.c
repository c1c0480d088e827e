/* SPDX-License-Identifier: Apache-2.0 */
/* run/options.c - the options of a run, by name; one table for every use */

#include "run/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "policy/policy.h"

enum { COUNT_MAX = 4194304 };	/* Processes that Linux can have */

static const struct option_row rows[OPTION_COUNT] = {
#define OPTION(id, name, letter, argument, kind, index, help)	\
	[OPTION_##id] = { name, letter, argument, KIND_##kind, (int)index, help },
#include "run/options.def"
#undef OPTION
};

const struct option_row *option_row(enum option_id id)
{
	return &rows[id];
}

enum option_id option_find(const char *name, size_t n)
{
	enum option_id id = 0;

	while (id < OPTION_COUNT && (strncmp(rows[id].name, name, n) != 0 ||
				     rows[id].name[n]))
		id++;
	return id;
}

int option_number(enum option_kind kind, const char *value, uint64_t *ret)
{
	switch (kind) {
	case KIND_SIZE:
		return text_to_size(value, ret);
	case KIND_TIME:
		return text_to_duration_ms(value, ret);
	case KIND_PORT:
		return text_to_u64(value, 65535, ret);
	default:
		return text_to_u64(value, COUNT_MAX, ret);
	}
}

/* What a number should have looked like */
static const char *const examples[] = {
	[KIND_SIZE] = "a size like 512M or 2G",
	[KIND_TIME] = "a time like 30s, 5m or 2h",
	[KIND_COUNT] = "a number from 1 to 4194304",
	[KIND_PORT] = "a port from 1 to 65535",
};

int option_check(const char *name, const char *argument, const char *value,
		 struct err *err)
{
	if (!argument && value)
		return fail(err, -EINVAL, "--%s takes no value", name);
	if (argument && (!value || !*value))
		return fail(err, -EINVAL, "--%s needs a value (%s)%s", name,
			    argument, value ? " that is not empty" : "");
	return 0;
}

int options_add(struct options *options, enum option_id id, const char *value,
		struct err *err)
{
	const enum option_kind kind = rows[id].kind;
	const char *name = rows[id].name;
	uint64_t n = 1;
	int r = option_check(name, rows[id].argument, value, err);

	if (r < 0)
		return r;
	if (kind < ARRAY_SIZE(examples) && examples[kind] &&
	    (option_number(kind, value, &n) < 0 || !n))
		return fail(err, -EINVAL, "--%s: '%s' is not %s", name, value,
			    examples[kind]);
	if (kind == KIND_ENV && *value == '=')
		return fail(err, -EINVAL, "--env: '%s' has no name", value);
	*vec_push(options) = (struct option_value){
		id, value ? mem_strdup(value) : NULL,
	};
	return 0;
}

void options_done(struct options *options)
{
	for (size_t i = 0; i < options->len; i++)
		free(options->v[i].value);
	free(options->v);
	strings_done(&options->granted);
	*options = (struct options){ 0 };
}

char *options_swap(struct options *options, enum option_id id,
		   const char *value)
{
	struct option_value *v;
	size_t i = options->len;
	char *old;

	while (i > 0 && options->v[i - 1].id != id)
		i--;
	if (!i && value) {
		v = vec_push(options);
		*v = (struct option_value){ id, mem_strdup(value) };
	}
	if (!i)
		return NULL;
	v = &options->v[i - 1];
	old = v->value;
	if (value) {
		v->value = mem_strdup(value);
	} else {
		options->len--;
		memmove(v, v + 1, (options->len - (i - 1)) * sizeof(*v));
	}
	return old;
}

char *const *options_env(const struct options *options)
{
	return options->env ? options->env : environ;
}

const char *options_get(const struct options *options, enum option_id id)
{
	for (size_t i = options->len; i-- > 0;) {
		if (options->v[i].id == id)
			return options->v[i].value ? options->v[i].value : "";
	}
	return NULL;
}

bool options_has(const struct options *options, enum option_id id)
{
	return options_get(options, id) != NULL;
}

bool options_reports_inside(const struct options *options)
{
	const char *form = options_get(options, OPTION_ANNOTATE);

	return form ? !strcmp(form, "each") : options_has(options, OPTION_FOR);
}

const char *options_verb = "help";

/* The descriptor of a pipe that @file (/dev/fd/63) names, or -1. A named pipe in a
 * directory is not read: a command could have made it to block us.
 */
static int stream_fd(const char *file)
{
	static const char *const dirs[] = { "/dev/fd/", "/proc/self/fd/" };
	struct stat st;
	uint64_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		const size_t len = strlen(dirs[i]);

		if (!strncmp(file, dirs[i], len) &&
		    text_to_u64(file + len, 1 << 20, &n) == 0)
			return fstat((int)n, &st) == 0 &&
			       !S_ISREG(st.st_mode) ? (int)n : -1;
	}
	return !strcmp(file, "/dev/stdin") && fstat(STDIN_FILENO, &st) == 0 &&
	       !S_ISREG(st.st_mode) ? STDIN_FILENO : -1;
}

int options_add_settings(struct options *options, const char *file,
			 struct err *err)
{
	const int fd = !file ? -1 : !strcmp(file, "-") ? STDIN_FILENO :
		       stream_fd(file);
	auto_buf struct buf text = { 0 };
	int r;

	if (options_has(options, OPTION_SETTINGS))
		return fail(err, -EINVAL, "--settings is given twice, and one file's rules would be lost; put them into one file");
	if (fd < 0)
		return options_add(options, OPTION_SETTINGS, file, err);
	r = fs_read_fd(fd, JSON_TEXT_MAX, &text, err);
	if (r < 0)
		return fail_in(err, r, "--settings %s", file);
	if (strlen(buf_str(&text)) != text.len)
		return fail(err, -EINVAL, "--settings %s: holds a NUL byte",
			    file);
	if (buf_str(&text)[strspn(buf_str(&text), " \t\r\n")] != '{')
		return fail(err, -EINVAL, "--settings %s: must hold an object: { ... }",
			    file);
	return options_add(options, OPTION_SETTINGS, buf_str(&text), err);
}

int option_fail_unknown(const char *word, bool of_run,
			const char *const *others, struct err *err)
{
	const size_t n = word[1] == '-' ? strcspn(word, "=") : 2;
	auto_free char *shown = mem_strndup(word, n);
	struct text_near near = { .word = n > 2 ? shown + 2 : "" };

	for (enum option_id id = 0; of_run && id < OPTION_COUNT; id++)
		(void)text_near_try(&near, rows[id].name);
	for (; *others; others++)
		(void)text_near_try(&near, *others);
	if (near.best)
		return fail(err, -EINVAL, "unknown option '%s'; did you mean --%s?",
			    shown, near.best);
	return fail(err, -EINVAL, "unknown option '%s'; 'cloche help %s' lists them",
		    shown, options_verb);
}

int options_parse_one(char **argv, struct options *options, struct err *err)
{
	const bool is_long = argv[0][1] == '-';
	const char *name = argv[0] + 1 + is_long;
	const size_t n = is_long ? strcspn(name, "=") : 1;
	const char *value = name[n] ? name + n + is_long : NULL;
	enum option_id id = is_long ? option_find(name, n) : 0;
	bool next;
	int r;

	while (!is_long && id < OPTION_COUNT && rows[id].letter != *name)
		id++;
	if (id == OPTION_COUNT)
		return -ENOENT;
	next = !value && rows[id].argument && argv[1];
	value = next ? argv[1] : value;
	r = id == OPTION_SETTINGS ? options_add_settings(options, value, err) :
	    options_add(options, id, value, err);
	return r < 0 ? r : 1 + next;
}

int options_parse(int argc, char **argv, struct options *options,
		  struct err *err)
{
	static const char *const none[] = { NULL };
	int i = 1;

	while (i < argc && argv[i][0] == '-' && argv[i][1]) {
		int used;

		if (!strcmp(argv[i], "--"))
			return i + 1;
		used = options_parse_one(argv + i, options, err);
		if (used == -ENOENT)
			used = option_fail_unknown(argv[i], true, none, err);
		if (used < 0)
			return used;
		i += used;
	}
	return i;
}

static char *default_shell(void)
{
	static char bash[] = "/bin/bash", sh[] = "/bin/sh";

	return access(bash, X_OK) == 0 ? bash : sh;
}

int options_command(const struct options *options, char **args,
		    bool may_be_empty, char ***ret, struct err *err)
{
	static char dash_c[] = "-c", name[] = "cloche";
	const char *string = options_get(options, OPTION_COMMAND);
	const char *shell = options_get(options, OPTION_SHELL);
	size_t n = 0, at = 0;
	char **argv;

	while (args[n])
		n++;
	if (!string && !n && !may_be_empty)
		return fail(err, -EINVAL, "no command; write it after the options, or give -c 'STRING'");
	argv = mem_zalloc((n + 5) * sizeof(*argv));
	if (string) {
		/* argv of execve() is not const, but is not written to */
		argv[at++] = shell ? (char *)(size_t)shell : default_shell();
		argv[at++] = dash_c;
		argv[at++] = (char *)(size_t)string;
		if (n)
			argv[at++] = name;
	}
	for (size_t i = 0; i < n; i++)
		argv[at++] = args[i];
	*ret = argv;
	return 0;
}
