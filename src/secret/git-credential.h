/* SPDX-License-Identifier: Apache-2.0 */
/* secret/git-credential.h - git's credential protocol: attributes, and what they
 * match
 *
 * Attributes are lines "key=value" up to an empty line or the end. CR and NUL
 * are refused everywhere, an unknown key is skipped, and an empty protocol or
 * host never means "any".
 */

#ifndef SECRET_GIT_CREDENTIAL_H
#define SECRET_GIT_CREDENTIAL_H

#include <stdbool.h>

#include "secret/secret-document.h"

struct bytes;
struct err;

enum { CREDENTIAL_INPUT_MAX = 128 << 10 };

enum attribute {
	ATTRIBUTE_PROTOCOL, ATTRIBUTE_HOST, ATTRIBUTE_PATH, ATTRIBUTE_USERNAME,
	ATTRIBUTE_PASSWORD, ATTRIBUTE_EXPIRY, ATTRIBUTE_REFRESH,
	ATTRIBUTE_COUNT,
};

/* Names in git's protocol and in the stored object */
extern const char *const attribute_names[ATTRIBUTE_COUNT];

/**
 * struct git_credential - Attributes as they came; NULL where there is none
 */
struct git_credential {
	const char *of[ATTRIBUTE_COUNT];
};

/* Parse @input, which is cut into strings that @ret points to. 0, or -EINVAL: a
 * line without "=", CR or NUL, an attribute twice, or no protocol or no host.
 */
int credential_parse(struct bytes *input, struct git_credential *ret,
		     struct err *err);

/* True if the stored object @entry answers @want: the protocol, host, path and
 * username that @want has are equal, and with @password that too.
 */
bool credential_matches(const struct git_credential *want, const json_t *entry,
			bool password);

/* The name of a stored credential: git:PROTOCOL://[USER@]HOST[/PATH] */
void credential_name(const struct git_credential *c, struct bytes *ret);

/* The object to store; the caller releases it */
json_t *credential_entry(const struct git_credential *c);

#endif /* SECRET_GIT_CREDENTIAL_H */
