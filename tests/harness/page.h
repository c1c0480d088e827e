/* SPDX-License-Identifier: Apache-2.0 */
/* harness/page.h - manual pages that follow the tables */

#ifndef HARNESS_PAGE_H
#define HARNESS_PAGE_H

struct buf;

/**
 * struct page_mark - A line of the template that a table replaces
 * @line:	"@NAME@"
 */
struct page_mark {
	const char *line;
	void (*add)(struct buf *out);
};

/* Add @text as roff wants it */
void page_text(struct buf *out, const char *text);

/* Hold @name in @dir against what its template @name.in and the marks (ended
 * by an empty one) make; MAN_WRITE=1 in the environment writes it anew.
 * @tables names what it was made from. 0, or 1 with words on stderr.
 */
int page_check(const char *dir, const char *name, const char *tables,
	       const struct page_mark *marks);

#endif /* HARNESS_PAGE_H */
