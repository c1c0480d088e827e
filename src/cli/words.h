/* SPDX-License-Identifier: Apache-2.0 */
/* cli/words.h - the words behind verbs, and the options of one verb alone
 *
 * All of them, for help and completion: what a verb itself understands is its own
 * affair, and tests/cli/completion.py holds the two against each other.
 */

#ifndef CLI_WORDS_H
#define CLI_WORDS_H

#include <stdbool.h>

struct command;
struct err;

typedef int (*verb_fn)(int argc, char **argv, struct err *err);

/**
 * struct word - What follows a verb
 * @verb:	Which
 * @name:	As it is typed; in capitals, it stands for several
 * @synopsis:	What follows it: words as they are typed, values in capitals
 */
struct word {
	verb_fn verb;
	const char *name, *synopsis, *help;
};

/**
 * struct verb_option - An option of one verb alone
 * @words:	The words behind @verb that take it, or "*"
 * @argument:	What its value is called, or which there are; or NULL
 */
struct verb_option {
	verb_fn verb;
	const char *words, *name, *argument, *help;
};

/* The whole table, ending with an empty row */
const struct verb_option *verb_option_table(void);

/* The words of @c: the first of its rows, which stand together; or NULL */
const struct word *word_first(const struct command *c);
/* The next one, or NULL */
const struct word *word_next(const struct word *word);

/* True if the options of run may be given where @synopsis stands */
bool synopsis_has_run(const char *synopsis);

#endif /* CLI_WORDS_H */
