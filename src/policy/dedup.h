/* SPDX-License-Identifier: Apache-2.0 */
/* policy/seen.h - a set of (number, text), so that repeated rules cost nothing */

#ifndef POLICY_SEEN_H
#define POLICY_SEEN_H

#include <stdbool.h>
#include <stddef.h>

struct policy_seen;

struct policy_seen *seen_new(void);
void seen_free(struct policy_seen *seen);

/* True if (@key, @text) is new; it is then remembered as number @index, and
 * @text must stay where it is while the set lives. If it is not new, *@ret is
 * the number it was given. @key and @index are less than 2^16 and 2^32.
 */
bool seen_add(struct policy_seen *seen, unsigned int key, const char *text,
	      size_t index, size_t *ret);

/* As seen_add(), with a copy of @text */
bool seen_add_copy(struct policy_seen *seen, unsigned int key,
		   const char *text, size_t index, size_t *ret);

/* True if (@key, @text) is there; *@ret is its number */
bool seen_find(const struct policy_seen *seen, unsigned int key,
	       const char *text, size_t *ret);

#endif /* POLICY_SEEN_H */
