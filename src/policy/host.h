/* SPDX-License-Identifier: Apache-2.0 */
/* policy/host.h - host names from the wire, patterns for them, and verdicts */

#ifndef POLICY_HOST_H
#define POLICY_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct policy;
struct host_rule;

enum { HOST_NAME_MAX_LEN = 253 };	/* RFC 1035, without the final dot */

enum host_kind { HOST_NAME, HOST_IPV4, HOST_IPV6 };

/**
 * struct host - A validated destination: match, resolve, dial and log this
 * @kind:	A name or an address
 * @name:	Lower case, no final dot; for an address its canonical text
 * @address:	IPv4 in the first 4 bytes, or IPv6, network order
 * @port:	0 if none is meant
 */
struct host {
	enum host_kind kind;
	char name[HOST_NAME_MAX_LEN + 1];
	uint8_t address[16];
	uint16_t port;
};

/* Validate @n bytes from the wire: ASCII LDH and "_", labels 1 to 63, one
 * final dot stripped; a last label that is numeric or 0x... must be part of a
 * canonical dotted quad; IPv6 without brackets, no zone, IPv4-mapped becomes
 * IPv4. 0, or -EINVAL with *@ret untouched.
 */
int host_parse(const char *text, size_t n, uint16_t port, struct host *ret);

/* Compile a rule's pattern. NULL with words if it is not one. */
struct host_pattern *host_pattern_new(const char *text, bool deny,
				      struct err *err);
void host_pattern_free(struct host_pattern *pattern);
bool host_pattern_match(const struct host_pattern *pattern,
			const struct host *host);

enum host_decision { HOST_DENIED, HOST_ALLOWED, HOST_ASK };

/**
 * struct host_verdict - What the policy says, and why
 * @decision:	Denied; allowed; or unknown, and somebody may be asked
 * @rule:	The rule that decided, or NULL
 * @reason:	Words for the user and the HTTP status line; never NULL
 */
struct host_verdict {
	enum host_decision decision;
	const struct host_rule *rule;
	const char *reason;
};

/* Order: denied, allowed, strict or managed-only, ask, deny */
struct host_verdict host_decide(const struct policy *policy,
				const struct host *host, bool may_ask);

/* True if an allow rule names exactly this address, or a range that holds it:
 * what lifts the resolved-address guard
 */
bool host_address_is_named(const struct policy *policy,
			   const struct host *host);

#endif /* POLICY_HOST_H */
