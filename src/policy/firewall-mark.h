/* SPDX-License-Identifier: Apache-2.0 */
/* policy/firewall-mark.h - files that show whether an egress firewall is up
 *
 * Only root can list the kernel's rules. `cloche firewall` keeps FIREWALL_MARK while a
 * firewall is up; the dev container feature makes /etc/cloche/firewall where one
 * should be up.
 */

#ifndef POLICY_FIREWALL_MARK_H
#define POLICY_FIREWALL_MARK_H

#include <jansson.h>
#include <stdbool.h>

#define FIREWALL_MARK	"/run/cloche/firewall"

/* The content of FIREWALL_MARK, if it is for this network namespace: a new reference;
 * else NULL
 */
json_t *firewall_mark_read(void);

/* The number of this network namespace, as FIREWALL_MARK has it */
json_t *firewall_mark_network(void);

bool firewall_mark_is_up(void);

/* True if a firewall was asked for and none is up in this network namespace */
bool firewall_mark_is_missing(void);

#endif /* POLICY_FIREWALL_MARK_H */
