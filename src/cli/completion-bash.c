/* SPDX-License-Identifier: Apache-2.0 */
/* cli/completion-bash.c - the completion script for bash */

#include "base/buf.h"
#include "cli/command.h"
#include "cli/completion.h"

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
"# _cloche_value OPTION CURRENT\n"
"_cloche_value()\n"
"{\n"
"	case $1 in\n";

/* Bash makes three words of --name=value where '=' is in COMP_WORDBREAKS */
static const char walk[] =
"	esac\n"
"}\n"
"\n"
"# _cloche_run FLAGS CURRENT: options, then a command\n"
"_cloche_run()\n"
"{\n"
"	local i=2 ended= option=\n"
"	while ((i < COMP_CWORD)); do\n"
"		option=${COMP_WORDS[i]}\n"
"		case $option in\n"
"		--) ended=1; ((i++)); break ;;\n"
"		--*=*) ((i++)) ;;\n"
"		";

static const char tail[] =
")\n"
"			[[ ${COMP_WORDS[i+1]} == = ]] && ((i++))\n"
"			((i += 2)) ;;\n"
"		-*) ((i++)) ;;\n"
"		*) break ;;\n"
"		esac\n"
"	done\n"
"	if ((i > COMP_CWORD)); then\n"
"		_cloche_value \"$option\" \"${2#=}\"\n"
"	elif ((i < COMP_CWORD)); then\n"
"		if declare -F _command_offset >/dev/null; then\n"
"			_command_offset \"$i\"\n"
"		else\n"
"			_cloche_paths -f \"$2\"\n"
"		fi\n"
"	elif [[ ! $ended && $2 == --*=* ]]; then\n"
"		_cloche_value \"${2%%=*}\" \"${2#*=}\"\n"
"		COMPREPLY=(\"${COMPREPLY[@]/#/${2%%=*}=}\")\n"
"	elif [[ ! $ended && $2 == -* ]]; then\n"
"		_cloche_words \"$1\" \"$2\"\n"
"	else\n"
"		mapfile -t COMPREPLY < <(compgen -c -- \"$2\")\n"
"	fi\n"
"}\n"
"\n"
"# _cloche_other WORDS FLAGS CURRENT\n"
"_cloche_other()\n"
"{\n"
"	if [[ $3 == -* ]]; then\n"
"		_cloche_words \"$2\" \"$3\"\n"
"	elif ((COMP_CWORD == 2)); then\n"
"		_cloche_words \"$1\" \"$3\"\n"
"	else\n"
"		_cloche_paths -f \"$3\"\n"
"	fi\n"
"}\n"
"\n"
"_cloche()\n"
"{\n"
"	local current=${COMP_WORDS[COMP_CWORD]}\n"
"	COMPREPLY=()\n"
"	if ((COMP_CWORD == 1)); then\n";

/* "--settings" and, with "|" between them, "-s" */
static void add_names(struct buf *out, const struct option_row *row,
		      char between)
{
	buf_addf(out, "--%s", row->name);
	if (row->letter)
		buf_addf(out, "%c-%c", between, row->letter);
}

static void add_value(struct buf *out, enum option_id id)
{
	const enum value value = completion_value(id);

	if (value == VALUE_NONE || value == VALUE_TEXT)
		return;
	buf_adds(out, "\t");
	add_names(out, option_row(id), '|');
	if (value == VALUE_CHOICE)
		buf_addf(out, ") _cloche_words '%s' \"$2\" ;;\n",
			 completion_choices(id));
	else
		buf_addf(out, ") _cloche_paths %s \"$2\" ;;\n",
			 value == VALUE_DIR ? "-d" : "-f");
}

static void add_verb(struct buf *out, const struct command *c)
{
	const bool run = completion_is_run(c);

	buf_addf(out, "\t%s) ", c->name);
	if (run)
		buf_adds(out, "_cloche_run \"$options ");
	else
		buf_adds(out, "_cloche_other '");
	if (!run) {
		completion_words(c, out);
		buf_adds(out, "' '");
	}
	completion_flags(c, out);
	buf_addf(out, "%c \"$current\" ;;\n", run ? '"' : '\'');
}

void completion_bash(struct buf *out)
{
	const char *between = "";

	buf_adds(out, head);
	for (enum option_id id = 0; id < OPTION_COUNT; id++)
		add_value(out, id);
	buf_adds(out, walk);
	for (enum option_id id = 0; id < OPTION_COUNT; id++) {
		if (completion_value(id) == VALUE_NONE)
			continue;
		buf_adds(out, between);
		add_names(out, option_row(id), '|');
		between = "|";
	}
	buf_adds(out, tail);
	buf_adds(out, "\t\t_cloche_words '");
	completion_verbs(true, out);
	completion_verbs(false, out);
	buf_adds(out, "--help --version' \"$current\"\n\t\treturn\n\tfi\n"
		      "\tlocal options='");
	for (enum option_id id = 0; id < OPTION_COUNT; id++) {
		add_names(out, option_row(id), ' ');
		buf_addc(out, ' ');
	}
	buf_adds(out, "'\n\tcase ${COMP_WORDS[1]} in\n");
	for (const struct command *c = command_table(); c->name; c++)
		add_verb(out, c);
	buf_adds(out, "\tesac\n}\n\ncomplete -F _cloche cloche\n");
}
