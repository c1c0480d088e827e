/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/answer.h - a DNS question made, and its answer read */

#ifndef FIREWALL_ANSWER_H
#define FIREWALL_ANSWER_H

#include <stddef.h>
#include <stdint.h>

#include "policy/host.h"

enum {
	ANSWER_QUESTION_MAX = 12 + 255 + 4,
	ANSWER_ADDRESSES_MAX = 64,	/* Kept of one answer */
	ANSWER_MESSAGE_MAX = 65535,
};

/**
 * struct resolver_answer - The addresses in one answer
 */
struct resolver_answer {
	struct host v[ANSWER_ADDRESSES_MAX];
	size_t len;
};

/* Ask for the addresses of @name, of one family; returns the length */
size_t answer_question(const char *name, enum host_kind kind, uint16_t id,
		       uint8_t ret[ANSWER_QUESTION_MAX]);

/* Add the addresses in @p to *@ret. 0, also without any; -ENOENT: no such
 * name; -EMSGSIZE: cut off, ask over TCP; -EAGAIN: the server failed;
 * -EBADMSG: not the answer to question @id.
 */
int answer_read(const uint8_t *p, size_t n, enum host_kind kind, uint16_t id,
		struct resolver_answer *ret);

#endif /* FIREWALL_ANSWER_H */
