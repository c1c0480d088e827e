/* SPDX-License-Identifier: Apache-2.0 */
/* base/json-plain.h - JSON without anything unusual in it, read quickly */

#ifndef BASE_JSON_PLAIN_H
#define BASE_JSON_PLAIN_H

#include <jansson.h>
#include <stddef.h>

/* The value that @n bytes of @text are, as json_loadb() would read them; NULL if
 * they are not plain, which says nothing about whether they are JSON.
 * json_decref() the result.
 */
json_t *json_plain(const char *text, size_t n);

#endif /* BASE_JSON_PLAIN_H */
