/* SPDX-License-Identifier: Apache-2.0 */
/* policy/policy.h - one policy: what a command may do, and where that is written
 *
 * Readers build a policy with the policy_add_*() and policy_set_*() functions,
 * strongest source first; after policy_finish() it never changes. A live edit
 * makes a new one. Nothing here touches the file system: paths are absolute
 * text, and view/view.h follows symbolic links.
 */

#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/origin.h"
#include "policy/pathrule.h"

struct err;
struct host_pattern;
struct permission;

enum {
	POLICY_RULES_MAX = 1 << 17,	/* Entries in one list */
};

enum profile { PROFILE_DEFAULT, PROFILE_HOME, PROFILE_SRT, PROFILE_COUNT };

enum net_mode {
	NET_FILTERED, NET_NONE, NET_JAIL, NET_HOST,
	NET_JAIL_FILTERED,	/* The domain filter, and its gate in the jail */
	NET_COUNT,
};

static inline bool net_is_filtered(enum net_mode mode)
{
	return mode == NET_FILTERED || mode == NET_JAIL_FILTERED;
}

static inline bool net_is_jail(enum net_mode mode)
{
	return mode == NET_JAIL || mode == NET_JAIL_FILTERED;
}

/* File system rules */
enum path_list {
	PATH_ALLOW_WRITE, PATH_DENY_WRITE, PATH_ALLOW_READ, PATH_DENY_READ,
	PATH_LISTS,
};

static inline bool path_list_denies(enum path_list list)
{
	return list == PATH_DENY_WRITE || list == PATH_DENY_READ;
}

/* A list is unset (@set false), empty, or has entries. Empty and unset never mean
 * "allow".
 */
struct path_rules {
	struct path_rule *v;
	size_t len, cap;
	bool set;
};

/* All other lists */
enum string_list {
	HOST_ALLOW, HOST_DENY,	/* Each with its pattern */
	LIST_UNIX_SOCKETS,	/* Absolute paths */
	LIST_HOST_PORTS,	/* Decimal ports of the host's loopback */
	LIST_PUBLISH,		/* Decimal ports published on the host */
	LIST_ALLOW_IPS,		/* Addresses and CIDRs punched into the jail */
	LIST_DENIED_ADDRESSES,	/* deniedResolvedAddresses */
	LIST_EXCLUDED_COMMANDS,
	LIST_ENABLED_PLATFORMS,
	LIST_UNPROTECT,		/* Names that are no longer protected */
	LIST_ENV_SET,		/* NAME=VALUE, or NAME to pass it */
	LIST_ENV_DENY,		/* Names whose value outside stays outside */
	LIST_GIT_SAFE,		/* git.safeDirectories */
	LIST_MASKED_FILES,	/* Absolute paths; also in PATH_DENY_READ */
	LIST_MASKED_VARIABLES,	/* Also in LIST_ENV_DENY */
	LIST_IGNORES,		/* ignoreViolations: hides reports, never allows */
	LIST_SECRETS,		/* NAME@HOST,HOST: bound secrets */
	LIST_SECRET_CAS,	/* Files with authorities of bound hosts */
	LIST_SECRET_SOURCES,	/* NAME=env:X, NAME=file:X, NAME=command:X */
	LIST_AWS_PAIRS,		/* credentials.awsPairs: an object of JSON each */
	LIST_COUNT,
};

/**
 * struct list_rule - One entry of a list
 * @text:	As it was written; of LIST_IGNORES a substring of the report
 * @detail:	The user's reason for a denied host, or NULL; of LIST_IGNORES
 *		"*", or a substring of the command
 * @pattern:	Of a host, compiled (policy/host.h)
 */
struct list_rule {
	char *text, *detail;
	struct host_pattern *pattern;
	struct origin origin;
};

struct list_rules {
	struct list_rule *v;
	size_t len, cap;
	bool set;
};

enum policy_flag {
	FLAG_ENABLED,
	FLAG_AUTO_ALLOW,		/* autoAllowBashIfSandboxed */
	FLAG_ALLOW_UNSANDBOXED,		/* allowUnsandboxedCommands */
	FLAG_FAIL_IF_UNAVAILABLE,
	FLAG_WEAKER_NESTED,		/* enableWeakerNestedSandbox */
	FLAG_NESTED_USERNS,		/* allowNestedUserNamespaces */
	FLAG_ALLOW_GIT_CONFIG,
	FLAG_FS_DISABLED,		/* srt: filesystem.disabled */
	FLAG_ALL_UNIX_SOCKETS,
	FLAG_LOCAL_BINDING,
	FLAG_STRICT_ALLOWLIST,
	FLAG_MANAGED_DOMAINS_ONLY,
	FLAG_MANAGED_READS_ONLY,
	FLAG_BLOCK_OUTSIDE_READS,	/* blockReadsOutsideWorkingDirectories */
	FLAG_PASS_ENV,
	FLAG_TLS_TERMINATE,
	FLAG_PLAINTEXT_INJECT,		/* credentials.allowPlaintextInject */
	FLAG_MANAGED_RULES_ONLY,	/* allowManagedPermissionRulesOnly */
	FLAG_NO_FORGE,			/* Profile home: without gh and glab */
	FLAG_NO_RUN_RECORDS,
	FLAG_COUNT,
};

/**
 * struct flag - A switch that may be unset
 */
struct flag {
	bool set, value;
	struct origin origin;
};

enum policy_number {
	NUMBER_TIMEOUT_MS,
	NUMBER_MEMORY,			/* Bytes */
	NUMBER_PIDS,
	NUMBER_FILE_SIZE,		/* Bytes */
	NUMBER_OUTPUT,			/* Bytes */
	NUMBER_HTTP_PROXY_PORT,
	NUMBER_SOCKS_PROXY_PORT,
	NUMBER_SEARCH_DEPTH,		/* mandatoryDenySearchDepth */
	NUMBER_SEARCH_LIMIT,		/* Names: --search-limit */
	NUMBER_COUNT,
};

struct number {
	bool set;
	uint64_t value;
	struct origin origin;
};

enum policy_text {
	TEXT_PARENT_HTTP, TEXT_PARENT_HTTPS, TEXT_PARENT_NO_PROXY,
	TEXT_MINIMUM_TIER,
	TEXT_SIGV4,		/* credentials.sigv4, as JSON */
	TEXT_COUNT,
};

struct text_value {
	char *value;	/* NULL if unset */
	struct origin origin;
};

/**
 * struct source_list - The places this policy came from, by pointer so that
 * origins stay valid while it grows
 */
struct source_list {
	struct source **v;
	size_t len, cap;
};

/* Directories that rows of our tables hang below */
enum policy_dir {
	DIR_ROOT,	/* "/" */
	DIR_ETC,	/* "/etc"; elsewhere in tests */
	DIR_HOME,
	DIR_CWD,
	DIR_CLAUDE,	/* $CLAUDE_CONFIG_DIR, else ~/.claude */
	DIR_CONFIG,	/* $XDG_CONFIG_HOME, else ~/.config; and so on */
	DIR_STATE,
	DIR_CACHE,
	DIR_DATA,
	DIR_PARENTS,	/* The start directory and every one above it */
	DIR_COUNT,
};

struct policy_dedup;

/**
 * struct policy - All of it
 * @cwd:	Where the command starts; absolute, real
 * @project:	Writable by default: @cwd, or the git work tree around it
 * @made_top, @made_record: The work tree around @cwd that a sandboxed command
 *		has made, and the record of that; or NULL
 * @home:	The user's home, or NULL if there is none
 * @account_home: The one in the password database, or NULL
 * @ruleset:	An agent's permission rules (policy/permission.h), all of them
 * @dirs:	Absolute, or NULL where there is no home; set before finishing
 * @variable:	The caller's variables, which may name secrets; NULL: none do
 * @seen:	What the lists hold, so that a repeated entry is dropped
 * @finished:	policy_finish() was called
 */
struct policy {
	unsigned int refs;
	char *cwd, *project, *made_top, *made_record;
	char *home, *account_home;
	char *dirs[DIR_COUNT];
	const char *(*variable)(const char *name);
	struct policy_dedup *seen;
	bool finished;
	enum profile profile;
	struct origin profile_origin;
	enum net_mode net;
	struct origin net_origin;
	struct path_rules paths[PATH_LISTS];
	struct list_rules lists[LIST_COUNT];
	struct flag flags[FLAG_COUNT];
	struct number numbers[NUMBER_COUNT];
	struct text_value texts[TEXT_COUNT];
	struct permission *ruleset;
	struct source_list sources;
};

/* @home may be NULL. The directories start as the defaults below @home. */
struct policy *policy_new(const char *cwd, const char *home);

/* Without rules, with the directories and variables of @other */
struct policy *policy_new_like(const struct policy *other);

/* Where @dir is below the home by default, "." for that itself; NULL: elsewhere */
const char *policy_dir_below_home(enum policy_dir dir);

/* Set one of the directories. A path that is not absolute is ignored, as the XDG
 * specification requires.
 */
void policy_set_dir(struct policy *p, enum policy_dir dir, const char *path);

/* True if @path is a home of the user's, or holds one. Such a directory is not a
 * project: nothing in it is writable by default.
 */
bool policy_holds_home(const struct policy *p, const char *path);

/* True if there is a project; profile srt makes nothing writable by default */
bool policy_has_project(const struct policy *p);

struct policy *policy_ref(struct policy *p);
void policy_unref(struct policy *p);

static inline void policy_unrefp_(struct policy **p)
{
	policy_unref(*p);
}

#define auto_policy	__attribute__((cleanup(policy_unrefp_)))

/* Remember a place that policy comes from; @text may be NULL. The result
 * lives as long as the policy.
 */
const struct source *policy_add_source(struct policy *p, enum scope scope,
				       const char *name, const char *text,
				       size_t len, const char *base);

/* Add @text, which is in the grammar of sandbox.filesystem.* (spec: "//p" and
 * "/p" absolute, "~/p" home, else below the source's base; "*?[" are globs).
 * 0, or -EINVAL with a message.
 */
int policy_add_path(struct policy *p, enum path_list list, const char *text,
		    enum rule_strength strength, struct origin origin,
		    struct err *err);

/* As policy_add_path() with a rule that is parsed; takes over its parts */
int policy_take_path(struct policy *p, enum path_list list,
		     struct path_rule *rule, struct err *err);

/* As policy_add_path() for an absolute path that holds no pattern */
void policy_add_literal(struct policy *p, enum path_list list,
			const char *path, enum rule_strength strength,
			struct origin origin);

/* As policy_add_literal() with a @path that is clean and is taken over. Returns the
 * new rule, or NULL if there is one already.
 */
struct path_rule *policy_take_literal(struct policy *p, enum path_list list,
				      char *path, enum rule_strength strength,
				      struct origin origin);

/* Add a host pattern (spec/network); duplicates are dropped */
int policy_add_host(struct policy *p, enum string_list list, const char *text,
		    const char *reason, struct origin origin, struct err *err);

/* 0, or -E2BIG with a message */
int policy_add_string(struct policy *p, enum string_list list,
		      const char *text, struct origin origin, struct err *err);
int policy_add_ignore(struct policy *p, const char *command,
		      const char *text, struct origin origin, struct err *err);

/* Set the reason of the entry whose text is exactly @text, unless a stronger file gave
 * one. False if there is no such entry.
 */
bool policy_set_reason(struct policy *p, enum string_list list,
		       const char *text, const char *reason);

/* True if @list holds exactly @text */
bool policy_has_string(const struct policy *p, enum string_list list,
		       const char *text);

/* The first, strongest setter wins; later ones are dropped, unless they are
 * stricter than a managed file
 */
void policy_set_flag(struct policy *p, enum policy_flag flag, bool value,
		     struct origin origin);
void policy_set_number(struct policy *p, enum policy_number number,
		       uint64_t value, struct origin origin);
void policy_set_text(struct policy *p, enum policy_text text,
		     const char *value, struct origin origin);
/* Set it even if a stronger source did */
void policy_force_text(struct policy *p, enum policy_text text,
		       const char *value, struct origin origin);

/* A flag's value, or @otherwise if it is not set */
bool policy_flag(const struct policy *p, enum policy_flag flag,
		 bool otherwise);

/* As for flags, the first, strongest setter wins */
void policy_set_profile(struct policy *p, enum profile profile,
			struct origin origin);
void policy_set_net(struct policy *p, enum net_mode mode,
		    struct origin origin);

/* Names as users write them; -EINVAL if unknown */
int profile_parse(const char *name, enum profile *ret);
const char *profile_name(enum profile profile);
int net_mode_parse(const char *name, enum net_mode *ret);
const char *net_mode_name(enum net_mode mode);

/* Add what every policy of this profile has: the writable start directory,
 * the hidden secrets, our own stores, the protected settings files. After
 * this the policy is complete and does not change.
 */
int policy_finish(struct policy *p, struct err *err);

#endif /* POLICY_POLICY_H */
