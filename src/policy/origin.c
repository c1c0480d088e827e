/* SPDX-License-Identifier: Apache-2.0 */
/* policy/origin.c - who said so: the file, line and key behind each value */

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
 * struct line_cache - The entry of a list that was looked up last
 * @list:	The list's JSON path, or NULL
 * @index:	Which entry
 * @at:		Where it is
 */
struct line_cache {
	char *list;
	size_t index;
	struct json_place at;
};

void line_cache_free(struct line_cache *cache)
{
	if (cache)
		free(cache->list);
	free(cache);
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
	const struct line_cache *cache = source->lines;

	if (!n || !cache->list || strncmp(cache->list, key, n) != 0 ||
	    cache->list[n] || index < cache->index)
		return false;
	*at = cache->at;
	for (index -= cache->index; index; index--) {
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
		free(source->lines->list);
		source->lines->list = mem_strndup(key, n);
		source->lines->index = index;
		source->lines->at = at;
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

struct line_cache *line_cache_new(void)
{
	return mem_zalloc(sizeof(struct line_cache));
}
