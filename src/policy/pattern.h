/* SPDX-License-Identifier: Apache-2.0 */
/* policy/pattern.h - the matcher below glob.h and gitignore.h, and its builder
 *
 * Only the two grammars include this. They add pieces from left to right, then
 * call pattern_finish(); from there on a pattern is a struct glob for all.
 */

#ifndef POLICY_PATTERN_H
#define POLICY_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct glob;

enum {
	GLOB_PATTERN_MAX = 4096,	/* Pieces, and bytes as written */
	PATTERN_SLASH = '/',
	PATTERN_BYTE = 0x110000,	/* + a byte that is not valid UTF-8 */
};

/* The pieces. A character is a code point, or PATTERN_BYTE + an invalid byte */
enum piece_kind {
	PIECE_LITERAL,	/* One character */
	PIECE_ONE,	/* "?": any character but "/" */
	PIECE_SET,	/* "[...]": never "/" */
	PIECE_STAR,	/* "*": any text without "/" */
	PIECE_ANY,	/* "**": any text */
	PIECE_DIRS,	/* "**" and a slash: nothing, or any text and a "/" */
};

/* The next character of *@s, which is not at its end; steps over it */
uint32_t pattern_char(const char **s);

struct glob *pattern_new(void);
void pattern_add(struct glob *glob, enum piece_kind kind);
void pattern_add_char(struct glob *glob, uint32_t c);
void pattern_add_text(struct glob *glob, const char *text);

/* A set, then its ranges. One without ranges never matches; one that is
 * @inverted matches what is in none of them.
 */
void pattern_add_set(struct glob *glob, bool inverted);
void pattern_add_range(struct glob *glob, uint32_t first, uint32_t last);

/* The pattern is complete: returns @glob, or frees it and explains */
struct glob *pattern_finish(struct glob *glob, const char *text,
			    struct err *err);

/* The one path that @glob matches, or NULL if it can match another. The
 * caller frees.
 */
char *pattern_literal(const struct glob *glob);

#endif /* POLICY_PATTERN_H */
