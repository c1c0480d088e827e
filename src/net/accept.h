/* SPDX-License-Identifier: Apache-2.0 */
/* net/accept.h - where connections come from, and what they are meant to be */

#ifndef NET_ACCEPT_H
#define NET_ACCEPT_H

#include "plan/listener.h"

struct gate;

/* Serve one more socket, which is taken. 0 or a negative errno. */
int accept_add(struct gate *gate, struct listener row, int fd);

/* Close them all */
void accept_done(struct gate *gate);

#endif /* NET_ACCEPT_H */
