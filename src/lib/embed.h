/* SPDX-License-Identifier: Apache-2.0 */
/* lib/embed.h - how the library starts the program, and the program knows it
 *
 * `cloche embedded PID`, where PID is the process that uses the library. The
 * options and the command come in a file without a name, each word ended by a
 * NUL, as `cloche run` has them: nobody reads them from /proc. Everything else
 * goes over the socket (lib/wire.h).
 */

#ifndef LIB_EMBED_H
#define LIB_EMBED_H

#define EMBED_VERB "embedded"

enum {
	EMBED_SOCKET = 3,
	EMBED_WORDS = 4,
	EMBED_WORDS_MAX = 16 << 20,	/* Bytes of options and command */
};

#endif /* LIB_EMBED_H */
