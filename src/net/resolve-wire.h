/* SPDX-License-Identifier: Apache-2.0 */
/* net/resolve-wire.h - the messages between a resolver and its helpers */

#ifndef NET_RESOLVE_WIRE_H
#define NET_RESOLVE_WIRE_H

#include <stdint.h>

#include "net/resolve.h"

/**
 * struct resolve_request - A name, NUL-terminated
 */
struct resolve_request {
	uint64_t id;
	char name[HOST_NAME_MAX_LEN + 1];
};

/**
 * struct resolve_reply - What became of it
 */
struct resolve_reply {
	uint64_t id;
	struct resolve_answer answer;
};

#endif /* NET_RESOLVE_WIRE_H */
