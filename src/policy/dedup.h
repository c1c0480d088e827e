/* SPDX-License-Identifier: Apache-2.0 */
/* policy/dedup.h - a set of (number, text), to drop repeated rules */

#ifndef POLICY_DEDUP_H
#define POLICY_DEDUP_H

#include <stdbool.h>
#include <stddef.h>

struct policy_dedup;

struct policy_dedup *dedup_new(void);
void dedup_free(struct policy_dedup *seen);

/* True if (@key, @text) is new; a copy is then stored as number @index */
bool dedup_add(struct policy_dedup *seen, unsigned int key, const char *text,
	       size_t index);

/* True if (@key, @text) is there; *@ret, if wanted, is its number */
bool dedup_find(const struct policy_dedup *seen, unsigned int key,
		const char *text, size_t *ret);

/* True if (@key, @path) is there, or (@key, a directory above @path) */
bool dedup_covers(const struct policy_dedup *seen, unsigned int key,
		  const char *path);

#endif /* POLICY_DEDUP_H */
