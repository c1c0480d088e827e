/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/srt.c - settings of srt, one key at a time
 *
 * Theory of operation: the rows of srt.def are looked at in their order, as
 * srt does, so that problems come in the same order. A value of the wrong type
 * stops what concerns several keys (srt-cross.c), any other problem does not.
 */

#include "policy/srt.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/srt-text.h"

enum many { ONE, LIST, SOME, MAP };
enum need { OPTIONAL, REQUIRED };

struct field {
	const char *parent, *name;
	enum srt_kind kind;
	enum many many;
	enum need need;
	const char *detail;
};

static const struct field fields[] = {
#define FIELD(parent, name, kind, many, need, detail) \
	{ parent, name, SRT_##kind, many, need, detail },
#include "policy/srt.def"
#undef FIELD
};

void srt_issue(struct srt_issues *issues, const char *path, const char *fmt,
	       ...)
{
	struct buf *out = issues->out;
	va_list ap;

	if (out) {
		auto_free char *words = NULL;

		va_start(ap, fmt);
		words = mem_vprintf(fmt, ap);
		va_end(ap);
		buf_addf(out, "%s%s: %s", issues->count ? "; " : "",
			 *path ? path : "(root)", words);
	}
	issues->count++;
}

static const char *type_name(const json_t *value)
{
	switch (value ? json_typeof(value) : JSON_NULL) {
	case JSON_OBJECT:
		return "object";
	case JSON_ARRAY:
		return "array";
	case JSON_STRING:
		return "string";
	case JSON_INTEGER:
	case JSON_REAL:
		return "number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "boolean";
	default:
		return "null";
	}
}

static bool wrong_type(struct srt_issues *issues, const char *path,
		       const char *wanted, const json_t *value)
{
	srt_issue(issues, path, "Expected %s, received %s", wanted,
		  type_name(value));
	issues->aborted = true;
	return false;
}

static void check_object(struct srt_issues *issues, const char *row,
			 const char *path, json_t *object, bool strict);

static void check_number(struct srt_issues *issues, const char *path,
			 const char *bounds, const json_t *value)
{
	const double n = json_number_value(value);
	char *rest;
	const long low = strtol(bounds, &rest, 10);
	const long high = strtol(rest, NULL, 10);

	if (!json_is_number(value)) {
		wrong_type(issues, path, "number", value);
		return;
	}
	if (json_is_real(value) && (n > 1e15 || (double)(int64_t)n < n))
		srt_issue(issues, path, "Expected integer, received float");
	if (n < (double)low)
		srt_issue(issues, path, "Number must be greater than or equal to %ld",
			  low);
	if (n > (double)high)
		srt_issue(issues, path, "Number must be less than or equal to %ld",
			  high);
}

static void check_enum(struct srt_issues *issues, const char *path,
		       const char *words, const json_t *value)
{
	const char *text = json_string_value(value);
	auto_buf struct buf expected = { 0 };

	for (const char *w = words; *w; w += strspn(w, " ")) {
		const size_t n = strcspn(w, " ");

		if (text && strlen(text) == n && !strncmp(text, w, n))
			return;
		buf_addf(&expected, "%s'%.*s'", w == words ? "" : " | ",
			 (int)n, w);
		w += n;
	}
	if (text)
		srt_issue(issues, path, "Invalid enum value. Expected %s, received '%s'",
			  buf_str(&expected), text);
	else
		srt_issue(issues, path, "Expected %s, received %s",
			  buf_str(&expected), type_name(value));
	issues->aborted = true;
}

/* A path, or {"path": PATH, "literal": true} */
static void check_entry(struct srt_issues *issues, const char *path,
			const json_t *value)
{
	static const char *const keys[] = { "path", "literal" };
	const json_t *name = json_is_object(value) ?
		json_object_get(value, "path") : value;
	auto_buf struct buf unknown = { 0 };
	const char *key;
	json_t *member;

	if (!json_is_string(name) || (name != value &&
	    !json_is_true(json_object_get(value, "literal")))) {
		srt_issue(issues, path, "Expected a path, or { \"path\": \"<path>\", \"literal\": true }");
		issues->aborted = true;
		return;
	}
	if (name != value) {
		json_object_foreach((json_t *)(size_t)value, key, member) {
			if (strcmp(key, keys[0]) && strcmp(key, keys[1]))
				buf_addf(&unknown, "%s'%s'",
					 unknown.len ? ", " : "", key);
		}
	}
	if (!*json_string_value(name)) {
		auto_free char *at = mem_printf("%s%s", path,
						name == value ? "" : ".path");

		srt_issue(issues, at, "Path cannot be empty");
	}
	if (unknown.len)
		srt_issue(issues, path, "Unrecognized key(s) in object: %s",
			  buf_str(&unknown));
}

static void check_text(struct srt_issues *issues, const char *path,
		       enum srt_kind kind, const json_t *value)
{
	const char *text = json_string_value(value);
	const char *wrong;

	if (!text) {
		wrong_type(issues, path, "string", value);
		return;
	}
	if (kind == SRT_BINARY && !*text)
		srt_issue(issues, path, "Path cannot be empty");
	wrong = srt_judge_text(kind, text);
	if (wrong)
		srt_issue(issues, path, "%s", wrong);
}

static void check_texts(struct srt_issues *issues, const char *path,
			const json_t *value)
{
	json_t *entry;
	size_t i;

	if (!json_is_array(value))
		wrong_type(issues, path, "array", value);
	json_array_foreach(value, i, entry) {
		auto_free char *at = mem_printf("%s.%zu", path, i);

		check_text(issues, at, SRT_TEXT, entry);
	}
}

static void check_tls(struct srt_issues *issues, const char *path,
		      json_t *value)
{
	const char *cert, *key;

	check_object(issues, "network.tlsTerminate", path, value, false);
	cert = json_string_value(json_object_get(value, "caCertPath"));
	key = json_string_value(json_object_get(value, "caKeyPath"));
	if (!(cert && *cert) != !(key && *key))
		srt_issue(issues, path, "caCertPath and caKeyPath must be provided together");
}

/* One value, or one entry of a list. @row is the path without indices. */
static void check_value(struct srt_issues *issues, const struct field *f,
			const char *row, const char *path, json_t *value)
{
	switch (f->kind) {
	case SRT_OBJECT:
	case SRT_STRICT:
	case SRT_TLS:
		if (!json_is_object(value))
			wrong_type(issues, path, "object", value);
		else if (f->kind == SRT_TLS)
			check_tls(issues, path, value);
		else
			check_object(issues, row, path, value,
				     f->kind == SRT_STRICT);
		return;
	case SRT_FLAG:
		if (!json_is_boolean(value))
			wrong_type(issues, path, "boolean", value);
		return;
	case SRT_NUMBER:
		check_number(issues, path, f->detail, value);
		return;
	case SRT_ENUM:
		check_enum(issues, path, f->detail, value);
		return;
	case SRT_CALLBACK:
		srt_issue(issues, path, "filterRequest must be a function");
		return;
	case SRT_ENTRY:
		check_entry(issues, path, value);
		return;
	case SRT_TEXTS:
		check_texts(issues, path, value);
		return;
	default:
		check_text(issues, path, f->kind, value);
	}
}

static void check_list(struct srt_issues *issues, const struct field *f,
		       const char *row, const char *path, json_t *list)
{
	json_t *entry;
	size_t i;

	if (!json_is_array(list)) {
		wrong_type(issues, path, "array", list);
		return;
	}
	if (f->many == SOME && !json_array_size(list))
		srt_issue(issues, path, "Array must contain at least 1 element(s)");
	json_array_foreach(list, i, entry) {
		auto_free char *at = mem_printf("%s.%zu", path, i);

		check_value(issues, f, row, at, entry);
	}
}

static void check_map(struct srt_issues *issues, const struct field *f,
		      const char *row, const char *path, json_t *map)
{
	const char *key;
	json_t *value;

	if (!json_is_object(map)) {
		wrong_type(issues, path, "object", map);
		return;
	}
	json_object_foreach(map, key, value) {
		auto_free char *at = mem_printf("%s.%s", path, key);

		check_value(issues, f, row, at, value);
	}
}

static void check_field(struct srt_issues *issues, const struct field *f,
			const char *path, json_t *object)
{
	auto_free char *row = mem_printf("%s%s%s", f->parent,
					 *f->parent ? "." : "", f->name);
	auto_free char *at = mem_printf("%s%s%s", path, *path ? "." : "",
					f->name);
	json_t *value = json_object_get(object, f->name);

	if (!value && f->need == OPTIONAL)
		return;
	if (!value) {
		srt_issue(issues, at, "Required");
		issues->aborted = true;
	} else if (f->many == LIST || f->many == SOME) {
		check_list(issues, f, row, at, value);
	} else if (f->many == MAP) {
		check_map(issues, f, row, at, value);
	} else {
		check_value(issues, f, row, at, value);
	}
}

static bool is_known(const char *row, const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (!strcmp(fields[i].parent, row) &&
		    !strcmp(fields[i].name, key))
			return true;
	}
	return false;
}

/* Take out what srt does not know; a strict object does not put up with it */
static void prune(struct srt_issues *issues, const char *row, const char *path,
		  json_t *object, bool strict)
{
	auto_buf struct buf unknown = { 0 };
	const char *key;
	json_t *value;
	void *next;

	json_object_foreach_safe(object, next, key, value) {
		if (is_known(row, key))
			continue;
		buf_addf(&unknown, "%s'%s'", unknown.len ? ", " : "", key);
		json_object_del(object, key);
	}
	if (strict && unknown.len)
		srt_issue(issues, path, "Unrecognized key(s) in object: %s",
			  buf_str(&unknown));
}

static void check_object(struct srt_issues *issues, const char *row,
			 const char *path, json_t *object, bool strict)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (!strcmp(fields[i].parent, row))
			check_field(issues, &fields[i], path, object);
	}
	prune(issues, row, path, object, strict);
}

/* What srt does not look at on this system, and we would: Unix sockets by path
 * and ports on the host. Where it leaves the file system alone, its lists.
 */
static void drop_unused(json_t *root)
{
	json_t *network = json_object_get(root, "network");
	json_t *filesystem = json_object_get(root, "filesystem");
	static const char *const lists[] = {
		"denyRead", "allowRead", "allowWrite", "denyWrite",
	};

	(void)json_object_del(network, "allowUnixSockets");
	(void)json_object_del(network, "allowLocalBinding");
	if (!json_is_true(json_object_get(filesystem, "disabled")))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		(void)json_object_del(filesystem, lists[i]);
}

size_t srt_check(json_t *root, struct buf *out)
{
	struct srt_issues issues = { .out = out };

	if (!json_is_object(root))
		wrong_type(&issues, "", "object", root);
	else
		check_object(&issues, "", "", root, false);
	if (!issues.aborted)
		srt_cross_check(root, &issues);
	drop_unused(root);
	return issues.count;
}
