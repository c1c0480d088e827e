/* SPDX-License-Identifier: Apache-2.0 */
/* run/options.h - the options of a run, by name; one table for every use */

#ifndef RUN_OPTIONS_H
#define RUN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct err;

enum option_id {
#define OPTION(id, ...) OPTION_##id,
#include "run/options.def"
#undef OPTION
	OPTION_COUNT,
};

/* What becomes of a value (options.def) */
enum option_kind {
	KIND_PATH, KIND_HOST, KIND_LIST, KIND_PORT, KIND_SOCKET, KIND_ENV,
	KIND_SIZE, KIND_TIME, KIND_COUNT, KIND_FLAG, KIND_RUN,
};

/**
 * struct option_row - One option, for parsers, help, man page and completion
 * @argument:	What its value is called, or NULL if it takes none
 * @index:	Which list, number or flag of @kind its value goes to
 */
struct option_row {
	const char *name;
	char letter;
	const char *argument;
	enum option_kind kind;
	int index;
	const char *help;
};

/* One use of an option */
struct option_value {
	enum option_id id;
	char *value;	/* NULL for options without one */
};

/**
 * struct options - All that were given, in order; zero-initialise
 * @env:	The command's environment, the caller's; NULL: this process's
 * @reads_no_secrets: Only explain what would be done
 * @joins:	The command joins a living session: its sandbox is built, so the project is
 *		not searched for protected names. run_start() clears it.
 * @given:	How many of @v the user gave; options_expand() adds the others
 * @granted:	Paths that the user, asked by --ask, lets the rest of the run write
 * @as_srt:	The settings file must be what srt takes (policy/srt-settings.h)
 */
struct options {
	struct option_value *v;
	size_t len, cap, given;
	char *const *env;
	struct strings granted;
	bool as_srt, reads_no_secrets, joins;
};

const struct option_row *option_row(enum option_id id);

/* The number that @value is, for the kinds that have one: 0 or -EINVAL */
int option_number(enum option_kind kind, const char *value, uint64_t *ret);

/* By long name, without dashes, of @n bytes; OPTION_COUNT if unknown */
enum option_id option_find(const char *name, size_t n);

/* Check and remember one option: 0, or -EINVAL with a message */
int options_add(struct options *options, enum option_id id, const char *value,
		struct err *err);
void options_done(struct options *options);

/* agent-preset.c - once, behind the last: add what --for stands for, and make the
 * agent's home. 0, or a negative errno with a message.
 */
int options_expand(struct options *options, struct err *err);
/* What --for cannot do for the agent's login: a message to be freed, or NULL */
char *options_login_note(const struct options *options);
/* True if an agent runs this command, and the variable @name, of @n bytes, has an agent's key,
 * which the command is not meant to have
 */
bool options_is_agents_key(const char *name, size_t n);

/* The environment that the command's is made from */
char *const *options_env(const struct options *options);

/* Put @value in the place of the last one of an option that takes one; NULL
 * takes that use away. Returns the old value, to be freed, or NULL.
 */
char *options_swap(struct options *options, enum option_id id,
		   const char *value);

/* True with --annotate each, which --for implies: a program inside reads the commands' output */
bool options_reports_inside(const struct options *options);

/* The last value given, or NULL; for options without a value, "" if given */
const char *options_get(const struct options *options, enum option_id id);
bool options_has(const struct options *options, enum option_id id);

/* The verb that was typed, for messages */
extern const char *options_verb;

/* Add --settings @file. A pipe, which can be read only once, is read here, and its
 * text takes the file's place. Returns 0 or a negative errno with a message.
 */
int options_add_settings(struct options *options, const char *file,
			 struct err *err);

/* Parse the options of run/options.def from argv[1] on, up to "--" or the first
 * non-option argument; argv[argc] is NULL. Returns the index of the first argument
 * left, or a negative errno with a message.
 */
int options_parse(int argc, char **argv, struct options *options,
		  struct err *err);

/* Parse the option at argv[0], whose value may be argv[1]: "--name=value", "--name
 * value", "-svalue", "-s value". Returns the words used, or a negative errno with a
 * message; -ENOENT, without one, if there is no such option.
 */
int options_parse_one(char **argv, struct options *options, struct err *err);

/* -EINVAL with a message if @value does not fit an option that takes @argument:
 * both are given, or neither
 */
int option_check(const char *name, const char *argument, const char *value,
		 struct err *err);

/* -EINVAL with a message: @word ("--jsn=x") is unknown; perhaps one of @others, or of
 * the options of run if @of_run, was meant
 */
int option_fail_unknown(const char *word, bool of_run,
			const char *const *others, struct err *err);

/* The command's argv: @args as they are or, with -c, the shell with the string and
 * @args as its arguments. *@ret is freed by the caller (the strings are not
 * copied). 0, or -EINVAL with a message; without a command only if @may_be_empty.
 */
int options_command(const struct options *options, char **args,
		    bool may_be_empty, char ***ret, struct err *err);

#endif /* RUN_OPTIONS_H */
