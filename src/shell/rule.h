/* SPDX-License-Identifier: Apache-2.0 */
/* policy/rule.h - permission rules: "Tool" and "Tool(specifier)"
 *
 * Rules are an agent's; the sandbox takes from them which paths and hosts they
 * open and close. ruleset.h decides about a single use of a tool.
 */

#ifndef POLICY_RULE_H
#define POLICY_RULE_H

#include <stdbool.h>

#include "policy/command.h"

struct err;
struct glob;

enum { RULE_TEXT_MAX = 12000 };	/* Bytes of one rule */

/* In the order of evaluation: the first that matches decides */
enum rule_action { ACTION_DENY, ACTION_ASK, ACTION_ALLOW, ACTION_COUNT };

/* What a tool's rules are about */
enum rule_tool {
	TOOL_OTHER,
	TOOL_BASH,
	TOOL_READ,	/* Read; also decides for Grep, Glob, LS */
	TOOL_EDIT,	/* Edit; also decides for Write, MultiEdit, ... */
	TOOL_FETCH,
	TOOL_MCP,
};

enum rule_kind {
	RULE_TOOL,	/* Each use of the tool */
	RULE_PATH,	/* Read(path), Edit(path) */
	RULE_DOMAIN,	/* WebFetch(domain:host) */
	RULE_COMMAND,	/* Bash(command) */
	RULE_INPUT,	/* Bash(run_in_background:true): a field of the call */
	RULE_OPAQUE,	/* Another tool's own specifier */
};

/**
 * struct rule - One parsed rule
 * @text:	As it was written
 * @name:	The tool's name
 * @content:	What the parentheses hold, or NULL; of RULE_DOMAIN the host in
 *		lower case
 * @pattern:	Of the name, where a "*" is in it; @command otherwise
 * @command:	Of RULE_COMMAND
 * @inert:	NULL, or why the rule has no effect and what to write instead
 */
struct rule {
	enum rule_action action;
	enum rule_tool tool;
	enum rule_kind kind;
	char *text, *name, *content;
	struct command_pattern pattern, command;
	const char *inert;
};

/* Parse @text. 0, or -EINVAL with words and a column, *@ret untouched. */
int rule_parse(const char *text, enum rule_action action, struct rule *ret,
	       struct err *err);
void rule_done(struct rule *rule);

/* The tool that is meant where @rule is of one that nobody knows: "" if it is
 * like none; NULL if nothing is odd about it
 */
const char *rule_meant(const struct rule *rule);

/**
 * struct rule_bases - Where relative paths start; all absolute and clean
 * @root:	Of the settings file: for "/path"
 * @cwd:	For "path" and "./path"
 * @home:	For "~/path"; NULL if there is none
 */
struct rule_bases {
	const char *root, *cwd, *home;
};

/**
 * struct rule_path - What a Read or Edit rule names; it covers all below that
 * @path:	The one path, or for a pattern the directory that matches are in
 * @glob:	NULL, or the pattern over absolute paths, for the thing itself
 */
struct rule_path {
	char *path;
	struct glob *glob;
};

/* The paths of @rule, which is RULE_PATH. A name alone is meant at any depth
 * below @bases->cwd, and so is a directory's ("name/", or with two stars) if
 * it is denied; where it is allowed, only the one there is meant. 0, or
 * -EINVAL with words and *@ret untouched.
 */
int rule_path_init(struct rule_path *ret, const struct rule *rule,
		   const struct rule_bases *bases, struct err *err);
void rule_path_done(struct rule_path *path);

/* True if @absolute, or a directory above it, is named */
bool rule_path_match(const struct rule_path *path, const char *absolute);

#endif /* POLICY_RULE_H */
