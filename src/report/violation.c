/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report/violation.c - one refusal: what, by which rule, and how to allow it
 *
 * Theory of operation: the fields that are plain strings are one table, which
 * copying, releasing, writing and reading walk. Writing is done by hand: the
 * order of the keys is part of the format, and names from untrusted sources are
 * made harmless (no control, bidi or angle characters, no invalid UTF-8).
 */

#include "report/violation.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

enum { ERRNO_MAX = 4095 };			/* As in the kernel */

static const int64_t TIME_END_MS = 253402300800000;	/* The year 10000 */

static const struct {
	const char *name, *words;
} kinds[VIOLATION_KINDS] = {
#define VIOLATION(id, name, words) [VIOLATION_##id] = { name, words },
#include "report/violations.def"
#undef VIOLATION
};

/**
 * struct field - A string of the record
 * @object:	The JSON object that holds it, or NULL for the record itself
 * @key:	Its key there
 * @offset:	Of the pointer in struct violation
 */
struct field {
	const char *object, *key;
	size_t offset;
};

#define FIELD(object, key, member) \
	{ object, key, offsetof(struct violation, member) }

enum {
	F_RUN, F_COMMAND, F_EXE, F_PARENTS, F_OP, F_TARGET, F_REASON, F_RULE_FILE,
	F_RULE_KEY, F_EDIT, F_ALLOW, FIELDS,
};

static const struct field fields[FIELDS] = {
	[F_RUN] = FIELD(NULL, "run", run),
	[F_COMMAND] = FIELD(NULL, "command", command),
	[F_EXE] = FIELD(NULL, "exe", exe),
	[F_PARENTS] = FIELD(NULL, "parents", parents),
	[F_OP] = FIELD(NULL, "op", op),
	[F_TARGET] = FIELD(NULL, "target", target),
	[F_REASON] = FIELD(NULL, "reason", reason),
	[F_RULE_FILE] = FIELD("rule", "file", rule_file),
	[F_RULE_KEY] = FIELD("rule", "path", rule_key),
	[F_EDIT] = FIELD("suggest", "edit", suggest_edit),
	[F_ALLOW] = FIELD("suggest", "command", suggest_command),
};

static char **slot(struct violation *v, size_t i)
{
	return (char **)(void *)((char *)v + fields[i].offset);
}

static const char *value(const struct violation *v, size_t i)
{
	return *(char *const *)(const void *)((const char *)v +
					      fields[i].offset);
}

const char *violation_kind_name(enum violation_kind kind)
{
	return kinds[kind].name;
}

const char *violation_kind_words(enum violation_kind kind)
{
	return kinds[kind].words;
}

int violation_kind_parse(const char *name, enum violation_kind *ret)
{
	for (int i = 0; i < VIOLATION_KINDS; i++) {
		if (!strcmp(kinds[i].name, name)) {
			*ret = (enum violation_kind)i;
			return 0;
		}
	}
	return -EINVAL;
}

void violation_copy(struct violation *to, const struct violation *from)
{
	*to = *from;
	for (size_t i = 0; i < FIELDS; i++) {
		const char *s = value(from, i);

		*slot(to, i) = s ? mem_strndup(s, VIOLATION_TEXT_MAX) : NULL;
	}
}

void violation_done(struct violation *v)
{
	for (size_t i = 0; i < FIELDS; i++) {
		free(*slot(v, i));
		*slot(v, i) = NULL;
	}
}

/* One character of a JSON string; @n is its valid UTF-8 length, or 0 */
static void add_char(struct buf *out, const char *s, size_t n)
{
	char shown[5];
	const char *next = s;

	if (!n)
		buf_adds(out, "\\ufffd");
	else if (*s == '"' || *s == '\\')
		buf_addf(out, "\\%c", *s);
	else if (*s == '<' || *s == '>' || text_escape_char(&next, shown) > n) {
		uint32_t c = (unsigned char)*s;

		/* Only two and three bytes are ever deceptive */
		if (n == 2)
			c = (c & 0x1f) << 6 | ((unsigned char)s[1] & 0x3f);
		if (n == 3)
			c = (c & 0xf) << 12 |
			    ((uint32_t)(unsigned char)s[1] & 0x3f) << 6 |
			    ((unsigned char)s[2] & 0x3f);
		buf_addf(out, "\\u%04" PRIx32, c);
	} else {
		buf_add(out, s, n);
	}
}

void violation_add_text(struct buf *out, const char *s)
{
	const char *end;

	if (!s) {
		buf_adds(out, "null");
		return;
	}
	end = s + strnlen(s, VIOLATION_TEXT_MAX);
	buf_addc(out, '"');
	while (s < end) {
		const size_t n = text_utf8_len(s);

		if (n > (size_t)(end - s))	/* The limit cuts it in two */
			break;
		add_char(out, s, n);
		s += n ? n : 1;
	}
	buf_addc(out, '"');
}

static void add_field(struct buf *out, const struct violation *v, size_t i)
{
	buf_addf(out, ",\"%s\":", fields[i].key);
	violation_add_text(out, value(v, i));
}

/* The two fields of an object, the first of which is @i */
static void add_pair(struct buf *out, const struct violation *v, size_t i)
{
	buf_addf(out, ",\"%s\":{\"%s\":", fields[i].object, fields[i].key);
	violation_add_text(out, value(v, i));
	add_field(out, v, i + 1);
	buf_addc(out, '}');
}

/* Times before 1970 and after 9999 are damaged records, shown as 1970 */
void violation_time(int64_t time_ms, char ret[VIOLATION_TIME_SIZE])
{
	const int64_t ms = time_ms < 0 || time_ms >= TIME_END_MS ? 0 : time_ms;
	const time_t seconds = (time_t)(ms / 1000);
	struct tm tm = { 0 };
	size_t n;

	gmtime_r(&seconds, &tm);
	n = strftime(ret, VIOLATION_TIME_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(ret + n, VIOLATION_TIME_SIZE - n, ".%03uZ",
		 (unsigned int)(ms % 1000));
}

void violation_to_json(const struct violation *v, struct buf *out)
{
	const char *error = v->error ? strerrorname_np(v->error) : NULL;
	char time[VIOLATION_TIME_SIZE];

	violation_time(v->time_ms, time);
	buf_addf(out, "{\"v\":1,\"time\":\"%s\"", time);
	add_field(out, v, F_RUN);
	add_field(out, v, F_COMMAND);
	if (v->pid > 0)
		buf_addf(out, ",\"pid\":%d", (int)v->pid);
	else
		buf_adds(out, ",\"pid\":null");
	add_field(out, v, F_EXE);
	if (v->parents)
		add_field(out, v, F_PARENTS);
	buf_addf(out, ",\"kind\":\"%s\"", violation_kind_name(v->kind));
	add_field(out, v, F_OP);
	add_field(out, v, F_TARGET);
	buf_adds(out, ",\"errno\":");
	violation_add_text(out, error);
	add_field(out, v, F_REASON);
	add_pair(out, v, F_RULE_FILE);
	add_pair(out, v, F_EDIT);
	buf_addf(out, ",\"count\":%" PRIu64 "}\n", v->count ? v->count : 1);
}

/* Only what violation_time() writes: "2026-6-31" and the like come back otherwise */
int violation_parse_time(const char *s, int64_t *ret)
{
	struct tm tm = { 0 };
	char again[VIOLATION_TIME_SIZE];
	const char *rest = strptime(s, "%Y-%m-%dT%H:%M:%S", &tm);

	if (!rest || *rest != '.')
		return -EINVAL;
	*ret = (int64_t)timegm(&tm) * 1000 + strtol(rest + 1, NULL, 10) % 1000;
	violation_time(*ret, again);
	return strcmp(again, s) ? -EINVAL : 0;
}

static int parse_errno(const char *name, int *ret)
{
	for (int i = 1; i <= ERRNO_MAX; i++) {
		const char *known = strerrorname_np(i);

		if (known && !strcmp(known, name)) {
			*ret = i;
			return 0;
		}
	}
	return -EINVAL;
}

/* The string at @key: 0, also for null and nothing; or -EINVAL */
static int get_string(json_t *object, const char *key, const char **ret)
{
	json_t *at = json_object_get(object, key);

	if (at && !json_is_null(at) && !json_is_string(at))
		return -EINVAL;
	*ret = json_string_value(at);
	return 0;
}

static int get_number(json_t *object, const char *key, json_int_t least,
		      json_int_t most, json_int_t *ret)
{
	json_t *at = json_object_get(object, key);

	if (!at || json_is_null(at))
		return 0;
	if (!json_is_integer(at) || json_integer_value(at) < least ||
	    json_integer_value(at) > most)
		return -EINVAL;
	*ret = json_integer_value(at);
	return 0;
}

/* Read the fields that are not in the table of strings; the wrong key, or NULL */
static const char *read_head(json_t *root, struct violation *v)
{
	json_int_t version = 0, pid = 0, count = 1;
	const char *kind = NULL, *time = NULL, *error = NULL;

	if (get_number(root, "v", 1, 1, &version) < 0 || version != 1)
		return "v";
	if (get_string(root, "kind", &kind) < 0 || !kind ||
	    violation_kind_parse(kind, &v->kind) < 0)
		return "kind";
	if (get_string(root, "time", &time) < 0 || !time ||
	    violation_parse_time(time, &v->time_ms) < 0)
		return "time";
	if (get_string(root, "errno", &error) < 0 ||
	    (error && parse_errno(error, &v->error) < 0))
		return "errno";
	if (get_number(root, "pid", 1, INT32_MAX, &pid) < 0)
		return "pid";
	if (get_number(root, "count", 1, INT64_MAX, &count) < 0)
		return "count";
	v->pid = (pid_t)pid;
	v->count = (uint64_t)count;
	return NULL;
}

static const char *read_fields(json_t *root, struct violation *v)
{
	for (size_t i = 0; i < FIELDS; i++) {
		const struct field *f = &fields[i];
		json_t *holder = f->object ? json_object_get(root, f->object)
					   : root;
		const char *s = NULL;

		if (!holder || json_is_null(holder))
			continue;
		if (!json_is_object(holder))
			return f->object;
		if (get_string(holder, f->key, &s) < 0)
			return f->key;
		*slot(v, i) = s ? mem_strndup(s, VIOLATION_TEXT_MAX) : NULL;
	}
	return NULL;
}

int violation_from_json(const char *line, size_t n, struct violation *ret,
			struct err *err)
{
	struct violation v = { 0 };
	const char *wrong;
	json_t *root;

	if (n > VIOLATION_LINE_MAX)
		return fail(err, -EINVAL, "a record of %zu bytes is too long",
			    n);
	root = json_parse(line, n, "record", err);
	if (!root)
		return -EINVAL;
	wrong = json_is_object(root) ? read_head(root, &v) : "{";
	if (!wrong)
		wrong = read_fields(root, &v);
	json_decref(root);
	if (wrong) {
		violation_done(&v);
		return fail(err, -EINVAL, "not a violation record: '%s'",
			    wrong);
	}
	*ret = v;
	return 0;
}
