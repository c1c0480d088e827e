/* SPDX-License-Identifier: Apache-2.0 */
/* run/masked-text.h - files and variables that settings mask: placeholders for their
 * secrets
 */

#ifndef RUN_MASKED_TEXT_H
#define RUN_MASKED_TEXT_H

#include <stddef.h>

#include "plan/plan.h"

struct policy;

/**
 * struct masked_text - One of them
 * @label:	The variable, or the path as settings have it
 * @source:	As --secret-from has it
 * @hosts:	Where its secrets may go, commas between
 * @mask:	The entry of the settings, JSON
 * @row:	Its number among the run's secrets
 * @file:	Where the file really is, NULL for a variable; and what is shown. As long
 *		as that is NULL, it stays hidden.
 */
struct masked_text {
	const char *label, *mask;
	char *source, *hosts;
	size_t row;
	struct shown_file file;
};

struct masked_texts {
	struct masked_text *v;
	size_t len, cap;
};

/* What @policy masks, exists, and is not a bound secret already. The texts point into
 * @policy.
 */
void masked_texts_find(const struct policy *policy, struct masked_texts *ret);

/* The text of row @row is shown as the @n bytes at @p */
void masked_texts_show(struct masked_texts *texts, size_t row, const char *p,
		       size_t n);

void masked_texts_done(struct masked_texts *texts);

#endif /* RUN_MASKED_TEXT_H */
