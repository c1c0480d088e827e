/* SPDX-License-Identifier: Apache-2.0 */
/* secret/credential-store.h - the document of a service, in one back end
 *
 * The first write chooses the back end, the best that works or the one that the
 * caller names, and records its name in a small file beside the lock. From then
 * on only that one is asked; if it fails, the operation fails. Without a record,
 * the first back end that has data keeps the store.
 */

#ifndef SECRET_CREDENTIAL_STORE_H
#define SECRET_CREDENTIAL_STORE_H

#include "secret/backend.h"

enum {
	STORE_LOCK_MS = 10000,		/* Waiting for another writer */
	STORE_KEYRING_MS = 4000,	/* One run of the keyring's helper */
};

/* Open the store of @service (NULL: cloche) with its usual back ends; @backend is
 * the one to use in any case, or NULL. Nothing is read or made yet. The strings of
 * @key outlive the store; without a key, $CLOCHE_PASSPHRASE_FILE and
 * $CLOCHE_KEY_FILE count. 0, or -EINVAL for a wrong name.
 */
int store_open(struct store *s, const char *service, const char *backend,
	       const struct key_source *key, struct err *err);
void store_close(struct store *s);

/* The document: 1 with *@ret, which the caller releases, 0 if there is none */
int store_read(struct store *s, json_t **ret, struct err *err);

/* Change @doc. 1 to store it, 0 if there is nothing to change, or -errno. */
typedef int (*store_change)(json_t *doc, void *arg, struct err *err);

/* Read, change and write, under the lock. What @change returned, or -errno. With
 * @removes, a store that was never written is left without any file.
 */
int store_edit(struct store *s, bool removes, store_change change, void *arg,
	       struct err *err);

/* Set the member @name to @value, which is taken over: 1 or a negative errno */
int store_put(struct store *s, const char *name, json_t *value,
	      struct err *err);

/* Take the member @name out: 1, or 0 if there is none */
int store_drop(struct store *s, const char *name, struct err *err);

/* Remove the document: 1, or 0 if there is none */
int store_remove(struct store *s, struct err *err);

/* Move the document to the back end @name: write it there, record that, delete
 * the old copy. 1, or 0 if there is nothing to move. Not with a forced back end.
 */
int store_move(struct store *s, const char *name, struct err *err);

/* The recorded back end: 1 with *@ret, 0 if there is no record, or -errno */
int store_recorded(struct store *s, const struct backend **ret,
		   struct err *err);

#endif /* SECRET_CREDENTIAL_STORE_H */
