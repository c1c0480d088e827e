/* SPDX-License-Identifier: Apache-2.0 */
/* net/accept.h - where connections come from, and what they are meant to be */

#ifndef NET_ACCEPT_H
#define NET_ACCEPT_H

#include <stdint.h>

#include "plan/listener.h"

struct gate;

/* Serve one more socket, which is taken; @id is what accept_remove() calls it,
 * 0 if it stays. 0 or a negative errno.
 */
int accept_add(struct gate *gate, struct listener row, uint32_t id, int fd);

/* Descriptors that are kept for the day when there is none left. One is given up
 * before something that needs one, which then does not fail; all that can be had
 * are taken back after it.
 */
void accept_give_spare(struct gate *gate);
void accept_take_spares(struct gate *gate);

/* Serve those who wait there, then close it */
void accept_remove(struct gate *gate, uint32_t id);

/* Serve those who wait, and nobody after them */
void accept_finish(struct gate *gate);

#endif /* NET_ACCEPT_H */
