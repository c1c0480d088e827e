/* SPDX-License-Identifier: Apache-2.0 */
/* policy/permission.c - apply an agent's permission rules to a shell command */

#include "policy/permission.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "shell/parse.h"

struct entry {
	struct rule rule;
	struct origin origin;
};

struct permission {
	struct {
		struct entry *v;
		size_t len, cap;
	} actions[ACTION_COUNT];
};

/* What keeps a line from being allowed part by part: a part cannot show it */
enum {
	HIDDEN_FEATURES = SHELL_SUBSTITUTION | SHELL_REDIRECT_FILE |
			  SHELL_HEREDOC | SHELL_COMPOUND,
};

static const char *const words[ACTION_COUNT + 1] = {
	[ACTION_DENY] = "denied by a rule",
	[ACTION_ASK] = "a rule says to ask",
	[ACTION_ALLOW] = "allowed by a rule",
	[ACTION_COUNT] = "no rule speaks about it",
};

struct permission *permission_new(void)
{
	return mem_zalloc(sizeof(struct permission));
}

void permission_free(struct permission *set)
{
	if (!set)
		return;
	for (size_t a = 0; a < ACTION_COUNT; a++) {
		for (size_t i = 0; i < set->actions[a].len; i++) {
			rule_done(&set->actions[a].v[i].rule);
		}
		free(set->actions[a].v);
	}
	free(set);
}

void permission_verdict_done(struct permission_verdict *verdict)
{
	free(verdict->why);
	verdict->why = NULL;
}

void permission_add(struct permission *set, struct rule *rule,
		    struct origin origin)
{
	*vec_push(&set->actions[rule->action]) = (struct entry){ *rule, origin };
	*rule = (struct rule){ 0 };
}

static struct permission_verdict verdict(enum rule_action action,
				      const struct entry *e)
{
	return (struct permission_verdict){
		.action = action, .rule = e ? &e->rule : NULL,
		.origin = e ? &e->origin : NULL,
		.why = mem_printf(e ? "%s: %s" : "%s", words[action],
				  e ? e->rule.text : ""),
	};
}

/* A rule about all commands, by the tool's name alone */
static bool is_all_bash(const struct rule *rule)
{
	return rule->kind == RULE_TOOL &&
	       command_pattern_match(&rule->pattern, "Bash");
}

/* As a deny or ask rule sees a line: each command of it. All of it only if the
 * rule has no wildcard, or an operator in it ("curl * | sh"): else wildcards
 * would join parts that have nothing to do with each other.
 */
static bool is_touched(const struct rule *rule, const char *line,
		       const struct shell_script *script)
{
	if (is_all_bash(rule))
		return true;
	if (rule->kind != RULE_COMMAND)
		return false;
	for (size_t i = 0; i < script->commands.len; i++) {
		if (command_may_match(&rule->command, script,
				      &script->commands.v[i]))
			return true;
	}
	return (rule->command.exact || strpbrk(rule->content, ";&|<>\n")) &&
	       command_pattern_match(&rule->command, line);
}

static bool is_allowed(const struct permission *set, size_t *ret,
		       const struct shell_script *script,
		       const struct shell_command *c)
{
	for (size_t i = 0; i < set->actions[ACTION_ALLOW].len; i++) {
		const struct entry *e = &set->actions[ACTION_ALLOW].v[i];
		const struct rule *r = &e->rule;

		if (r->kind == RULE_COMMAND &&
		    command_must_match(&r->command, script, c)) {
			*ret = i;
			return true;
		}
	}
	return false;
}

/* True if there is a deny or ask rule about commands: it could match a line that cannot
 * be parsed
 */
static bool has_command_rules(const struct permission *set)
{
	for (size_t a = ACTION_DENY; a < ACTION_ALLOW; a++) {
		for (size_t i = 0; i < set->actions[a].len; i++) {
			if (set->actions[a].v[i].rule.kind == RULE_COMMAND)
				return true;
		}
	}
	return false;
}

static struct permission_verdict ask_because(const char *why)
{
	return (struct permission_verdict){
		.action = ACTION_ASK,
		.why = mem_printf("it cannot be read: %s", why),
	};
}

/* All of @line is allowed by one rule: any command that can be read, or this very
 * text
 */
static const struct entry *find_whole(const struct permission *set,
				      const char *line, bool readable)
{
	for (size_t i = 0; i < set->actions[ACTION_ALLOW].len; i++) {
		const struct entry *e = &set->actions[ACTION_ALLOW].v[i];

		if ((readable && is_all_bash(&e->rule)) ||
		    (e->rule.kind == RULE_COMMAND && e->rule.command.exact &&
		     !strcmp(e->rule.command.text, line)))
			return e;
	}
	return NULL;
}

/* Each of @n parts is allowed by some rule; the verdict names the last */
static struct permission_verdict decide_parts(const struct permission *set,
					   const struct shell_script *script,
					   size_t n, unsigned int features)
{
	size_t rule = 0;

	if (script->why || features & HIDDEN_FEATURES || !n)
		return verdict(ACTION_COUNT, NULL);
	for (size_t i = 0; i < n; i++) {
		if (!is_allowed(set, &rule, script, &script->commands.v[i]))
			return verdict(ACTION_COUNT, NULL);
	}
	return verdict(ACTION_ALLOW, &set->actions[ACTION_ALLOW].v[rule]);
}

struct permission_verdict permission_decide_command(const struct permission *set,
					      const char *command,
					      bool no_broad_ask)
{
	auto_shell struct shell_script script = { 0 };
	auto_free char *line = mem_strdup(command + strspn(command, " \t\n"));
	const struct entry *whole;
	const char *why = NULL;
	unsigned int features;
	size_t parts;

	for (size_t n = strlen(line); n && strchr(" \t\n", line[n - 1]); n--)
		line[n - 1] = '\0';
	shell_parse(command, &script);
	parts = script.commands.len;
	features = script.features;
	if (has_command_rules(set)) {
		why = command_unfold(&script);
		why = script.why ? script.why : why;
	}
	for (enum rule_action a = ACTION_DENY; a < ACTION_ALLOW; a++) {
		for (size_t i = 0; i < set->actions[a].len; i++) {
			const struct entry *e = &set->actions[a].v[i];

			if (no_broad_ask && a == ACTION_ASK &&
			    e->rule.kind == RULE_TOOL)
				continue;
			if (is_touched(&e->rule, line, &script))
				return verdict(a, e);
		}
	}
	if (strlen(command) > SHELL_TEXT_MAX)
		return ask_because(script.why);
	whole = find_whole(set, line, !why);
	if (whole)
		return verdict(ACTION_ALLOW, whole);
	if (why)
		return ask_because(why);
	return decide_parts(set, &script, parts, features);
}

/* "field:value", where a "*" in the rule's value stands for any text */
static bool covers_input(const struct rule *rule, const char *field,
			 const char *value)
{
	const size_t n = strlen(field);
	struct command_pattern p;
	bool r;

	if (rule->kind != RULE_INPUT || rule->tool != TOOL_BASH ||
	    strncmp(rule->content, field, n) != 0 || rule->content[n] != ':' ||
	    command_pattern_init(&p, rule->content + n + 1, NULL) < 0)
		return false;
	r = command_pattern_match(&p, value);
	command_pattern_done(&p);
	return r;
}

struct permission_verdict permission_decide_input(const struct permission *set,
					    const char *field,
					    const char *value)
{
	for (enum rule_action a = ACTION_DENY; a < ACTION_ALLOW; a++) {
		for (size_t i = 0; i < set->actions[a].len; i++) {
			const struct entry *e = &set->actions[a].v[i];

			if (covers_input(&e->rule, field, value))
				return verdict(a, e);
		}
	}
	return verdict(ACTION_COUNT, NULL);
}
