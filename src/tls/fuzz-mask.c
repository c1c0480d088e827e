/* SPDX-License-Identifier: Apache-2.0 */
/* tls/fuzz-mask.c - no secret that a mask finds is left in what is shown
 *
 * The first byte says what kind of mask it is, the bytes before a NUL are its pattern, the
 * rest is the text.
 */

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "fuzz.h"
#include "tls/mask.h"

enum { USES_PATTERN = 1, USES_TOKENS = 2, USES_CLAIMS = 4 };
enum { SECRET_MIN = 8, SHOWN = 1 };	/* As placeholder_make() wants; a byte */

/* What was found, and SHOWN as often */
struct finds {
	struct {
		char *value, *shown;
		size_t n;
	} v[MASK_SPANS_MAX];
	size_t len;
};

static const char *take(void *arg, const char *value, const char *shape,
			size_t n, struct err *err)
{
	struct finds *f = arg;

	(void)shape;
	if (f->len == MASK_SPANS_MAX || n < SECRET_MIN) {
		(void)fail(err, -1, "too many, or too short");
		return NULL;
	}
	f->v[f->len].value = memcpy(mem_alloc(n), value, n);
	f->v[f->len].shown = mem_zalloc(n + 1);
	f->v[f->len].n = n;
	memset(f->v[f->len].shown, SHOWN, n);
	return f->v[f->len++].shown;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char claim[] = "sub", other[] = "email";
	const uint8_t *zero = size ? memchr(data, '\0', size) : NULL;
	auto_buf struct buf out = { 0 };
	struct finds finds = { .len = 0 };
	struct mask mask = { 0 };
	struct err err = { 0 };
	const char *text;
	size_t n;
	int r;

	if (!zero || zero == data)
		return 0;
	text = (const char *)zero + 1;
	n = size - (size_t)(zero + 1 - data);
	if (n > MASK_TEXT_MAX || memchr(text, SHOWN, n))
		return 0;
	if (data[0] & USES_PATTERN)
		mask.extract = mem_strndup((const char *)data + 1,
					   (size_t)(zero - data - 1));
	mask.jwt = data[0] & USES_TOKENS;
	if (data[0] & USES_CLAIMS) {
		mask.claims[mask.n_claims++] = claim;
		mask.claims[mask.n_claims++] = other;
	}
	r = mask_text(&mask, text, n, take, &finds, &out, &err);
	if (r <= 0)
		fuzz_want(!out.len && (r == 0 || err.msg[0]));
	else if (!mask.n_claims)
		fuzz_want(out.len == n && finds.len);
	for (size_t i = 0; r > 0 && !mask.n_claims && i < finds.len; i++)
		fuzz_want(!memmem(out.p, out.len, finds.v[i].value,
				  finds.v[i].n));
	for (size_t i = 0; i < finds.len; i++) {
		free(finds.v[i].value);
		free(finds.v[i].shown);
	}
	free(mask.extract);
	return 0;
}
