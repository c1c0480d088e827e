/* SPDX-License-Identifier: Apache-2.0 */
/* policy/dedup.h - a set of (number, text), so that repeated rules cost nothing */

#ifndef POLICY_DEDUP_H
#define POLICY_DEDUP_H

#include <stdbool.h>
#include <stddef.h>

struct policy_dedup;

struct policy_dedup *dedup_new(void);
void dedup_free(struct policy_dedup *seen);

/* True if (@key, @text) is new; it is then remembered as number @index, and
 * @text must stay where it is while the set lives. If it is not new, *@ret is
 * the number it was given. @key and @index are less than 2^16 and 2^32.
 */
bool dedup_add(struct policy_dedup *seen, unsigned int key, const char *text,
	      size_t index, size_t *ret);

/* As dedup_add(), with a copy of @text */
bool dedup_add_copy(struct policy_dedup *seen, unsigned int key,
		   const char *text, size_t index, size_t *ret);

/* True if (@key, @text) is there; *@ret is its number */
bool dedup_find(const struct policy_dedup *seen, unsigned int key,
	       const char *text, size_t *ret);

/* True if (@key, @path) is there, or (@key, a directory above @path) */
bool dedup_covers(const struct policy_dedup *seen, unsigned int key,
		  const char *path);

#endif /* POLICY_DEDUP_H */
