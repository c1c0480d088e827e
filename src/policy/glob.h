/* SPDX-License-Identifier: Apache-2.0 */
/* policy/glob.h - path patterns in linear time: "*", "?", "[set]", "**" */

#ifndef POLICY_GLOB_H
#define POLICY_GLOB_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct glob;

/* True if @text holds a pattern character */
bool glob_is_pattern(const char *text);

/* Compile the absolute @pattern, which path_resolve() has cleaned. "*" and "?"
 * stop at "/", "**" does not; "**" and a slash match nothing or any
 * directories; "[set]" has ranges, no negation, and never matches "/"; a set
 * that is empty, backwards or cut by a "/" is literal text. No escapes: "[*]"
 * is a star. "?" and sets take one character, or one byte that is not UTF-8.
 * NULL with a message if it is too long or not absolute.
 */
struct glob *glob_new(const char *pattern, struct err *err);
void glob_free(struct glob *glob);

/* True if the pattern matches all of the absolute @path. Time is at most
 * pattern times path.
 */
bool glob_match(const struct glob *glob, const char *path);

/* The directory above the first pattern character, or above all of it if
 * there is none: all matches are below it. Owned by @glob.
 */
const char *glob_prefix(const struct glob *glob);

/* The same pattern in the directory @dir, which is absolute and clean, instead of
 * its prefix
 */
struct glob *glob_move(const struct glob *glob, const char *dir);

/* True if something below the directory @path could match: prunes walks */
bool glob_may_match_below(const struct glob *glob, const char *path);

/* For a walk, which would read the same directories again with every name: how
 * far a pattern has come at a directory, of which only the name that follows is
 * read. GLOB_NOWHERE: nothing in it can match. GLOB_FAR: this is unknown for
 * this pattern, or not known yet; ask with whole paths.
 */
#define GLOB_NOWHERE	UINT64_C(0)
#define GLOB_FAR	(UINT64_C(1) << 63)

uint64_t glob_at(const struct glob *glob, const char *dir);
/* The same for the directory @name in the one that @at is for, not GLOB_FAR */
uint64_t glob_step(const struct glob *glob, uint64_t at, const char *name);
/* glob_match() for @name in there */
bool glob_match_at(const struct glob *glob, uint64_t at, const char *name);

/* False if no path that ends in the name @name can match: quick */
bool glob_may_end(const struct glob *glob, const char *name);

/* The rest is for the two grammars: they add pieces from left to right, then call
 * pattern_finish().
 */
enum {
	GLOB_PATTERN_MAX = 4096,	/* Pieces, and bytes as written */
	PATTERN_SLASH = '/',
};

#define PATTERN_BYTE	UINT32_C(0xff000000)	/* + a byte that is not valid UTF-8 */

/* The pieces. A character is its bytes in UTF-8, or PATTERN_BYTE + an invalid byte */
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

#endif /* POLICY_GLOB_H */
