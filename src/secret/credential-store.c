/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret/credential-store.c - the document of a service, in one back end
 *
 * Theory of operation: the record is read for every operation. Data is written
 * before the record and deleted after it, so a crash leaves either a store
 * without a record, which is found by its data, or a copy that the record does
 * not name, which is never read.
 */

#include "secret/credential-store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "secret/private-dir.h"

enum { RECORD_MAX = 64 };

static const struct backend *const usual_backends[] = {
	&backend_keyring, &backend_file, &backend_plaintext, NULL,
};

static const struct backend *backend_named(const struct store *s,
					   const char *name)
{
	for (const struct backend *const *b = s->backends; *b; b++) {
		if (!strcmp((*b)->name, name))
			return *b;
	}
	return NULL;
}

static int unknown_backend(const char *name, struct err *err)
{
	return fail(err, -EINVAL,
		    "no backend '%s': use secret-service, file or plaintext",
		    name);
}

static int open_dirs(struct store *s, struct err *err)
{
	auto_free char *home = fs_home();
	auto_free char *state = fs_xdg("XDG_STATE_HOME", ".local/state");
	auto_free char *dir = NULL, *usual = NULL, *seen = NULL;

	if (!state)
		return fail(err, -ENOENT,
			    "there is no home directory: set HOME");
	dir = path_join(state, "cloche/secrets");
	usual = home ? path_join(home, ".local/state/cloche/secrets") : NULL;
	service_full(s->service, dir, usual, s->entry);
	seen = mem_printf("%s/cloche/secret/%s", state, s->entry);
	s->dir = private_dir_new(dir);
	s->seen = private_dir_new(seen);
	return 0;
}

static const char *env_path(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value ? value : NULL;
}

int store_open(struct store *s, const char *service, const char *backend,
	       const struct key_source *key, struct err *err)
{
	int r = service ? service_check(service, err) : 0;

	*s = (struct store){ .backends = usual_backends, .key = *key,
			     .helper_ms = STORE_KEYRING_MS,
			     .lock_ms = STORE_LOCK_MS };
	if (r < 0)
		return r;
	s->forced = backend ? backend_named(s, backend) : NULL;
	if (backend && !s->forced)
		return unknown_backend(backend, err);
	if (!key_is_configured(key)) {
		s->key.passphrase_file = env_path("CLOCHE_PASSPHRASE_FILE");
		s->key.key_file = env_path("CLOCHE_KEY_FILE");
	}
	s->service = mem_strdup(service ? service : "cloche");
	s->files = strcmp(s->service, "cloche") ?
		mem_printf("credentials-%s", s->service) :
		mem_strdup("credentials");
	r = open_dirs(s, err);
	if (r < 0)
		store_close(s);
	return r;
}

void store_close(struct store *s)
{
	bytes_done(&s->master);
	private_dir_free(s->dir);
	private_dir_free(s->seen);
	free(s->service);
	free(s->files);
	*s = (struct store){ 0 };
}

int store_recorded(struct store *s, const struct backend **ret,
		   struct err *err)
{
	auto_free char *name = mem_printf("%s.backend", s->files);
	auto_bytes struct bytes text = { 0 };
	const int r = private_dir_read(s->dir, name, RECORD_MAX, &text, err);
	const struct backend *found;

	if (r <= 0)
		return r;
	bytes_chomp(&text);
	found = backend_named(s, bytes_str(&text));
	if (!found)
		return fail(err, -EBADMSG,
			    "'%s/%s' names no back end: write secret-service, file or plaintext into it",
			    s->dir->path, name);
	*ret = found;
	return 1;
}

/* Record @b, or NULL: there is no store any more */
static int record(struct store *s, const struct backend *b, struct err *err)
{
	auto_free char *name = mem_printf("%s.backend", s->files);
	auto_free char *text = b ? mem_printf("%s\n", b->name) : NULL;
	const struct backend *now = NULL;
	int r;

	if (store_recorded(s, &now, NULL) == 1 && now == b)
		return 0;
	r = b ? private_dir_write(s->dir, name, text, strlen(text), err) :
		private_dir_remove(s->dir, name, err);
	return r < 0 ? r : 0;
}

/* True for failures that show that there is a store: a wrong key, damage, a file
 * that is not safe to use
 */
static bool shows_a_store(int r)
{
	return r == -EKEYREJECTED || r == -EBADMSG || r == -EPERM ||
	       r == -ENOKEY || r == -EFBIG || r == -EINVAL;
}

/* Ask one back end after the other for data, except the forced one: 1 with *@ret,
 * 0 if none has any. One that fails may keep the store, so that is an error,
 * unless the user chose a back end.
 */
static int find_by_data(struct store *s, const struct backend **ret,
			json_t **doc, struct err *err)
{
	for (const struct backend *const *b = s->backends; *b; b++) {
		struct err why = { 0 };
		int r = 0;

		if (*b != s->forced)
			r = (*b)->read(s, doc, &why);
		if (r > 0 || (s->forced && shows_a_store(r))) {
			*ret = *b;
			return 1;
		}
		if (!r || r == -ENOTSUP || s->forced)
			continue;
		if (shows_a_store(r))
			return fail(err, r, "%s", why.msg);
		return fail(err, r,
			    "cannot tell whether %s keeps the secrets: %.400s; make it work, or choose with --backend",
			    (*b)->name, why.msg);
	}
	return 0;
}

/* The back end that keeps the store: 1 with *@ret, 0 if none does, or -errno. Its
 * document comes along where it had to be read to know.
 */
static int find_keeper(struct store *s, const struct backend **ret,
		       json_t **doc, struct err *err)
{
	const int r = store_recorded(s, ret, err);

	return r ? r : find_by_data(s, ret, doc, err);
}

/* @b keeps the store and cannot work here: another one must not take over */
static int explain_missing(const struct store *s, const struct backend *b,
			   int r, struct err *err)
{
	const struct err why = *err;

	return r != -ENOTSUP || s->forced ? r :
		fail(err, r,
		     "the secrets are kept in %s, which does not work here: %.400s; make it work, or name another store with --service",
		     b->name, why.msg);
}

static int read_kept(struct store *s, const struct backend *b, json_t **doc,
		     struct err *err)
{
	return explain_missing(s, b, b->read(s, doc, err), err);
}

int store_read(struct store *s, json_t **ret, struct err *err)
{
	const struct backend *b = NULL;
	int r;

	if (s->forced)
		return s->forced->read(s, ret, err);
	r = find_keeper(s, &b, ret, err);
	return r <= 0 || *ret ? r : read_kept(s, b, ret, err);
}

/* Write to @b, or to the best that works if there is no store yet */
static int write_text(struct store *s, const struct backend *b,
		      const struct bytes *text, struct err *err)
{
	int r = -ENOTSUP;

	if (!text->len || text->len > DOCUMENT_MAX)
		return fail(err, -EFBIG,
			    "all secrets together: larger than %d bytes",
			    DOCUMENT_MAX);
	if (b)
		r = explain_missing(s, b, b->write(s, text, err), err);
	for (size_t i = 0; !b && r == -ENOTSUP && s->backends[i]; i++) {
		r = s->backends[i]->write(s, text, err);
		b = r == -ENOTSUP ? NULL : s->backends[i];
	}
	return r < 0 ? r : record(s, b, err);
}

static int edit_locked(struct store *s, store_change change, void *arg,
		       struct err *err)
{
	json_auto_t *doc = NULL;
	auto_bytes struct bytes text = { 0 };
	const struct backend *b = NULL;
	int r = find_keeper(s, &b, &doc, err);

	if (r < 0)
		return r;
	if (s->forced && b && b != s->forced)
		return fail(err, -EEXIST,
			    "the secrets are kept in %s; 'cloche secret move --backend %s' moves them",
			    b->name, s->forced->name);
	if (s->forced)
		b = s->forced;
	if (b && !doc)
		r = read_kept(s, b, &doc, err);
	if (r < 0)
		return r;
	if (!doc)
		doc = json_object();
	r = change(doc, arg, err);
	if (r <= 0)
		return r;
	document_print(doc, &text);
	r = write_text(s, b, &text, err);
	return r < 0 ? r : 1;
}

static int lock_store(struct store *s, struct err *err)
{
	auto_free char *name = mem_printf("%s.lock", s->files);

	return private_dir_lock(s->dir, name, s->lock_ms, err);
}

/* Nothing was ever written here, and there is nothing to remove: the lock would
 * be the first file, in a directory made for it
 */
static bool has_nothing_to_remove(struct store *s, store_change change,
				  void *arg)
{
	auto_free char *name = mem_printf("%s.lock", s->files);
	json_auto_t *doc = NULL;
	struct err err = { 0 };
	int r;

	if (private_dir_has(s->dir, name))
		return false;
	r = store_read(s, &doc, &err);
	return !r || (r > 0 && change && !change(doc, arg, &err));
}

int store_edit(struct store *s, bool removes, store_change change, void *arg,
	       struct err *err)
{
	auto_close int lock = -1;

	if (removes && has_nothing_to_remove(s, change, arg))
		return 0;
	lock = lock_store(s, err);
	return lock < 0 ? lock : edit_locked(s, change, arg, err);
}

/**
 * struct member - One name and its value; NULL: take it out
 */
struct member {
	const char *name;
	json_t *value;
};

static int set_member(json_t *doc, void *arg, struct err *err)
{
	const struct member *m = arg;

	(void)err;
	if (!m->value)
		return !json_object_del(doc, m->name);
	document_put(doc, m->name, json_incref(m->value));
	return 1;
}

int store_put(struct store *s, const char *name, json_t *value,
	      struct err *err)
{
	json_auto_t *owned = value;
	struct member m = { name, owned };

	return store_edit(s, false, set_member, &m, err);
}

int store_drop(struct store *s, const char *name, struct err *err)
{
	struct member m = { name, NULL };

	return store_edit(s, true, set_member, &m, err);
}

/* From the one that keeps it; without a record, wherever something is */
static int remove_copies(struct store *s, const struct backend *keeper,
			 struct err *err)
{
	int removed = 0;

	if (keeper)
		return explain_missing(s, keeper, keeper->remove(s, err), err);
	for (size_t i = 0; s->backends[i]; i++) {
		const int r = s->backends[i]->remove(s, err);

		if (r < 0 && r != -ENOTSUP)
			return r;
		removed = removed || r > 0;
	}
	return removed;
}

int store_remove(struct store *s, struct err *err)
{
	auto_close int lock = -1;
	const struct backend *recorded = NULL;
	int r;

	if (has_nothing_to_remove(s, NULL, NULL))
		return 0;
	lock = lock_store(s, err);
	if (lock < 0)
		return lock;
	r = store_recorded(s, &recorded, err);
	if (r < 0)
		return r;
	r = remove_copies(s, s->forced ? s->forced : recorded, err);
	/* Removing an unused copy leaves the record */
	if (r >= 0 && (!s->forced || recorded == s->forced) &&
	    record(s, NULL, err) < 0)
		return err->code;
	return r;
}

static int move_document(struct store *s, const struct backend *from,
			 const struct backend *to, json_t *doc,
			 struct err *err)
{
	json_auto_t *there = NULL;
	auto_bytes struct bytes text = { 0 };
	struct err left = { 0 };
	int r = to->read(s, &there, err);

	if (r < 0)
		return r;
	if (there && !json_equal(there, doc))
		return fail(err, -EEXIST,
			    "%s holds other secrets already: 'cloche secret delete --all --backend %s' removes them",
			    to->name, to->name);
	document_print(doc, &text);
	r = to->write(s, &text, err);
	if (!r)
		r = record(s, to, err);
	if (r < 0)
		return r;
	if (from->remove(s, &left) < 0)
		s->warnings |= WARN_LEFTOVER;
	return 1;
}

int store_move(struct store *s, const char *name, struct err *err)
{
	const struct backend *to = backend_named(s, name), *from = NULL;
	json_auto_t *doc = NULL;
	auto_close int lock = -1;
	int r;

	if (!to)
		return unknown_backend(name, err);
	lock = lock_store(s, err);
	if (lock < 0)
		return lock;
	r = find_keeper(s, &from, &doc, err);
	if (r <= 0)
		return r;
	if (from == to)
		return record(s, to, err) < 0 ? err->code : 1;
	if (!doc)
		r = read_kept(s, from, &doc, err);
	return r <= 0 ? r : move_document(s, from, to, doc, err);
}
