/* SPDX-License-Identifier: Apache-2.0 */
/* policy/ruleset.c - deny, ask, allow: what rules say about a shell command */

#include "policy/ruleset.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "policy/shell.h"

struct entry {
	struct rule rule;
	struct origin origin;
};

struct ruleset {
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

struct ruleset *ruleset_new(void)
{
	return mem_zalloc(sizeof(struct ruleset));
}

void ruleset_free(struct ruleset *set)
{
	if (!set)
		return;
	for (size_t a = 0; a < ACTION_COUNT; a++) {
		for (size_t i = 0; i < set->actions[a].len; i++) {
			struct entry *e = &set->actions[a].v[i];

			rule_done(&e->rule);
			free(e->origin.key);
		}
		free(set->actions[a].v);
	}
	free(set);
}

void ruleset_verdict_done(struct ruleset_verdict *verdict)
{
	free(verdict->why);
	verdict->why = NULL;
}

int ruleset_add(struct ruleset *set, const char *text, enum rule_action action,
		const struct rule_bases *bases, struct origin origin,
		struct err *err)
{
	struct entry e = { .origin = origin };
	struct rule_path path = { 0 };
	int r = rule_parse(text, action, &e.rule, err);

	/* A path that makes no sense is an error also where it is not used */
	if (!r && e.rule.kind == RULE_PATH && !e.rule.inert)
		r = rule_path_init(&path, &e.rule, bases, err);
	rule_path_done(&path);
	if (r < 0) {
		rule_done(&e.rule);
		free(origin.key);
		return r;
	}
	*vec_push(&set->actions[action]) = e;
	return 0;
}

static struct ruleset_verdict verdict(enum rule_action action,
				      const struct entry *e)
{
	return (struct ruleset_verdict){
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

static bool is_allowed(const struct ruleset *set, size_t *ret,
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

/* True if somebody wrote a rule about some commands, which this line might
 * have to obey if only it could be read
 */
static bool has_command_rules(const struct ruleset *set)
{
	for (size_t a = ACTION_DENY; a < ACTION_ALLOW; a++) {
		for (size_t i = 0; i < set->actions[a].len; i++) {
			if (set->actions[a].v[i].rule.kind == RULE_COMMAND)
				return true;
		}
	}
	return false;
}

static struct ruleset_verdict ask_because(const char *why)
{
	return (struct ruleset_verdict){
		.action = ACTION_ASK,
		.why = mem_printf("it cannot be read: %s", why),
	};
}

/* All of @line is allowed by one rule: any command that can be read, or this very
 * text
 */
static const struct entry *find_whole(const struct ruleset *set,
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
static struct ruleset_verdict decide_parts(const struct ruleset *set,
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

struct ruleset_verdict ruleset_decide_command(const struct ruleset *set,
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

struct ruleset_verdict ruleset_decide_input(const struct ruleset *set,
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
