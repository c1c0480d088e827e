/* SPDX-License-Identifier: Apache-2.0 */
/* cli/secret/opts.c - the command line of cloche secret */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/secret/secret.h"

static const struct {
	const char *name, *argument, *verbs, *help;
	size_t field;
} options[] = {
#define SECRET_OPTION(field, name, argument, verbs, help) \
	{ name, argument, verbs, help, offsetof(struct arguments, field) },
#include "cli/secret/options.def"
#undef SECRET_OPTION
};

void secret_help_options(const char *verb)
{
	puts("\nOptions:");
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		const char *argument = options[i].argument;

		if (!verb || text_has_word(options[i].verbs, verb))
			printf("  --%s %-*s %s\n", options[i].name,
			       22 - (int)strlen(options[i].name),
			       argument ? argument : "", options[i].help);
	}
}

/* argv[*@at] is an option: store it and step over what it took */
static int parse_option(char **argv, int *at, const char *verb,
			struct arguments *ret, struct err *err)
{
	const char *word = argv[*at] + 2;
	const size_t n = strcspn(word, "=");

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		const char **field = (const char **)(void *)
			((char *)ret + options[i].field);
		const char *value = word[n] ? word + n + 1 : NULL;

		if (strlen(options[i].name) != n ||
		    strncmp(options[i].name, word, n) != 0 ||
		    !text_has_word(options[i].verbs, verb))
			continue;
		if (!options[i].argument && value)
			return fail(err, -EINVAL, "--%s takes no argument",
				    options[i].name);
		if (options[i].argument && !value)
			value = argv[++*at];
		if (options[i].argument && (!value || !*value))
			return fail(err, -EINVAL, "--%s needs an argument",
				    options[i].name);
		*field = value ? value : "";
		return 0;
	}
	return fail(err, -EINVAL, "unknown option '--%.*s' of 'secret %s'",
		    (int)n, word, verb);
}

static bool takes_value(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (!strcmp(options[i].name, word))
			return options[i].argument;
	}
	return false;
}

void secret_verb_first(int argc, char **argv)
{
	int at = 1;
	char *verb;

	while (at < argc && !strncmp(argv[at], "--", 2) && argv[at][2])
		at += 1 + takes_value(argv[at] + 2);
	if (at >= argc)
		return;
	verb = argv[at];
	memmove(argv + 2, argv + 1, (size_t)(at - 1) * sizeof(*argv));
	argv[1] = verb;
}

/* Never the word itself: it may be a value that does not belong here */
static int too_many(const char *verb, struct err *err)
{
	if (!strcmp(verb, "set"))
		return fail(err, -EINVAL,
			    "'secret set' takes one NAME; the value comes from standard input, never from the command line");
	return fail(err, -EINVAL, "too many words after 'secret %s'", verb);
}

int secret_parse(int argc, char **argv, const struct secret_command *command,
		 struct arguments *ret, struct err *err)
{
	bool options_end = false;
	int words = 0;

	for (int i = 1; i < argc; i++) {
		int r = 0;

		if (!options_end && !strcmp(argv[i], "--"))
			options_end = true;
		else if (!options_end && !strncmp(argv[i], "--", 2))
			r = parse_option(argv, &i, command->name, ret, err);
		else if (!options_end && argv[i][0] == '-' && argv[i][1])
			r = fail(err, -EINVAL, "unknown option '%.2s'", argv[i]);
		else if (words++ < command->most)
			ret->word = argv[i];
		else
			r = too_many(command->name, err);
		if (r < 0)
			return r;
	}
	if (words < command->fewest)
		return fail(err, -EINVAL, "usage: cloche secret %s %s",
			    command->name, command->synopsis);
	return 0;
}
