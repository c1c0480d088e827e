/* SPDX-License-Identifier: Apache-2.0 */
/* cli/completion.h - what the tables say, as a completion script needs it */

#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct command;
struct word;

enum { SHAPE_PLACES = 4 };	/* More words than any verb takes */

/* What is to be typed */
enum value {
	VALUE_NONE,
	VALUE_TEXT,	/* Something that only the user knows */
	VALUE_FILE,
	VALUE_DIR,
	VALUE_COMMAND,	/* A program; what follows is its own */
	VALUE_CHOICE,
};

/**
 * struct word_place - A word, or the value of an option
 * @name:	As the synopsis has it, of @len bytes
 * @choices:	Of VALUE_CHOICE, with a blank behind each
 * @again:	Any number of them
 */
struct word_place {
	enum value value;
	const char *name;
	size_t len;
	struct buf choices;
	bool again;
};

/**
 * struct shape - What may follow a verb, or a verb and its word
 * @pair:	Both, with a blank between them, or the verb alone
 * @run:	The options of run may, too
 * @command:	They end where the command begins
 * @places:	@len of them
 */
struct shape {
	const struct command *verb;
	const struct word *word;
	char *pair;
	bool run, command;
	struct word_place places[SHAPE_PLACES];
	size_t len;
};

/**
 * struct choice - An option, as all tables have them
 * @letter:	Or 0
 */
struct choice {
	const char *name, *help;
	char letter;
	struct word_place value;
};

/* Call @fn with each shape, in the order of help */
void completion_shapes(void (*fn)(struct buf *out, const struct shape *shape),
		       struct buf *out);
/* With each option of @shape alone; or, if that is NULL, with those of run */
void completion_options(const struct shape *shape,
			void (*fn)(struct buf *out, const struct shape *shape,
				   const struct choice *choice),
			struct buf *out);
/* Add every verb with a blank behind it, or all that have words of their own */
void completion_verbs(bool with_words, struct buf *out);
/* Add what may follow @c itself, each with a blank behind it */
void completion_words(const struct command *c, struct buf *out);

/* Add @text for the inside of single quotes; @quote is what stands for one
 * there, and each of @special gets a backslash
 */
void completion_quote(struct buf *out, const char *text, const char *quote,
		      const char *special);

void completion_bash(struct buf *out);
void completion_fish(struct buf *out);
void completion_zsh(struct buf *out);

#endif /* CLI_COMPLETION_H */
