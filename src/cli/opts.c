/* SPDX-License-Identifier: Apache-2.0 */
/* cli/opts.c - command-line options, from the table in lib/options.def */

#include <errno.h>
#include <stdbool.h>
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
#include "cli/command.h"
#include "lib/options.h"

/* Other pipes are files that somebody could have put there to hold us up */
int cli_stream(const char *file)
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

/* Settings that can be read only once are as if they were written here */
static int add_settings(struct options *options, const char *file,
			struct err *err)
{
	const int fd = !file ? -1 : !strcmp(file, "-") ? STDIN_FILENO :
		       cli_stream(file);
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

static int add(struct options *options, enum option_id id, const char *value,
	       struct err *err)
{
	return id == OPTION_SETTINGS ? add_settings(options, value, err)
				     : options_add(options, id, value, err);
}

const char *cli_take(int *argc, char **argv, const char *name)
{
	const size_t n = strlen(name);

	for (int i = 1; i < *argc && strcmp(argv[i], "--") != 0; i++) {
		const bool joined = !strncmp(argv[i], name, n) &&
				    argv[i][n] == '=';
		const bool next = !joined && i + 1 < *argc;
		const char *value = joined ? argv[i] + n + 1 :
				    next ? argv[i + 1] : "";

		if (!joined && strcmp(argv[i], name) != 0)
			continue;
		*argc -= 1 + next;
		memmove(argv + i, argv + i + 1 + next,
			(size_t)(*argc - i + 1) * sizeof(*argv));
		return value;
	}
	return NULL;
}

/* With @value, or the next word if there is none and it needs one; returns the
 * words used
 */
static int add_word(int argc, char **argv, int i, enum option_id id,
		    const char *value, struct options *options,
		    struct err *err)
{
	const bool next = !value && option_row(id)->argument && i + 1 < argc;
	const int r = add(options, id, next ? argv[i + 1] : value, err);

	return r < 0 ? r : 1 + next;
}

static int fail_option(const char *name, size_t n, struct err *err)
{
	auto_free char *word = mem_strndup(name, n);
	struct text_near near = { .word = word };

	for (enum option_id id = 0; id < OPTION_COUNT; id++)
		(void)text_near_try(&near, option_row(id)->name);
	if (near.best)
		return fail(err, -EINVAL, "unknown option '--%s'; did you mean --%s?",
			    word, near.best);
	return fail(err, -EINVAL, "unknown option '--%s'; 'cloche help %s' lists them",
		    word, cli_verb());
}

/* "--name", "--name=value" or "--name value" */
static int parse_long(int argc, char **argv, int i, struct options *options,
		      struct err *err)
{
	const char *name = argv[i] + 2;
	const size_t n = strcspn(name, "=");
	const enum option_id id = option_find(name, n);

	if (id == OPTION_COUNT)
		return fail_option(name, n, err);
	return add_word(argc, argv, i, id, name[n] ? name + n + 1 : NULL,
			options, err);
}

/* "-s value" or "-svalue" */
static int parse_short(int argc, char **argv, int i, struct options *options,
		       struct err *err)
{
	const enum option_id id = option_find_letter(argv[i][1]);

	if (id == OPTION_COUNT)
		return fail(err, -EINVAL, "unknown option '-%c'; 'cloche help %s' lists them",
			    argv[i][1], cli_verb());
	return add_word(argc, argv, i, id, argv[i][2] ? argv[i] + 2 : NULL,
			options, err);
}

int cli_parse_query(int argc, char **argv, struct options *options, int *json,
		    struct err *err)
{
	int i = 1;

	while (i < argc && argv[i][0] == '-' && argv[i][1]) {
		int used;

		if (!strcmp(argv[i], "--"))
			return i + 1;
		if (json && !strcmp(argv[i], "--json")) {
			*json = 1;
			i++;
			continue;
		}
		used = argv[i][1] == '-' ?
			parse_long(argc, argv, i, options, err) :
			parse_short(argc, argv, i, options, err);
		if (used < 0)
			return used;
		i += used;
	}
	return i;
}

int cli_parse_options(int argc, char **argv, struct options *options,
		      struct err *err)
{
	return cli_parse_query(argc, argv, options, NULL, err);
}
