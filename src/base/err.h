/* SPDX-License-Identifier: Apache-2.0 */
/* base/err.h - why something failed, as the user will read it */

#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdbool.h>

enum { ERR_MSG_MAX = 1024 };	/* A path of 255 bytes twice, and text */

/**
 * struct err - The caller's buffer for one message
 * @code:	Negative errno, or 0 if nothing failed yet
 * @msg:	One line, no newline, outermost context first
 */
struct err {
	int code;
	char msg[ERR_MSG_MAX];
};

/* Record a failure. Returns @code, so that "return fail(...)" is the idiom.
 * @err may be NULL when the message will not be read. errno survives.
 * Control characters are shown as \xNN: names come from untrusted sources.
 */
int fail(struct err *err, int code, const char *fmt, ...)
	__attribute__((cold, format(printf, 3, 4)));

/* As fail(), and appends ": " and the text of errno. Returns -errno; -EIO if that
 * is not set, for 0 would be success.
 */
int fail_errno(struct err *err, const char *fmt, ...)
	__attribute__((cold, format(printf, 2, 3)));

/* Prefix "<context>: " to an explanation on its way up. Returns @code, which is
 * its code: an @err that is NULL loses the message and nothing else.
 */
int fail_in(struct err *err, int code, const char *fmt, ...)
	__attribute__((cold, format(printf, 3, 4)));

/* True if @error means that descriptors or memory ran out */
bool err_is_shortage(int error);

#endif /* BASE_ERR_H */
