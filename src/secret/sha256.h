/* SPDX-License-Identifier: Apache-2.0 */
/* secret/sha256.h - SHA-256 (FIPS 180-4), to name things: the programs that
 * need it for a keychain's entry do not link a cryptographic library
 */

#ifndef SECRET_SHA256_H
#define SECRET_SHA256_H

#include <stddef.h>

enum { SHA256_BYTES = 32 };

void sha256(const void *data, size_t n, unsigned char ret[static SHA256_BYTES]);

#endif /* SECRET_SHA256_H */
