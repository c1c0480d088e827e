/* SPDX-License-Identifier: Apache-2.0 */
/* gate/dns-server.h - the sandbox's DNS: allowed names get an address of the pool */

#ifndef GATE_DNS_SERVER_H
#define GATE_DNS_SERVER_H

#include <stdbool.h>
#include <stddef.h>

struct gate;
struct host;

enum { SEARCH_LIST_TEXT_MAX = 1024 };	/* Bytes of all domains */

/**
 * struct search_list - Domains of resolv.conf, blanks between them
 *
 * A program's C library looks a name up below each of them, too: before the name
 * itself, or when there is no such name.
 */
struct search_list {
	char text[SEARCH_LIST_TEXT_MAX];
};

/* From a resolv.conf's @text; without a list in it, the domain of @hostname. One
 * that is too long counts as empty.
 */
void search_list_parse(struct search_list *ret, const char *text,
		       const char *hostname);

/* This machine's */
void search_list_read(struct search_list *ret);

/* True if @name is another name below a domain of the list: that is in *@ret.
 * *@at starts at 0; call it until it is false.
 */
bool search_list_next(const struct search_list *search, size_t *at,
		      const struct host *name, struct host *ret);

/* Answer the datagrams that wait on @fd, each from the address it was sent to.
 * No other server is ever asked.
 */
void dns_serve_datagrams(struct gate *gate, int fd);

/* Send the answers that still wait, before their socket is closed */
void dns_send_pending(struct gate *gate);

#endif /* GATE_DNS_SERVER_H */
