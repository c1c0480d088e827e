/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent/hook-rewrite.c - a command line of an agent becomes `cloche run ...`
 *
 * Theory of operation: the line is a constant head and one quoted word. To recognize
 * a line of ours, the command is taken out and the line is made again: only if the
 * result is byte for byte the same, the line is ours. Any other line that starts
 * `cloche run` is refused: the model could have written it with options of its own.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/hook.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "shell/command-pattern.h"
#include "shell/parse.h"

/* All but the last word */
static void add_head(const struct hook_wrapper *w, struct buf *out)
{
	text_shell_quote(out, w->program);
	buf_adds(out, " run");
	text_shell_words(out, w->options, SIZE_MAX);
	buf_adds(out, " --cwd ");
	text_shell_quote(out, w->project);
	buf_adds(out, " -c ");
}

/* The shell's first line where the command starts elsewhere in the project */
static void add_move(const struct hook_wrapper *w, const char *dir,
		     struct buf *out)
{
	if (!strcmp(dir, w->project))
		return;
	buf_adds(out, "cd -- ");
	text_shell_quote(out, dir);
	buf_adds(out, " || exit\n");
}

void hook_wrap(const struct hook_wrapper *w, const char *dir,
	       const char *command, struct buf *out)
{
	auto_buf struct buf script = { 0 };

	add_head(w, out);
	add_move(w, dir, &script);
	buf_adds(&script, command);
	text_shell_quote(out, buf_str(&script));
}

/* Undo text_shell_quote(), more or less: the caller quotes again */
static char *unquote(const char *s)
{
	struct buf b = { 0 };
	char open = '\0';

	for (; *s; s++) {
		if (open ? *s == open : *s == '\'' || *s == '"') {
			open = open ? '\0' : *s;
			continue;
		}
		if (open == '"' && *s == '\\' && s[1])
			s++;
		buf_addc(&b, *s);
	}
	return buf_take(&b);
}

char *hook_unwrap(const struct hook_wrapper *w, const char *dir,
		  const char *line)
{
	auto_buf struct buf head = { 0 };
	auto_buf struct buf move = { 0 };
	auto_buf struct buf again = { 0 };
	auto_free char *script = NULL;
	char *command;

	add_head(w, &head);
	if (strncmp(line, buf_str(&head), head.len) != 0)
		return NULL;
	script = unquote(line + head.len);
	add_move(w, dir, &move);
	if (strncmp(script, buf_str(&move), move.len) != 0)
		return NULL;
	command = script + move.len;
	hook_wrap(w, dir, command, &again);
	if (strcmp(buf_str(&again), line) != 0)
		return NULL;
	memmove(script, command, strlen(command) + 1);
	return take_ptr(script);
}

/* The name, or another name of the same file */
static bool is_program(const char *program, const char *word)
{
	struct stat ours, theirs;

	if (!strcmp(path_base(word), "cloche") ||
	    !strcmp(path_base(word), path_base(program)))
		return true;
	return strchr(word, '/') && stat(program, &ours) == 0 &&
	       stat(word, &theirs) == 0 && ours.st_dev == theirs.st_dev &&
	       ours.st_ino == theirs.st_ino;
}

static bool is_run(const struct hook_wrapper *w,
		   const struct shell_script *script,
		   const struct shell_command *c, size_t name)
{
	const struct shell_word *words = script->words.v + c->first;
	auto_free char *word = NULL;

	if (name + 1 >= c->count || !words[name].known ||
	    !shell_word_is(script, c, name + 1, "run"))
		return false;
	word = mem_strndup(script->plain.p + words[name].plain,
			   words[name].plain_len);
	return is_program(w->program, word);
}

bool hook_is_forged(const struct hook_wrapper *w, const char *line)
{
	auto_shell struct shell_script script = { 0 };

	(void)shell_parse(line, &script);
	for (size_t i = 0; i < script.commands.len; i++) {
		const struct shell_command *c = &script.commands.v[i];

		if (is_run(w, &script, c, command_name(&script, c)) ||
		    is_run(w, &script, c, c->assignments))
			return true;
	}
	return false;
}
