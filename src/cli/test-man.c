/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/test-man.c - cloche(1), cloche-run(1) and others say what the tables say
 *
 * Run with the directory of the pages. MAN_WRITE=1 writes them anew.
 */

#include "page.h"

#include "base/buf.h"
#include "base/own.h"

static void add_verbs(struct buf *out)
{
	static const struct {
		const char *name, *synopsis, *help;
	} rows[] = {
#define COMMAND(id, name, synopsis, help) { name, synopsis, help },
#include "cli/commands.def"
#undef COMMAND
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		buf_adds(out, ".TP\n\\fBcloche ");
		page_text(out, rows[i].name);
		buf_adds(out, "\\fR ");
		page_text(out, rows[i].synopsis);
		buf_addc(out, '\n');
		page_text(out, rows[i].help);
		buf_adds(out, ".\n");
	}
}

static void add_option(struct buf *out, char letter, const char *name,
		       const char *argument, const char *help)
{
	buf_adds(out, ".TP\n");
	if (letter)
		buf_addf(out, "\\fB\\-%c\\fR, ", letter);
	buf_adds(out, "\\fB\\-\\-");
	page_text(out, name);
	buf_adds(out, "\\fR");
	if (argument) {
		buf_adds(out, " \\fI");
		page_text(out, argument);
		buf_adds(out, "\\fR");
	}
	buf_addc(out, '\n');
	page_text(out, help);
	buf_adds(out, ".\n");
}

static void add_options(struct buf *out)
{
	static const struct {
		const char *name;
		char letter;
		const char *argument, *help;
	} rows[] = {
#define OPTION(id, name, letter, argument, kind, index, help) \
		{ name, letter, argument, help },
#include "lib/options.def"
#undef OPTION
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		add_option(out, rows[i].letter, rows[i].name,
			   rows[i].argument, rows[i].help);
}

static void add_firewall_options(struct buf *out)
{
	static const struct {
		const char *name, *argument, *help;
	} rows[] = {
#define FIREWALL_OPTION(id, name, argument, verbs, help) \
		{ name, argument, help },
#include "cli/firewall.def"
#undef FIREWALL_OPTION
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		add_option(out, 0, rows[i].name, rows[i].argument,
			   rows[i].help);
}

static void add_shim_commands(struct buf *out)
{
	static const struct {
		const char *name, *synopsis, *help;
	} rows[] = {
#define SHIM_COMMAND(id, name, synopsis, help) { name, synopsis, help },
#include "cli/shim.def"
#undef SHIM_COMMAND
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		buf_addf(out, ".TP\n\\fB%s\\fR ", rows[i].name);
		page_text(out, rows[i].synopsis);
		buf_addc(out, '\n');
		page_text(out, rows[i].help);
		buf_adds(out, ".\n");
	}
}

static void add_bwrap_options(struct buf *out)
{
	static const struct {
		const char *name, *argument, *help;
	} rows[] = {
#define BWRAP(name, words, count, id, value, help) { name, words, help },
#include "cli/bwrap/options.def"
#undef BWRAP
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		add_option(out, 0, rows[i].name + 2,
			   *rows[i].argument ? rows[i].argument : NULL,
			   rows[i].help);
}

int main(int argc, char **argv)
{
	static const struct page_mark verbs[] = {
		{ "@VERBS@", add_verbs }, { 0 },
	};
	static const struct page_mark options[] = {
		{ "@OPTIONS@", add_options }, { 0 },
	};
	static const struct page_mark firewall[] = {
		{ "@OPTIONS@", add_firewall_options }, { 0 },
	};
	static const struct page_mark shim[] = {
		{ "@COMMANDS@", add_shim_commands }, { 0 },
	};
	static const struct page_mark bwrap[] = {
		{ "@OPTIONS@", add_bwrap_options }, { 0 },
	};
	const char *dir = argc > 1 ? argv[1] : "man";
	int bad = page_check(dir, "cloche.1", "commands.def", verbs);

	bad |= page_check(dir, "cloche-run.1", "options.def", options);
	bad |= page_check(dir, "cloche-shim.1", "shim.def", shim);
	bad |= page_check(dir, "cloche-firewall.1", "firewall.def", firewall);
	bad |= page_check(dir, "cloche-bwrap.1", "bwrap/options.def", bwrap);
	return bad;
}
