/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tools/gen-man.c - manual pages: a template, and the rows of the tables
 *
 * "gen-man DIR PAGE" prints the page that DIR/PAGE.in and the tables make.
 */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "compat/bwrap.h"
#include "policy/schema.h"

enum { PAGE_MAX = 1 << 20 };

/**
 * struct page_mark - A line of the template that a table replaces
 * @line:	"@NAME@"
 */
struct page_mark {
	const char *line;
	void (*add)(struct buf *out);
};

/* Add @text as roff wants it */
static void page_text(struct buf *out, const char *text)
{
	/* At the start of a line these would begin a request */
	if (*text == '.' || *text == '\'')
		buf_adds(out, "\\&");
	for (; *text; text++) {
		if (*text == '\\')
			buf_adds(out, "\\e");
		else if (*text == '-')
			buf_adds(out, "\\-");
		else
			buf_addc(out, *text);
	}
}

static const struct page_mark *find_mark(const struct page_mark *marks,
				    const char *line, size_t n)
{
	while (marks->line && (strlen(marks->line) != n ||
			       memcmp(marks->line, line, n) != 0))
		marks++;
	return marks->line ? marks : NULL;
}

static void make_page(const char *template, const struct page_mark *marks,
		 struct buf *out)
{
	while (*template) {
		const size_t n = strcspn(template, "\n");
		const struct page_mark *mark = find_mark(marks, template, n);

		if (mark) {
			mark->add(out);
		} else {
			buf_add(out, template, n);
			buf_addc(out, '\n');
		}
		template += n + (template[n] == '\n');
	}
}

static const struct {
	const char *name, *synopsis, *help;
} verbs[] = {
#define COMMAND(id, name, synopsis, help) { name, synopsis, help },
#define PARENT COMMAND
#define PROGRAM COMMAND
#include "cli/verbs.def"
#undef COMMAND
#undef PARENT
#undef PROGRAM
};

/* Words behind verbs */
static const struct {
	const char *verb, *name, *synopsis, *help;
} words[] = {
#define WORD(verb, function, name, synopsis, fewest, most, help) \
	{ #verb, name, synopsis, help },
#define PROGRAM_WORD(verb, name, synopsis, help) \
	{ #verb, name, synopsis, help },
#include "cli/subcommands.def"
#undef WORD
#undef PROGRAM_WORD
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
#include "run/options.def"
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
#include "firewall/firewall-options.def"
#undef FIREWALL_OPTION
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		add_option(out, 0, rows[i].name, rows[i].argument,
			   rows[i].help);
}

static void add_shim_commands(struct buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(words[i].verb, "shim") != 0)
			continue;
		buf_addf(out, ".TP\n\\fB%s\\fR ", words[i].name);
		page_text(out, words[i].synopsis);
		buf_addc(out, '\n');
		page_text(out, words[i].help);
		buf_adds(out, ".\n");
	}
}

static void add_bwrap_options(struct buf *out)
{
	for (const struct bwrap_row *row = bwrap_table(); row->name; row++)
		add_option(out, 0, row->name + 2,
			   *row->words ? row->words : NULL, row->help);
}

/* The names of a kind of refusal, and those in records */
static void add_kinds(struct buf *out)
{
	static const struct {
		const char *record, *name;
	} rows[] = {
#define VIOLATION(id, record, name) { record, name },
#include "report/violations.def"
#undef VIOLATION
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t first = 0;

		while (strcmp(rows[first].name, rows[i].name) != 0)
			first++;
		if (first < i)
			continue;
		buf_addf(out, ".TP\n.B %s\n", rows[i].name);
		for (size_t k = i; k < ARRAY_SIZE(rows); k++) {
			if (strcmp(rows[k].name, rows[i].name) != 0)
				continue;
			buf_adds(out, k > i ? ", " : "");
			page_text(out, rows[k].record);
		}
		buf_addc(out, '\n');
	}
}

static const char *const guard_words[GUARD_COUNT] = {
	[GUARD_ANY] = "Any file.",
	[GUARD_STICKY_FALSE] = "Any file; false in a user, flag or managed file stays.",
	[GUARD_STICKY_TRUE] = "Any file; true in a user, flag or managed file stays.",
	[GUARD_ANY_TRUE] = "Any file; true stays.",
	[GUARD_MANAGED] = "Managed files only.",
	[GUARD_FLAG_ONLY] = "Only --settings; not under allowManagedReadPathsOnly.",
	[GUARD_FS_DISABLED] = "Any file; managed files only, once one of them sets any filesystem key, denies a credential file or has a Read or Edit rule that denies.",
	[GUARD_READS] = "Any file; managed files only under allowManagedReadPathsOnly.",
	[GUARD_DOMAINS] = "Any file; managed files only under allowManagedDomainsOnly.",
	[GUARD_RULES] = "Any file; managed files only under allowManagedPermissionRulesOnly.",
};

static void add_setting(struct buf *out, const struct setting *row)
{
	buf_adds(out, ".TP\n.B ");
	page_text(out, row->path);
	buf_addc(out, '\n');
	page_text(out, row->words);
	buf_addc(out, '\n');
	if (row->type == TYPE_UNUSED || row->type == TYPE_FOREIGN)
		return;
	buf_adds(out, ".br\nType: ");
	page_text(out, schema_type_words(row->type));
	buf_adds(out, ". Default: ");
	page_text(out, row->otherwise);
	buf_adds(out, ".\n.br\nSet by: ");
	page_text(out, guard_words[row->guard]);
	/* No guard lets a repository's file set these at all */
	if (row->ask != ASK_NOTHING && row->guard != GUARD_MANAGED &&
	    row->guard != GUARD_FLAG_ONLY)
		page_text(out, row->ask < ASK_NEVER ?
			  " From a repository: what you approve." :
			  row->tighten != TIGHTEN_NEVER ?
			  " From a repository: only what tightens." :
			  row->type != TYPE_PROFILE ? " Not from a repository." : "");
	buf_addc(out, '\n');
}

enum section { SECTION_KEYS, SECTION_CLAUDE, SECTION_UNUSED };

static enum section section_of(const struct setting *row)
{
	if (row->type == TYPE_UNUSED || row->type == TYPE_FOREIGN)
		return SECTION_UNUSED;
	return row->area == AREA_CLAUDE ? SECTION_CLAUDE : SECTION_KEYS;
}

static void add_section(struct buf *out, enum section section)
{
	size_t n;
	const struct setting *rows = schema_table(&n);

	for (size_t i = 0; i < n; i++) {
		if (section_of(&rows[i]) == section)
			add_setting(out, &rows[i]);
	}
}

static void add_keys(struct buf *out)
{
	add_section(out, SECTION_KEYS);
}

static void add_claude(struct buf *out)
{
	add_section(out, SECTION_CLAUDE);
}

static void add_unused(struct buf *out)
{
	add_section(out, SECTION_UNUSED);
}

/**
 * struct page - A template, and what its marks become
 * @marks:	Up to an empty one
 */
struct page {
	const char *name;
	struct page_mark marks[4];
};

static const struct page pages[] = {
	{ "cloche.1", { { "@VERBS@", add_verbs } } },
	{ "cloche-bwrap.1", { { "@OPTIONS@", add_bwrap_options } } },
	{ "cloche-diff.1", { { "@SYNOPSIS@", add_diff } } },
	{ "cloche-doctor.1", { { "@SYNOPSIS@", add_doctor } } },
	{ "cloche-explain.1", { { "@SYNOPSIS@", add_explain } } },
	{ "cloche-firewall.1", { { "@OPTIONS@", add_firewall_options } } },
	{ "cloche-policy.1", { { "@SYNOPSIS@", add_policy } } },
	{ "cloche-run.1", { { "@OPTIONS@", add_options } } },
	{ "cloche-settings.5", { { "@KEYS@", add_keys },
		{ "@CLAUDE@", add_claude }, { "@UNUSED@", add_unused } } },
	{ "cloche-shim.1", { { "@COMMANDS@", add_shim_commands } } },
	{ "cloche-verify.1", { { "@SYNOPSIS@", add_verify } } },
	{ "cloche-violations.1", { { "@SYNOPSIS@", add_violations },
		{ "@KINDS@", add_kinds } } },
};

static int print_page(const char *dir, const struct page *page)
{
	auto_free char *path = mem_printf("%s/%s.in", dir, page->name);
	auto_buf struct buf template = { 0 }, out = { 0 };
	struct err err = { 0 };

	if (fs_read(AT_FDCWD, path, PAGE_MAX, &template, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	make_page(buf_str(&template), page->marks, &out);
	return fputs(buf_str(&out), stdout) < 0;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < ARRAY_SIZE(pages); i++) {
		if (!strcmp(pages[i].name, argv[2]))
			return print_page(argv[1], &pages[i]);
	}
	fputs("usage: gen-man DIR PAGE\n", stderr);
	return 2;
}
