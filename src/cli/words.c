/* SPDX-License-Identifier: Apache-2.0 */
/* cli/words.c - the words behind verbs, and the options of one verb alone */

#include "cli/words.h"

#include <stddef.h>
#include <string.h>

#include "cli/command.h"

static const struct word words[] = {
#define POLICY_COMMAND(function, name, synopsis, help) \
	{ cli_policy, name, synopsis, help },
#include "cli/policy.def"
#undef POLICY_COMMAND
#define SHIM_COMMAND(function, name, synopsis, help) \
	{ cli_shim, name, synopsis, help },
#include "cli/shim.def"
#undef SHIM_COMMAND
#define SECRET_COMMAND(function, name, synopsis, fewest, most, help) \
	{ cli_secret, name, synopsis, help },
#include "cli/secret/commands.def"
#undef SECRET_COMMAND
#define WORD(verb, name, synopsis, help) { cli_##verb, name, synopsis, help },
#include "cli/words.def"
#undef WORD
	{ 0 },
};

static const struct verb_option flags[] = {
#define FLAG(verb, words, name, argument, help) \
	{ cli_##verb, words, name, argument, help },
#include "cli/flags.def"
#undef FLAG
#define SECRET_OPTION(field, name, argument, verbs, help) \
	{ cli_secret, verbs, name, argument, help },
#include "cli/secret/options.def"
#undef SECRET_OPTION
#define FIREWALL_OPTION(id, name, argument, verbs, help) \
	{ cli_firewall, verbs, name, argument, help },
#include "cli/firewall.def"
#undef FIREWALL_OPTION
	{ 0 },
};

const struct verb_option *verb_option_table(void)
{
	return flags;
}

const struct word *word_first(const struct command *c)
{
	const struct word *word = words;

	while (word->name && word->verb != c->run)
		word++;
	return word->name ? word : NULL;
}

const struct word *word_next(const struct word *word)
{
	return word[1].verb == word->verb ? word + 1 : NULL;
}

bool synopsis_has_run(const char *synopsis)
{
	return strstr(synopsis, "[OPTIONS of run]") ||
	       (strstr(synopsis, "[OPTIONS]") &&
		strstr(synopsis, "[--] COMMAND"));
}
