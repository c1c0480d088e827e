/* SPDX-License-Identifier: Apache-2.0 */
/* base/nsswitch.h - how the C library looks names of hosts up
 *
 * That of a program that is linked statically has the modules "files" and "dns"
 * built in. Others are shared objects for another copy of the library, which may
 * be of another version.
 */

#ifndef BASE_NSSWITCH_H
#define BASE_NSSWITCH_H

#include <stdbool.h>

/* Does @text, an nsswitch.conf, want no other module for hosts? */
bool nss_is_built_in(const char *text);

/* The same of this machine's file; always true if linked dynamically */
bool nss_will_do(void);

/* From now on, use only what is built in; nothing if linked dynamically */
void nss_stay_inside(void);

/* Call this before getaddrinfo() of @name: a name with a dot is then not completed with the
 * host's search list, because no policy has allowed the result. 0 or -EIO.
 */
int nss_mean(const char *name);

#endif /* BASE_NSSWITCH_H */
