/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell/command-nested.c - commands that other commands have in their words
 *
 * Theory of operation: `bash -c`, eval and trap take shell text, find -exec takes
 * words. The commands in them are appended to the script and unfolded in turn, so
 * that deny rules match them like any other command. Where the commands are not known
 * before they run (a variable, a file, standard input), the user is asked. The texts
 * get shorter at each level, and their sum is limited.
 */

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "shell/command-pattern.h"
#include "shell/parse.h"

enum { NESTED_TEXT_MAX = 16 * SHELL_TEXT_MAX };

static const char shells[] = "sh bash dash zsh ksh mksh ash rbash";

/* Their lines are not parsed here, or are not in the command */
static const char unread[] = ". source alias hash enable fish csh tcsh";

static const char find_runs[] = "-exec -execdir -ok -okdir";

static bool is_known(const struct shell_script *script,
		     const struct shell_command *c, size_t i)
{
	return script->words.v[c->first + i].known;
}

/* Read the words from @from up to @to as a line of shell */
static const char *add_line(struct shell_script *script,
			    const struct shell_command *c, size_t from,
			    size_t to)
{
	const struct shell_word *last = &script->words.v[c->first + to - 1];
	const char *text = shell_plain_from(script, c, from);
	auto_free char *line = NULL;

	for (size_t i = from; i < to; i++) {
		if (!is_known(script, c, i))
			return "the shell makes up a line that another runs";
	}
	if (script->plain.len > NESTED_TEXT_MAX)
		return "too many lines inside others";
	line = mem_strndup(text, (size_t)(script->plain.p + last->plain +
					  last->plain_len - text));
	return shell_parse_more(line, script) ? NULL : script->why;
}

/* @options of a shell: the letters of "-ec", or those of "+e" */
static bool has_letter(const char *option, char letter)
{
	return option[1] != '-' && memchr(option, letter, strcspn(option, " "));
}

/* The shell at word @name: a line behind -c, a script, or standard input */
static const char *add_shell(struct shell_script *script,
			     const struct shell_command *c, size_t name)
{
	bool line = false, options = true;

	for (size_t i = name + 1; i < c->count; i++) {
		const char *text = shell_plain_from(script, c, i);

		if (!is_known(script, c, i))
			return "the shell makes up what another shell gets";
		if (!options || (*text != '-' && *text != '+'))
			return line ? add_line(script, c, i, i + 1) : NULL;
		if (shell_word_is(script, c, i, "--version --help"))
			return NULL;
		if (shell_word_is(script, c, i, "--rcfile --init-file") ||
		    has_letter(text, 's'))
			break;
		line = line || has_letter(text, 'c');
		options = !shell_word_is(script, c, i, "-- -");
		if (has_letter(text, 'o') || has_letter(text, 'O'))
			i++;
	}
	return "a shell reads lines that are not in the command";
}

/* eval, trap: a line, behind what may be an option */
static const char *add_text(struct shell_script *script,
			    const struct shell_command *c, size_t name)
{
	const bool trap = command_is(script, c, name, "trap");
	size_t i = name + 1;

	if (shell_word_is(script, c, i, "--"))
		i++;
	if (i >= c->count || shell_word_is(script, c, i, "- -p -l"))
		return NULL;
	return add_line(script, c, i, trap ? i + 1 : c->count);
}

/* Each action's words, up to its end */
static void add_actions(struct shell_script *script,
			const struct shell_command *c, size_t name)
{
	for (size_t i = name + 1; i < c->count; i++) {
		size_t end = i + 1;

		if (!command_is(script, c, i, find_runs))
			continue;
		while (end < c->count && !shell_word_is(script, c, end, ";") &&
		       !(shell_word_is(script, c, end, "+") &&
			 shell_word_is(script, c, end - 1, "{}")))
			end++;
		if (end > i + 1)
			*vec_push(&script->commands) = (struct shell_command){
				.first = c->first + (uint32_t)i + 1,
				.count = (uint32_t)(end - i - 1),
			};
		i = end;
	}
}

/* No program has such a name: it is a line (`watch 'a; b'`) */
static bool is_line(const struct shell_script *script,
		    const struct shell_command *c, size_t name)
{
	const char *text = shell_plain_from(script, c, name);
	const size_t n = script->words.v[c->first + name].plain_len;

	return name > 0 && strcspn(text, " \t\n;&|<>()$`") < n;
}

static const char *add_inside(struct shell_script *script,
			      const struct shell_command *c)
{
	const size_t name = command_name(script, c);

	if (c->assignments >= c->count)
		return NULL;
	if (name >= c->count || !is_known(script, c, name))
		return "which command it runs is not known";
	if (command_is(script, c, name, unread))
		return "it runs lines that are not in the command";
	if (command_is(script, c, name, shells))
		return add_shell(script, c, name);
	if (command_is(script, c, name, "eval trap"))
		return add_text(script, c, name);
	if (command_is(script, c, name, "find"))
		add_actions(script, c, name);
	return is_line(script, c, name) ? add_line(script, c, name, name + 1)
					: NULL;
}

const char *command_unfold(struct shell_script *script)
{
	const char *why = NULL;

	for (size_t i = 0; i < script->commands.len; i++) {
		const struct shell_command c = script->commands.v[i];
		const char *one = add_inside(script, &c);

		why = why ? why : one;
	}
	return why;
}
