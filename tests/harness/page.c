/* SPDX-License-Identifier: Apache-2.0 */
/* harness/page.c - manual pages that follow the tables */

#include "page.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"

enum { PAGE_MAX = 1 << 20 };

void page_text(struct buf *out, const char *text)
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

static const struct page_mark *find(const struct page_mark *marks,
				    const char *line, size_t n)
{
	while (marks->line && (strlen(marks->line) != n ||
			       memcmp(marks->line, line, n) != 0))
		marks++;
	return marks->line ? marks : NULL;
}

static void make(const char *template, const struct page_mark *marks,
		 struct buf *out)
{
	while (*template) {
		const size_t n = strcspn(template, "\n");
		const struct page_mark *mark = find(marks, template, n);

		if (mark) {
			mark->add(out);
		} else {
			buf_add(out, template, n);
			buf_addc(out, '\n');
		}
		template += n + (template[n] == '\n');
	}
}

int page_check(const char *dir, const char *name, const char *tables,
	       const struct page_mark *marks)
{
	auto_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_free char *source = mem_printf("%s.in", name);
	auto_buf struct buf template = { 0 };
	auto_buf struct buf have = { 0 };
	auto_buf struct buf want = { 0 };
	struct err err = { 0 };
	int r = fs_read(fd, source, PAGE_MAX, &template, &err);

	if (r >= 0) {
		buf_addf(&want, ".\\\" Made from %s and %s\n", tables, source);
		make(buf_str(&template), marks, &want);
		(void)fs_read(fd, name, PAGE_MAX, &have, NULL);
		if (!strcmp(buf_str(&have), buf_str(&want)))
			return 0;
		r = getenv("MAN_WRITE") ?
			fs_replace(fd, name, want.p, want.len, 0644, &err) :
			fail(&err, -1, "%s is not what %s says; MAN_WRITE=1 makes it anew",
			     name, tables);
	}
	if (r < 0)
		fprintf(stderr, "%s\n", err.msg);
	return r < 0;
}
