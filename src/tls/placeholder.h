/* SPDX-License-Identifier: Apache-2.0 */
/* tls/placeholder.h - a random text of the same form as a secret */

#ifndef TLS_PLACEHOLDER_H
#define TLS_PLACEHOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum {
	PLACEHOLDER_MIN = 8, /* Bytes of a value; fewer are refused */
	PLACEHOLDER_MAX = 16 << 10,
	PLACEHOLDER_KEY = 32, /* Bytes of the key */
};

/* Write @n bytes and a NUL to @ret that have the length, the alphabet and the known
 * prefix of @value ("ghp_", "sk-ant-", ...); of a JSON web token header and claims
 * as well. The same for the same @key, @project and @name, and never @value. 0, or
 * -EINVAL with a message if @value cannot be a credential: too short, too long, or
 * with a CR, LF or NUL in it.
 */
int placeholder_make(const uint8_t key[PLACEHOLDER_KEY], const char *project,
		     const char *name, const char *value, size_t n, char *ret,
		     struct err *err);

/* 0 if @value can be a credential, or -EINVAL as above */
int placeholder_check(const char *value, size_t n, struct err *err);

/* A text with which placeholder_make() makes the same as with @value, and which says no
 * more of that than the placeholder does: @n bytes and a NUL. False for JSON web tokens,
 * which have more to say, and for what is no value.
 */
bool placeholder_shape(const char *value, size_t n, char *ret);

#endif /* TLS_PLACEHOLDER_H */
