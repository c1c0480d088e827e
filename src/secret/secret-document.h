/* SPDX-License-Identifier: Apache-2.0 */
/* secret/secret-document.h - all secrets of a service: one JSON object
 *
 * jansson's trees and texts are in locked memory (secret/locked-memory.h). No
 * message quotes the text.
 */

#ifndef SECRET_SECRET_DOCUMENT_H
#define SECRET_SECRET_DOCUMENT_H

#include <jansson.h>

struct bytes;
struct err;

enum { DOCUMENT_MAX = 512 << 10 };	/* Bytes of one document */

/* Parse one JSON object: UTF-8, no NUL (not even \u0000), no name twice. 0 with
 * *@ret, which the caller releases; -EFBIG, or -EBADMSG with "@what: ..." in @err.
 */
int document_parse(const char *text, size_t n, const char *what, json_t **ret,
		   struct err *err);

/* Replace @ret by @value as text, all ASCII on one line */
void document_print(const json_t *value, struct bytes *ret);

/* Put @value, which is taken over, last in @doc under @name */
void document_put(json_t *doc, const char *name, json_t *value);

/* The string member @name of @object, or NULL */
const char *document_string(const json_t *object, const char *name);

#endif /* SECRET_SECRET_DOCUMENT_H */
