/* SPDX-License-Identifier: Apache-2.0 */
/* shell/excluded.c - whether a line may run outside the sandbox
 *
 * An excluded command is not confined at all. So each command of the line must match
 * a pattern, and the line may have nothing else that could act: no redirection, no
 * substitution, no change of directory.
 */

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "shell/command-pattern.h"
#include "shell/parse.h"

/* One row per thing that keeps a line inside, most telling first */
static const struct {
	unsigned int features;
	const char *why;
} obstacles[] = {
	{ SHELL_SUBSTITUTION, "it holds a command substitution" },
	{ SHELL_HEREDOC, "it holds a here-document" },
	{ SHELL_REDIRECT_FILE | SHELL_REDIRECT_NULL,
	  "it redirects to or from a file" },
	{ SHELL_COMPOUND, "it holds a subshell, a group or a keyword" },
};

/* They change the directory that the rest of the line runs in */
static const char movers[] = "cd chdir pushd popd";

/* They make git use another repository, configuration or programs */
static const char *const git_options[] = {
	"-C", "-c", "--git-dir", "--exec-path", "--work-tree", "--config-env",
	"--namespace", "--super-prefix", "--attr-source",
};

struct patterns {
	struct command_pattern *v;
	size_t len, cap;
};

static bool explain(char **why, const char *text)
{
	if (why)
		*why = mem_strdup(text);
	return false;
}

static bool is_git_redirected(const struct shell_script *script,
			      const struct shell_command *c, size_t name)
{
	const struct shell_word *w = script->words.v + c->first;

	if (!command_is(script, c, name, "git"))
		return false;
	if (command_is_fed(script, c, name))
		return true;
	for (size_t i = name + 1; i < c->count; i++) {
		const char *text = shell_plain_from(script, c, i);

		if (!w[i].known)
			return true;
		if (*text != '-')
			return false;	/* The rest is the subcommand's */
		for (size_t k = 0; k < ARRAY_SIZE(git_options); k++) {
			if (!strncmp(text, git_options[k],
				     strlen(git_options[k])))
				return true;
		}
	}
	return false;
}

/* The obstacle in one part of the line, or NULL */
static const char *find_obstacle(const struct shell_script *script,
				 const struct shell_command *c)
{
	const size_t name = command_name(script, c);

	if (name >= c->count)
		return "a part of it is no command, or hides which one";
	if (command_is(script, c, name, movers))
		return "it changes the directory";
	if (is_git_redirected(script, c, name))
		return "git would use another repository or configuration";
	return NULL;
}

static bool is_matched(const struct patterns *patterns,
		       const struct shell_script *script,
		       const struct shell_command *c)
{
	for (size_t i = 0; i < patterns->len; i++) {
		if (command_must_match(&patterns->v[i], script, c))
			return true;
	}
	return false;
}

static bool check_script(const struct shell_script *script,
		  const struct patterns *patterns, char **why)
{
	for (size_t i = 0; i < ARRAY_SIZE(obstacles); i++) {
		if (script->features & obstacles[i].features)
			return explain(why, obstacles[i].why);
	}
	if (script->why)
		return explain(why, script->why);
	if (!script->commands.len)
		return explain(why, "it holds no command");
	for (size_t i = 0; i < script->commands.len; i++) {
		const struct shell_command *c = &script->commands.v[i];
		const char *obstacle = find_obstacle(script, c);

		if (obstacle)
			return explain(why, obstacle);
		if (!is_matched(patterns, script, c)) {
			if (why)
				*why = mem_printf("no entry matches '%s'",
						  shell_raw_from(script, c, 0));
			return false;
		}
	}
	return true;
}

bool excluded_match(const char *command, const char *const *patterns, size_t n,
		    char **why)
{
	auto_shell struct shell_script script = { 0 };
	struct patterns list = { 0 };
	bool r;

	for (size_t i = 0; i < n; i++) {
		struct command_pattern p;

		/* A pattern that is none matches nothing */
		if (!command_pattern_init(&p, patterns[i], NULL))
			*vec_push(&list) = p;
	}
	(void)shell_parse(command, &script);
	r = check_script(&script, &list, why);
	for (size_t i = 0; i < list.len; i++)
		command_pattern_done(&list.v[i]);
	free(list.v);
	return r;
}
