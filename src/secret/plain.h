/* SPDX-License-Identifier: Apache-2.0 */
/* secret/plain.h - the last resort: a private file in plaintext */

#ifndef SECRET_PLAIN_H
#define SECRET_PLAIN_H

struct backend;
struct place;

/* @place and @name (of the file) stay the caller's and outlive it */
struct backend *plaintext_new(struct place *place, const char *name);

#endif /* SECRET_PLAIN_H */
