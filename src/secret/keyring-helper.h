/* SPDX-License-Identifier: Apache-2.0 */
/* secret/keyring-helper.h - how cloche-secret and cloche-secret-service talk
 *
 *	cloche-secret-service read|write|remove SERVICE
 *
 * write takes the document on standard input, read prints it. The exit status is
 * the result; the reason of a failure is a line on standard error.
 */

#ifndef SECRET_KEYRING_HELPER_H
#define SECRET_KEYRING_HELPER_H

#define KEYRING_HELPER "cloche-secret-service"

enum keyring_result {
	KEYRING_DONE = 0,
	KEYRING_FAILED = 1,
	KEYRING_EMPTY = 10,		/* There is no document */
	KEYRING_UNAVAILABLE = 11,	/* There is no Secret Service */
	KEYRING_LOCKED = 12,
	KEYRING_NOT_INSTALLED = 13,	/* The helper itself is missing */
};

#endif /* SECRET_KEYRING_HELPER_H */
