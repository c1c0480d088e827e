/* SPDX-License-Identifier: Apache-2.0 */
/* base/text.c - numbers, sizes and durations from text; text made safe to show */

#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/own.h"

/* Digits at *@s, which is moved past them */
static int take_digits(const char **s, uint64_t max, uint64_t *ret)
{
	const char *p = *s;
	uint64_t n = 0;

	if (*p < '0' || *p > '9')
		return -EINVAL;
	for (; *p >= '0' && *p <= '9'; p++) {
		const unsigned int digit = (unsigned int)(*p - '0');

		if (n > max / 10 || digit > max - n * 10)
			return -ERANGE;
		n = n * 10 + digit;
	}
	*s = p;
	*ret = n;
	return 0;
}

int text_to_u64(const char *s, uint64_t max, uint64_t *ret)
{
	uint64_t n;
	int r = take_digits(&s, max, &n);

	if (r < 0)
		return r;
	if (*s)
		return -EINVAL;
	*ret = n;
	return 0;
}

/* A suffix and what it multiplies by */
struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit sizes[] = {
	{ "", 1 }, { "b", 1 },
	{ "k", 1ULL << 10 }, { "kb", 1ULL << 10 }, { "kib", 1ULL << 10 },
	{ "m", 1ULL << 20 }, { "mb", 1ULL << 20 }, { "mib", 1ULL << 20 },
	{ "g", 1ULL << 30 }, { "gb", 1ULL << 30 }, { "gib", 1ULL << 30 },
	{ "t", 1ULL << 40 }, { "tb", 1ULL << 40 }, { "tib", 1ULL << 40 },
};

static const struct unit durations[] = {
	{ "", 1000 }, { "ms", 1 }, { "s", 1000 }, { "sec", 1000 },
	{ "m", 60 * 1000 }, { "min", 60 * 1000 }, { "h", 3600 * 1000 },
	{ "d", 24 * 3600 * 1000 },
};

static int unit_factor(const struct unit *units, size_t n, const char *suffix,
		       uint64_t *ret)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcasecmp(units[i].name, suffix)) {
			*ret = units[i].factor;
			return 0;
		}
	}
	return -EINVAL;
}

int text_to_size(const char *s, uint64_t *ret)
{
	uint64_t n, factor;
	int r = take_digits(&s, UINT64_MAX, &n);

	if (r < 0)
		return r;
	r = unit_factor(sizes, ARRAY_SIZE(sizes), s, &factor);
	if (r < 0)
		return r;
	if (n > INT64_MAX / factor)
		return -ERANGE;
	*ret = n * factor;
	return 0;
}

int text_to_duration_ms(const char *s, uint64_t *ret)
{
	const uint64_t max = INT64_MAX / (24 * 3600 * 1000) / 1000;
	uint64_t whole, thousandths = 0, factor, total;
	int r = take_digits(&s, max, &whole);

	if (r < 0)
		return r;
	if (*s == '.') {
		uint64_t place = 100;

		if (s[1] < '0' || s[1] > '9')
			return -EINVAL;
		for (s++; *s >= '0' && *s <= '9'; s++, place /= 10)
			thousandths += (uint64_t)(*s - '0') * place;
	}
	r = unit_factor(durations, ARRAY_SIZE(durations), s, &factor);
	if (r < 0)
		return r;
	total = whole * factor + thousandths * factor / 1000;
	if (!total)
		return -EINVAL;
	*ret = total;
	return 0;
}

size_t text_utf8_len(const char *s)
{
	const unsigned char *u = (const unsigned char *)s;
	size_t n;

	if (u[0] < 0x80)
		return 1;
	if (u[0] >= 0xc2 && u[0] <= 0xdf)
		n = 2;
	else if (u[0] >= 0xe0 && u[0] <= 0xef)
		n = 3;
	else if (u[0] >= 0xf0 && u[0] <= 0xf4)
		n = 4;
	else
		return 0;

	for (size_t i = 1; i < n; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0;
	}
	/* Overlong forms, surrogates, and beyond U+10FFFF */
	if ((u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f) ||
	    (u[0] == 0xf0 && u[1] < 0x90) || (u[0] == 0xf4 && u[1] > 0x8f))
		return 0;
	return n;
}

/* C1 controls, zero-width and bidi marks: invisible, or they reorder text */
static bool is_deceptive(const unsigned char *u, size_t n)
{
	if (n == 2)
		return (u[0] == 0xc2 && u[1] < 0xa0) ||
		       (u[0] == 0xd8 && u[1] == 0x9c);
	if (n != 3)
		return false;
	if (u[0] == 0xe2 && u[1] == 0x80)
		return (u[2] >= 0x8b && u[2] <= 0x8f) ||
		       (u[2] >= 0xa8 && u[2] <= 0xae);
	if (u[0] == 0xe2 && u[1] == 0x81)
		return u[2] >= 0xa0 && u[2] <= 0xaf;
	return u[0] == 0xef && u[1] == 0xbb && u[2] == 0xbf;
}

void text_hex(const void *bytes, size_t n, char *ret)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *p = bytes;

	for (size_t i = 0; i < n; i++) {
		*ret++ = digits[p[i] >> 4];
		*ret++ = digits[p[i] & 15];
	}
	*ret = '\0';
}

size_t text_escape_char(const char **s, char *out)
{
	const unsigned char *u = (const unsigned char *)*s;
	size_t n;

	if (u[0] >= 0x20 && u[0] < 0x7f) {
		*out = *(*s)++;
		return 1;
	}
	n = text_utf8_len(*s);
	if (n > 1 && !is_deceptive(u, n)) {
		memcpy(out, u, n);
		*s += n;
		return n;
	}
	memcpy(out, "\\x", 2);
	text_hex(u, 1, out + 2);
	*s += 1;
	return 4;
}

void text_escape(struct buf *b, const char *s)
{
	char out[5];

	while (*s)
		buf_add(b, out, text_escape_char(&s, out));
}

static bool is_shell_plain(const char *s)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789@%+=:,./_-";

	/* zsh looks for the program of "=ls", fish expands "%self" */
	return *s && *s != '=' && *s != '%' && !s[strspn(s, plain)];
}

/* In single quotes, but for ' and \, which fish takes for an escape there: these
 * stand in double quotes, where no shell reads them differently. A ! is never
 * in those: an interactive bash would expand it.
 */
void text_shell_quote(struct buf *b, const char *s)
{
	char open = *s == '\'' || *s == '\\' ? '"' : '\'';

	if (is_shell_plain(s)) {
		buf_adds(b, s);
		return;
	}

	buf_addc(b, open);
	for (; *s; s++) {
		const char want = *s == '\'' || *s == '\\' ? '"' : '\'';

		if (want != open)
			buf_addf(b, "%c%c", open, want);
		open = want;
		if (*s == '\\')
			buf_addc(b, '\\');
		buf_addc(b, *s);
	}
	buf_addc(b, open);
}

void text_shell_words(struct buf *b, const char *const *words, size_t max)
{
	for (; words && *words && b->len < max; words++) {
		if (b->len)
			buf_addc(b, ' ');
		text_shell_quote(b, *words);
	}
}

int text_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

uint64_t text_hash_bytes(const char *s, size_t n)
{
	uint64_t h = 14695981039346656037u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)s[i]) * 1099511628211u;
	return h;
}

uint64_t text_hash(const char *s)
{
	return text_hash_bytes(s, strlen(s));
}

bool text_in_list(const char *list, char separator, const char *word)
{
	const char separators[] = { separator, '\0' };
	const size_t n = word ? strlen(word) : 0;

	for (; n && list; list = strchr(list, separator)) {
		list += *list == separator;
		if (strcspn(list, separators) == n && !strncmp(list, word, n))
			return true;
	}
	return false;
}

int text_index(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (names[i] && !strcmp(names[i], name))
			return (int)i;
	}
	return -EINVAL;
}

bool text_matches(const char *patterns, const char *name, size_t n)
{
	const char *end;

	for (const char *p = patterns; *p; p = end + (*end == ' ')) {
		const char *star;
		size_t len, head, tail;

		end = strchrnul(p, ' ');
		if (n && *p != '*' && tolower((unsigned char)*p) !=
				      tolower((unsigned char)*name))
			continue;	/* Nearly all of them */
		len = (size_t)(end - p);
		star = memchr(p, '*', len);
		head = star ? (size_t)(star - p) : len;
		tail = star ? len - head - 1 : 0;
		if ((star ? n > head + tail : n == len) &&
		    !strncasecmp(end - len, name, head) &&
		    !strncasecmp(end - tail, name + n - tail, tail) &&
		    (!star || tail || !memchr(name + head, '.', n - head)))
			return true;
	}
	return false;
}

bool text_has_bytes(const char *words, const char *word, size_t n)
{
	for (const char *p = words; n && *p; p += strspn(p, " ")) {
		const size_t len = strcspn(p, " ");

		if (len == n && !memcmp(p, word, n))
			return true;
		p += len;
	}
	return false;
}

bool text_has_word(const char *words, const char *word)
{
	return !strcmp(words, "*") || text_has_bytes(words, word, strlen(word));
}

enum { NEAR_MAX = 64, NEAR_EDITS = 3 };

/* How many letters to leave out, add, change or swap (optimal string alignment);
 * many if a word is long
 */
static size_t distance(const char *a, const char *b)
{
	const size_t n = strlen(a), m = strlen(b);
	size_t rows[3][NEAR_MAX + 1];

	if (n > NEAR_MAX || m > NEAR_MAX)
		return NEAR_MAX;
	for (size_t i = 0; i <= n; i++) {
		size_t *row = rows[i % 3], *above = rows[(i + 2) % 3];

		for (size_t j = 0; j <= m; j++) {
			const bool both = i && j;
			const bool same = both && tolower(a[i - 1]) ==
						  tolower(b[j - 1]);

			row[j] = !i ? j : !j ? i : above[j - 1] + !same;
			if (both && above[j] + 1 < row[j])
				row[j] = above[j] + 1;
			if (both && row[j - 1] + 1 < row[j])
				row[j] = row[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1] &&
			    rows[(i + 1) % 3][j - 2] + 1 < row[j])
				row[j] = rows[(i + 1) % 3][j - 2] + 1;
		}
	}
	return rows[n % 3][m];
}

bool text_near_try(struct text_near *near, const char *candidate)
{
	const size_t half = strlen(near->word) / 2;
	const size_t most = half < NEAR_EDITS ? half : NEAR_EDITS;
	const size_t edits = distance(near->word, candidate);

	if (edits > most || (near->best && edits >= near->edits))
		return false;
	near->best = candidate;
	near->edits = edits;
	return true;
}

char *encode_bytes(const char *path)
{
	auto_buf struct buf b = { 0 };

	for (; *path; path++) {
		const unsigned char c = (unsigned char)*path;

		if (c < 0x80 && c >= 0x20 && c != '%')
			buf_addc(&b, *path);
		else
			buf_addf(&b, "%%%02x", c);
	}
	return buf_take(&b);
}

char *decode_bytes(const char *text)
{
	auto_buf struct buf b = { 0 };

	for (; *text; text++) {
		const int high = *text == '%' ? text_hex_digit(text[1]) : -1;
		const int low = high >= 0 ? text_hex_digit(text[2]) : -1;

		buf_addc(&b, low < 0 ? *text : (char)(high << 4 | low));
		text += low < 0 ? 0 : 2;
	}
	return buf_take(&b);
}
