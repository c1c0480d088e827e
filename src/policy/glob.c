/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/glob.c - path patterns in linear time
 *
 * Theory of operation: a pattern is literal bytes that every match begins
 * with, then pieces. Piece i is also state i of a nondeterministic automaton:
 * "pieces 0 to i-1 have matched what was read". All states that are possible
 * at once are one bit set, and a character moves the whole set one step, so
 * nothing is ever tried twice: no pattern and no path make it slower than
 * pieces times characters.
 *
 * Pieces that may match nothing (STAR, ANY, DIRS) also enable the state after
 * them. pattern_add() merges neighbours of this kind until at most two stand
 * together, which keeps that step constant. DIRS is special: once it has
 * begun it owes a "/", so only entering it enables its successor.
 *
 * A character is its UTF-8 bytes in one number, because "?" means one character
 * to people; numbers are ordered as code points are. A byte that is not UTF-8 is
 * a character of its own, beyond all others.
 *
 * The grammar of sandbox.filesystem and srt files is at the end; gitignore.c has
 * the other one. A run of stars is read from its end: the last two are "**" (with
 * a slash behind them, any directories or none), what stands before is "*" or
 * "**".
 */

#include "policy/glob.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"

enum {
	WORD_BITS = 64,
	STATE_WORDS = GLOB_PATTERN_MAX / WORD_BITS + 1,
	GLOB_SET_MAX = 256,	/* Bytes between "[" and "]" */
};

/* LITERAL: @a is the character. SET: @a ranges from index @b. */
struct piece {
	uint8_t kind;
	bool inverted;
	uint32_t a, b;
};

struct range {
	uint32_t first, last;
};

/**
 * struct glob - A compiled pattern
 * @literal:	The bytes that every match begins with
 * @tail:	The bytes that every match ends with
 * @prefix:	The directory that all matches are in
 * @v:		The pieces after @literal
 * @ranges:	Of all sets, in their order
 */
struct glob {
	struct buf literal, tail;
	char *prefix;
	struct piece *v;
	size_t len, cap;
	struct {
		struct range *v;
		size_t len, cap;
	} ranges;
};

struct states {
	uint64_t bits[STATE_WORDS];
};

uint32_t pattern_char(const char **s)
{
	const size_t n = text_utf8_len(*s);
	uint32_t c = n ? 0 : PATTERN_BYTE >> 8;

	for (size_t i = 0; i < (n ? n : 1); i++)
		c = c << 8 | (unsigned char)*(*s)++;
	return c;
}

struct glob *pattern_new(void)
{
	return mem_zalloc(sizeof(struct glob));
}

void glob_free(struct glob *glob)
{
	if (!glob)
		return;
	buf_done(&glob->literal);
	buf_done(&glob->tail);
	free(glob->prefix);
	free(glob->v);
	free(glob->ranges.v);
	free(glob);
}

/* True for pieces that may match nothing and enable what follows */
static bool is_optional(unsigned int kind)
{
	return kind == PIECE_STAR || kind == PIECE_ANY || kind == PIECE_DIRS;
}

static struct piece *push(struct glob *glob, enum piece_kind kind)
{
	struct piece *p = vec_push(glob);

	p->kind = (uint8_t)kind;
	return p;
}

/* Two optional neighbours are most often one: "ANY x" and "x ANY" are ANY,
 * "x x" is x, and "DIRS STAR" is ANY: all up to the last "/", then the rest.
 * What remains is "STAR DIRS".
 */
static void push_optional(struct glob *glob, enum piece_kind kind)
{
	const int last = glob->len ? glob->v[glob->len - 1].kind
				   : PIECE_LITERAL;

	if (last == PIECE_ANY || last == (int)kind)
		return;
	if (kind == PIECE_ANY || (last == PIECE_DIRS && kind == PIECE_STAR)) {
		while (glob->len && is_optional(glob->v[glob->len - 1].kind))
			glob->len--;
		kind = PIECE_ANY;
	}
	push(glob, kind);
}

void pattern_add(struct glob *glob, enum piece_kind kind)
{
	if (is_optional(kind))
		push_optional(glob, kind);
	else
		push(glob, kind);
}

static void add_bytes(struct buf *b, uint32_t c)
{
	if (c > 0xff && c < PATTERN_BYTE)
		add_bytes(b, c >> 8);
	buf_addc(b, (char)(c & 0xff));
}

void pattern_add_char(struct glob *glob, uint32_t c)
{
	if (!glob->len)
		add_bytes(&glob->literal, c);
	else
		push(glob, PIECE_LITERAL)->a = c;
}

void pattern_add_text(struct glob *glob, const char *text)
{
	while (*text)
		pattern_add_char(glob, pattern_char(&text));
}

void pattern_add_set(struct glob *glob, bool inverted)
{
	struct piece *p = push(glob, PIECE_SET);

	p->inverted = inverted;
	p->b = (uint32_t)glob->ranges.len;
}

void pattern_add_range(struct glob *glob, uint32_t first, uint32_t last)
{
	*vec_push(&glob->ranges) = (struct range){ first, last };
	glob->v[glob->len - 1].a++;
}

static void find_tail(struct glob *glob)
{
	size_t i = glob->len;

	while (i && glob->v[i - 1].kind == PIECE_LITERAL)
		i--;
	for (; i < glob->len; i++)
		add_bytes(&glob->tail, glob->v[i].a);
}

struct glob *pattern_finish(struct glob *glob, const char *text,
			    struct err *err)
{
	const char *literal = buf_str(&glob->literal);

	if (glob->len >= GLOB_PATTERN_MAX || strlen(text) > GLOB_PATTERN_MAX) {
		fail(err, -EINVAL, "'%.40s...' is too long for a pattern: "
		     "%d characters are the limit", text, GLOB_PATTERN_MAX);
		glob_free(glob);
		return NULL;
	}
	if (*literal != '/') {
		fail(err, -EINVAL, "'%s' is not an absolute pattern", text);
		glob_free(glob);
		return NULL;
	}
	glob->prefix = path_parent(literal);
	find_tail(glob);
	return glob;
}

struct glob *glob_move(const struct glob *glob, const char *dir)
{
	const char *literal = buf_str(&glob->literal);
	struct glob *moved = pattern_new();

	buf_adds(&moved->literal, dir[1] ? dir : "");
	buf_adds(&moved->literal, glob->prefix[1] ?
				  literal + strlen(glob->prefix) : literal);
	for (size_t i = 0; i < glob->len; i++)
		*vec_push(moved) = glob->v[i];
	for (size_t i = 0; i < glob->ranges.len; i++)
		*vec_push(&moved->ranges) = glob->ranges.v[i];
	moved->prefix = mem_strdup(dir);
	find_tail(moved);
	return moved;
}

char *pattern_literal(const struct glob *glob)
{
	return glob->len ? NULL : mem_strdup(buf_str(&glob->literal));
}

static void set_state(struct states *s, size_t i)
{
	s->bits[i / WORD_BITS] |= UINT64_C(1) << i % WORD_BITS;
}

static bool has_state(const struct states *s, size_t i)
{
	return s->bits[i / WORD_BITS] >> i % WORD_BITS & 1;
}

/* Enter state @i, and those that need nothing more than that */
static void enter(const struct glob *glob, struct states *s, size_t i)
{
	set_state(s, i);
	while (i < glob->len && is_optional(glob->v[i].kind))
		set_state(s, ++i);
}

static bool in_set(const struct glob *glob, const struct piece *p, uint32_t c)
{
	if (c == PATTERN_SLASH)
		return false;
	for (size_t i = p->b; i < (size_t)p->b + p->a; i++) {
		const struct range *r = &glob->ranges.v[i];

		if (c >= r->first && c <= r->last)
			return !p->inverted;
	}
	return p->inverted;
}

/* Where state @i goes when it reads @c */
static void step(const struct glob *glob, size_t i, uint32_t c,
		 struct states *next)
{
	const struct piece *p = &glob->v[i];
	const bool slash = c == PATTERN_SLASH;

	switch ((enum piece_kind)p->kind) {
	case PIECE_LITERAL:
		if (c == p->a)
			enter(glob, next, i + 1);
		break;
	case PIECE_ONE:
		if (!slash)
			enter(glob, next, i + 1);
		break;
	case PIECE_SET:
		if (in_set(glob, p, c))
			enter(glob, next, i + 1);
		break;
	case PIECE_STAR:
		if (!slash)
			enter(glob, next, i);
		break;
	case PIECE_ANY:
		enter(glob, next, i);
		break;
	case PIECE_DIRS:
		set_state(next, i);
		if (slash)
			enter(glob, next, i + 1);
		break;
	}
}

/* Move all states over @text. False when none is left. */
static bool run(const struct glob *glob, struct states *now, const char *text)
{
	const size_t words = glob->len / WORD_BITS + 1;
	struct states next;	/* Out here: the compiler clears all of it */

	while (*text) {
		const uint32_t c = pattern_char(&text);
		uint64_t any = 0;

		memset(next.bits, 0, words * sizeof(*next.bits));
		for (size_t w = 0; w < words; w++) {
			uint64_t left = now->bits[w];

			for (; left; left &= left - 1) {
				const size_t i = w * WORD_BITS +
					(size_t)__builtin_ctzll(left);

				if (i < glob->len)
					step(glob, i, c, &next);
			}
		}
		memcpy(now->bits, next.bits, words * sizeof(*next.bits));
		for (size_t w = 0; w < words; w++)
			any |= now->bits[w];
		if (!any)
			return false;
	}
	return true;
}

static void start(const struct glob *glob, struct states *s)
{
	memset(s->bits, 0, (glob->len / WORD_BITS + 1) * sizeof(*s->bits));
	enter(glob, s, 0);
}

bool glob_match(const struct glob *glob, const char *path)
{
	const struct buf *literal = &glob->literal;
	struct states s;

	if (strncmp(path, literal->p, literal->len) != 0 ||
	    !glob_may_end(glob, path + literal->len))
		return false;
	start(glob, &s);
	return run(glob, &s, path + literal->len) && has_state(&s, glob->len);
}

bool glob_may_end(const struct glob *glob, const char *name)
{
	const size_t n = strlen(name), tail = glob->tail.len;
	const size_t common = n < tail ? n : tail;

	return !common || !memcmp(name + n - common,
				  glob->tail.p + tail - common, common);
}

/* What may still match, with the "/" behind what was read */
static uint64_t read_slash(const struct glob *glob, struct states *s)
{
	if (!run(glob, s, "/"))
		return GLOB_NOWHERE;
	/* A match that is complete has nothing below it */
	return s->bits[0] & ~(UINT64_C(1) << glob->len);
}

uint64_t glob_at(const struct glob *glob, const char *dir)
{
	const struct buf *literal = &glob->literal;
	const size_t n = dir[1] ? strlen(dir) : 0;	/* Without a "/" */
	struct states s;

	if (!glob_may_match_below(glob, dir))
		return GLOB_NOWHERE;
	if (glob->len >= WORD_BITS - 1 || n + 1 < literal->len)
		return GLOB_FAR;
	start(glob, &s);
	if (n + 1 == literal->len)
		return s.bits[0] & ~(UINT64_C(1) << glob->len);
	(void)run(glob, &s, dir + literal->len);
	return read_slash(glob, &s);
}

uint64_t glob_step(const struct glob *glob, uint64_t at, const char *name)
{
	struct states s;

	s.bits[0] = at;
	return run(glob, &s, name) ? read_slash(glob, &s) : GLOB_NOWHERE;
}

bool glob_match_at(const struct glob *glob, uint64_t at, const char *name)
{
	struct states s;

	s.bits[0] = at;
	return run(glob, &s, name) && has_state(&s, glob->len);
}

const char *glob_prefix(const struct glob *glob)
{
	return glob->prefix;
}

bool glob_may_match_below(const struct glob *glob, const char *path)
{
	const struct buf *literal = &glob->literal;
	const size_t n = strlen(path);
	struct states s;

	/* Above the literal part: all depends on what comes next */
	if (n < literal->len)
		return !strncmp(path, literal->p, n) &&
		       (literal->p[n] == '/' || n == 1);
	if (strncmp(path, literal->p, literal->len) != 0)
		return false;
	start(glob, &s);
	if (!run(glob, &s, path + literal->len))
		return false;
	if (n > 1 && !run(glob, &s, "/"))
		return false;
	for (size_t i = 0; i < glob->len; i++) {
		if (has_state(&s, i))
			return true;
	}
	return false;
}

/* One member of a set, or a range. Returns the text behind it; *@last <
 * *@first if the range is backwards.
 */
static const char *read_range(const char *s, uint32_t *first, uint32_t *last)
{
	*first = *last = pattern_char(&s);
	if (s[0] == '-' && s[1] != ']') {
		s++;
		*last = pattern_char(&s);
	}
	return s;
}

/* The "]" that ends the set at @s ("["), or NULL if this is literal text: not
 * closed within its component, empty, or with a range that is backwards. For
 * a set that is too long, some byte that is no "]".
 */
static const char *set_end(const char *s)
{
	const char *end = s + 1;
	uint32_t first, last;

	/* The limit keeps a row of "[" from costing its square */
	for (; *end && *end != '/' && *end != ']'; end++) {
		if (end - s > GLOB_SET_MAX)
			return end;
	}
	if (*end != ']' || end == s + 1)
		return NULL;
	for (s++; s < end;) {
		s = read_range(s, &first, &last);
		if (last < first)
			return NULL;
	}
	return end;
}

static const char *add_set(struct glob *glob, const char *s, const char *end)
{
	uint32_t first, last;

	pattern_add_set(glob, false);
	for (s++; s < end;) {
		s = read_range(s, &first, &last);
		pattern_add_range(glob, first, last);
	}
	return end + 1;
}

static const char *add_stars(struct glob *glob, const char *s)
{
	size_t n = strspn(s, "*");
	const bool dirs = n > 1 && s[n] == '/';

	s += n;
	if (dirs)
		n -= 2;
	if (n)
		pattern_add(glob, n > 1 ? PIECE_ANY : PIECE_STAR);
	if (dirs)
		pattern_add(glob, PIECE_DIRS);
	return dirs ? s + 1 : s;
}

static int compile(struct glob *glob, const char *text, struct err *err)
{
	const char *s = text;

	while (*s) {
		const char *end = *s == '[' ? set_end(s) : NULL;

		if (end && *end != ']') {
			return fail(err, -EINVAL, "column %zu: a set of more "
				    "than %d characters",
				    (size_t)(s - text) + 1, GLOB_SET_MAX);
		} else if (end) {
			s = add_set(glob, s, end);
		} else if (*s == '*') {
			s = add_stars(glob, s);
		} else if (*s == '?') {
			pattern_add(glob, PIECE_ONE);
			s++;
		} else {
			pattern_add_char(glob, pattern_char(&s));
		}
	}
	return 0;
}

struct glob *glob_new(const char *pattern, struct err *err)
{
	struct glob *glob = pattern_new();

	if (strlen(pattern) <= GLOB_PATTERN_MAX &&
	    compile(glob, pattern, err) < 0) {
		glob_free(glob);
		return NULL;
	}
	return pattern_finish(glob, pattern, err);
}

bool glob_is_pattern(const char *text)
{
	for (; *text; text++) {
		if (*text == '*' || *text == '?' ||
		    (*text == '[' && set_end(text)))
			return true;
	}
	return false;
}
