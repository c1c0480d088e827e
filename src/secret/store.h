/* SPDX-License-Identifier: Apache-2.0 */
/* secret/store.h - a service's secrets: names over one document
 *
 * The whole of it: the back end that keeps it, a cache in front for readers, the
 * lock around every write. Asynchronous on the caller's loop; every
 * operation answers exactly once, perhaps before it returns. secret/sync.h
 * waits for the answer.
 */

#ifndef SECRET_STORE_H
#define SECRET_STORE_H

#include <stddef.h>

#include "secret/backend.h"
#include "secret/cache.h"
#include "secret/key.h"

struct loop;
struct span;
struct secret_store;

/* The usual service */
#define STORE_SERVICE "cloche"

enum {
	STORE_LOCK_MS = 10000,		/* Waiting for another writer */
	STORE_HELPER_MS = 10000,	/* One run of a helper program */
	STORE_KEYRING_MS = 4000,	/* The same, where nothing is computed */
};

/**
 * struct store_options - Zero-initialise it for the usual
 * @backend:	"secret-service", "file", "plaintext"; NULL: the one
 *		that keeps the store, and for a new one the best that works
 * @service:	Whose document; NULL: STORE_SERVICE
 * @dir:	Of the files; NULL: $XDG_STATE_HOME/cloche/secrets
 * @programs:	Directory of the helper programs; NULL: where they were
 *		installed
 * @key:	Of the encrypted file; where it names none,
 *		$CLOCHE_PASSPHRASE_FILE and $CLOCHE_KEY_FILE count
 * @lock_ms:	0: STORE_LOCK_MS
 * @helper_ms:	0: STORE_HELPER_MS, STORE_KEYRING_MS
 * @slow:	Called with a backend's name when it takes longer than a moment;
 *		or NULL
 * @clock:	For the cache; NULL: the usual
 */
struct store_options {
	const char *backend, *service, *dir, *programs;
	struct key_source key;
	unsigned int lock_ms, helper_ms;
	void (*slow)(const char *backend);
	cache_clock clock;
};

/* Nothing is read or made yet. 0, or -EINVAL for a wrong option. */
int secret_store_open(struct loop *loop, const struct store_options *options,
		      struct secret_store **ret, struct err *err);

/* What is under way is answered with -ECANCELED. Not from a callback. */
void secret_store_free(struct secret_store *store);

/* The directory of the files */
const char *secret_store_dir(const struct secret_store *store);

/* The document, through the cache */
void secret_store_read(struct secret_store *store, answer_fn done, void *arg);

/* Start a read so that later ones find it done; it blocks nobody. Several
 * stores prefetched one after the other are read side by side.
 */
void secret_store_prefetch(struct secret_store *store);

/* Forget what was read: the next read asks the backend */
void secret_store_clear(struct secret_store *store);

/* Replace the document, under the lock; @data is copied */
void secret_store_update(struct secret_store *store, struct span data,
			 answer_fn done, void *arg);

/* Remove the document, under the lock */
void secret_store_delete(struct secret_store *store, answer_fn done, void *arg);

/* Read, change and write, under the lock: see edit_fn */
void secret_store_edit(struct secret_store *store, edit_fn change,
		       void *change_arg, answer_fn done, void *arg);

/* Set member @name to the JSON text @value; both are copied */
void secret_store_set(struct secret_store *store, const char *name,
		      struct span value, answer_fn done, void *arg);

/* Take member @name out: 1, or 0 if there is none */
void secret_store_remove(struct secret_store *store, const char *name,
			 answer_fn done, void *arg);

/* Move everything to another back end, under the lock: 1, or 0 if there is
 * nothing. The store was opened without a back end.
 */
void secret_store_move(struct secret_store *store, const char *backend,
		       answer_fn done, void *arg);

/* Name of the back end that is recorded for the store, or NULL */
const char *secret_store_kept_in(struct secret_store *store);

/* One back end alone, without the cache, to look into; or NULL if @number is one
 * too many. The best comes first.
 */
struct backend *secret_store_backend(struct secret_store *store, size_t number);

#endif /* SECRET_STORE_H */
