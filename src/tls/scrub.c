/* SPDX-License-Identifier: Apache-2.0 */
/* tls/scrub.c - replace a secret that a server sends back */

#include "tls/scrub.h"

#include <stdlib.h>
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
		if (find->len > s->longest)
			s->longest = find->len;
		s->len++;
	}
}

static void replace_all(struct scrub *s, char *p, size_t n)
{
	for (size_t i = 0; i < s->len; i++) {
		const struct bytes *find = &s->v[i].find;
		char *at = p;

		while ((at = memmem(at, n - (size_t)(at - p), find->p,
				    find->len)) != NULL) {
			memcpy(at, s->v[i].put.p, find->len);
			at += find->len;
			s->hits++;
		}
	}
}

/* How many bytes at the end of @p are the beginning of something */
static size_t unfinished(const struct scrub *s, const char *p, size_t n)
{
	size_t most = 0;

	for (size_t i = 0; i < s->len; i++) {
		const struct bytes *find = &s->v[i].find;
		size_t k = find->len - 1 < n ? find->len - 1 : n;

		while (k > most && memcmp(p + n - k, find->p, k) != 0)
			k--;
		if (k > most)
			most = k;
	}
	return most;
}

void scrub_step(struct scrub *s, const char *p, size_t n, bool end,
		struct buf *out)
{
	size_t keep;

	bytes_add(&s->held, p, n);
	if (!s->held.len)
		return;
	replace_all(s, s->held.p, s->held.len);
	keep = end ? 0 : unfinished(s, s->held.p, s->held.len);
	buf_add(out, s->held.p, s->held.len - keep);
	memmove(s->held.p, s->held.p + s->held.len - keep, keep);
	s->held.len = keep;
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
