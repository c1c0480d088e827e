/* SPDX-License-Identifier: Apache-2.0 */
/* net/search.h - names that a program's C library makes up
 *
 * It looks a name up below each domain of the search list in resolv.conf, too:
 * before the name itself, or when there is no such name.
 */

#ifndef NET_SEARCH_H
#define NET_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

struct host;

enum { SEARCH_TEXT_MAX = 1024 };	/* Bytes of all domains */

/**
 * struct search - The domains, blanks between them
 */
struct search {
	char text[SEARCH_TEXT_MAX];
};

/* From a resolv.conf's @text; without a list in it, the domain of @hostname. One
 * that is too long is none.
 */
void search_parse(struct search *ret, const char *text, const char *hostname);

/* This machine's */
void search_read(struct search *ret);

/* If @name is another one below a domain of the list: true with that in *@ret.
 * *@at starts at 0; call it until it is false.
 */
bool search_next(const struct search *search, size_t *at,
		 const struct host *name, struct host *ret);

#endif /* NET_SEARCH_H */
