/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report/strip.c - take <sandbox_violations> blocks out of a stream
 *
 * Theory of operation: bytes stay in @held while they may be the beginning of a
 * tag or the inside of a block. The search for the closing tag resumes where it
 * stopped, so each byte is read a fixed number of times.
 */

#include "report/strip.h"

#include <string.h>

#include "report/footer.h"

static const size_t OPEN_LEN = sizeof(FOOTER_OPEN) - 1;
static const size_t CLOSE_LEN = sizeof(FOOTER_CLOSE) - 1;

/* Move the first @n held bytes to @out (or nowhere) */
static void release(struct strip *s, size_t n, struct buf *out)
{
	if (!n)
		return;
	if (out)
		buf_add(out, s->held.p, n);
	s->held.len -= n;
	memmove(s->held.p, s->held.p + n, s->held.len);
}

/* Where an opening tag starts in @held, or where the end could be one */
static size_t find_open(const struct strip *s)
{
	const char *p = s->held.p, *end = p + s->held.len;

	while ((p = memchr(p, '<', (size_t)(end - p))) != NULL) {
		const size_t left = (size_t)(end - p);

		if (!memcmp(p, FOOTER_OPEN, left < OPEN_LEN ? left : OPEN_LEN))
			return (size_t)(p - s->held.p);
		p++;
	}
	return s->held.len;
}

/* Bytes of the line's end that @held starts with; a terminal's has two */
static size_t line_end(const struct strip *s)
{
	if (s->held.p[0] == '\n')
		return 1;
	return s->held.len > 1 && !memcmp(s->held.p, "\r\n", 2) ? 2 : 0;
}

/* Outside a block: pass on what cannot be a tag. True to go on. */
static bool step_outside(struct strip *s, struct buf *out)
{
	if (s->after && s->held.len == 1 && s->held.p[0] == '\r')
		return false;
	if (s->after && s->held.len) {
		s->after = false;
		release(s, line_end(s), NULL);
	}
	if (!s->held.len)
		return false;
	release(s, find_open(s), out);
	if (s->held.len < OPEN_LEN)
		return false;
	s->inside = true;
	s->searched = OPEN_LEN;
	return true;
}

/* A block that is too long is not ours, but another may start in it: the offset of the
 * last opening tag in the first @n bytes. To resume from the first one would read the
 * rest again for each tag.
 */
static size_t last_open(const struct strip *s, size_t n)
{
	const char *p = s->held.p, *end = p + n, *last = NULL;

	while ((p = memmem(p + 1, (size_t)(end - p) - 1, FOOTER_OPEN,
			   OPEN_LEN)) != NULL)
		last = p;
	return last ? (size_t)(last - s->held.p) : OPEN_LEN;
}

/* Inside a block: drop it once it is closed. True to go on. */
static bool step_inside(struct strip *s, struct buf *out)
{
	const char *end = memmem(s->held.p + s->searched,
				 s->held.len - s->searched, FOOTER_CLOSE,
				 CLOSE_LEN);

	const size_t n = end ? (size_t)(end - s->held.p) + CLOSE_LEN
			     : s->held.len;

	if (n > STRIP_BLOCK_MAX) {
		release(s, last_open(s, n), out);
		s->inside = false;
		return true;
	}
	if (end) {
		release(s, n, NULL);
		s->inside = false;
		s->after = true;
		return true;
	}
	if (s->held.len >= s->searched + CLOSE_LEN)
		s->searched = s->held.len - CLOSE_LEN + 1;
	return false;
}

void strip_feed(struct strip *s, const char *data, size_t n, struct buf *out)
{
	bool more = true;

	buf_add(&s->held, data, n);
	while (more)
		more = s->inside ? step_inside(s, out) : step_outside(s, out);
}

void strip_finish(struct strip *s, struct buf *out)
{
	release(s, s->held.len, out);
	buf_done(&s->held);
	*s = (struct strip) { 0 };
}
