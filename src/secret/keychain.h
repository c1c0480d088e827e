/* SPDX-License-Identifier: Apache-2.0 */
/* secret/keychain.h - the macOS keychain, through its program `security` */

#ifndef SECRET_KEYCHAIN_H
#define SECRET_KEYCHAIN_H

struct backend;
struct loop;

enum {
	/* `security -i` reads a line into 4096 bytes and quietly takes the
	 * rest for another command; well below that nothing can go wrong
	 */
	KEYCHAIN_LINE_MAX = 4096 - 64,
	KEYCHAIN_ARGUMENT_MAX = 120 << 10,	/* The kernel's is 128 K */
};

/* The exit status of `security` for an item that does not exist, and for a
 * keychain that is locked (the low byte of the framework's error)
 */
enum { KEYCHAIN_NOT_FOUND = 44, KEYCHAIN_LOCKED = 36 };

/* @program: absolute path of `security`; @service and @account: plain words.
 * Copies are taken.
 */
struct backend *keychain_new(struct loop *loop, const char *program,
			     const char *service, const char *account,
			     unsigned int timeout_ms);

#endif /* SECRET_KEYCHAIN_H */
