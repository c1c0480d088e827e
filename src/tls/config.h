/* SPDX-License-Identifier: Apache-2.0 */
/* tls/config.h - the configuration that the supervisor sends to cloche-tls
 *
 * {"project": PATH, "key": HEX, "cas": [PEM file, ...], "secrets": [{"name": ...,
 * "hosts": [...], "optional": BOOL, "header", "method", "path", "url", "ttl", "shape", "stored", "mask": {...}}, ...],
 * "pairs": [...], "sigv4": {...}}: the supervisor is a program of ours, so what does not
 * fit is a fault of ours and ends the program. A mask has "extract", "decode",
 * "maskClaims" and "onExtractNoMatch" as in settings; pairs and sigv4 are the settings
 * credentials.awsPairs and credentials.sigv4.
 */

#ifndef TLS_CONFIG_H
#define TLS_CONFIG_H

#include <stdint.h>

#include "gate/bound-secret.h"
#include "tls/mask.h"
#include "tls/placeholder.h"

struct err;

enum {
	CONFIG_CAS_MAX = 16, /* Files with certificate authorities of the user's */
	CONFIG_PAIRS_MAX = BOUND_SECRETS_MAX / 2, /* Keys of AWS */
};

/**
 * struct value_source - What is known of where a value comes from
 * @shape:	A text of its form: it is read when it is needed; or NULL
 * @ttl:	Milliseconds after which it is read again, or 0
 * @stored:	From the store, which can tell its form to later runs
 */
struct value_source {
	char *shape;
	int64_t ttl;
	bool stored;
};

/* Names of variables that are one key of AWS; @token may be NULL */
struct aws_pair {
	char *id, *key, *token;
};

/**
 * struct tls_config - The same, read
 * @cas:	Files with authorities that upstream certificates may be from
 * @masks:	What is secret in the text of a secret of the same number, or NULL: all
 *		of it is, and no text is shown
 * @passed:	Bits by enum sigv4_form: requests that go out as they are
 */
struct tls_config {
	uint8_t key[PLACEHOLDER_KEY];
	char *project;
	char *cas[CONFIG_CAS_MAX];
	size_t n_cas;
	struct bound_secrets secrets;
	struct mask *masks[BOUND_SECRETS_MAX];
	struct value_source sources[BOUND_SECRETS_MAX];
	struct aws_pair pairs[CONFIG_PAIRS_MAX];
	size_t n_pairs;
	unsigned int passed;
};

int tls_config_read(const char *text, size_t n, struct tls_config *ret,
		    struct err *err);
void tls_config_done(struct tls_config *config);

#endif /* TLS_CONFIG_H */
