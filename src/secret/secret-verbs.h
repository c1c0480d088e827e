/* SPDX-License-Identifier: Apache-2.0 */
/* secret/secret-verbs.h - the verbs of cloche secret */

#ifndef SECRET_SECRET_VERBS_H
#define SECRET_SECRET_VERBS_H

#include <stdbool.h>
#include <stddef.h>

#include "secret/secret-document.h"

struct bytes;
struct err;
struct store;

/* Exit status: yes, no, wrong usage */
enum { EXIT_YES, EXIT_NO, EXIT_USAGE };

/**
 * struct arguments - The command line
 *
 * An option is its argument, or non-NULL if it was given; in the order of
 * secret-options.def.
 */
struct arguments {
	const char *word;
#define SECRET_OPTION(field, name, argument, verbs, help) const char *field;
#include "secret/secret-options.def"
#undef SECRET_OPTION
};

/* Each verb returns an exit status, or a negative errno with a message */
#define SECRET_COMMAND(id, name, synopsis, fewest, most, help) \
	int secret_##id(struct store *s, const struct arguments *args, \
			struct err *err);
#include "secret/secret-verbs.def"
#undef SECRET_COMMAND

/* A value from standard input, or asked for if that is a terminal */
int input_value(const char *name, struct bytes *ret, struct err *err);

/* The passphrase of the encrypted file, for struct key_source */
int input_passphrase(bool fresh, struct bytes *ret, struct err *err);

/* Everything on standard input, at most @max bytes */
int input_all(size_t max, struct bytes *ret, struct err *err);

/* May a value go to standard output? Not to a terminal without --print. */
int output_allowed(const struct arguments *args, struct err *err);

/* Write text, or a JSON value, and a line end to standard output */
int output_line(const char *text, struct err *err);
int output_json(const json_t *value, struct err *err);

#endif /* SECRET_SECRET_VERBS_H */
