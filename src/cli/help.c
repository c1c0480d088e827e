/* SPDX-License-Identifier: Apache-2.0 */
/* cli/help.c - cloche help: from the tables of verbs and options */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "cli/command.h"
#include "cli/persona.h"
#include "cli/words.h"
#include "lib/options.h"

static void print_option(const struct option_row *row)
{
	char left[64];

	snprintf(left, sizeof(left), "%c%c%s--%s%s%s",
		 row->letter ? '-' : ' ', row->letter ? row->letter : ' ',
		 row->letter ? ", " : "  ", row->name,
		 row->argument ? " " : "", row->argument ? row->argument : "");
	printf("  %-28s %s\n", left, row->help);
}

static void print_options(void)
{
	for (enum option_id id = 0; id < OPTION_COUNT; id++)
		print_option(option_row(id));
}

/* Its own, and those of run where it takes them */
static void print_flags(const struct command *c, bool run)
{
	bool first = true;

	for (const struct verb_option *f = verb_option_table(); f->name; f++) {
		const struct option_row row = {
			.name = f->name, .argument = f->argument,
			.help = f->help,
		};

		if (f->verb != c->run)
			continue;
		printf("%s", first ? "\nOptions:\n" : "");
		print_option(&row);
		first = false;
	}
	if (run)
		printf("\nOptions%s:\n", first ? "" : " of run");
	if (run)
		print_options();
}

static void print_personas(void)
{
	printf("\nNames:\n");
	for (const struct persona *p = persona_table(); p->name; p++)
		printf("  %-10s %s\n", p->name, p->help);
}

static void print_overview(void)
{
	printf("cloche - run a command in a sandbox that the kernel enforces\n\n"
	       "Usage:\n");
	for (const struct command *c = command_table(); c->name; c++)
		printf("  cloche %-10s %s\n", c->name, c->help);
	printf("\n'cloche help COMMAND' tells more; 'cloche --version' the version.\n"
	       "Exit status of run: the command's own; 128+N when signal N ended it; 124 time\n"
	       "limit; 125 the sandbox could not be built (nothing ran); 126 not executable;\n"
	       "127 not found.\n");
}

/* The words of a verb that has some; true if one takes the options of run */
static bool print_words(const struct command *c)
{
	const struct word *w = word_first(c);
	bool run = false;

	if (w)
		printf("\nCommands:\n");
	for (; w; w = word_next(w)) {
		printf("  %s%s%s\n      %s\n", w->name,
		       *w->synopsis ? " " : "", w->synopsis, w->help);
		run |= synopsis_has_run(w->synopsis);
	}
	return run;
}

int cli_help(int argc, char **argv, struct err *err)
{
	static char name[] = "secret", help[] = "--help";
	char *secret[] = { name, help, NULL };
	const struct command *c;
	bool run;

	if (argc < 2) {
		print_overview();
		return 0;
	}
	c = command_find(argv[1]);
	if (!c)
		return fail(err, -EINVAL, "unknown command '%s'; 'cloche help' lists them", argv[1]);
	if (c->run == cli_secret)	/* It tells its own */
		return cli_secret(2, secret, err);
	printf("%s\n\nUsage: cloche %s %s\n", c->help, c->name, c->synopsis);
	run = print_words(c);
	if (c->run == cli_as)
		print_personas();
	print_flags(c, run || synopsis_has_run(c->synopsis));
	return 0;
}
