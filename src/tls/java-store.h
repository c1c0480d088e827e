/* SPDX-License-Identifier: Apache-2.0 */
/* tls/java-store.h - the system's authorities as Java has them, and one more */

#ifndef TLS_JAVA_STORE_H
#define TLS_JAVA_STORE_H

#include <openssl/x509.h>
#include <stdbool.h>

struct buf;

#define JAVA_STORE_PATH "/etc/ssl/certs/java/cacerts"

/* Append the key store at @path to @ret, with @cert in it. False if there is none, or one of
 * another format or with another password than Java's own.
 */
bool java_store_make(const char *path, X509 *cert, struct buf *ret);

#endif /* TLS_JAVA_STORE_H */
