/* SPDX-License-Identifier: Apache-2.0 */
/* policy/origin.c - the file, line and key behind each value */

#include "policy/origin.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"

const char *scope_name(enum scope scope)
{
	static const char *const names[SCOPE_COUNT] = {
		[SCOPE_BUILTIN] = "built in",
		[SCOPE_USER] = "user",
		[SCOPE_PROJECT] = "project",
		[SCOPE_LOCAL] = "local",
		[SCOPE_FLAG] = "flag",
		[SCOPE_MANAGED] = "managed",
	};

	return names[scope];
}

/**
 * struct source_index - Keys of origins, and the last place that was looked up
 * @keys:	Keys of origins
 * @list:	The JSON path of the list whose entry was looked up last, or NULL
 * @entry:	Which entry
 * @at:		Where it is
 */
struct source_index {
	struct strings keys;
	char *list;
	size_t entry;
	struct json_place at;
};

struct source *source_new(enum scope scope, const char *name, const char *text,
			  size_t len, const char *base)
{
	struct source *source = mem_zalloc(sizeof(*source));

	source->scope = scope;
	source->name = mem_strdup(name);
	source->text = text ? mem_strndup(text, len) : NULL;
	source->len = text ? len : 0;
	source->base = mem_strdup(base);
	source->index = mem_zalloc(sizeof(*source->index));
	return source;
}

void source_free(struct source *source)
{
	free(source->name);
	free(source->text);
	free(source->base);
	strings_done(&source->index->keys);
	free(source->index->list);
	free(source->index);
	free(source);
}

const char *source_key(const struct source *source, char *key)
{
	*vec_push(&source->index->keys) = key;
	return key;
}

/* Split "list[3]": the length of "list" and 3; 0 if @key is no entry */
static size_t split(const char *key, size_t *ret_index)
{
	const char *bracket = strrchr(key, '[');
	char *end;

	if (!bracket || bracket[1] < '0' || bracket[1] > '9')
		return 0;
	*ret_index = strtoul(bracket + 1, &end, 10);
	return strcmp(end, "]") != 0 ? 0 : (size_t)(bracket - key);
}

/* True if @at is the place of @key: behind the last that was looked up */
static bool is_next(const struct source *source, const char *key, size_t n,
		    size_t index, struct json_place *at)
{
	const struct source_index *last = source->index;

	if (!n || !last->list || strncmp(last->list, key, n) != 0 ||
	    last->list[n] || index < last->entry)
		return false;
	*at = last->at;
	for (index -= last->entry; index; index--) {
		if (json_next(source->text, source->len, at) < 0)
			return false;
	}
	return true;
}

bool source_locate(const struct source *source, const char *key,
		   struct json_place *ret)
{
	struct json_place at;
	size_t n, index = 0;

	if (!source->text || !key)
		return false;
	n = split(key, &index);
	if (!is_next(source, key, n, index, &at) &&
	    json_locate(source->text, source->len, key, &at) < 0)
		return false;
	if (n) {
		free(source->index->list);
		source->index->list = mem_strndup(key, n);
		source->index->entry = index;
		source->index->at = at;
	}
	*ret = at;
	return true;
}

unsigned int origin_line(const struct origin *origin)
{
	struct json_place at;

	return origin->source &&
	       source_locate(origin->source, origin->key, &at) ? at.line : 0;
}

void origin_describe(const struct origin *origin, struct buf *out)
{
	const unsigned int line = origin_line(origin);

	if (!origin->source || origin->source->scope == SCOPE_BUILTIN) {
		buf_adds(out, "built in");
		if (origin->reason)
			buf_addf(out, ": %s", origin->reason);
		return;
	}
	buf_adds(out, origin->source->name);
	if (line)
		buf_addf(out, ":%u", line);
	if (origin->key)
		buf_addf(out, ": %s", origin->key);
}

struct origin origin_make(const struct source *source, const char *key,
			  const char *reason)
{
	return (struct origin){
		.source = source,
		.key = key ? source_key(source, mem_strdup(key)) : NULL,
		.reason = reason,
	};
}
