/* SPDX-License-Identifier: Apache-2.0 */
/* lib/options.h - the options of a run, by name; one table for every use */

#ifndef LIB_OPTIONS_H
#define LIB_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct hooks;
struct policy;

enum option_id {
#define OPTION(id, ...) OPTION_##id,
#include "lib/options.def"
#undef OPTION
	OPTION_COUNT,
};

/**
 * struct option_row - One option, for parsers, help, man page and completion
 * @argument:	What its value is called, or NULL if it takes none
 */
struct option_row {
	const char *name;
	char letter;
	const char *argument;
	const char *help;
};

/* What becomes of a value (options.def) */
enum option_kind {
	KIND_PATH, KIND_HOST, KIND_LIST, KIND_PORT, KIND_SOCKET, KIND_ENV,
	KIND_SIZE, KIND_TIME, KIND_COUNT, KIND_FLAG, KIND_RUN,
};

/**
 * struct option_effect - Where a value goes
 * @index:	Which list, number or flag of that kind
 */
struct option_effect {
	enum option_kind kind;
	int index;
};

/**
 * struct option_value - One use of an option
 */
struct option_value {
	enum option_id id;
	char *value;	/* NULL for options without one */
};

/**
 * struct options - All that were given, in order; zero-initialise
 * @hooks:	Who is told what happens (lib/hooks.h); the caller's, or NULL
 * @env:	The command's environment, the caller's; NULL: this process's
 * @as_srt:	The settings file must be what srt takes (policy/srt.h)
 */
struct options {
	struct option_value *v;
	size_t len, cap;
	const struct hooks *hooks;
	char *const *env;
	bool as_srt;
};

const struct option_row *option_row(enum option_id id);
const struct option_effect *option_effect(enum option_id id);

/* The number that @value is, for the kinds that have one: 0 or -EINVAL */
int option_number(enum option_kind kind, const char *value, uint64_t *ret);

/* By long name (without dashes) or by letter; OPTION_COUNT if unknown */
enum option_id option_find(const char *name, size_t n);
enum option_id option_find_letter(char letter);

/* Check and remember one option: 0, or -EINVAL with words */
int options_add(struct options *options, enum option_id id, const char *value,
		struct err *err);
void options_done(struct options *options);

/* The environment that the command's is made from */
char *const *options_env(const struct options *options);

/* Put @value in the place of the last one of an option that takes one; NULL
 * takes that use away. Returns the old value, to be freed, or NULL.
 */
char *options_swap(struct options *options, enum option_id id,
		   const char *value);

/* The last value given, or NULL; for options without a value, "" if given */
const char *options_get(const struct options *options, enum option_id id);
bool options_has(const struct options *options, enum option_id id);

/* Add all that concerns the policy to it, as scope "flag" */
int options_apply(const struct options *options, struct policy *policy,
		  struct err *err);

#endif /* LIB_OPTIONS_H */
