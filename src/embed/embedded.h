/* SPDX-License-Identifier: Apache-2.0 */
/* embed/embedded.h - the program as the supervisor of a run of the library */

#ifndef EMBED_EMBEDDED_H
#define EMBED_EMBEDDED_H

struct err;

/* Supervise a run that the library started (ipc/wire.h). Messages go to the library.
 * Return: the exit status.
 */
int cli_embedded(int argc, char **argv, struct err *err);

#endif /* EMBED_EMBEDDED_H */
