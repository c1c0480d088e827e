/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret/store.c - a service's secrets: names over one document
 *
 * Theory of operation: reads go to the cache. Writes stand in a queue; the
 * first takes the lock, goes to the back end, tells the cache what became
 * of the document, lets the lock go and answers. Whatever is written is checked
 * first: a document that could not be read again is never stored.
 */

#include "secret/store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "secret/backends.h"
#include "secret/bytes.h"
#include "secret/doc.h"
#include "secret/lock.h"
#include "secret/place.h"

enum write_kind { WRITE_UPDATE, WRITE_DELETE, WRITE_EDIT, WRITE_MOVE };

/**
 * struct write - One write, in the queue or under way
 * @lock:	Held or waited for, by the first in the queue
 * @data:	The new document, or the value of @name
 * @name:	Of the member to set or remove, else NULL
 * @removes:	@name, or all
 * @to:		Where to move the store
 */
struct write {
	struct write *next;
	struct secret_store *store;
	enum write_kind kind;
	struct lock *lock;
	struct bytes data;
	char *name;
	bool removes;
	struct backend *to;
	edit_fn change;
	void *change_arg;
	answer_fn done;
	void *arg;
};

/**
 * struct secret_store - Backends, cache and queue
 * @first:	The queue of writes; @last is where the next is hung on
 * @busy:	@first was started
 * @pumping:	pump() is on the stack
 * @closing:	Nothing new is started
 */
struct secret_store {
	struct loop *loop;
	struct backends backends;
	struct cache *cache;
	struct write *first, **last;
	unsigned int lock_ms;
	bool busy, pumping, closing;
};

static void pump(struct secret_store *store);

int secret_store_open(struct loop *loop, const struct store_options *options,
		      struct secret_store **ret, struct err *err)
{
	struct secret_store *store = mem_zalloc(sizeof(*store));
	const int r = backends_init(&store->backends, loop, options, err);

	if (r < 0) {
		free(store);
		return r;
	}
	store->loop = loop;
	store->cache = cache_new(&store->backends.select.base, options->clock);
	store->last = &store->first;
	store->lock_ms = options->lock_ms ? options->lock_ms : STORE_LOCK_MS;
	*ret = store;
	return 0;
}

const char *secret_store_dir(const struct secret_store *store)
{
	return place_path(store->backends.place);
}

struct backend *secret_store_backend(struct secret_store *store, size_t number)
{
	const struct select *s = &store->backends.select;

	if (s->forced)
		return number ? NULL : s->forced;
	return number < s->count ? s->leaf[number] : NULL;
}

const char *secret_store_kept_in(struct secret_store *store)
{
	struct backend *b = NULL;

	return select_recorded(&store->backends.select, &b, NULL) > 0 ?
		b->ops->name : NULL;
}

static void end_write(struct write *w, const struct answer *answer)
{
	struct secret_store *store = w->store;

	lock_free(take_ptr(w->lock));
	store->first = w->next;
	if (!store->first)
		store->last = &store->first;
	w->done(w->arg, answer);
	bytes_done(&w->data);
	free(w->name);
	free(w);
	store->busy = false;
	pump(store);
}

static void written(void *arg, const struct answer *answer)
{
	struct write *w = arg;
	const bool deleted = w->kind == WRITE_DELETE && answer->r >= 0;
	const struct bytes *known = w->kind == WRITE_UPDATE ? &w->data :
							      answer->data;

	/* "Nothing to change" changed nothing */
	if (answer->r || w->kind == WRITE_DELETE)
		cache_changed(w->store->cache, answer->r > 0 && !deleted ?
			      known : NULL, deleted);
	end_write(w, answer);
}

static int checked_change(void *arg, struct span old,
			  struct bytes *ret, struct err *err)
{
	struct write *w = arg;
	int r = w->change(w->change_arg, old, ret, err);

	if (r <= 0)
		return r;
	r = doc_check(span_of(ret), "all secrets together", err);
	return r < 0 ? r : 1;
}

static void locked(void *arg, int r, const struct err *err)
{
	struct write *w = arg;
	struct backend *top = &w->store->backends.select.base;
	const struct answer answer = { .r = r, .err = *err };

	if (r < 0)
		end_write(w, &answer);
	else if (w->kind == WRITE_UPDATE)
		backend_update(top, &w->data, written, w);
	else if (w->kind == WRITE_DELETE)
		backend_delete(top, written, w);
	else if (w->kind == WRITE_MOVE)
		select_move(&w->store->backends.select, w->to, written, w);
	else
		backend_edit(top, checked_change, w, written, w);
}

static void ask_lock(struct write *w)
{
	struct secret_store *store = w->store;

	lock_take(&w->lock, store->loop, store->backends.place,
		  store->backends.lock, store->lock_ms, locked, w);
}

/* What was there before anybody wrote here: nothing to remove, or there is */
static void looked(void *arg, const struct answer *answer)
{
	const struct answer nothing = { 0 };
	struct write *w = arg;
	struct span value;

	if (answer->r == -ECANCELED)
		end_write(w, answer);
	else if (!answer->r ||
		 (answer->r > 0 && w->name &&
		  !doc_find(span_of(answer->data), w->name, &value)))
		end_write(w, &nothing);
	else
		ask_lock(w);
}

/* Who removes what is not there should leave nothing behind: where nobody has
 * ever written, the lock would be the first file, in a directory made for it
 */
static void begin_write(struct write *w)
{
	struct secret_store *store = w->store;

	if (w->removes && !place_has(store->backends.place, store->backends.lock))
		backend_read(&store->backends.select.base, looked, w);
	else
		ask_lock(w);
}

/* Start the first write, and the next when it is done at once: in a loop, so
 * that a long queue is not a deep stack
 */
static void pump(struct secret_store *store)
{
	if (store->pumping)
		return;
	store->pumping = true;
	while (store->first && !store->busy && !store->closing) {
		store->busy = true;
		begin_write(store->first);
	}
	store->pumping = false;
}

static void add_write(struct secret_store *store, const struct write *fields)
{
	struct write *w = mem_zalloc(sizeof(*w));

	*w = *fields;
	w->store = store;
	if (w->name)
		w->change_arg = w;
	*store->last = w;
	store->last = &w->next;
	pump(store);
}

static void cancel_write(struct write *w)
{
	const struct answer answer = { .r = -ECANCELED };

	end_write(w, &answer);
}

void secret_store_free(struct secret_store *store)
{
	if (!store)
		return;
	store->closing = true;
	backend_cancel(&store->backends.select.base);
	while (store->first)	/* Waiting for the lock, or behind another */
		cancel_write(store->first);
	cache_free(store->cache);
	backends_done(&store->backends);
	free(store);
}

void secret_store_read(struct secret_store *store, answer_fn done, void *arg)
{
	cache_read(store->cache, done, arg);
}

static void ignore(void *arg, const struct answer *answer)
{
	(void)arg;
	(void)answer;
}

void secret_store_prefetch(struct secret_store *store)
{
	cache_read(store->cache, ignore, NULL);
}

void secret_store_clear(struct secret_store *store)
{
	cache_clear(store->cache);
}

void secret_store_update(struct secret_store *store, struct span data,
			 answer_fn done, void *arg)
{
	struct write w = { .kind = WRITE_UPDATE, .done = done, .arg = arg };
	struct err err = { 0 };

	if (doc_check(data, "the document", &err) < 0) {
		answer_fail(done, arg, &err);
		return;
	}
	bytes_add(&w.data, data.p, data.n);
	add_write(store, &w);
}

void secret_store_delete(struct secret_store *store, answer_fn done, void *arg)
{
	add_write(store, &(struct write){ .kind = WRITE_DELETE, .removes = true,
					  .done = done, .arg = arg });
}

void secret_store_edit(struct secret_store *store, edit_fn change,
		       void *change_arg, answer_fn done, void *arg)
{
	add_write(store, &(struct write){ .kind = WRITE_EDIT, .change = change,
					  .change_arg = change_arg,
					  .done = done, .arg = arg });
}

void secret_store_move(struct secret_store *store, const char *backend,
		       answer_fn done, void *arg)
{
	const struct select *s = &store->backends.select;
	struct write w = { .kind = WRITE_MOVE, .done = done, .arg = arg };
	struct err err = { 0 };

	for (size_t i = 0; i < s->count; i++) {
		if (!strcmp(s->leaf[i]->ops->name, backend))
			w.to = s->leaf[i];
	}
	if (w.to) {
		add_write(store, &w);
		return;
	}
	fail(&err, -EINVAL,
	     "no backend '%s': use secret-service, file or plaintext", backend);
	answer_fail(done, arg, &err);
}

static int set_member(void *arg, struct span old,
		      struct bytes *ret, struct err *err)
{
	const struct write *w = arg;

	(void)err;
	doc_put(old, w->name, span_of(&w->data), ret);
	return 1;
}

static int remove_member(void *arg, struct span old,
			 struct bytes *ret, struct err *err)
{
	const struct write *w = arg;
	struct span value;

	(void)err;
	if (!doc_find(old, w->name, &value))
		return 0;
	doc_drop(old, w->name, ret);
	return 1;
}

void secret_store_set(struct secret_store *store, const char *name,
		      struct span value, answer_fn done, void *arg)
{
	struct write w = { .kind = WRITE_EDIT, .change = set_member,
			   .name = mem_strdup(name), .done = done, .arg = arg };

	bytes_add(&w.data, value.p, value.n);
	add_write(store, &w);
}

void secret_store_remove(struct secret_store *store, const char *name,
			 answer_fn done, void *arg)
{
	struct write w = { .kind = WRITE_EDIT, .change = remove_member,
			   .removes = true, .name = mem_strdup(name),
			   .done = done, .arg = arg };

	add_write(store, &w);
}
