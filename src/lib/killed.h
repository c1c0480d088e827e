/* SPDX-License-Identifier: Apache-2.0 */
/* lib/killed.h - what runs that were killed left behind, cleaned up and told
 *
 * Their plants go before the next run reads settings or makes a plan: else it
 * would obey them, and find them gone later. Who tells of it comes after that.
 */

#ifndef LIB_KILLED_H
#define LIB_KILLED_H

#include <stddef.h>

struct violation;
struct violation_sink;

/**
 * struct killed - What was found; zero-initialise it
 */
struct killed {
	struct violation *v;
	size_t len, cap;
};

/* Move what they planted to quarantine */
void killed_clean(struct killed *ret);

/* Tell @sink of it, once. @killed may be NULL. */
void killed_tell(struct killed *killed, const struct violation_sink *sink);

/* What nobody was told of is stored, so that it can be restored */
void killed_done(struct killed *killed);

#endif /* LIB_KILLED_H */
