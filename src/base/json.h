/* SPDX-License-Identifier: Apache-2.0 */
/* base/json.h - strict JSON, and the place of each value in its text
 *
 * jansson parses; this adds the limits, the messages and the places. A place is
 * found again from the text by a value's JSON path ("network.hosts[2]"), so it
 * costs nothing until it is needed.
 */

#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>
#include <stddef.h>

#include "base/own.h"

struct buf;
struct err;

enum {
	JSON_TEXT_MAX = 1 << 20,	/* Bytes of one document */
	JSON_DEPTH_MAX = 32,		/* Objects and arrays inside each other */
};

/**
 * struct json_place - Where a value stands in its text
 * @offset:	Of its first byte
 * @end:	Just past its last byte
 * @line:	From 1
 * @column:	From 1, in bytes
 */
struct json_place {
	size_t offset, end;
	unsigned int line, column;
};

/* Parse @n bytes of @text: one value, UTF-8, no byte-order mark, no NUL, no
 * duplicate keys, within the limits above. @name goes into the message:
 * "NAME:LINE:COLUMN: what is wrong". NULL on failure; json_decref() the result.
 */
json_t *json_parse(const char *text, size_t n, const char *name,
		   struct err *err);

/* As json_parse(), of the file @path (relative to @dirfd) */
json_t *json_read(int dirfd, const char *path, struct err *err);

OWN_CLEANUP(json_decrefp_, json_t *const *, json_decref(*p))
#define auto_json	__attribute__((cleanup(json_decrefp_)))

/* Find the value at @path in @text, which json_parse() has accepted. A path is
 * keys and indices: "a.b[3].c"; a key that holds a dot, a bracket or a quote
 * is written ["key"] with JSON escapes. "" is the whole document. 0, or
 * -ENOENT if there is no such value.
 */
int json_locate(const char *text, size_t n, const char *path,
		struct json_place *ret);

/* Step from an element of an array, which json_locate() found, to the next: a
 * long list is then walked in one pass. 0, or -ENOENT with *@place untouched.
 */
int json_next(const char *text, size_t n, struct json_place *place);

/* @text as a value: a string, in which bytes that are no UTF-8 are escaped, or
 * null for NULL. Never NULL itself, as json_string() and json_pack() are for
 * names of files.
 */
json_t *json_text(const char *text);

/* The text of the member @key of @object; NULL if there is none, or it is no text */
const char *json_get_text(const json_t *object, const char *key);

/* Append one step to a path, quoted where it must be */
void json_path_key(struct buf *path, const char *key);
void json_path_index(struct buf *path, size_t index);

#endif /* BASE_JSON_H */
