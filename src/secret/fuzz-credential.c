/* SPDX-License-Identifier: Apache-2.0 */
/* secret/fuzz-credential.c - what git may send: whatever is taken has a
 * host, no line end, and is found again under what was asked
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "secret/git-credential.h"
#include "secret/locked-memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool truth)
{
	if (!truth)
		abort();
}

static void check(const struct git_credential *c)
{
	auto_bytes struct bytes name = { 0 };
	json_auto_t *entry = credential_entry(c);
	struct git_credential other = *c;

	demand(*c->of[ATTRIBUTE_PROTOCOL] && *c->of[ATTRIBUTE_HOST]);
	for (int i = 0; i < ATTRIBUTE_COUNT; i++) {
		demand(!c->of[i] || !strpbrk(c->of[i], "\r\n"));
		demand(!c->of[i] ||	/* It was valid UTF-8 */
		       document_string(entry, attribute_names[i]));
	}
	demand(credential_matches(c, entry, true));
	/* Another host is never answered */
	other.of[ATTRIBUTE_HOST]++;
	demand(!credential_matches(&other, entry, false));
	credential_name(c, &name);
	demand(!strncmp(bytes_str(&name), "git:", 4));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes input = { 0 };
	struct git_credential c;

	if (size > 4096)
		return 0;
	bytes_add(&input, data, size);
	if (!credential_parse(&input, &c, NULL))
		check(&c);
	bytes_done(&input);
	return 0;
}
