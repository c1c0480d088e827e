/* SPDX-License-Identifier: Apache-2.0 */
/* net/rehearse.h - a gate that was just forked, ready for its first caller */

#ifndef NET_REHEARSE_H
#define NET_REHEARSE_H

struct gate;

/* Do what the first connection will make us do, as far as it has no effect. A
 * forked process has its program mapped but not at hand, and its memory only
 * until it writes to it: each page is a fault that somebody would wait for.
 */
void rehearse(const struct gate *gate);

#endif /* NET_REHEARSE_H */
