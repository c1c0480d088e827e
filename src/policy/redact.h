/* SPDX-License-Identifier: Apache-2.0 */
/* policy/redact.h - a settings file without its secrets
 *
 * A company's ~/.npmrc has the address of its registry and the token for it. If the
 * whole file was hidden, npm would use the public registry without a message.
 */

#ifndef POLICY_REDACT_H
#define POLICY_REDACT_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

/* Append to @out the settings of @n bytes of @text, lines "name = value", whose name
 * is one of @keys (separated by blanks; "*" stands for any text), and the headings of
 * their sections. A user and password in an address are left out; so is a line that
 * still looks like a secret. False if nothing is left to show.
 */
bool redact_settings(const char *keys, const char *text, size_t n,
		     struct buf *out);

#endif /* POLICY_REDACT_H */
