/* SPDX-License-Identifier: Apache-2.0 */
/* cli/completion-zsh.c - the completion script for zsh */

#include <string.h>

#include "base/buf.h"
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/words.h"

static const char head[] =
"#compdef cloche\n"
"# zsh completion for cloche, made by `cloche completion zsh`\n"
"\n"
"_cloche() {\n"
"	local -a words_of run=(\n";

static const char verbs[] =
"	)\n"
"	local pair\n"
"	if (( CURRENT == 2 )); then\n"
"		_describe verb words_of\n"
"		return\n"
"	fi\n"
"	shift words\n"
"	(( CURRENT-- ))\n"
"	pair=$words[1] words_of=()\n"
"	case $pair in\n";

static const char pairs[] =
"	esac\n"
"	if (( $#words_of && CURRENT == 2 )); then\n"
"		_describe word words_of\n"
"		return\n"
"	elif (( $#words_of )); then\n"
"		shift words\n"
"		(( CURRENT-- ))\n"
"		pair+=\" $words[1]\"\n"
"	fi\n"
"	case $pair in\n";

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

/* ":NAME:ACTION", as _arguments has it */
static void add_place(struct buf *out, const struct word_place *p)
{
	static const char *const actions[] = {
		[VALUE_FILE] = "_files", [VALUE_DIR] = "_files -/",
		[VALUE_COMMAND] = "_command_names -e",
	};

	if (p->value == VALUE_NONE)
		return;
	buf_addc(out, ':');
	for (size_t i = 0; i < p->len; i++)
		buf_addc(out, strchr("\\[]:", p->name[i]) ? ' ' : p->name[i]);
	buf_addc(out, ':');
	if (p->value == VALUE_CHOICE)
		buf_addf(out, "(%s)", buf_str(&p->choices));
	else if (p->value != VALUE_TEXT)
		buf_adds(out, actions[p->value]);
}

static void add_option(struct buf *out, const struct shape *shape,
		       const struct choice *choice)
{
	for (int letter = 0; letter <= !!choice->letter; letter++) {
		if (letter)
			buf_addf(out, "%s'*-%c%s[", shape ? " " : "\t\t",
				 choice->letter, choice->value.value ? "+" : "");
		else
			buf_addf(out, "%s'*--%s%s[", shape ? " " : "\t\t",
				 choice->name, choice->value.value ? "=" : "");
		completion_quote(out, choice->help, "'\\''", "\\[]:");
		buf_addc(out, ']');
		add_place(out, &choice->value);
		buf_adds(out, shape ? "'" : "'\n");
	}
}

static void add_shape(struct buf *out, const struct shape *shape)
{
	buf_addf(out, "\t'%s') _arguments -S%s%s", shape->pair,
		 shape->command ? " -A '-*'" : "", shape->run ? " $run" : "");
	completion_options(shape, add_option, out);
	for (size_t i = 0; i < shape->len; i++) {
		const struct word_place *p = &shape->places[i];

		if (shape->command) {
			buf_adds(out, " '(-):command:_command_names -e' '*::argument:_normal'");
			break;
		}
		if (p->again)
			buf_adds(out, " '*");
		else
			buf_addf(out, " '%zu", i + 1);
		add_place(out, p);
		buf_addc(out, '\'');
	}
	buf_adds(out, " ;;\n");
}

static void add_described(struct buf *out, const char *name, const char *help)
{
	buf_addf(out, "'%s:", name);
	completion_quote(out, help, "'\\''", "\\:");
	buf_addc(out, '\'');
}

static void add_word(struct buf *out, const struct shape *shape)
{
	if (!shape->word)
		return;
	buf_addf(out, "\t%s) words_of+=(", shape->verb->name);
	add_described(out, shape->pair + strlen(shape->verb->name) + 1,
		      shape->word->help);
	buf_adds(out, ") ;|\n");
}

void completion_zsh(struct buf *out)
{
	buf_adds(out, head);
	completion_options(NULL, add_option, out);
	buf_adds(out, "\t)\n\twords_of=(\n");
	for (const struct command *c = command_table(); c->name; c++) {
		buf_adds(out, "\t\t");
		add_described(out, c->name, c->help);
		buf_addc(out, '\n');
	}
	buf_adds(out, verbs);
	completion_shapes(add_word, out);
	buf_adds(out, pairs);
	completion_shapes(add_shape, out);
	buf_adds(out, tail);
}
