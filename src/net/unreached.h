/* SPDX-License-Identifier: Apache-2.0 */
/* net/unreached.h - datagrams that nobody takes have a record, too */

#ifndef NET_UNREACHED_H
#define NET_UNREACHED_H

struct gate;

/* Report what the kernel refused, as a LISTENER_UNREACHED socket tells it; each
 * destination once, as far as can be remembered
 */
void unreached_tell(struct gate *gate, int fd);

#endif /* NET_UNREACHED_H */
