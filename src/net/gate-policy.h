/* SPDX-License-Identifier: Apache-2.0 */
/* net/gate-policy.h - the network's part of a policy, as text for the gate
 *
 * A gate is forked with its first policy; later ones reach it in parts. Only
 * what the network asks for is in it.
 */

#ifndef NET_GATE_POLICY_H
#define NET_GATE_POLICY_H

#include <stddef.h>

struct buf;
struct err;
struct policy;

enum { GATE_POLICY_MAX = 32 << 20 };	/* Bytes */

/* Append it as one JSON object */
void gate_policy_write(const struct policy *policy, struct buf *out);

/* The reverse: a new policy, or NULL with words */
struct policy *gate_policy_read(const char *text, size_t n, struct err *err);

#endif /* NET_GATE_POLICY_H */
