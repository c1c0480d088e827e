/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/nested-address.h - how a sandbox announces itself to the one around it
 *
 * Its init calls connect() with this address, an abstract name that has no owner. The
 * observer of the sandbox around it recognises it and makes the call succeed
 * (observe/nested-sandbox.h); without one the call fails.
 */

#ifndef IPC_NESTED_ADDRESS_H
#define IPC_NESTED_ADDRESS_H

#include <stdint.h>
#include <sys/socket.h>

#define NESTED_NAME "\0cloche-nested"

enum { NESTED_PORTS = 2 };

/**
 * struct nested_address - A socket address of the family AF_UNIX
 * @name:	NESTED_NAME
 * @ports:	Of 127.0.0.1: the only ones to which processes of the inner sandbox may
 *		be connected
 */
struct nested_address {
	sa_family_t family;
	char name[sizeof(NESTED_NAME) + 1]; /* An even number, no padding */
	uint16_t ports[NESTED_PORTS];
};

#endif /* IPC_NESTED_ADDRESS_H */
