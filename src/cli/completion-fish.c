/* SPDX-License-Identifier: Apache-2.0 */
/* cli/completion-fish.c - the completion script for fish */

#include "base/buf.h"
#include "cli/command.h"
#include "cli/completion.h"

static const char head[] =
"# fish completion for cloche, made by `cloche completion fish`\n"
"\n"
"# Whether the verb itself is to be completed\n"
"function __cloche_first\n"
"	test (count (commandline -opc)) -eq 1\n"
"end\n"
"\n"
"# Whether the verb is one of these\n"
"function __cloche_verb\n"
"	set -l words (commandline -opc)\n"
"	test (count $words) -ge 2; and contains -- $words[2] $argv\n"
"end\n"
"\n"
"# Whether the word behind this verb is to be completed\n"
"function __cloche_second\n"
"	test (count (commandline -opc)) -eq 2; and __cloche_verb $argv\n"
"end\n"
"\n"
"# Whether the verb is one of these, and its command has not begun\n"
"function __cloche_run\n"
"	__cloche_verb $argv; or return 1\n"
"	set -l words (commandline -opc)\n"
"	set -l i 3\n"
"	while test $i -le (count $words)\n"
"		switch $words[$i]\n"
"			case --\n"
"				return 1\n"
"			case '--*=*'\n"
"				set i (math $i + 1)\n"
"			case";

static const char tail[] =
"\n"
"				set i (math $i + 2)\n"
"			case '-*'\n"
"				set i (math $i + 1)\n"
"			case '*'\n"
"				return 1\n"
"		end\n"
"	end\n"
"	return 0\n"
"end\n"
"\n";

static void add_help(struct buf *out, const char *help)
{
	buf_adds(out, " -d '");
	completion_quote(out, help, "\\'", "\\");
	buf_adds(out, "'\n");
}

static void add_option(struct buf *out, enum option_id id)
{
	const struct option_row *row = option_row(id);
	static const char *const values[] = {
		[VALUE_NONE] = "", [VALUE_TEXT] = " -x",
		[VALUE_FILE] = " -r -F", [VALUE_CHOICE] = " -x",
		[VALUE_DIR] = " -x -a '(__fish_complete_directories)'",
	};

	buf_adds(out, "complete -c cloche -n '__cloche_run ");
	completion_verbs(true, out);
	buf_addf(out, "' -l %s", row->name);
	if (row->letter)
		buf_addf(out, " -s %c", row->letter);
	buf_adds(out, values[completion_value(id)]);
	if (completion_choices(id))
		buf_addf(out, " -a '%s'", completion_choices(id));
	add_help(out, row->help);
}

static void add_verb(struct buf *out, const struct command *c)
{
	auto_buf struct buf words = { 0 };
	auto_buf struct buf flags = { 0 };

	buf_addf(out, "complete -c cloche -n __cloche_first -f -a %s",
		 c->name);
	add_help(out, c->help);
	completion_words(c, &words);
	if (words.len)
		buf_addf(out, "complete -c cloche -n '__cloche_second %s' -f -a '%s'\n",
			 c->name, buf_str(&words));
	completion_flags(c, &flags);
	if (flags.len)
		buf_addf(out, "complete -c cloche -n '__cloche_%s %s' -a '%s'\n",
			 completion_is_run(c) ? "run" : "verb", c->name,
			 buf_str(&flags));
}

void completion_fish(struct buf *out)
{
	buf_adds(out, head);
	for (enum option_id id = 0; id < OPTION_COUNT; id++) {
		const struct option_row *row = option_row(id);

		if (row->argument)
			buf_addf(out, " --%s", row->name);
		if (row->argument && row->letter)
			buf_addf(out, " -%c", row->letter);
	}
	buf_adds(out, tail);
	for (const struct command *c = command_table(); c->name; c++)
		add_verb(out, c);
	for (enum option_id id = 0; id < OPTION_COUNT; id++)
		add_option(out, id);
	buf_adds(out, "complete -c cloche -n '__cloche_run ");
	completion_verbs(true, out);
	buf_adds(out, "' -a '(__fish_complete_command)'\n");
}
