/* SPDX-License-Identifier: Apache-2.0 */
/* secret/test-fake.h - a backend in memory that fails as it is told */

#ifndef SECRET_TEST_FAKE_H
#define SECRET_TEST_FAKE_H

#include "secret/backend.h"
#include "secret/bytes.h"

enum { FAKE_LOG = 32 };

/**
 * struct fake - The backend; zero-initialise it, then fake_init()
 * @data:	The document; "" for none
 * @fail_read:	0, or the errno that every read answers with; and so on
 * @notes:	With every success
 * @hold:	Do not answer a read before fake_release()
 * @log:	What was called: 'r', 'u', 'd'
 */
struct fake {
	struct backend base;
	char data[256];
	int fail_read, fail_update, fail_delete;
	unsigned int notes;
	bool hold;
	char log[FAKE_LOG];
	struct { answer_fn done; void *arg; char then[256]; int fail; } held[8];
	size_t held_count;
};

/* In place; backend_free() leaves it alone. @data may be NULL. */
struct backend *fake_init(struct fake *fake, const char *data);

/* Change the document behind everybody's back */
void fake_set(struct fake *fake, const char *data);

/* Fail at everything with @code */
void fake_break(struct fake *fake, int code);

/* Answer the oldest read that is held, as the store was when it was asked */
void fake_release(struct fake *fake);

#endif /* SECRET_TEST_FAKE_H */
