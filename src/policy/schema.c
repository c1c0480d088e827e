/* SPDX-License-Identifier: Apache-2.0 */
/* policy/schema.c - the keys of a settings file, as rows */

#include "policy/schema.h"

#include <string.h>
#include <strings.h>

#include "base/own.h"
#include "policy/policy.h"

static const struct setting rows[] = {
#define SETTING(area, path, type, slot, guard, tighten, otherwise, words) \
	{ AREA_##area, path, TYPE_##type, slot, GUARD_##guard,		\
	  TIGHTEN_##tighten, otherwise, words },
#include "policy/settings.def"
#undef SETTING
};

const struct setting *schema_table(size_t *ret_len)
{
	*ret_len = ARRAY_SIZE(rows);
	return rows;
}

const struct setting *schema_find(enum setting_area area, const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].area == area && !strcmp(rows[i].path, path))
			return &rows[i];
	}
	return NULL;
}

bool schema_is_object(enum setting_area area, const char *path)
{
	const size_t n = strlen(path);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].area == area && !strncmp(rows[i].path, path, n) &&
		    rows[i].path[n] == '.')
			return true;
	}
	return false;
}

const struct setting *schema_respelled(enum setting_area area,
				       const char *path)
{
	const size_t n = strlen(path);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].area == area &&
		    !strncasecmp(rows[i].path, path, n) &&
		    (!rows[i].path[n] || rows[i].path[n] == '.'))
			return &rows[i];
	}
	return NULL;
}

enum { NEAR_MAX = 64, NEAR_EDITS = 3 };

/* Levenshtein's distance, with one row of memory; NEAR_EDITS + 1 if long */
static size_t distance(const char *a, const char *b)
{
	const size_t n = strlen(a), m = strlen(b);
	size_t row[NEAR_MAX + 1];

	if (n > NEAR_MAX || m > NEAR_MAX)
		return NEAR_EDITS + 1;
	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			const size_t above = row[j];
			const size_t same = diagonal + (a[i - 1] != b[j - 1]);

			row[j] = above < row[j - 1] ? above + 1
						    : row[j - 1] + 1;
			if (same < row[j])
				row[j] = same;
			diagonal = above;
		}
	}
	return row[m];
}

static const char *last_key(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot ? dot + 1 : path;
}

/* The key itself counts, wherever it was put: a common slip is to leave out
 * "filesystem" or "network"
 */
const struct setting *schema_nearest(enum setting_area area, const char *path)
{
	const struct setting *best = NULL;
	/* Half of a short word is another word */
	const size_t half = strlen(last_key(path)) / 2;
	size_t least = (half < NEAR_EDITS ? half : NEAR_EDITS) + 1;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const size_t d = distance(last_key(rows[i].path),
					  last_key(path));

		if (rows[i].area == area && d < least) {
			least = d;
			best = &rows[i];
		}
	}
	return best;
}

const char *schema_slip(const char *name)
{
	static const char *const objects[] = { "sandbox", "permissions" };

	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		if (!strcasecmp(objects[i], name) ||
		    distance(objects[i], name) < NEAR_EDITS)
			return objects[i];
	}
	return NULL;
}

const char *schema_type_words(enum setting_type type)
{
	static const char *const words[TYPE_KINDS] = {
		[TYPE_FLAG] = "true or false",
		[TYPE_COUNT] = "a whole number from 1",
		[TYPE_PORT] = "a port, 1 to 65535",
		[TYPE_DEPTH] = "a whole number from 1 to 10",
		[TYPE_SIZE] = "bytes, or text such as \"512M\"",
		[TYPE_DURATION] = "seconds, or text such as \"5m\"",
		[TYPE_TEXT] = "text",
		[TYPE_PROXY] = "the address of an HTTP proxy",
		[TYPE_TIER] = "\"full\" or \"landlock\"",
		[TYPE_PROFILE] = "\"default\", \"home\" or \"srt\"",
		[TYPE_NET] = "\"filtered\", \"none\", \"jail\", \"jail,filtered\" or \"host\"",
		[TYPE_PATHS] = "a list of paths",
		[TYPE_HOSTS] = "a list of hosts",
		[TYPE_STRINGS] = "a list of texts",
		[TYPE_PORTS] = "a list of ports",
		[TYPE_RANGES] = "a list of addresses and ranges",
		[TYPE_SOCKETS] = "a list of paths",
		[TYPE_VARIABLES] = "a list of NAME or NAME=VALUE",
		[TYPE_COMMANDS] = "a list of commands",
		[TYPE_REASONS] = "an object of texts",
		[TYPE_IGNORES] = "an object of lists of texts",
		[TYPE_TLS] = "an object",
		[TYPE_CREDENTIALS] = "a list of objects",
		[TYPE_RULES] = "a list of rules",
		[TYPE_UNUSED] = "anything",
		[TYPE_FOREIGN] = "anything",
	};

	return words[type];
}

const char *schema_guard_words(enum guard guard)
{
	static const char *const words[GUARD_COUNT] = {
#define GUARD(name, text) [GUARD_##name] = text,
#include "policy/guards.def"
#undef GUARD
	};

	return words[guard];
}
