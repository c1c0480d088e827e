/* SPDX-License-Identifier: Apache-2.0 */
/* secret/sync.h - wait for an answer
 *
 *	auto_sync struct sync s = { .loop = loop };
 *	secret_store_read(store, sync_answer, &s);
 *	r = sync_wait(&s);
 */

#ifndef SECRET_SYNC_H
#define SECRET_SYNC_H

#include "secret/backend.h"
#include "secret/bytes.h"

struct loop;

/**
 * struct sync - Room for one answer
 * @loop:	Of the store; nobody else is running it
 * @answered:	The rest is filled in
 * @answer:	As it came; its data is in @data
 */
struct sync {
	struct loop *loop;
	bool answered, waiting;
	struct answer answer;
	struct bytes data;
};

void sync_answer(void *arg, const struct answer *answer);

/* The answer's result */
int sync_wait(struct sync *s);

void sync_done(struct sync *s);

#define auto_sync	__attribute__((cleanup(sync_done)))

#endif /* SECRET_SYNC_H */
