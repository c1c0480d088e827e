/* SPDX-License-Identifier: Apache-2.0 */
/* cli/completion.h - what the tables say, as a completion script needs it */

#ifndef CLI_COMPLETION_H
#define CLI_COMPLETION_H

#include <stdbool.h>

#include "lib/options.h"

struct buf;
struct command;

/* What stands behind an option */
enum value {
	VALUE_NONE,
	VALUE_TEXT,	/* Something that only the user knows */
	VALUE_FILE,
	VALUE_DIR,
	VALUE_CHOICE,	/* One of completion_choices() */
};

enum value completion_value(enum option_id id);
/* Separated by blanks; NULL unless VALUE_CHOICE */
const char *completion_choices(enum option_id id);

/* The verb takes the options of run, then a command */
bool completion_is_run(const struct command *c);
/* Add the words that may follow the verb, each with a blank behind it */
void completion_words(const struct command *c, struct buf *out);
/* Likewise the long options that its synopsis names */
void completion_flags(const struct command *c, struct buf *out);
/* Likewise every verb for which @want is completion_is_run() */
void completion_verbs(bool want, struct buf *out);

/* Add @text for the inside of single quotes; @quote is what stands for one
 * there, and each of @special gets a backslash
 */
void completion_quote(struct buf *out, const char *text, const char *quote,
		      const char *special);

void completion_bash(struct buf *out);
void completion_fish(struct buf *out);
void completion_zsh(struct buf *out);

#endif /* CLI_COMPLETION_H */
