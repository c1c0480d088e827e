/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/names.h - the addresses of allowed names */

#ifndef FIREWALL_NAMES_H
#define FIREWALL_NAMES_H

#include "firewall/answer.h"

struct err;
struct range_list;

/* Look @name up as programs here do: /etc/hosts, then DNS. With @resolvers
 * (not empty) those are asked, else the C library asks whom it asks. 0 with at
 * least one address, or a negative errno with words.
 */
int names_resolve(const char *name, const struct range_list *resolvers,
		  struct resolver_answer *ret, struct err *err);

/* NULL if the allowed @name may open @address; else what it is, as in "a cloud
 * metadata address". The owner of a public name chooses where it leads, so it
 * opens no private address.
 */
const char *names_guard(const struct host *name, const struct host *address);

#endif /* FIREWALL_NAMES_H */
