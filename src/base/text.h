/* SPDX-License-Identifier: Apache-2.0 */
/* base/text.h - numbers, sizes and durations from text; text made safe to show */

#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

/* Each parser takes the whole string: 0, or -EINVAL / -ERANGE, *@ret untouched.
 * No sign, no leading blanks; a number is 1 to 20 decimal digits.
 */
int text_to_u64(const char *s, uint64_t max, uint64_t *ret);

/* Bytes: "512", "64K", "2M", "1G", "1T", also KiB and KB spelled out; all are
 * powers of 1024.
 */
int text_to_size(const char *s, uint64_t *ret);

/* Milliseconds: "250ms", "30", "30s", "5m", "2h", "1d"; a bare number is
 * seconds; one decimal point is fine ("1.5s"). Zero is refused.
 */
int text_to_duration_ms(const char *s, uint64_t *ret);

/* Escape the next character of *@s into @out (at most 5 bytes) and
 * step over it. Printable ASCII and valid UTF-8 pass; control bytes, bidi
 * controls and invalid bytes become \xNN of their first byte. Returns the
 * bytes written.
 */
size_t text_escape_char(const char **s, char *out);

/* Append @s made safe for a terminal */
void text_escape(struct buf *b, const char *s);

/* Append @s quoted for a POSIX shell and for fish; plain words stay plain */
void text_shell_quote(struct buf *b, const char *s);

/* Append each of @words (NULL-ended, or NULL) so, with a blank between what is there and
 * the next; no more of them once @b has @max bytes
 */
void text_shell_words(struct buf *b, const char *const *words, size_t max);

/* @n bytes as 2 * @n small hexadecimal digits and a NUL */
void text_hex(const void *bytes, size_t n, char *ret);
/* What the hexadecimal digit @c stands for, or -1 */
int text_hex_digit(char c);

/* Bytes as ASCII for JSON: what is not plain ASCII becomes %XX, and "%" too; and
 * back. The caller frees.
 */
char *encode_bytes(const char *bytes);
char *decode_bytes(const char *text);

/* FNV-1a: different for different texts, but not for texts that were chosen to collide */
uint64_t text_hash(const char *s);
uint64_t text_hash_bytes(const char *s, size_t n);

/* The length of the valid UTF-8 sequence at @s (1 to 4), or 0 if invalid */
size_t text_utf8_len(const char *s);

/**
 * struct text_near - A search for the word that was probably meant
 * @word:	What was typed
 * @best:	The nearest so far, or NULL
 * @edits:	Its distance from @word
 */
struct text_near {
	const char *word, *best;
	size_t edits;
};

/* True if @candidate is nearer to @near->word than all others that were tried, and
 * near enough to be meant: at most three letters, and less than half of them,
 * were left out, added, changed or swapped. Capitals do not count.
 */
bool text_near_try(struct text_near *near, const char *candidate);

/* True if @word is one of @list, which has @separator between words; of NULL none is, nor
 * is ""
 */
bool text_in_list(const char *list, char separator, const char *word);

/* The same for choices, as in "user|project" */
static inline bool text_is_choice(const char *choices, const char *word)
{
	return text_in_list(choices, '|', word);
}

/* The index of @name among @n @names, of which some may be NULL; or -EINVAL */
int text_index(const char *const *names, size_t n, const char *name);

/* True if one of @patterns, with blanks between them, matches the @n bytes of @name,
 * in any case. A pattern has at most one "*", which stands for any text; at its end, for
 * any text without a dot.
 */
bool text_matches(const char *patterns, const char *name, size_t n);

/* True if @word is one of @words, which have blanks between them, or those are "*" */
bool text_has_word(const char *words, const char *word);
/* The same for the @n bytes of @word, where "*" is a word like others */
bool text_has_bytes(const char *words, const char *word, size_t n);

#endif /* BASE_TEXT_H */
