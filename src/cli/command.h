/* SPDX-License-Identifier: Apache-2.0 */
/* cli/command.h - the verbs: one row each, one file each */

#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdio.h>

struct err;
struct options;

/**
 * struct command - One verb
 * @name:	As it is typed
 * @synopsis:	What follows it
 * @help:	One line
 * @run:	argv[0] is the verb. An exit status, or a negative errno with
 *		words: then main() prints them and exits with 125 (run) or 2
 */
struct command {
	const char *name, *synopsis, *help;
	int (*run)(int argc, char **argv, struct err *err);
};

#define COMMAND(id, name, synopsis, help) \
	int cli_##id(int argc, char **argv, struct err *err);
#include "cli/commands.def"
#undef COMMAND

/* For programs, not people: found by name, but in no list */
int cli_ssh_connect(int argc, char **argv, struct err *err);

/* Hand over to cloche-secret under the name in argv[0]. A negative errno with
 * words; it does not return otherwise.
 */
int cli_secret_as(char **argv, struct err *err);

/* The supervisor of a run that the library started (lib/embed.h). An exit
 * status; whatever there is to say goes to the library.
 */
int cli_embedded(int argc, char **argv, struct err *err);

/* One line to @out, in which a name cannot be more than a name: made safe for a
 * terminal, and ended
 */
void cli_say(FILE *out, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Text to standard error, as it is; nobody need be there to read it. What finds no
 * room now is written when the program ends.
 */
void cli_print(const char *text, size_t n);

/* The same for one line */
void cli_tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

enum style { STYLE_NONE, STYLE_HEAD, STYLE_COMMAND };

/* What makes @out look so; "" where it is no terminal, or wants no colours */
const char *cli_style(FILE *out, enum style style);

/* -EINVAL and words: there is no verb @name, but perhaps one like it */
int cli_fail_verb(const char *name, struct err *err);

/* The verb that was typed */
const char *cli_verb(void);

const struct command *command_find(const char *name);
/* The whole table, ending with an empty row */
const struct command *command_table(void);

/* The descriptor that @file (/dev/fd/63) names, if what is read from it is gone
 * then; or -1
 */
int cli_stream(const char *file);

/* Parse the options of lib/options.def from argv[1] on, up to "--" or the
 * first word that is none. Returns the index of the first word left, or
 * -EINVAL with words.
 */
int cli_parse_options(int argc, char **argv, struct options *options,
		      struct err *err);

/* Take the first "@name VALUE" or "@name=VALUE" before "--" out of argv[1] and on.
 * VALUE; "" if nothing is behind the name; NULL if it is not there.
 */
const char *cli_take(int *argc, char **argv, const char *name);

/* As cli_parse_options(), with "--json" understood as well */
int cli_parse_query(int argc, char **argv, struct options *options,
		    int *json, struct err *err);

#endif /* CLI_COMMAND_H */
