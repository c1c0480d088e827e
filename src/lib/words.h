/* SPDX-License-Identifier: Apache-2.0 */
/* lib/words.h - the command to run: words, or a string for the shell */

#ifndef LIB_WORDS_H
#define LIB_WORDS_H

struct err;
struct options;

/* The command's argv: @words as they are or, with -c, the shell with the
 * string and @words as its arguments. *@ret is freed by the caller (the
 * strings are not copied). 0, or -EINVAL with words; an empty command is fine
 * only if @may_be_empty.
 */
int words_command(const struct options *options, char **words,
		  int may_be_empty, char ***ret, struct err *err);

#endif /* LIB_WORDS_H */
