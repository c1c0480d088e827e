/* SPDX-License-Identifier: Apache-2.0 */
/* secret/name.h - what a secret, its value and its service may be called
 *
 * The rules are those of the strictest place a value may end up in: a header
 * line, a credential helper's key=value line.
 */

#ifndef SECRET_NAME_H
#define SECRET_NAME_H

#include <stddef.h>

struct err;

enum {
	NAME_MAX_BYTES = 512,		/* Of a secret's name */
	VALUE_MAX_BYTES = 64 << 10,	/* Of a secret's value */
	SERVICE_MAX_BYTES = 64,		/* Of a service, before the hash */
	SERVICE_SIZE = 128,		/* Room for a service with its hash */
	ACCOUNT_SIZE = 64,
};

/* A name is 1 to NAME_MAX_BYTES bytes of printable UTF-8, without blanks at its
 * ends, and no ".." between slashes. 0 or -EINVAL.
 */
int name_check(const char *name, size_t n, struct err *err);

/* A value is 1 to VALUE_MAX_BYTES bytes of UTF-8 without CR, LF or NUL. 0,
 * -EINVAL or -EFBIG. The message names the place, never the value.
 */
int value_check(const char *value, size_t n, struct err *err);

/* A service is letters, digits, '-', '_' and '.', not first a '.' */
int service_check(const char *service, struct err *err);

/* What the platform's stores call the service: "@service", and "-" with the
 * first 8 hexadecimal digits of SHA-256(@dir) unless @dir is @usual: two
 * configurations of one user never share an entry.
 */
void service_full(const char *service, const char *dir, const char *usual,
		  char ret[static SERVICE_SIZE]);

/* The user's name as the password database has it, or "uid-N"; plain
 * characters only, because it goes into a command line
 */
void account_name(char ret[static ACCOUNT_SIZE]);

#endif /* SECRET_NAME_H */
