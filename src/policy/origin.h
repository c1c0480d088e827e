/* SPDX-License-Identifier: Apache-2.0 */
/* policy/origin.h - who said so: the file, line and key behind each value */

#ifndef POLICY_ORIGIN_H
#define POLICY_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct json_place;
struct line_cache;

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
 * @name:	A file's path, an option ("--write"), or a table ("hidden.def")
 * @text:	The file's bytes, or NULL; lines are looked up in it when asked
 * @len:	Bytes of @text
 * @base:	The directory that relative paths in it start from
 * @lines:	Where the last look-up ended, so that the next is short
 */
struct source {
	enum scope scope;
	char *name;
	char *text;
	size_t len;
	char *base;
	struct line_cache *lines;
};

struct line_cache *line_cache_new(void);
void line_cache_free(struct line_cache *cache);

/**
 * struct origin - Where one value came from
 * @source:	NULL only for a value that nobody set
 * @key:	JSON path in the file, or NULL; owned by the rule
 * @reason:	Why a built-in rule is there, a literal; or NULL
 */
struct origin {
	const struct source *source;
	char *key;
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

#endif /* POLICY_ORIGIN_H */
