/* SPDX-License-Identifier: Apache-2.0 */
/* shell/rule.c - the grammar of permission rules */

#include "shell/rule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"

/* The tools whose rules we know, with the tool whose path rules decide for it. Rules
 * of TOOL_OTHER are for the agent alone.
 */
static const struct {
	const char *name;
	enum rule_tool tool;
	const char *decider;
} tools[] = {
	{ "Bash", TOOL_BASH, NULL },
	{ "Edit", TOOL_EDIT, NULL },
	{ "Glob", TOOL_READ, "Read" },
	{ "Grep", TOOL_READ, "Read" },
	{ "LS", TOOL_READ, "Read" },
	{ "MultiEdit", TOOL_EDIT, "Edit" },
	{ "NotebookEdit", TOOL_EDIT, "Edit" },
	{ "NotebookRead", TOOL_READ, "Read" },
	{ "Read", TOOL_READ, NULL },
	{ "WebFetch", TOOL_FETCH, NULL },
	{ "Write", TOOL_EDIT, "Edit" },
	{ "Agent", TOOL_OTHER, NULL },
	{ "PowerShell", TOOL_OTHER, NULL },
	{ "Skill", TOOL_OTHER, NULL },
	{ "SlashCommand", TOOL_OTHER, NULL },
	{ "Task", TOOL_OTHER, NULL },
	{ "WebSearch", TOOL_OTHER, NULL },
};

/* Fields of a Bash call that a deny or ask rule may name */
static const char *const bash_inputs[] = {
	"dangerouslyDisableSandbox:", "description:", "run_in_background:",
	"timeout:",
};

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || (c && strchr("_-.*", c));
}

static enum rule_tool tool_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
		if (!strcmp(tools[i].name, name))
			return tools[i].tool;
	}
	return !strncmp(name, "mcp__", 5) ? TOOL_MCP : TOOL_OTHER;
}

/* Why a path rule of @name is never looked at, or NULL */
static const char *find_inert(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
		if (strcmp(tools[i].name, name) != 0 || !tools[i].decider)
			continue;
		return tools[i].tool == TOOL_EDIT ?
		       "has no effect; write Edit(...) instead" :
		       "has no effect; write Read(...) instead";
	}
	return NULL;
}

/* A "*" in an allow rule's name would allow tools that do not exist yet,
 * unless it stands behind one server's name: mcp__server__*
 */
static int check_name_stars(const struct rule *rule, struct err *err)
{
	const char *star = strchr(rule->name, '*');
	const char *tail = rule->tool == TOOL_MCP ? strstr(rule->name + 5, "__")
						  : NULL;

	if (!star || rule->action != ACTION_ALLOW ||
	    (tail && tail > rule->name + 5 && star >= tail + 2))
		return 0;
	return fail(err, -EINVAL, "column %zu: an allow rule cannot have * in "
		    "the name of a tool; only mcp__SERVER__* is possible",
		    (size_t)(star - rule->name) + 1);
}

static int parse_domain(struct rule *rule, size_t column, struct err *err)
{
	char *host;
	size_t n;

	if (strncmp(rule->content, "domain:", 7) != 0)
		return fail(err, -EINVAL, "column %zu: WebFetch takes a host: "
			    "write WebFetch(domain:HOST)", column);
	host = mem_strdup(rule->content + 7);
	n = strlen(host);
	if (n && host[n - 1] == '.')
		host[n - 1] = '\0';
	for (char *c = host; *c; c++)
		*c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
	free(rule->content);
	rule->content = host;
	rule->kind = RULE_DOMAIN;
	if (!*host)
		return fail(err, -EINVAL, "column %zu: the host is missing",
			    column + 7);
	return 0;
}

static bool is_bash_input(const struct rule *rule)
{
	for (size_t i = 0; i < ARRAY_SIZE(bash_inputs); i++) {
		if (rule->action != ACTION_ALLOW &&
		    !strncmp(rule->content, bash_inputs[i],
			     strlen(bash_inputs[i])))
			return true;
	}
	return false;
}

static int parse_bash(struct rule *rule, size_t column, struct err *err)
{
	struct err why = { 0 };

	if (!strcmp(rule->content, "*"))
		return 0;	/* The same as "Bash" */
	if (is_bash_input(rule)) {
		rule->kind = RULE_INPUT;
		return 0;
	}
	rule->kind = RULE_COMMAND;
	if (command_pattern_init(&rule->command, rule->content, &why) < 0)
		return fail(err, why.code, "column %zu: %s", column, why.msg);
	return 0;
}

/* @column is where the content begins */
static int parse_content(struct rule *rule, size_t column, struct err *err)
{
	switch (rule->tool) {
	case TOOL_BASH:
		return parse_bash(rule, column, err);
	case TOOL_READ:
	case TOOL_EDIT:
		rule->kind = RULE_PATH;
		rule->inert = find_inert(rule->name);
		return 0;
	case TOOL_FETCH:
		return parse_domain(rule, column, err);
	case TOOL_MCP:
		if (rule->action == ACTION_ALLOW)
			return fail(err, -EINVAL, "column %zu: an allow rule "
				    "for %s takes no parentheses", column - 1,
				    rule->name);
		rule->kind = RULE_INPUT;
		return 0;
	default:
		rule->kind = RULE_OPAQUE;
		return 0;
	}
}

/* Split @rule->text, of which @start bytes are blanks */
static int split(struct rule *rule, size_t start, struct err *err)
{
	const char *text = rule->text + start;
	size_t name = 0, len = strlen(text);
	const char *close;

	while (len && strchr(" \t", text[len - 1]))
		len--;
	while (is_name_char(text[name]))
		name++;
	if (!name)
		return fail(err, -EINVAL, "column %zu: a rule begins with the "
			    "name of a tool, like Read or Bash(ls *)",
			    start + 1);
	rule->name = mem_strndup(text, name);
	if (name == len)
		return 0;
	if (text[name] != '(')
		return fail(err, -EINVAL, "column %zu: '%c' cannot be in the "
			    "name of a tool", start + name + 1, text[name]);
	close = memrchr(text, ')', len);
	if (!close)
		return fail(err, -EINVAL, "column %zu: ( is not closed",
			    start + name + 1);
	if (close != text + len - 1)
		return fail(err, -EINVAL, "column %zu: nothing can stand "
			    "behind the )", start + (size_t)(close - text) + 2);
	if (len == name + 2)
		return fail(err, -EINVAL, "column %zu: nothing is between ( "
			    "and ); for all of it write %s alone",
			    start + name + 2, rule->name);
	rule->content = mem_strndup(text + name + 1, len - name - 2);
	return 0;
}

static int parse(struct rule *rule, struct err *err)
{
	const size_t start = strspn(rule->text, " \t");
	int r;

	if (strlen(rule->text) > RULE_TEXT_MAX)
		return fail(err, -EINVAL, "'%.40s...' is too long for a rule: "
			    "%d characters are the limit", rule->text,
			    RULE_TEXT_MAX);
	r = split(rule, start, err);
	if (r < 0)
		return r;
	rule->tool = tool_of(rule->name);
	r = check_name_stars(rule, err);
	if (r < 0)
		return r;
	r = command_pattern_init(&rule->pattern, rule->name, err);
	if (r < 0 || !rule->content)
		return r;
	return parse_content(rule, start + strlen(rule->name) + 2, err);
}

int rule_parse(const char *text, enum rule_action action, struct rule *ret,
	       struct err *err)
{
	struct rule rule = { .action = action, .text = mem_strdup(text) };
	int r = parse(&rule, err);

	if (r < 0) {
		rule_done(&rule);
		return r;
	}
	*ret = rule;
	return 0;
}

const char *rule_meant(const struct rule *rule)
{
	if (rule->tool == TOOL_MCP)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
		if (!strcasecmp(tools[i].name, rule->name))
			return strcmp(tools[i].name, rule->name) ?
			       tools[i].name : NULL;
	}
	/* A tool of the agent's own may be forbidden or not, by its name */
	return rule->content ? "" : NULL;
}

void rule_done(struct rule *rule)
{
	free(rule->text);
	free(rule->name);
	free(rule->content);
	command_pattern_done(&rule->pattern);
	command_pattern_done(&rule->command);
	*rule = (struct rule){ 0 };
}
