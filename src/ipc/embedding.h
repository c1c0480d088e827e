/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/embedding.h - how the library starts the program, and the program knows it
 *
 * `cloche embedded PID`, where PID is the process that uses the library. The
 * command's environment (how many variables, or EMBED_OWN_ENV, then these), the
 * options and the command come in a file without a name, each word ended by a
 * NUL, as `cloche run` has them: nobody reads them from /proc. Everything else
 * goes over the socket (ipc/wire.h).
 */

#ifndef IPC_EMBEDDING_H
#define IPC_EMBEDDING_H

#define EMBED_VERB "embedded"
#define EMBED_OWN_ENV "-"	/* The command has the supervisor's */

enum {
	EMBED_SOCKET = 3,
	EMBED_WORDS = 4,
	EMBED_WORDS_MAX = 16 << 20,	/* Bytes of all that */
};

#endif /* IPC_EMBEDDING_H */
