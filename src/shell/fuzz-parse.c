/* SPDX-License-Identifier: Apache-2.0 */
/* shell/fuzz-parse.c - each command of a line that is understood is, read by
 * itself, the same command again; and no line is excluded by no pattern
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "shell/command-pattern.h"
#include "shell/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct shell_script *script,
			const struct shell_command *c)
{
	const char *raw = shell_raw_from(script, c, 0);
	auto_shell struct shell_script again = { 0 };
	const struct shell_command *d;

	if (!shell_parse(raw, &again) || !again.commands.len)
		abort();
	d = &again.commands.v[again.commands.len - 1];
	if (strcmp(shell_raw_from(&again, d, 0), raw) != 0 ||
	    d->assignments != c->assignments || d->count != c->count)
		abort();
	for (size_t i = 0; i < c->count; i++) {
		const struct shell_word *w = &script->words.v[c->first + i];
		const struct shell_word *v = &again.words.v[d->first + i];

		if (w->known != v->known || w->raw_len != v->raw_len ||
		    w->plain_len != v->plain_len)
			abort();
	}
}

/* What commands have in their words can be looked at as the rest */
static void check_unfolded(struct shell_script *script)
{
	struct command_pattern p;

	(void)command_unfold(script);
	if (command_pattern_init(&p, "rm *", NULL) < 0)
		abort();
	for (size_t i = 0; i < script->commands.len; i++) {
		const struct shell_command *c = &script->commands.v[i];

		(void)command_may_match(&p, script, c);
		if (command_name(script, c) > c->count)
			abort();
	}
	command_pattern_done(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const patterns[] = { "docker *", "*", "git * x" };
	auto_free char *text = mem_zalloc(size + 1);
	auto_shell struct shell_script script = { 0 };

	memcpy(text, data, size);
	if (shell_parse(text, &script)) {
		for (size_t i = 0; i < script.commands.len && i < 8; i++)
			check_again(&script, &script.commands.v[i]);
	} else if (excluded_match(text, patterns, ARRAY_SIZE(patterns), NULL)) {
		abort();
	}
	(void)excluded_match(text, patterns, ARRAY_SIZE(patterns), NULL);
	if (excluded_match(text, NULL, 0, NULL))
		abort();
	check_unfolded(&script);
	return 0;
}
