/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/verify-try.h - what attempts on the network share */

#ifndef DOCTOR_VERIFY_TRY_H
#define DOCTOR_VERIFY_TRY_H

#include <stddef.h>

struct found;
struct world;

/* Where the gate's proxies are, unless the environment says otherwise */
enum { HTTP_PROXY = 3128, SOCKS_PROXY = 1080 };

/* A connected socket with a time limit on what follows, or -1 with errno */
int try_dial(const char *host, int port, int type);

/* As try_dial(), to a proxy; in a control, to @host instead */
int try_dial_proxy(const struct world *w, int proxy, const char *host);

/* Say who we are to whoever listens */
void try_word(struct found *f, int fd);

/* Send @n bytes to a proxy, take the answer, then say our word. A control has
 * no proxy: it goes to @host itself.
 */
void try_proxy(const struct world *w, int proxy, const char *host,
	       const void *bytes, size_t n, struct found *f);

/* Tell the host to act, and wait until it has; then a moment more */
void try_after_host(struct found *f);

#endif /* DOCTOR_VERIFY_TRY_H */
