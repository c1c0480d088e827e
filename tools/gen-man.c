/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/test-man.c - cloche(1), cloche-run(1) and others say what the tables say
 *
 * Run with the directory of the pages. MAN_WRITE=1 writes them anew.
 */

#include "page.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/own.h"

static const struct {
	const char *name, *synopsis, *help;
} verbs[] = {
#define COMMAND(id, name, synopsis, help) { name, synopsis, help },
#include "cli/commands.def"
#undef COMMAND
};

/* Words behind verbs */
static const struct {
	const char *verb, *name, *synopsis;
} words[] = {
#define POLICY_COMMAND(id, name, synopsis, help) { "policy", name, synopsis },
#include "cli/policy.def"
#undef POLICY_COMMAND
#define WORD(verb, name, synopsis, help) { #verb, name, synopsis },
#include "cli/words.def"
#undef WORD
};

static void add_call(struct buf *out, const char *verb, const char *word,
		     const char *synopsis)
{
	buf_addf(out, "\\fBcloche %s%s%s\\fR", verb, *word ? " " : "", word);
	if (*synopsis) {
		buf_addc(out, ' ');
		page_text(out, synopsis);
	}
	buf_addc(out, '\n');
}

static void add_verbs(struct buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		buf_adds(out, ".TP\n");
		add_call(out, verbs[i].name, "", verbs[i].synopsis);
		page_text(out, verbs[i].help);
		buf_adds(out, ".\n");
	}
}

/* How the verbs in @names, each with a blank behind it, are called */
static void add_calls(struct buf *out, const char *names)
{
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		const char *at = strstr(names, verbs[i].name);

		if (at && at[strlen(verbs[i].name)] == ' ')
			add_call(out, verbs[i].name, "", verbs[i].synopsis);
	}
}

/* How the words of @verb are, each on a line of its own */
static void add_word_calls(struct buf *out, const char *verb)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (!strcmp(words[i].verb, verb))
			add_call(out, verb, words[i].name, words[i].synopsis);
	}
}

static void add_policy(struct buf *out)
{
	add_word_calls(out, "policy");
}

static void add_violations(struct buf *out)
{
	add_word_calls(out, "violations");
}

static void add_doctor(struct buf *out)
{
	add_calls(out, "doctor preflight ");
}

static void add_verify(struct buf *out)
{
	add_calls(out, "verify ");
}

static void add_explain(struct buf *out)
{
	add_calls(out, "explain wrap ");
}

static void add_diff(struct buf *out)
{
	add_calls(out, "diff apply discard ");
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

/* Every option of one verb alone stands on that verb's page */
static int check_flags(const char *dir)
{
	static const struct {
		const char *verb, *name;
	} rows[] = {
#define FLAG(verb, words, name, argument, help) { #verb, name },
#include "cli/flags.def"
#undef FLAG
	};
	int bad = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *verb = !strcmp(rows[i].verb, "preflight") ? "doctor" :
				   !strcmp(rows[i].verb, "apply") ? "diff" :
				   rows[i].verb;
		auto_buf struct buf text = { 0 }, want = { 0 }, path = { 0 };

		buf_addf(&path, "%s/cloche-%s.1", dir, verb);
		buf_adds(&want, "\\-\\-");
		page_text(&want, rows[i].name);
		if (fs_read(AT_FDCWD, buf_str(&path), 1 << 20, &text, NULL) == 0 &&
		    strstr(buf_str(&text), buf_str(&want)))
			continue;
		printf("%s does not have --%s\n", buf_str(&path), rows[i].name);
		bad = 1;
	}
	return bad;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *page;
		struct page_mark marks[2];
	} pages[] = {
		{ "cloche-policy.1", { { "@SYNOPSIS@", add_policy } } },
		{ "cloche-violations.1", { { "@SYNOPSIS@", add_violations } } },
		{ "cloche-doctor.1", { { "@SYNOPSIS@", add_doctor } } },
		{ "cloche-verify.1", { { "@SYNOPSIS@", add_verify } } },
		{ "cloche-explain.1", { { "@SYNOPSIS@", add_explain } } },
		{ "cloche-diff.1", { { "@SYNOPSIS@", add_diff } } },
	};
	static const struct page_mark all[] = {
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
	int bad = page_check(dir, "cloche.1", "commands.def", all);

	bad |= check_flags(dir);
	bad |= page_check(dir, "cloche-run.1", "options.def", options);
	bad |= page_check(dir, "cloche-shim.1", "shim.def", shim);
	bad |= page_check(dir, "cloche-firewall.1", "firewall.def", firewall);
	bad |= page_check(dir, "cloche-bwrap.1", "bwrap/options.def", bwrap);
	for (size_t i = 0; i < ARRAY_SIZE(pages); i++)
		bad |= page_check(dir, pages[i].page, "commands.def",
				  pages[i].marks);
	return bad;
}
