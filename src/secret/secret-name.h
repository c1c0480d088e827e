/* SPDX-License-Identifier: Apache-2.0 */
/* secret/secret-name.h - what a secret, its value and its service may be called
 *
 * The rules are those of the strictest use of a value: a header line, or a
 * credential helper's key=value line.
 */

#ifndef SECRET_SECRET_NAME_H
#define SECRET_SECRET_NAME_H

#include <stddef.h>

struct err;

enum {
	NAME_MAX_BYTES = 512,		/* Of a secret's name */
	VALUE_MAX_BYTES = 64 << 10,	/* Of a secret's value */
	SERVICE_MAX_BYTES = 64,		/* Of a service, before the hash */
	SERVICE_SIZE = 128,		/* A service with its hash */
};

/* A name is 1 to NAME_MAX_BYTES bytes of printable UTF-8, without blanks at its
 * ends, and no ".." between slashes. 0 or -EINVAL.
 */
int name_check(const char *name, size_t n, struct err *err);

/* A value is 1 to VALUE_MAX_BYTES bytes of UTF-8 without CR, LF or NUL. 0,
 * -EINVAL or -EFBIG. The message has the position, never the value.
 */
int value_check(const char *value, size_t n, struct err *err);

/* A service is letters, digits, '-', '_' and '.', not first a '.' */
int service_check(const char *service, struct err *err);

/* What the keyring calls the service: "@service", and "-" with the
 * first 8 hexadecimal digits of SHA-256(@dir) unless @dir is @usual: two
 * configurations of one user never share an entry.
 */
void service_full(const char *service, const char *dir, const char *usual,
		  char ret[static SERVICE_SIZE]);

#endif /* SECRET_SECRET_NAME_H */
