/* SPDX-License-Identifier: Apache-2.0 */
/* base/sha256.h - SHA-256 (FIPS 180-4)
 *
 * For programs that do not link a cryptographic library, and for what such a
 * library must not see: it leaves no copy of its input behind.
 */

#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>

enum { SHA256_BYTES = 32 };

void sha256(const void *data, size_t n, unsigned char ret[static SHA256_BYTES]);

#endif /* BASE_SHA256_H */
