/* SPDX-License-Identifier: Apache-2.0 */
/* cli/secret/secret.h - the verbs of cloche secret */

#ifndef CLI_SECRET_SECRET_H
#define CLI_SECRET_SECRET_H

#include <stdbool.h>
#include <stddef.h>

struct bytes;
struct err;
struct loop;
struct secret_store;
struct sync;

/* Exit status: yes, no, wrong usage */
enum { EXIT_YES, EXIT_NO, EXIT_USAGE };

/**
 * struct arguments - The command line
 *
 * An option is its argument, or non-NULL if it was given; in the order of
 * options.def.
 */
struct arguments {
	const char *word;
#define SECRET_OPTION(field, name, argument, verbs, help) const char *field;
#include "cli/secret/options.def"
#undef SECRET_OPTION
};

/**
 * struct secret_session - A verb at work
 * @store:	Open, on @loop
 */
struct secret_session {
	const struct arguments *args;
	struct loop *loop;
	struct secret_store *store;
};

/**
 * struct secret_command - One verb
 * @run:	An exit status, or a negative errno with words
 */
struct secret_command {
	const char *name, *synopsis;
	int fewest, most;
	const char *help;
	int (*run)(struct secret_session *s, struct err *err);
};

#define SECRET_COMMAND(id, name, synopsis, fewest, most, help) \
	int secret_##id(struct secret_session *s, struct err *err);
#include "cli/secret/commands.def"
#undef SECRET_COMMAND

/* Print the options that @verb takes, or all */
void secret_help_options(const char *verb);

/* Options may stand before the verb: put it into argv[1] */
void secret_verb_first(int argc, char **argv);

/* Parse argv[1] on; the verb's rules come from @command. 0 or -EINVAL. */
int secret_parse(int argc, char **argv, const struct secret_command *command,
		 struct arguments *ret, struct err *err);

/* Serve one request for the encrypted file (secret/file-remote.c) */
int secret_helper(void);

/* Wait for the answer, print its warnings, hand its failure on */
int session_wait(struct sync *sync, struct err *err);

/* The whole document into @ret: 1, 0 if there is none, or a negative errno */
int session_read(struct secret_session *s, struct bytes *ret, struct err *err);

/* Set @name to the JSON text @value */
int session_set(struct secret_session *s, const char *name,
		const struct bytes *value, struct err *err);

/* A value from standard input, or asked for if that is a terminal */
int input_value(const char *name, struct bytes *ret, struct err *err);

/* A key_ask: the passphrase of the encrypted file. *@arg, a bool, says whether
 * a new file may be made this way: only if the file was asked for by name.
 */
int input_passphrase(void *arg, bool fresh, struct bytes *ret,
		     struct err *err);

/* Everything on standard input, at most @max bytes */
int input_all(size_t max, struct bytes *ret, struct err *err);

/* May a value go to standard output? Not to a terminal without --print. */
int output_allowed(const struct secret_session *s, struct err *err);

/* Write it and a line end */
int output_line(const struct bytes *b, struct err *err);

#endif /* CLI_SECRET_SECRET_H */
