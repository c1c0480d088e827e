/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/test-man.c - cloche-settings(5) says what settings.def says
 *
 * The page is its template (cloche-settings.5.in) with the rows of the table.
 * Run with the directory of both: fails if the page differs from what the
 * table makes of it; MAN_WRITE=1 writes it anew.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/schema.h"

enum { PAGE_MAX = 1 << 20 };

/* Text as roff wants it */
static void add_text(struct buf *out, const char *text)
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

static void add_row(struct buf *out, const struct setting *row)
{
	buf_adds(out, ".TP\n.B ");
	add_text(out, row->path);
	buf_addc(out, '\n');
	add_text(out, row->words);
	buf_addc(out, '\n');
	if (row->type == TYPE_UNUSED || row->type == TYPE_FOREIGN)
		return;
	buf_adds(out, ".br\nType: ");
	add_text(out, schema_type_words(row->type));
	buf_adds(out, ". Default: ");
	add_text(out, row->otherwise);
	buf_adds(out, ".\n.br\nSet by: ");
	add_text(out, schema_guard_words(row->guard));
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

static void make_page(const char *template, struct buf *out)
{
	static const struct {
		const char *mark;
		enum section section;
	} marks[] = {
		{ "@KEYS@\n", SECTION_KEYS },
		{ "@CLAUDE@\n", SECTION_CLAUDE },
		{ "@UNUSED@\n", SECTION_UNUSED },
	};

	buf_adds(out, ".\\\" Made from settings.def and cloche-settings.5.in\n");
	for (const char *line = template; *line;) {
		const size_t n = strcspn(line, "\n") + 1;
		bool mark = false;

		for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
			if (strncmp(line, marks[i].mark, n) != 0)
				continue;
			add_section(out, marks[i].section);
			mark = true;
		}
		if (!mark)
			buf_add(out, line, n);
		line += n;
	}
}

int main(int argc, char **argv)
{
	auto_close int dir = open(argc > 1 ? argv[1] : "man",
				  O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_buf struct buf template = { 0 };
	auto_buf struct buf have = { 0 };
	auto_buf struct buf want = { 0 };
	struct err err = { 0 };

	if (fs_read(dir, "cloche-settings.5.in", PAGE_MAX, &template,
		    &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	make_page(buf_str(&template), &want);
	(void)fs_read(dir, "cloche-settings.5", PAGE_MAX, &have, NULL);
	if (!strcmp(buf_str(&have), buf_str(&want)))
		return 0;
	if (getenv("MAN_WRITE"))
		return fs_replace(dir, "cloche-settings.5", want.p, want.len,
				  0644, &err) < 0;
	fprintf(stderr, "cloche-settings.5 is not what settings.def says; MAN_WRITE=1 makes it anew\n");
	return 1;
}
