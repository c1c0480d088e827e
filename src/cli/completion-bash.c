/* SPDX-License-Identifier: Apache-2.0 */
/* cli/completion-bash.c - the completion script for bash
 *
 * Options are words, with a kind behind "=" where they take a value: ":f" a file,
 * ":d" a directory, ":p" a program, ":c" one with which a command begins, ":t" a
 * text, "a|b" one of those. Places have the same kinds, with "+" behind the one
 * that may be repeated.
 */

#include "base/buf.h"
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/words.h"

static const char head[] =
"# bash completion for cloche, made by `cloche completion bash`\n"
"\n"
"# _cloche_words WORDS CURRENT\n"
"_cloche_words()\n"
"{\n"
"	mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$2\")\n"
"}\n"
"\n"
"# _cloche_paths -f|-d CURRENT\n"
"_cloche_paths()\n"
"{\n"
"	compopt -o filenames 2>/dev/null\n"
"	mapfile -t COMPREPLY < <(compgen \"$1\" -- \"$2\")\n"
"}\n"
"\n"
"# _cloche_value KIND CURRENT\n"
"_cloche_value()\n"
"{\n"
"	case $1 in\n"
"	:f) _cloche_paths -f \"$2\" ;;\n"
"	:d) _cloche_paths -d \"$2\" ;;\n"
"	:c | :p) mapfile -t COMPREPLY < <(compgen -c -- \"$2\") ;;\n"
"	:t | '') ;;\n"
"	*) _cloche_words \"${1//|/ }\" \"$2\" ;;\n"
"	esac\n"
"}\n"
"\n"
"# _cloche_kind OPTION: $kind of its value; false if it takes none\n"
"_cloche_kind()\n"
"{\n"
"	local item\n"
"	for item in $options; do\n"
"		kind=${item#*=}\n"
"		[[ $item == \"$1=\"* ]] && return\n"
"	done\n"
"	kind=\n"
"	return 1\n"
"}\n"
"\n"
"# Bash makes three words of --name=value where '=' is in COMP_WORDBREAKS\n"
"# _cloche_rest FIRST CURRENT: what $options and $places say\n"
"_cloche_rest()\n"
"{\n"
"	local i=$1 place=0 ended= option= kind= item names=\n"
"	while ((i < COMP_CWORD)); do\n"
"		option=${COMP_WORDS[i]}\n"
"		if [[ ! $ended && $option == -- ]]; then\n"
"			ended=1\n"
"			((i++))\n"
"		elif [[ ! $ended && $option == -?* ]]; then\n"
"			((i++))\n"
"			if [[ $option != *=* ]] && _cloche_kind \"$option\"; then\n"
"				[[ ${COMP_WORDS[i]} == = ]] && ((i++))\n"
"				((i++))\n"
"			fi\n"
"		elif [[ ${places[place]} == :c ]]; then\n"
"			break\n"
"		else\n"
"			[[ ${places[place]} == *+ ]] || ((place++))\n"
"			((i++))\n"
"		fi\n"
"	done\n"
"	for item in $options; do\n"
"		names+=\" ${item%%=*}\"\n"
"	done\n"
"	if ((i > COMP_CWORD)); then\n"
"		_cloche_value \"$kind\" \"${2#=}\"\n"
"	elif ((i < COMP_CWORD)); then\n"
"		if declare -F _command_offset >/dev/null; then\n"
"			_command_offset \"$i\"\n"
"		else\n"
"			_cloche_paths -f \"$2\"\n"
"		fi\n"
"	elif [[ ! $ended && $2 == --*=* ]]; then\n"
"		_cloche_kind \"${2%%=*}\"\n"
"		_cloche_value \"$kind\" \"${2#*=}\"\n"
"		COMPREPLY=(\"${COMPREPLY[@]/#/${2%%=*}=}\")\n"
"	elif [[ ! $ended && $2 == -* ]]; then\n"
"		_cloche_words \"$names\" \"$2\"\n"
"	else\n"
"		_cloche_value \"${places[place]%+}\" \"$2\"\n"
"	fi\n"
"}\n"
"\n"
"_cloche()\n"
"{\n"
"	local IFS=$' \\t\\n' current=${COMP_WORDS[COMP_CWORD]}\n"
"	local pair=${COMP_WORDS[1]} first=2 words= options= places=() run\n"
"	COMPREPLY=()\n"
"	if ((COMP_CWORD == 1)); then\n"
"		_cloche_words '";

static const char tail[] =
"	esac\n"
"	_cloche_rest \"$first\" \"$current\"\n"
"}\n"
"\n"
"complete -F _cloche cloche\n";

static void add_kind(struct buf *out, const struct word_place *p, bool command)
{
	const char *const kinds[] = {
		[VALUE_TEXT] = ":t", [VALUE_FILE] = ":f", [VALUE_DIR] = ":d",
		[VALUE_COMMAND] = command ? ":c" : ":p",
	};

	if (p->value != VALUE_CHOICE)
		buf_adds(out, kinds[p->value]);
	for (size_t i = 0; i + 1 < p->choices.len; i++)
		buf_addc(out, p->choices.p[i] == ' ' ? '|' : p->choices.p[i]);
	if (p->again)
		buf_addc(out, '+');
}

static void add_option(struct buf *out, const struct shape *shape,
		       const struct choice *choice)
{
	(void)shape;
	for (int letter = 0; letter <= !!choice->letter; letter++) {
		if (letter)
			buf_addf(out, "-%c", choice->letter);
		else
			buf_addf(out, "--%s", choice->name);
		if (choice->value.value) {
			buf_addc(out, '=');
			add_kind(out, &choice->value, false);
		}
		buf_addc(out, ' ');
	}
}

static void add_shape(struct buf *out, const struct shape *shape)
{
	buf_addf(out, "\t'%s') options=\"%s", shape->pair,
		 shape->run ? "$run" : "");
	completion_options(shape, add_option, out);
	buf_adds(out, "\" places=(");
	for (size_t i = 0; i < shape->len; i++) {
		buf_adds(out, i ? " '" : "'");
		add_kind(out, &shape->places[i], shape->command);
		buf_addc(out, '\'');
	}
	buf_adds(out, ") ;;\n");
}

void completion_bash(struct buf *out)
{
	buf_adds(out, head);
	completion_verbs(false, out);
	buf_adds(out, "--help --version' \"$current\"\n\t\treturn\n\tfi\n"
		      "\tcase $pair in\n");
	for (const struct command *c = command_table(); c->name; c++) {
		if (!word_first(c))
			continue;
		buf_addf(out, "\t%s) words='", c->name);
		completion_words(c, out);
		buf_adds(out, "' ;;\n");
	}
	buf_adds(out, "\tesac\n\tif [[ $words ]] && ((COMP_CWORD == 2)); then\n"
		      "\t\t_cloche_words \"$words\" \"$current\"\n\t\treturn\n"
		      "\telif [[ $words ]]; then\n"
		      "\t\tpair+=\" ${COMP_WORDS[2]}\" first=3\n\tfi\n"
		      "\trun='");
	completion_options(NULL, add_option, out);
	buf_adds(out, "'\n\tcase $pair in\n");
	completion_shapes(add_shape, out);
	buf_adds(out, tail);
}
