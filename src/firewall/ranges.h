/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/ranges.h - a JSON file of networks, as GitHub's meta API gives */

#ifndef FIREWALL_RANGES_H
#define FIREWALL_RANGES_H

#include <stddef.h>

struct err;
struct range_list;

/* Add the networks of a document: an object of lists of "ADDRESS/BITS". Which
 * lists count is in ranges.def. @name is for messages. 0, or a negative errno
 * with words; then some may have been added.
 */
int ranges_parse(const char *text, size_t n, const char *name,
		 struct range_list *list, struct err *err);
/* The same from a file */
int ranges_read(const char *path, struct range_list *list, struct err *err);

#endif /* FIREWALL_RANGES_H */
