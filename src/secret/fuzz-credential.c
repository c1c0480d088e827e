/* SPDX-License-Identifier: Apache-2.0 */
/* cli/secret/fuzz-credential.c - what git may send: whatever is taken has a
 * host, no line end, and is found again under what was asked
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/secret/protocol.h"
#include "secret/bytes.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool truth)
{
	if (!truth)
		abort();
}

static void check(const struct git_credential *c)
{
	auto_bytes struct bytes entry = { 0 }, name = { 0 };
	struct git_credential other = *c;

	demand(c->of[ATTRIBUTE_PROTOCOL].n && c->of[ATTRIBUTE_HOST].n);
	for (int i = 0; i < ATTRIBUTE_COUNT; i++) {
		for (size_t j = 0; j < c->of[i].n; j++)
			demand(c->of[i].p[j] && c->of[i].p[j] != '\n' &&
			       c->of[i].p[j] != '\r');
	}
	credential_entry(c, &entry);
	demand(!doc_check(span_of(&entry), "entry", NULL));
	demand(credential_matches(c, span_of(&entry), true));
	/* Another host is never answered */
	other.of[ATTRIBUTE_HOST].n--;
	demand(!credential_matches(&other, span_of(&entry), false));
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
	if (!credential_parse(span_of(&input), &c, NULL))
		check(&c);
	bytes_done(&input);
	return 0;
}
