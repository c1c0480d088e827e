/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/local.h - what this machine is connected to, and whom it asks */

#ifndef FIREWALL_LOCAL_H
#define FIREWALL_LOCAL_H

struct err;
struct range_list;

/* Add the networks of our interfaces and the default gateways; not loopback */
int local_lan(struct range_list *list, struct err *err);

/* Add the name servers of resolv.conf's text; those on loopback need no rule
 * and are left out
 */
void local_parse_resolvers(const char *text, struct range_list *list);
/* The same from /etc/resolv.conf; none if it is not there */
void local_resolvers(struct range_list *list);

/* Add the default gateways in the text of /proc/net/route or ipv6_route */
void local_parse_route4(const char *text, struct range_list *list);
void local_parse_route6(const char *text, struct range_list *list);

#endif /* FIREWALL_LOCAL_H */
