/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/completion.c - cloche completion: scripts for shells, from the tables
 *
 * Theory of operation: the rows of commands.def and options.def say it all. A
 * synopsis that begins with a small letter lists words ("list|follow [...] |
 * clear"), one that begins with "[OPTIONS" takes the options of run, and
 * "--word" in it is an option of that verb alone. The name of an option's
 * argument says whether it is a path.
 */

#include "cli/completion.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "cli/command.h"

static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyz-";

/* tests/cli/completion.py holds them against what the parsers accept */
static const char *const choices[OPTION_COUNT] = {
	[OPTION_PROFILE] = "default home srt",
	[OPTION_NET] = "filtered none jail host jail,filtered",
	[OPTION_ANNOTATE] = "auto text tags never",
	[OPTION_OBSERVE] = "on off full",
	[OPTION_TIER] = "full landlock",
};

enum value completion_value(enum option_id id)
{
	const char *argument = option_row(id)->argument;

	if (!argument)
		return VALUE_NONE;
	if (choices[id])
		return VALUE_CHOICE;
	if (strstr(argument, "FILE") || strstr(argument, "PATH"))
		return VALUE_FILE;
	return strcmp(argument, "DIR") ? VALUE_TEXT : VALUE_DIR;
}

const char *completion_choices(enum option_id id)
{
	return choices[id];
}

bool completion_is_run(const struct command *c)
{
	return !strncmp(c->synopsis, "[OPTIONS", 8);
}

void completion_verbs(bool want, struct buf *out)
{
	for (const struct command *c = command_table(); c->name; c++) {
		if (completion_is_run(c) == want)
			buf_addf(out, "%s ", c->name);
	}
}

/* The first word of each alternative that stands outside brackets */
static void add_alternatives(const char *s, struct buf *out)
{
	bool first = true;

	for (int depth = 0; *s; s++) {
		const size_t n = strspn(s, LETTERS);

		if (*s == '[' || *s == ']')
			depth += *s == '[' ? 1 : -1;
		if (first && n && !depth) {
			buf_add(out, s, n);
			buf_addc(out, ' ');
			s += n - 1;
		}
		first = *s == '|' || (first && *s == ' ');
	}
}

void completion_words(const struct command *c, struct buf *out)
{
	if (c->run == cli_secret)
#define SECRET_COMMAND(id, name, synopsis, fewest, most, help) name " "
		buf_adds(out,
#include "cli/secret/commands.def"
			);
#undef SECRET_COMMAND
	else if (c->run == cli_hook)
#define AGENT(id, name, ...) name " "
		buf_adds(out, "install print uninstall "
#include "lib/agents.def"
			);
	else if (c->run == cli_as)
#define PERSONA(id, name, help) name " "
		buf_adds(out,
#include "cli/personas.def"
			);
#undef PERSONA
	else if (c->run == cli_help) {
		completion_verbs(true, out);
		completion_verbs(false, out);
	} else if (islower((unsigned char)*c->synopsis)) {
		add_alternatives(c->synopsis, out);
	}
}

void completion_flags(const struct command *c, struct buf *out)
{
	for (const char *s = c->synopsis; (s = strstr(s, "--"));) {
		const size_t n = strspn(s, LETTERS);

		if (n > 2) {
			buf_add(out, s, n);
			buf_addc(out, ' ');
		}
		s += n;
	}
}

void completion_quote(struct buf *out, const char *text, const char *quote,
		      const char *special)
{
	for (; *text; text++) {
		if (*text == '\'') {
			buf_adds(out, quote);
			continue;
		}
		if (strchr(special, *text))
			buf_addc(out, '\\');
		buf_addc(out, *text);
	}
}

int cli_completion(int argc, char **argv, struct err *err)
{
	static const struct {
		const char *name;
		void (*add)(struct buf *out);
	} shells[] = {
		{ "bash", completion_bash },
		{ "zsh", completion_zsh },
		{ "fish", completion_fish },
	};
	auto_buf struct buf out = { 0 };

	if (argc != 2)
		return fail(err, -EINVAL,
			    "completion needs one of bash, zsh, fish");
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
		if (strcmp(shells[i].name, argv[1]) != 0)
			continue;
		shells[i].add(&out);
		(void)fputs(buf_str(&out), stdout);	/* main() looks */
		return 0;
	}
	return fail(err, -EINVAL,
		    "completion: '%s' is not one of bash, zsh, fish", argv[1]);
}
