/* SPDX-License-Identifier: Apache-2.0 */
/* secret/test-pair.h - two fakes joined by fallback */

#ifndef SECRET_TEST_PAIR_H
#define SECRET_TEST_PAIR_H

#include "secret/claim.h"
#include "secret/fallback-plan.h"
#include "secret/test-fake.h"

#define OLD1 "{\"o\":1}"
#define OLD2 "{\"o\":2}"
#define NEW "{\"n\":3}"

/**
 * struct pair - The two, and the last answer
 * @claim:	Between them; setting it fails with @claim_fails
 */
struct pair {
	struct fake one, two;
	enum claim claim;
	int claim_fails;
	struct backend *both;
	int r;
	char data[256];
	unsigned int notes;
	struct err err;
	int answers;
};

extern const struct claim_ops pair_claim_ops;

/* What a store holds: "" nothing, "!" it fails at everything, else its data */
void pair_set(struct fake *fake, const char *state);
void pair_init(struct pair *p, const char *one, const char *two);

/* Read, update to NEW, or delete; the answer is in @p */
void pair_act(struct pair *p, enum verb verb);

/* Edit: set "n" to 3, or with @remove take "o" out */
void pair_edit(struct pair *p, bool remove);

/* What a reader finds now, or "" */
const char *pair_seen(struct pair *p);

#endif /* SECRET_TEST_PAIR_H */
