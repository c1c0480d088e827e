/* SPDX-License-Identifier: Apache-2.0 */
/* shell/rule.h - permission rules: "Tool" and "Tool(specifier)"
 *
 * Permission rules belong to an agent. Some grant or deny paths and hosts, which the
 * sandbox applies. policy/permission.h decides about a single use of a tool.
 */

#ifndef SHELL_RULE_H
#define SHELL_RULE_H

#include <stdbool.h>

#include "shell/command-pattern.h"

struct err;

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

/* Parse @text. 0, or -EINVAL with a message and a column, *@ret untouched. */
int rule_parse(const char *text, enum rule_action action, struct rule *ret,
	       struct err *err);
void rule_done(struct rule *rule);

/* If @rule has an unknown tool, the known one with the most similar name, "" if there
 * is none; NULL if the tool is known
 */
const char *rule_meant(const struct rule *rule);

#endif /* SHELL_RULE_H */
