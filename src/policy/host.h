/* SPDX-License-Identifier: Apache-2.0 */
/* policy/host.h - host names from the wire, patterns for them, and verdicts */

#ifndef POLICY_HOST_H
#define POLICY_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct policy;
struct list_rule;

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

/* Split and validate "name:port", "1.2.3.4:port" or "[v6]:port". Without a
 * port it is @port, and an error where that is 0. Ports are 1 to 65535 in
 * plain decimal. 0, or -EINVAL with *@ret untouched.
 */
int host_parse_authority(const char *text, size_t n, uint16_t port,
			 struct host *ret);

/* The host of an address: @n is 4 or 16 bytes, IPv4-mapped becomes IPv4 */
void host_of_address(const uint8_t *address, size_t n, uint16_t port,
		     struct host *ret);

/* Same name or address, whatever the ports */
bool host_is_same(const struct host *a, const struct host *b);

/* "localhost" or a name below it (RFC 6761) */
bool host_is_localhost(const struct host *host);

/* Append "name", "1.2.3.4" or "[v6]", and ":port" unless it is 0 or @without */
void host_format(const struct host *host, uint16_t without, struct buf *out);

/**
 * struct host_range - Addresses that share their first bits
 * @kind:	HOST_IPV4 or HOST_IPV6
 * @bits:	How many bits count: 0 to 32 or 128
 * @address:	As in struct host; bits that do not count are 0
 */
struct host_range {
	enum host_kind kind;
	uint8_t bits;
	uint8_t address[16];
};

/* In address-ranges.def */
enum range_use {
	RANGE_PRIVATE = 1, RANGE_JAIL = 2, RANGE_NOWHERE = 4, RANGE_METADATA = 8,
};

/* "10.0.0.0/8", "10.1.2.3", "fd00::/8" or "[fd00::]/8", @n bytes. 0, or
 * -EINVAL with *@ret untouched; bits beyond the prefix must be 0.
 */
int host_range_parse(const char *text, size_t n, struct host_range *ret);
bool host_range_has(const struct host_range *range, const struct host *host);

/* Take a proxy's "http://[user:password@]host[:port][/]" apart; the scheme may be
 * missing. *@ret_user are the *@ret_n bytes before the "@", as they are written, or
 * NULL without one. 0; or -EINVAL with a message, which never holds the URL: it may
 * hold a password.
 */
int proxy_parse(const char *url, struct host *ret_host, const char **ret_user,
		size_t *ret_n, struct err *err);

/* Compile a rule's pattern (grammar: host.c). NULL with a message if it is
 * not one. "*" alone is for denials only.
 */
struct host_pattern *host_pattern_new(const char *text, bool deny,
				      struct err *err);
void host_pattern_free(struct host_pattern *pattern);

/* True if @pattern covers @host. A host without a port stands for all of its
 * ports: an allow pattern with a port covers it, a deny pattern does not.
 */
bool host_pattern_match(const struct host_pattern *pattern,
			const struct host *host);

/* The port that @pattern names, or 0 */
uint16_t host_pattern_port(const struct host_pattern *pattern);

/* A warning about a valid pattern that is wider than it looks (anyone can get a
 * name below "*.github.io"), or NULL
 */
const char *host_pattern_advice(const struct host_pattern *pattern);

enum host_decision { HOST_DENIED, HOST_ALLOWED, HOST_ASK };

/**
 * struct host_verdict - The policy's decision about a host
 * @decision:	Denied; allowed; or unknown, and the user may be asked
 * @rule:	The rule that decided, or NULL
 * @reason:	Words for the user and the HTTP status line; never NULL
 */
struct host_verdict {
	enum host_decision decision;
	const struct list_rule *rule;
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

/* True if an allow rule for @host, whichever of them, names its port as well
 */
bool host_port_is_named(const struct policy *policy, const struct host *host);

/* True if a deny rule or deniedResolvedAddresses holds this address: no allow
 * rule lifts it
 */
bool host_address_is_denied(const struct policy *policy,
			    const struct host *host);

#endif /* POLICY_HOST_H */
