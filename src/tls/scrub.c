/* SPDX-License-Identifier: Apache-2.0 */
/* tls/scrub.c - replace a secret that a server sends back */

#include "tls/scrub.h"

#include <stdint.h>
#include <string.h>

#include "gate/bound-secret.h"

/* The characters of base64 text that only @p decides when @before bytes come before
 * it: those that it shares with its neighbours are left out
 */
static void add_base64(struct bytes *b, const char *p, size_t n, size_t before)
{
	const size_t total = before + n;
	auto_bytes struct bytes plain = { 0 }, text = { 0 };
	const size_t first = before ? before + 1 : 0; /* Of whole characters */
	const size_t whole = total * 8 / 6;

	bytes_reserve(&plain, total);
	bytes_add(&plain, "\0\0", before);
	bytes_add(&plain, p, n);
	bytes_reserve(&text, BASE64_SIZE(total));
	(void)base64_encode(plain.p, total, text.p);
	bytes_add(b, text.p + first, whole - first);
}

/* As Horspool searches: a byte at the end of the shortest says how far the next place
 * is at which something can begin
 */
static void set_skips(struct scrub *s)
{
	s->shortest = SCRUB_SKIP_MAX;
	for (size_t i = 0; i < s->len; i++) {
		if (s->v[i].find.len < s->shortest)
			s->shortest = (uint8_t)s->v[i].find.len;
	}
	memset(s->skip, s->shortest, sizeof(s->skip));
	for (size_t i = 0; i < s->len; i++) {
		for (uint8_t k = 0; k < s->shortest; k++) {
			uint8_t *skip = &s->skip[(uint8_t)s->v[i].find.p[k]];

			if (s->shortest - 1 - k < *skip)
				*skip = (uint8_t)(s->shortest - 1 - k);
		}
	}
}

void scrub_add(struct scrub *s, const char *value, const char *placeholder,
	       size_t n)
{
	if (s->len + SCRUB_FORMS > SCRUB_VALUES_MAX * SCRUB_FORMS)
		return;
	for (size_t i = 0; i < s->len; i += SCRUB_FORMS) {
		if (s->v[i].find.len == n && !memcmp(s->v[i].find.p, value, n))
			return;
	}
	for (size_t form = 0; form < SCRUB_FORMS; form++) {
		struct bytes *find = &s->v[s->len].find;
		struct bytes *put = &s->v[s->len].put;

		if (!form) {
			bytes_add(find, value, n);
			bytes_add(put, placeholder, n);
		} else {
			add_base64(find, value, n, form - 1);
			add_base64(put, placeholder, n, form - 1);
		}
		s->len++;
	}
	set_skips(s);
}

/* What the @n bytes at @p begin with, the longest; or NULL. *@unfinished: they are the
 * beginning of something longer.
 */
static const struct bytes *find_at(const struct scrub *s, const char *p,
				   size_t n, bool *unfinished)
{
	size_t best = s->len;

	*unfinished = false;
	for (size_t i = 0; i < s->len; i++) {
		const struct bytes *find = &s->v[i].find;

		if (memcmp(p, find->p, find->len < n ? find->len : n) != 0)
			continue;
		*unfinished |= find->len > n;
		if (find->len <= n &&
		    (best == s->len || find->len > s->v[best].find.len))
			best = i;
	}
	return best < s->len ? &s->v[best].put : NULL;
}

void scrub_step(struct scrub *s, const char *p, size_t n, bool end,
		struct buf *out)
{
	size_t at = 0;

	bytes_add(&s->held, p, n);
	p = s->held.p;
	n = s->held.len;
	while (at < n) {
		const size_t last = at + s->shortest - 1;
		const struct bytes *put;
		bool unfinished;

		if (last < n && s->skip[(uint8_t)p[last]]) {
			at += s->skip[(uint8_t)p[last]];
			continue;
		}
		put = find_at(s, p + at, n - at, &unfinished);
		if (unfinished && !end)
			break;
		if (put) {
			memcpy(s->held.p + at, put->p, put->len);
			s->hits++;
		}
		at += put ? put->len : 1;
	}
	buf_add(out, p, at);
	memmove(s->held.p, p + at, n - at);
	s->held.len = n - at;
	if (end)
		bytes_done(&s->held);
}

void scrub_done(struct scrub *s)
{
	for (size_t i = 0; i < s->len; i++) {
		bytes_done(&s->v[i].find);
		bytes_done(&s->v[i].put);
	}
	bytes_done(&s->held);
	*s = (struct scrub){ 0 };
}
