/* SPDX-License-Identifier: Apache-2.0 */
/* watch/late.h - settings and other protected names of the user's that come, or
 * are replaced, during a run: not for the command to change
 */

#ifndef WATCH_LATE_H
#define WATCH_LATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct born_config;

enum { LATE_PUT_BACK_MAX = 64 };	/* In a run; then it is missing */

/**
 * struct late - A protected name that came during the run and is the user's: no
 *		mount holds it until somebody sees to that. Or settings that were
 *		there @before, and that cloche has written anew: while the new
 *		file took the place of the old no mount held either.
 * @dev, @ino:	What it is a name of
 * @text:	What was obeyed last, @n bytes; or NULL
 * @noted:	It held what cloche wrote
 */
struct late {
	char *path, *text;
	size_t n;
	dev_t dev;
	ino_t ino;
	bool noted, before;
};

/**
 * struct lates - All of them
 * @news:	One has come
 * @put_back:	How often
 */
struct lates {
	const struct born_config *config;
	struct late *v;
	size_t len, cap;
	bool news;
	unsigned int put_back;
};

void lates_done(struct lates *lates);

struct late *late_find(const struct lates *lates, const char *path);
struct late *late_push(struct lates *lates, const char *path);
void late_drop(struct lates *lates, struct late *late);

/* True if nobody inside can have written @text, which was read from @late. If
 * somebody can, it goes to quarantine, and what was obeyed last comes back:
 * neither the next run nor the next edit must take it for the user's.
 */
bool late_takes(struct lates *lates, struct late *late, const char *text,
		size_t n);

/* The same for what is there now, of all settings: in the end */
void lates_check(struct lates *lates);

#endif /* WATCH_LATE_H */
