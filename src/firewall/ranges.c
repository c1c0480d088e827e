/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/ranges.c - a JSON file of networks, as GitHub's meta API gives */

#include "firewall/ranges.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/own.h"
#include "firewall/ruleset.h"

static const char *const taken[] = {
#define TAKEN(key) key,
#include "firewall/ranges.def"
#undef TAKEN
};

/**
 * struct document - What is being read
 */
struct document {
	const char *text, *name;
	size_t n;
};

static bool is_taken(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++) {
		if (!strcmp(taken[i], key))
			return true;
	}
	return false;
}

static int bad(const struct document *d, const char *key, size_t index,
	       const char *what, struct err *err)
{
	struct json_place place = { .line = 1, .column = 1 };
	auto_buf struct buf path = { 0 };

	json_path_key(&path, key);
	json_path_index(&path, index);
	(void)json_locate(d->text, d->n, buf_str(&path), &place);
	return fail(err, -EINVAL, "%s:%u:%u: %s", d->name, place.line,
		    place.column, what);
}

static int add_list(const struct document *d, const char *key,
		    const json_t *array, struct range_list *list,
		    struct err *err)
{
	size_t i;
	json_t *value;

	json_array_foreach(array, i, value) {
		const char *text = json_string_value(value);
		struct host_range range;

		if (!text || host_range_parse(text, strlen(text), &range) < 0)
			return bad(d, key, i, "not a network like 192.0.2.0/24 (bits beyond the prefix must be 0)",
				   err);
		if (range_list_add(list, &range) < 0)
			return bad(d, key, i, "too many networks", err);
	}
	return 0;
}

static int add_all(const struct document *d, json_t *root,
		   struct range_list *list, struct err *err)
{
	bool known = false;
	size_t count = list->len;
	const char *key;
	json_t *value;

	json_object_foreach(root, key, value)
		known |= is_taken(key);
	json_object_foreach(root, key, value) {
		int r;

		if (known && !is_taken(key))
			continue;
		if (!json_is_array(value) && known)
			return fail(err, -EINVAL, "%s: '%s' is not a list",
				    d->name, key);
		r = json_is_array(value) ?
			add_list(d, key, value, list, err) : 0;
		if (r < 0)
			return r;
	}
	if (list->len == count)
		return fail(err, -EINVAL, "%s: no networks in it; expected an object of lists, as https://api.github.com/meta gives",
			    d->name);
	return 0;
}

int ranges_parse(const char *text, size_t n, const char *name,
		 struct range_list *list, struct err *err)
{
	const struct document d = { .text = text, .name = name, .n = n };
	json_t *root = json_parse(text, n, name, err);
	int r;

	if (!root)
		return -EINVAL;
	if (json_is_object(root))
		r = add_all(&d, root, list, err);
	else
		r = fail(err, -EINVAL, "%s: not an object of lists of networks",
			 name);
	json_decref(root);
	return r;
}

int ranges_read(const char *path, struct range_list *list, struct err *err)
{
	auto_buf struct buf text = { 0 };
	const int r = fs_read(AT_FDCWD, path, JSON_TEXT_MAX, &text, err);

	return r < 0 ? r : ranges_parse(buf_str(&text), text.len, path, list,
					err);
}
