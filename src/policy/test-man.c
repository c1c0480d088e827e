/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/test-man.c - cloche-settings(5) says what settings.def says
 *
 * The page is its template (cloche-settings.5.in) with the rows of the table.
 * Run with the directory of both: fails if the page differs from what the
 * table makes of it; MAN_WRITE=1 writes it anew.
 */

#include "page.h"

#include <stddef.h>

#include "base/buf.h"
#include "policy/schema.h"

static void add_row(struct buf *out, const struct setting *row)
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
	page_text(out, schema_guard_words(row->guard));
	if (row->ask != ASK_NOTHING)
		page_text(out, row->ask < ASK_NEVER ?
			  " From a repository: what you approve." :
			  " From a repository: only what tightens.");
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
			add_row(out, &rows[i]);
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

int main(int argc, char **argv)
{
	static const struct page_mark marks[] = {
		{ "@KEYS@", add_keys },
		{ "@CLAUDE@", add_claude },
		{ "@UNUSED@", add_unused },
		{ 0 },
	};

	return page_check(argc > 1 ? argv[1] : "man", "cloche-settings.5",
			  "settings.def", marks);
}
