/* SPDX-License-Identifier: Apache-2.0 */
/* tls/values.h - the values of secrets, from the pipes that have them */

#ifndef TLS_VALUES_H
#define TLS_VALUES_H

#include "base/buf.h"
#include "tls/rewrite.h"

struct err;
struct tls_config;

enum { VALUES_MS = 10000 }; /* Until all values must have come */

/**
 * struct source_values - What came
 * @rows:	How many secrets the configuration has; those behind are parts of texts
 * @secrets:	The values, in the order of the configuration's secrets
 * @part_of:	From number @rows on: the text that the secret is a part of
 * @shown:	What is shown in the place of a masked text; empty: it stays hidden
 * @notes:	What the user should know about such a text, or NULL
 */
struct source_values {
	size_t rows;
	struct secret_values secrets;
	size_t part_of[BOUND_VALUES_MAX];
	struct buf shown[BOUND_SECRETS_MAX];
	char *notes[BOUND_SECRETS_MAX];
};

/* Read all values from @fds, one for each secret of @config, give those their
 * placeholders, and append the secrets that are parts of masked texts. 0, or a negative
 * errno with a message.
 */
int values_read(struct tls_config *config, const int *fds,
		struct source_values *ret, struct err *err);

#endif /* TLS_VALUES_H */
