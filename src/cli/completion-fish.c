/* SPDX-License-Identifier: Apache-2.0 */
/* cli/completion-fish.c - the completion script for fish */

#include <string.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/words.h"

static const char head[] =
"# fish completion for cloche, made by `cloche completion fish`\n"
"\n"
"# Whether the verb itself is to be completed\n"
"function __cloche_first\n"
"	test (count (commandline -opc)) -eq 1\n"
"end\n"
"\n"
"# Whether the word behind this verb is to be completed\n"
"function __cloche_second\n"
"	set -l words (commandline -opc)\n"
"	test (count $words) -eq 2; and test $words[2] = $argv[1]\n"
"end\n"
"\n"
"# The verb and its word, and how many words stand behind them\n"
"function __cloche_where\n"
"	set -l words (commandline -opc)\n"
"	set -l pair $words[2]\n"
"	set -l i 3\n"
"	set -l n 0\n"
"	if contains -- $pair ";

static const char walk[] =
"\n"
"		set pair \"$pair $words[3]\"\n"
"		set i 4\n"
"	end\n"
"	while test $i -le (count $words)\n"
"		switch $words[$i]\n"
"			case --\n"
"				set n (math $n + 1000)\n"
"			case '--*=*'\n"
"			case";

static const char tail[] =
"\n"
"				set i (math $i + 1)\n"
"			case '-*'\n"
"			case '*'\n"
"				set n (math $n + 1)\n"
"		end\n"
"		set i (math $i + 1)\n"
"	end\n"
"	echo $pair\n"
"	echo $n\n"
"end\n"
"\n"
"# Whether it is one of these pairs, and no -- or command has begun\n"
"function __cloche_in\n"
"	set -l where (__cloche_where)\n"
"	contains -- $where[1] $argv; and test $where[2] -lt 1000\n"
"end\n"
"\n"
"function __cloche_run\n"
"	set -l where (__cloche_where)\n"
"	contains -- $where[1] $argv; and test $where[2] -eq 0\n"
"end\n"
"\n"
"# __cloche_at PAIR PLACE [+]: whether this word of it is to be completed\n"
"function __cloche_at\n"
"	set -l where (__cloche_where)\n"
"	test $where[1] = $argv[1]; or return 1\n"
"	set -l n (math $where[2] % 1000)\n"
"	test $n -eq $argv[2]; or begin\n"
"		set -q argv[3]; and test $n -gt $argv[2]\n"
"	end\n"
"end\n"
"\n"
"complete -c cloche -f\n";

static void add_help(struct buf *out, const char *help)
{
	buf_adds(out, " -d '");
	completion_quote(out, help, "\\'", "\\");
	buf_adds(out, "'\n");
}

static void add_value(struct buf *out, const struct word_place *p, bool option)
{
	static const char *const values[] = {
		[VALUE_NONE] = "", [VALUE_TEXT] = " -x", [VALUE_FILE] = " -r -F",
		[VALUE_DIR] = " -x -a '(__fish_complete_directories)'",
		[VALUE_COMMAND] = " -x -a '(__fish_complete_command)'",
		[VALUE_CHOICE] = " -x",
	};

	if (!option && p->value == VALUE_FILE)
		buf_adds(out, " -F");
	else
		buf_adds(out, values[p->value]);
	if (p->value == VALUE_CHOICE)
		buf_addf(out, " -a '%s'", buf_str(&p->choices));
}

static void add_taking(struct buf *out, const struct shape *shape,
		       const struct choice *choice)
{
	(void)shape;
	if (choice->value.value)
		buf_addf(out, " --%s", choice->name);
	if (choice->value.value && choice->letter)
		buf_addf(out, " -%c", choice->letter);
}

static void add_with_run(struct buf *out, const struct shape *shape)
{
	if (shape->run && !shape->command)
		buf_addf(out, " \"%s\"", shape->pair);
}

static void add_commands(struct buf *out, const struct shape *shape)
{
	if (shape->command)
		buf_addf(out, " %s", shape->pair);
}

static void add_name(struct buf *out, const struct choice *choice)
{
	buf_addf(out, "' -l %s", choice->name);
	if (choice->letter)
		buf_addf(out, " -s %c", choice->letter);
	add_value(out, &choice->value, true);
	add_help(out, choice->help);
}

static void add_option(struct buf *out, const struct shape *shape,
		       const struct choice *choice)
{
	if (shape) {
		buf_addf(out, "complete -c cloche -n '__cloche_%s \"%s\"",
			 shape->command ? "run" : "in", shape->pair);
		add_name(out, choice);
		return;
	}
	buf_adds(out, "complete -c cloche -n '__cloche_run");
	completion_shapes(add_commands, out);
	add_name(out, choice);
	buf_adds(out, "complete -c cloche -n '__cloche_in");
	completion_shapes(add_with_run, out);
	add_name(out, choice);
}

static void add_shape(struct buf *out, const struct shape *shape)
{
	if (shape->word) {
		buf_addf(out, "complete -c cloche -n '__cloche_second %s' -a %s",
			 shape->verb->name,
			 shape->pair + strlen(shape->verb->name) + 1);
		add_help(out, shape->word->help);
	}
	completion_options(shape, add_option, out);
	for (size_t i = 0; i < shape->len; i++) {
		const struct word_place *p = &shape->places[i];

		if (p->value == VALUE_TEXT)
			continue;
		buf_addf(out, "complete -c cloche -n '__cloche_at \"%s\" %zu%s'",
			 shape->pair, i, p->again ? " +" : "");
		add_value(out, p, false);
		buf_addc(out, '\n');
	}
}

void completion_fish(struct buf *out)
{
	buf_adds(out, head);
	completion_verbs(true, out);
	buf_adds(out, walk);
	completion_options(NULL, add_taking, out);
	for (const struct verb_option *f = verb_option_table(); f->name; f++) {
		if (f->argument)
			buf_addf(out, " --%s", f->name);
	}
	buf_adds(out, tail);
	for (const struct command *c = command_table(); c->name; c++) {
		buf_addf(out, "complete -c cloche -n __cloche_first -a %s",
			 c->name);
		add_help(out, c->help);
	}
	completion_shapes(add_shape, out);
	completion_options(NULL, add_option, out);
}
