/* SPDX-License-Identifier: Apache-2.0 */
/* cli/help.c - cloche help: from the tables of verbs and options */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "cli/command.h"
#include "cli/persona.h"
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
	printf("\nOptions:\n");
	for (enum option_id id = 0; id < OPTION_COUNT; id++)
		print_option(option_row(id));
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

static void print_firewall_options(void)
{
	static const struct option_row rows[] = {
#define FIREWALL_OPTION(id, word, value, verbs, words) \
		{ .name = word, .argument = value, .help = words },
#include "cli/firewall.def"
#undef FIREWALL_OPTION
	};

	printf("\nOptions:\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		print_option(&rows[i]);
}

/* The words of a verb that has verbs of its own */
static void print_words(const struct command *c)
{
	static const struct {
		int (*run)(int argc, char **argv, struct err *err);
		const char *name, *synopsis, *help;
	} rows[] = {
#define POLICY_COMMAND(function, name, synopsis, help) \
		{ cli_policy, name, synopsis, help },
#include "cli/policy.def"
#undef POLICY_COMMAND
#define SHIM_COMMAND(function, name, synopsis, help) \
		{ cli_shim, name, synopsis, help },
#include "cli/shim.def"
#undef SHIM_COMMAND
	};
	bool first = true;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].run != c->run)
			continue;
		printf("%s  %s %s\n      %s\n", first ? "\nCommands:\n" : "",
		       rows[i].name, rows[i].synopsis, rows[i].help);
		first = false;
	}
}

int cli_help(int argc, char **argv, struct err *err)
{
	static char name[] = "secret", help[] = "--help";
	char *secret[] = { name, help, NULL };
	const struct command *c;

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
	print_words(c);
	if (c->run == cli_run || c->run == cli_wrap || c->run == cli_explain ||
	    c->run == cli_verify)
		print_options();
	if (c->run == cli_as)
		print_personas();
	if (c->run == cli_firewall)
		print_firewall_options();
	return 0;
}
