/* SPDX-License-Identifier: Apache-2.0 */
/* policy/hidden.h - files that are hidden only while they hold a secret */

#ifndef POLICY_HIDDEN_H
#define POLICY_HIDDEN_H

#include <stdbool.h>
#include <stddef.h>

enum {
	HIDDEN_LOOK_MAX = 64 << 10,	/* A larger file is taken to hold one */
};

/* True if the @n bytes of @text hold one of the @markers: texts separated by
 * "|"; "@url" is a URL with a password, "scheme://name:password@". Used on the
 * rules that have a marker (struct path_rule).
 */
bool hidden_holds_secret(const char *markers, const char *text, size_t n);

#endif /* POLICY_HIDDEN_H */
