/* SPDX-License-Identifier: Apache-2.0 */
/* policy/origin.h - the file, line and key behind each value */

#ifndef POLICY_ORIGIN_H
#define POLICY_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct json_place;
struct source_index;

/* From the weakest to the strongest */
enum scope {
	SCOPE_BUILTIN,	/* Our own tables and the profile */
	SCOPE_USER,
	SCOPE_PROJECT,
	SCOPE_LOCAL,
	SCOPE_FLAG,	/* --settings FILE and command-line options */
	SCOPE_MANAGED,
	SCOPE_COUNT,
};

/**
 * struct source - One place that policy comes from; owned by its policy
 * @scope:	How strong it is
 * @name:	A file's path, an option ("--write"), or "defaults"
 * @text:	The file's bytes, or NULL; lines are looked up in it when asked
 * @len:	Bytes of @text
 * @base:	The directory that relative paths in it start from
 * @index:	Keys of origins, and where the last look-up of a line ended
 */
struct source {
	enum scope scope;
	char *name;
	char *text;
	size_t len;
	char *base;
	struct source_index *index;
};

/* Copies the strings; @text may be NULL */
struct source *source_new(enum scope scope, const char *name, const char *text,
			  size_t len, const char *base);
void source_free(struct source *source);

/* Hand @key over to @source, which frees it in the end */
const char *source_key(const struct source *source, char *key);

/**
 * struct origin - Where one value came from: a plain value, which owns nothing
 * @source:	NULL only for a value that is not set
 * @key:	JSON path in the file, or NULL; lives as long as @source
 * @reason:	Why a built-in rule is there, a literal; or NULL
 */
struct origin {
	const struct source *source;
	const char *key;
	const char *reason;
};

/* "managed", "flag", "local", "project", "user", "built in" */
const char *scope_name(enum scope scope);

/* Where @key is in @source's text; false if it is not. Quick for entries of a list
 * that are asked for in their order.
 */
bool source_locate(const struct source *source, const char *key,
		   struct json_place *ret);

/* The line of @origin in its file, from 1; 0 where there is none */
unsigned int origin_line(const struct origin *origin);

/* "FILE:LINE: KEY", "--option", or "built in: why"; never empty */
void origin_describe(const struct origin *origin, struct buf *out);

/* The origin of a value; @key is copied and may be NULL */
struct origin origin_make(const struct source *source, const char *key,
			  const char *reason);

#endif /* POLICY_ORIGIN_H */
