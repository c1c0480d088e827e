/* SPDX-License-Identifier: Apache-2.0 */
/* policy/schema.h - the keys of a settings file, as rows */

#ifndef POLICY_SCHEMA_H
#define POLICY_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum setting_area { AREA_SANDBOX, AREA_CLAUDE };

enum setting_type {
	TYPE_FLAG,	/* true or false -> enum policy_flag */
	TYPE_COUNT,	/* A whole number from 1 -> enum policy_number */
	TYPE_PORT,	/* 1 to 65535 */
	TYPE_DEPTH,	/* 1 to 10 */
	TYPE_SIZE,	/* Bytes, or text with a unit */
	TYPE_DURATION,	/* Seconds, or text with a unit */
	TYPE_TEXT,	/* -> enum policy_text; and with a check: */
	TYPE_PROXY,
	TYPE_TIER, TYPE_PROFILE, TYPE_NET,	/* One of a few words */
	TYPE_PATHS,	/* -> enum path_list */
	/* Lists -> enum string_list; the first and the last are used by apply.c */
	TYPE_HOSTS,
	TYPE_STRINGS,	/* And with checks: */
	TYPE_SECRETS,	/* Or {NAME: {"hosts": [...], ...}} */
	TYPE_PORTS, TYPE_RANGES, TYPE_SOCKETS, TYPE_VARIABLES,
	TYPE_COMMANDS,
	TYPE_REASONS,	/* {text: text} */
	TYPE_IGNORES,	/* {text: [text]} */
	TYPE_TLS,	/* An object: a switch and its parts */
	TYPE_OBJECT,	/* -> enum policy_text, as JSON */
	TYPE_OBJECTS,	/* -> enum string_list, each as JSON */
	TYPE_CREDENTIALS,	/* A list of objects */
	TYPE_RULES,	/* Permission rules -> enum rule_action */
	TYPE_UNUSED,	/* Known; noted that it does nothing here */
	TYPE_FOREIGN,	/* Known; the agent's own */
	TYPE_KINDS,
};

/* Which scopes may set a key. What a repository's files may set depends on the kind of
 * request (enum ask_kind).
 */
enum guard {
	GUARD_ANY,
	GUARD_STICKY_FALSE,	/* false in a user, flag or managed file stays */
	GUARD_STICKY_TRUE,	/* true likewise */
	GUARD_ANY_TRUE,		/* true stays, in whichever file */
	GUARD_MANAGED,		/* Managed files only */
	GUARD_FLAG_ONLY,	/* --settings only; not with allowManagedReadPathsOnly */
	GUARD_FS_DISABLED,	/* Not where managed files restrict the file system */
	GUARD_READS,		/* Managed only with allowManagedReadPathsOnly */
	GUARD_DOMAINS,		/* Managed only with allowManagedDomainsOnly */
	GUARD_RULES,		/* Managed only with allowManagedPermissionRulesOnly */
	GUARD_COUNT,
};

/* Which values of a key only tighten */
enum tighten {
	TIGHTEN_NEVER,
	TIGHTEN_YES,	/* Any value */
	TIGHTEN_TRUE, TIGHTEN_FALSE,
	TIGHTEN_LESS,	/* Not more than every file that is not a repository's */
	TIGHTEN_MORE,
	TIGHTEN_DENY,	/* Entries with mode "deny" */
	TIGHTEN_TIER, TIGHTEN_NET,	/* full; none */
};

/* The kind of request that a value is, if it does not tighten */
enum ask_kind {
	ASK_NOTHING,
	/* From a repository: when the user approves */
	ASK_HOST, ASK_ADDRESS, ASK_HOST_PORT, ASK_PUBLISH, ASK_SOCKET,
	ASK_READ, ASK_WRITE, ASK_MODE, ASK_RULE,
	/* From a repository: never */
	ASK_NEVER,
	ASK_OFF = ASK_NEVER, ASK_COMMAND, ASK_PLATFORM, ASK_PROXY, ASK_NAME,
	ASK_VARIABLE, ASK_IGNORE, ASK_TIER, ASK_SETTING,
	ASK_KINDS,
};

/**
 * struct setting - One row of schema.def
 * @path:	Keys with dots between them
 * @slot:	Which member of the policy, by @type
 * @otherwise:	The default, in words; "" for rows that do nothing
 * @words:	What it does; one line
 */
struct setting {
	enum setting_area area;
	const char *path;
	enum setting_type type;
	int slot;
	enum guard guard;
	enum tighten tighten;
	enum ask_kind ask;
	const char *otherwise, *words;
};

const struct setting *schema_table(size_t *ret_len);

/* The row of exactly @path, or NULL */
const struct setting *schema_find(enum setting_area area, const char *path);

/* True if @path is an object that holds keys of the table */
bool schema_is_object(enum setting_area area, const char *path);

/* A row that is @path, or below it, but for capital letters; or NULL */
const struct setting *schema_respelled(enum setting_area area,
				       const char *path);

/* The row whose path looks most like @path, or NULL if none does */
const struct setting *schema_nearest(enum setting_area area,
				     const char *path);

/* "sandbox" or "permissions", if @name looks like a misspelling of it; or NULL */
const char *schema_slip(const char *name);

/* "true or false", "a list of paths": for errors and the manual */
const char *schema_type_words(enum setting_type type);

/* The number that @value means as a @type of the schema: sizes in bytes, durations
 * in milliseconds. 0, or -EINVAL with *@ret untouched.
 */
int schema_number(enum setting_type type, const json_t *value, uint64_t *ret);

#endif /* POLICY_SCHEMA_H */
