/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/nft.h - the kernel's tables, through the program nft */

#ifndef FIREWALL_NFT_H
#define FIREWALL_NFT_H

#include <jansson.h>

struct buf;
struct err;

enum { NFT_OUTPUT_MAX = 4 << 20 };

/* 0 if nft is here and we may change this network namespace, else a negative
 * errno with words
 */
int nft_check(struct err *err);

/* Load @text as one transaction: all of it or nothing */
int nft_load(const struct buf *text, struct err *err);

/* `nft -j list WORDS...` as its list of objects; NULL with words on failure,
 * json_decref() the result
 */
json_t *nft_list(const char *const *words, struct err *err);

#endif /* FIREWALL_NFT_H */
