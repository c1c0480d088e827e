/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/completion.c - cloche completion: scripts for shells, from the tables
 *
 * Theory of operation: the tables of verbs, words and options say it all. A
 * synopsis ("[--json] read|write|connect TARGET") becomes a shape: the places in
 * it, in their order, without options, which have tables of their own. Small
 * letters are typed as they are, and what is in capitals says by its name what
 * kind of thing it is.
 */

#include "cli/completion.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/persona.h"
#include "cli/words.h"
#include "lib/hook.h"
#include "lib/options.h"

/* tests/cli/completion.py holds them against what the parsers accept */
static const char *const choices[OPTION_COUNT] = {
	[OPTION_PROFILE] = "default|home|srt",
	[OPTION_NET] = "filtered|none|jail|host|jail,filtered",
	[OPTION_ANNOTATE] = "auto|text|tags|never",
	[OPTION_OBSERVE] = "on|off|full",
	[OPTION_TIER] = "full|landlock",
};

static bool is_called(const struct word_place *p, const char *name)
{
	return strlen(name) == p->len && !memcmp(p->name, name, p->len);
}

static void add_list(struct buf *out, const char *list, size_t n,
		     char between)
{
	for (size_t i = 0; i < n; i++) {
		if (list[i] != ' ' || between == ' ')
			buf_addc(out, list[i] == between ? ' ' : list[i]);
	}
	buf_addc(out, ' ');
}

static void add_events(struct buf *out, const char *agent)
{
	auto_buf struct buf names = { 0 };

	agent_event_names(agent_find(agent), &names);
	add_list(out, buf_str(&names), names.len, ',');
}

static void add_agents(struct buf *out)
{
	auto_buf struct buf names = { 0 };

	agent_names(&names);
	add_list(out, buf_str(&names), names.len, ',');
}

/* Names in capitals that stand for some that we know; @word is before them */
static void add_known(struct word_place *p, const struct command *verb,
		      const char *word)
{
	if (is_called(p, "AGENT"))
		add_agents(&p->choices);
	else if (is_called(p, "EVENT"))
		add_events(&p->choices, word);
	else if (is_called(p, "KIND") && verb && verb->run == cli_policy)
		buf_adds(&p->choices,
			 "host read write socket port variable unprotect ");
	else if (is_called(p, "KIND"))
		buf_adds(&p->choices,
			 "host read write socket syscall limit quarantine ");
	else if (verb && verb->run == cli_help)
		completion_verbs(false, &p->choices);
	else if (verb && verb->run == cli_as && is_called(p, "NAME"))
		for (const struct persona *q = persona_table(); q->name; q++)
			buf_addf(&p->choices, "%s ", q->name);
}

static bool has_part(const struct word_place *p, const char *part)
{
	return memmem(p->name, p->len, part, strlen(part)) != NULL;
}

static enum value value_of(const struct word_place *p,
			   const struct command *verb)
{
	if (p->choices.len)
		return VALUE_CHOICE;
	if (is_called(p, "COMMAND") ||
	    (verb && verb->run == cli_shim && is_called(p, "NAME")))
		return VALUE_COMMAND;
	if (is_called(p, "DIR"))
		return VALUE_DIR;
	return has_part(p, "FILE") || has_part(p, "PATH") ||
	       has_part(p, "ARG") || has_part(p, "TARGET") ||
	       is_called(p, "VALUE") ? VALUE_FILE : VALUE_TEXT;
}

/* @n bytes at @name, or no value where that is NULL */
static struct word_place make_place(const char *name, size_t n,
				    const struct command *verb,
				    const char *word)
{
	struct word_place p = { .name = name, .len = n };

	if (!name)
		return p;
	p.again = n > 3 && !memcmp(name + n - 3, "...", 3);
	p.len -= p.again ? 3 : 0;
	if (islower((unsigned char)*name))
		add_list(&p.choices, name, p.len, '|');
	else
		add_known(&p, verb, word);
	p.value = value_of(&p, verb);
	return p;
}

/* The next word of a synopsis: its length, and in *@at where it is. *@value is
 * set if it is that of an option, which stands in the same brackets.
 */
static size_t next_token(const char **at, bool *value)
{
	const char *start = *at + strspn(*at, "[ ");
	const size_t n = strcspn(start, "[] ");

	*value = start == *at + 1 && **at == ' ';
	*at = start;
	return n;
}

static void parse(struct shape *shape, const char *synopsis, const char *word)
{
	bool option = false, behind;
	const char *at = synopsis;
	size_t n;

	for (; *at; at += n + (at[n] == ']' ? strspn(at + n, "]") : 0)) {
		n = next_token(&at, &behind);
		if (!strncmp(at, "OPTIONS", 7)) {
			n = strcspn(at, "]");
			option = false;
		} else if (*at == '-' || *at == '|' || *at == '.' || !n) {
			option = n > 2 && !memcmp(at, "--", 2) && at[n] == ' ';
		} else if (option && behind) {
			option = false;
		} else if (shape->len < SHAPE_PLACES) {
			shape->places[shape->len++] = make_place(at, n,
				shape->verb, word);
			option = false;
		}
	}
}

static void with_shape(const struct command *c, const struct word *w,
		       const char *name,
		       void (*fn)(struct buf *out, const struct shape *shape),
		       struct buf *out)
{
	const char *synopsis = w ? w->synopsis : c->synopsis;
	struct shape shape = {
		.verb = c, .word = w, .run = synopsis_has_run(synopsis),
		.pair = w ? mem_printf("%s %s", c->name, name) :
			mem_strdup(c->name),
	};

	parse(&shape, synopsis, name);
	shape.command = shape.len && shape.places[0].value == VALUE_COMMAND &&
			shape.run && !w;
	fn(out, &shape);
	for (size_t i = 0; i < shape.len; i++)
		buf_done(&shape.places[i].choices);
	free(shape.pair);
}

/* The names that @w stands for, each with a blank behind it */
static void add_names(const struct word *w, struct buf *out)
{
	if (islower((unsigned char)*w->name))
		buf_addf(out, "%s ", w->name);
	else
		add_agents(out);
}

void completion_shapes(void (*fn)(struct buf *out, const struct shape *shape),
		       struct buf *out)
{
	for (const struct command *c = command_table(); c->name; c++) {
		const struct word *w = word_first(c);

		if (!w)
			with_shape(c, NULL, NULL, fn, out);
		for (; w; w = word_next(w)) {
			auto_buf struct buf names = { 0 };
			char *rest, *name;

			add_names(w, &names);
			for (name = strtok_r(names.p, " ", &rest); name;
			     name = strtok_r(NULL, " ", &rest))
				with_shape(c, w, name, fn, out);
		}
	}
}

static void with_option(struct choice *choice, const char *argument,
			const struct shape *shape,
			void (*fn)(struct buf *out, const struct shape *shape,
				   const struct choice *choice),
			struct buf *out)
{
	choice->value = make_place(argument, argument ? strlen(argument) : 0,
				   NULL, NULL);
	fn(out, shape, choice);
	buf_done(&choice->value.choices);
}

void completion_options(const struct shape *shape,
			void (*fn)(struct buf *out, const struct shape *shape,
				   const struct choice *choice),
			struct buf *out)
{
	for (enum option_id id = 0; !shape && id < OPTION_COUNT; id++) {
		const struct option_row *row = option_row(id);
		struct choice choice = { row->name, row->help, row->letter };

		with_option(&choice, choices[id] ? choices[id] : row->argument,
			    shape, fn, out);
	}
	for (const struct verb_option *f = verb_option_table(); shape && f->name; f++) {
		struct choice choice = { f->name, f->help, 0 };

		if (f->verb == shape->verb->run &&
		    (!shape->word || text_has_word(f->words,
						   shape->word->name)))
			with_option(&choice, f->argument, shape, fn, out);
	}
}

void completion_verbs(bool with_words, struct buf *out)
{
	for (const struct command *c = command_table(); c->name; c++) {
		if (!with_words || word_first(c))
			buf_addf(out, "%s ", c->name);
	}
}

void completion_words(const struct command *c, struct buf *out)
{
	for (const struct word *w = word_first(c); w; w = word_next(w))
		add_names(w, out);
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
