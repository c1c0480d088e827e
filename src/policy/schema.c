/* SPDX-License-Identifier: Apache-2.0 */
/* policy/schema.c - the keys of a settings file, as rows */

#include "policy/schema.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/own.h"
#include "base/text.h"
#include "policy/policy.h"
#include "shell/rule.h"

static const struct setting rows[] = {
#define SETTING(area, path, type, slot, guard, tighten, ask, otherwise, words) \
	{ AREA_##area, path, TYPE_##type, slot, GUARD_##guard,		\
	  TIGHTEN_##tighten, ASK_##ask, otherwise, words },
#include "policy/schema.def"
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
	struct text_near near = { .word = last_key(path) };
	const struct setting *best = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].area == area &&
		    text_near_try(&near, last_key(rows[i].path)))
			best = &rows[i];
	}
	return best;
}

const char *schema_slip(const char *name)
{
	struct text_near near = { .word = name };

	(void)text_near_try(&near, "sandbox");
	(void)text_near_try(&near, "permissions");
	return near.best;
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
		[TYPE_SECRETS] = "a list of texts, or an object of objects",
		[TYPE_PORTS] = "a list of ports",
		[TYPE_RANGES] = "a list of addresses and ranges",
		[TYPE_SOCKETS] = "a list of paths",
		[TYPE_VARIABLES] = "a list of NAME or NAME=VALUE",
		[TYPE_COMMANDS] = "a list of commands",
		[TYPE_REASONS] = "an object of texts",
		[TYPE_IGNORES] = "an object of lists of texts",
		[TYPE_TLS] = "an object",
		[TYPE_OBJECT] = "an object",
		[TYPE_OBJECTS] = "a list of objects",
		[TYPE_CREDENTIALS] = "a list of objects",
		[TYPE_RULES] = "a list of rules",
		[TYPE_UNUSED] = "anything",
		[TYPE_FOREIGN] = "anything",
	};

	return words[type];
}

static int whole(const json_t *value, uint64_t max, uint64_t *ret)
{
	const json_int_t n = json_integer_value(value);

	if (!json_is_integer(value) || n < 1 || (uint64_t)n > max)
		return -EINVAL;
	*ret = (uint64_t)n;
	return 0;
}

static int duration(const json_t *value, uint64_t *ret)
{
	const double seconds = json_number_value(value);

	if (json_is_string(value))
		return text_to_duration_ms(json_string_value(value), ret) < 0 ?
		       -EINVAL : 0;
	/* A year is long enough for any command */
	if (!json_is_number(value) || seconds < 0.001 || seconds > 366 * 86400)
		return -EINVAL;
	*ret = (uint64_t)(seconds * 1000);
	return 0;
}

int schema_number(enum setting_type type, const json_t *value, uint64_t *ret)
{
	switch (type) {
	case TYPE_COUNT:
		return whole(value, INT32_MAX, ret);
	case TYPE_PORT:
		return whole(value, UINT16_MAX, ret);
	case TYPE_DEPTH:
		return whole(value, 10, ret);
	case TYPE_SIZE:
		if (json_is_string(value))
			return text_to_size(json_string_value(value), ret) < 0 ?
			       -EINVAL : 0;
		return whole(value, INT64_MAX, ret);
	case TYPE_DURATION:
		return duration(value, ret);
	default:
		return -EINVAL;
	}
}
