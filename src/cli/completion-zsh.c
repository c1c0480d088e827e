/* SPDX-License-Identifier: Apache-2.0 */
/* cli/completion-zsh.c - the completion script for zsh */

#include "base/buf.h"
#include "cli/command.h"
#include "cli/completion.h"

static const char head[] =
"#compdef cloche\n"
"# zsh completion for cloche, made by `cloche completion zsh`\n"
"\n"
"# _cloche_run FLAG...: options, then a command\n"
"_cloche_run() {\n"
"	_arguments -S -A '-*' \"$@\" \\\n";

static const char other[] =
"		'(-):command:_command_names -e' '*::argument:_normal'\n"
"}\n"
"\n"
"# _cloche_other WORDS FLAG...: one of these words, then file names\n"
"_cloche_other() {\n"
"	local -a flags=(${@:2})\n"
"	if [[ $PREFIX == -* ]]; then\n"
"		compadd -- $flags\n"
"	elif (( CURRENT == 2 )); then\n"
"		compadd -- ${=1}\n"
"	else\n"
"		_files\n"
"	fi\n"
"}\n"
"\n"
"_cloche() {\n"
"	local -a verbs=(\n";

static const char verbs[] =
"	)\n"
"	if (( CURRENT == 2 )); then\n"
"		_describe verb verbs\n"
"		return\n"
"	fi\n"
"	shift words\n"
"	(( CURRENT-- ))\n"
"	case $words[1] in\n";

/* Run as a file of $fpath, or by `source` */
static const char tail[] =
"	esac\n"
"}\n"
"\n"
"if [[ $funcstack[1] == _cloche ]]; then\n"
"	_cloche \"$@\"\n"
"else\n"
"	compdef _cloche cloche\n"
"fi\n";

static void add_spec(struct buf *out, enum option_id id, const char *name,
		     const char *joint)
{
	const struct option_row *row = option_row(id);
	const enum value value = completion_value(id);

	buf_addf(out, "\t\t'*%s%s[", name, row->argument ? joint : "");
	completion_quote(out, row->help, "'\\''", "\\[]:");
	buf_addc(out, ']');
	if (row->argument) {
		buf_addc(out, ':');
		completion_quote(out, row->argument, "'\\''", "\\[]:");
		buf_addc(out, ':');
	}
	if (value == VALUE_CHOICE)
		buf_addf(out, "(%s)", completion_choices(id));
	else if (value == VALUE_FILE || value == VALUE_DIR)
		buf_adds(out, value == VALUE_DIR ? "_files -/" : "_files");
	buf_adds(out, "' \\\n");
}

static void add_option(struct buf *out, enum option_id id)
{
	const struct option_row *row = option_row(id);
	auto_buf struct buf name = { 0 };

	buf_addf(&name, "--%s", row->name);
	add_spec(out, id, buf_str(&name), "=");
	if (row->letter) {
		const char letter[] = { '-', row->letter, '\0' };

		add_spec(out, id, letter, "+");
	}
}

void completion_zsh(struct buf *out)
{
	const struct command *const table = command_table();

	buf_adds(out, head);
	for (enum option_id id = 0; id < OPTION_COUNT; id++)
		add_option(out, id);
	buf_adds(out, other);
	for (const struct command *c = table; c->name; c++) {
		buf_addf(out, "\t\t'%s:", c->name);
		completion_quote(out, c->help, "'\\''", "\\:");
		buf_adds(out, "'\n");
	}
	buf_adds(out, verbs);
	for (const struct command *c = table; c->name; c++) {
		buf_addf(out, "\t%s) ", c->name);
		if (completion_is_run(c)) {
			buf_adds(out, "_cloche_run ");
		} else {
			buf_adds(out, "_cloche_other '");
			completion_words(c, out);
			buf_adds(out, "' ");
		}
		completion_flags(c, out);
		buf_adds(out, ";;\n");
	}
	buf_adds(out, tail);
}
