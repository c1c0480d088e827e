/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base/text-diff.c - the lines in which two texts differ
 *
 * Theory of operation: equal lines at both ends are set aside. A table of the longest
 * common subsequence of the rest, filled from the end, leads to a script of one letter
 * for each line: kept, removed, added. Changes that are near each other share a hunk.
 */

#include "base/text-diff.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"

struct line {
	const char *p;
	size_t len;
};

struct lines {
	struct line *v;
	size_t len, cap;
};

static struct lines split(const char *text, size_t n)
{
	struct lines ret = { 0 };

	for (const char *end = text + n; text < end;) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const size_t len = (size_t)((newline ? newline + 1 : end) - text);

		*vec_push(&ret) = (struct line){ text, len };
		text += len;
	}
	return ret;
}

static bool is_same(const struct line *a, const struct line *b)
{
	return a->len == b->len && !memcmp(a->p, b->p, a->len);
}

static void repeat(struct buf *script, char op, size_t n)
{
	while (n--)
		buf_addc(script, op);
}

/* The script for what is between the equal ends */
static void compare(const struct line *a, size_t n, const struct line *b,
		    size_t m, struct buf *script)
{
	auto_free uint32_t *table = NULL;
	size_t i = 0, j = 0;

	if (n && m && n <= TEXT_DIFF_PAIRS_MAX / m) {
		table = mem_zalloc((n + 1) * (m + 1) * sizeof(*table));
		for (i = n; i-- > 0;) {
			uint32_t *row = table + i * (m + 1);
			const uint32_t *below = row + m + 1;

			for (j = m; j-- > 0;) {
				row[j] = is_same(&a[i], &b[j]) ? below[j + 1] + 1 :
					 below[j] > row[j + 1] ? below[j] : row[j + 1];
			}
		}
		for (i = j = 0; i < n && j < m;) {
			const uint32_t *row = table + i * (m + 1);

			if (is_same(&a[i], &b[j])) {
				buf_addc(script, ' ');
				i++;
				j++;
			} else if (row[m + 1 + j] >= row[j + 1]) {
				buf_addc(script, '-');
				i++;
			} else {
				buf_addc(script, '+');
				j++;
			}
		}
	}
	repeat(script, '-', n - i);
	repeat(script, '+', m - j);
}

static void add_line(struct buf *out, char op, const struct line *line)
{
	buf_addc(out, op);
	buf_add(out, line->p, line->len);
	if (!line->len || line->p[line->len - 1] != '\n')
		buf_adds(out, "\n\\ No newline at end of file\n");
}

/* The end of the hunk that begins in @script with a change at @at */
static size_t hunk_end(const char *script, size_t len, size_t at)
{
	size_t kept = 0;

	while (at < len && kept <= 2 * TEXT_DIFF_CONTEXT) {
		kept = script[at] == ' ' ? kept + 1 : 0;
		at++;
	}
	return kept > TEXT_DIFF_CONTEXT ? at - (kept - TEXT_DIFF_CONTEXT) : at;
}

/* A range of no lines is named by the line before it */
static size_t first_line(size_t at, size_t count)
{
	return count ? at + 1 : at;
}

static void add_hunk(struct buf *out, const char *script, size_t n,
		     const struct line *a, size_t a_at, const struct line *b,
		     size_t b_at)
{
	size_t removed = 0, added = 0;

	for (size_t i = 0; i < n; i++) {
		removed += script[i] != '+';
		added += script[i] != '-';
	}
	buf_addf(out, "@@ -%zu,%zu +%zu,%zu @@\n", first_line(a_at, removed),
		 removed, first_line(b_at, added), added);
	for (size_t i = 0; i < n; i++) {
		add_line(out, script[i],
			 script[i] == '+' ? &b[b_at] : &a[a_at]);
		a_at += script[i] != '+';
		b_at += script[i] != '-';
	}
}

static void add_hunks(struct buf *out, const struct buf *script,
		      const struct line *a, const struct line *b)
{
	size_t i = 0, a_at = 0, b_at = 0;

	while (i < script->len) {
		size_t start = i, end;

		while (i < script->len && script->p[i] == ' ')
			i++;
		if (i == script->len)
			return;
		if (i - start > TEXT_DIFF_CONTEXT) {
			a_at += i - start - TEXT_DIFF_CONTEXT;
			b_at += i - start - TEXT_DIFF_CONTEXT;
			start = i - TEXT_DIFF_CONTEXT;
		}
		end = hunk_end(script->p, script->len, i);
		add_hunk(out, script->p + start, end - start, a, a_at, b, b_at);
		for (i = start; i < end; i++) {
			a_at += script->p[i] != '+';
			b_at += script->p[i] != '-';
		}
	}
}

void text_diff(const char *old, size_t old_len, const char *new, size_t new_len,
	       struct buf *out)
{
	struct lines a = split(old, old_len), b = split(new, new_len);
	auto_buf struct buf script = { 0 };
	size_t front = 0, back = 0;

	while (front < a.len && front < b.len && is_same(&a.v[front], &b.v[front]))
		front++;
	while (back < a.len - front && back < b.len - front &&
	       is_same(&a.v[a.len - 1 - back], &b.v[b.len - 1 - back]))
		back++;
	repeat(&script, ' ', front);
	compare(a.v + front, a.len - front - back, b.v + front,
		b.len - front - back, &script);
	repeat(&script, ' ', back);
	add_hunks(out, &script, a.v, b.v);
	free(a.v);
	free(b.v);
}
