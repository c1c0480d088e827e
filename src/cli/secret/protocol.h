/* SPDX-License-Identifier: Apache-2.0 */
/* cli/secret/protocol.h - git's credential protocol: attributes, and whom they
 * match (pure)
 *
 * Attributes are lines "key=value" up to an empty line or the end. CR and NUL
 * are refused everywhere, an unknown key is skipped, and what must not be empty
 * is never taken for "any".
 */

#ifndef CLI_SECRET_PROTOCOL_H
#define CLI_SECRET_PROTOCOL_H

#include "secret/doc.h"

struct err;

enum { CREDENTIAL_INPUT_MAX = 128 << 10 };

enum attribute {
#define ATTRIBUTE(id, name) ATTRIBUTE_##id,
#include "cli/secret/attributes.def"
#undef ATTRIBUTE
	ATTRIBUTE_COUNT,
};

const char *attribute_name(enum attribute attribute);

/**
 * struct git_credential - Attributes as they came; p is NULL where there is none
 */
struct git_credential {
	struct span of[ATTRIBUTE_COUNT];
};

/* Points into @input. 0, or -EINVAL: a line that is none, CR or NUL, an
 * attribute twice, or no protocol or no host.
 */
int credential_parse(struct span input, struct git_credential *ret,
		     struct err *err);

/* Does the stored JSON object @entry answer the question @want? Attributes of
 * where and who that @want has must be equal; with @password also that.
 */
bool credential_matches(const struct git_credential *want, struct span entry,
			bool password);

/* What a stored credential is called: git:PROTOCOL://[USER@]HOST[/PATH] */
void credential_name(const struct git_credential *c, struct bytes *ret);

/* As a JSON object to store */
void credential_entry(const struct git_credential *c, struct bytes *ret);

#endif /* CLI_SECRET_PROTOCOL_H */
