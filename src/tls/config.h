/* SPDX-License-Identifier: Apache-2.0 */
/* tls/config.h - the configuration that the supervisor sends to cloche-tls
 *
 * {"project": PATH, "key": HEX, "cas": [PEM file, ...], "secrets": [{"name": ...,
 * "hosts": [...], "optional": BOOL, "header", "method", "path", "mask": {...}}, ...]}: the
 * supervisor is a program of ours, so what does not fit is a fault of ours and ends the
 * program. A mask has "extract", "decode", "maskClaims" and "onExtractNoMatch" as in
 * settings.
 */

#ifndef TLS_CONFIG_H
#define TLS_CONFIG_H

#include <stdint.h>

#include "gate/bound-secret.h"
#include "tls/mask.h"
#include "tls/placeholder.h"

struct err;

enum { CONFIG_CAS_MAX = 16 }; /* Files with certificate authorities of the user's */

/**
 * struct tls_config - The same, read
 * @cas:	Files with authorities that upstream certificates may be from
 * @masks:	What is secret in the text of a secret of the same number, or NULL: all
 *		of it is, and no text is shown
 */
struct tls_config {
	uint8_t key[PLACEHOLDER_KEY];
	char *project;
	char *cas[CONFIG_CAS_MAX];
	size_t n_cas;
	struct bound_secrets secrets;
	struct mask *masks[BOUND_SECRETS_MAX];
};

int tls_config_read(const char *text, size_t n, struct tls_config *ret,
		    struct err *err);
void tls_config_done(struct tls_config *config);

#endif /* TLS_CONFIG_H */
