/* SPDX-License-Identifier: Apache-2.0 */
/* secret/api.c - the public functions of cloche-secret.h */

#include <cloche-secret.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/loop.h"
#include "base/mem.h"
#include "secret/bytes.h"
#include "secret/doc.h"
#include "secret/name.h"
#include "secret/store.h"

/* The bits are the notes of secret/notes.def, in their order */
_Static_assert((int)CLOCHE_SECRET_PLAINTEXT == (int)NOTE_PLAINTEXT, "note");
_Static_assert((int)CLOCHE_SECRET_STALE == (int)NOTE_STALE, "note");
_Static_assert((int)CLOCHE_SECRET_LEFTOVER == (int)NOTE_LEFTOVER, "note");
_Static_assert((int)CLOCHE_SECRET_ROLLBACK == (int)NOTE_ROLLBACK, "note");
_Static_assert((int)CLOCHE_SECRET_LOOSE_KEY == (int)NOTE_LOOSE_KEY, "note");

/**
 * struct cloche_secrets - A store on a loop of its own
 * @under_way:	Operations that were not answered yet
 * @waiting:	cloche_secrets_wait() is on the stack
 * @last:	What the last ..._now() was told
 */
struct cloche_secrets {
	struct loop *loop;
	struct secret_store *store;
	unsigned int under_way;
	bool waiting;
	struct answer last;
};

struct cloche_secret_value {
	struct bytes bytes;
};

/**
 * struct request - One operation
 * @name:	Of the value that a get is after, else NULL
 */
struct request {
	cloche_secrets *secrets;
	char *name;
	cloche_secret_fn fn;
	void *arg;
};

/* A field of the caller's struct, if the caller's version has it */
#define HAS(options, field)						\
	((options) && (options)->size >=				\
	 offsetof(struct cloche_secret_options, field) +		\
	 sizeof((options)->field))
#define FIELD(options, field) (HAS(options, field) ? (options)->field : 0)

int cloche_secrets_open(const struct cloche_secret_options *o,
			cloche_secrets **ret, char *why, size_t why_size)
{
	const struct store_options options = {
		.backend = FIELD(o, backend), .service = FIELD(o, service),
		.dir = FIELD(o, directory), .programs = FIELD(o, programs),
		.helper_ms = FIELD(o, timeout_ms),
		.key = { .passphrase_file = FIELD(o, passphrase_file),
			 .key_file = FIELD(o, key_file),
			 .keyring = FIELD(o, keyring) },
	};
	struct cloche_secrets *s = mem_zalloc(sizeof(*s));
	struct err err = { 0 };
	int r = loop_new(&s->loop, &err);

	if (!r)
		r = secret_store_open(s->loop, &options, &s->store, &err);
	if (r < 0) {
		loop_free(s->loop);
		free(s);
		if (why)
			(void)snprintf(why, why_size, "%s", err.msg);
		return r;
	}
	*ret = s;
	return 0;
}

void cloche_secrets_free(cloche_secrets *secrets)
{
	if (!secrets)
		return;
	secret_store_free(secrets->store);
	loop_free(secrets->loop);
	free(secrets);
}

int cloche_secrets_fd(const cloche_secrets *secrets)
{
	return loop_fd(secrets->loop);
}

int cloche_secrets_turn(cloche_secrets *secrets)
{
	return loop_turn(secrets->loop);
}

int cloche_secrets_wait(cloche_secrets *secrets)
{
	int r = 0;

	secrets->waiting = true;
	while (secrets->under_way && r >= 0)
		r = loop_run(secrets->loop);
	secrets->waiting = false;
	return r;
}

static struct request *request_new(cloche_secrets *secrets, const char *name,
				   cloche_secret_fn fn, void *arg)
{
	struct request *q = mem_zalloc(sizeof(*q));

	*q = (struct request){ secrets, name ? mem_strdup(name) : NULL, fn,
			       arg };
	secrets->under_way++;
	return q;
}

static void finish(struct request *q, const struct answer *answer)
{
	cloche_secrets *secrets = q->secrets;
	const struct cloche_secret_answer out = {
		.size = sizeof(out),
		.result = answer->r,
		.data = answer->data ? bytes_str(answer->data) : NULL,
		.length = answer->data ? answer->data->len : 0,
		.warnings = answer->notes,
		.message = answer->err.msg,
	};

	if (q->fn)
		q->fn(q->arg, &out);
	free(q->name);
	free(q);
	if (!--secrets->under_way && secrets->waiting)
		loop_stop(secrets->loop, 0);
}

static void on_done(void *arg, const struct answer *answer)
{
	struct answer plain = *answer;

	plain.data = NULL;	/* Nobody asked for the whole document */
	finish(arg, &plain);
}

static void on_read(void *arg, const struct answer *answer)
{
	finish(arg, answer);
}

/* The document is here: find the value in it */
static void on_document(void *arg, const struct answer *answer)
{
	struct request *q = arg;
	auto_bytes struct bytes value = { 0 };
	struct answer found = *answer;
	struct span at;

	found.data = NULL;
	if (answer->r > 0) {
		found.r = doc_find(span_of(answer->data), q->name, &at);
		if (found.r && doc_unquote(at, &value) < 0)
			bytes_add(&value, at.p, at.n);
		found.data = found.r ? &value : NULL;
	}
	finish(q, &found);
}

static bool refused(struct request *q, int r, struct err *err)
{
	struct answer answer = { .r = r, .err = *err };

	if (r < 0)
		finish(q, &answer);
	return r < 0;
}

void cloche_secret_get(cloche_secrets *secrets, const char *name,
		       cloche_secret_fn fn, void *arg)
{
	struct request *q = request_new(secrets, name, fn, arg);
	struct err err = { 0 };

	if (!refused(q, name_check(name, strlen(name), &err), &err))
		secret_store_read(secrets->store, on_document, q);
}

void cloche_secret_set(cloche_secrets *secrets, const char *name,
		       const char *value, size_t length, cloche_secret_fn fn,
		       void *arg)
{
	struct request *q = request_new(secrets, NULL, fn, arg);
	auto_bytes struct bytes copy = { 0 }, json = { 0 };
	struct err err = { 0 };

	/* A copy that ends with a NUL: the checks look ahead */
	bytes_add(&copy, value, length);
	if (refused(q, name_check(name, strlen(name), &err), &err) ||
	    refused(q, value_check(copy.p, length, &err), &err))
		return;
	doc_quote(&json, copy.p, length);
	secret_store_set(secrets->store, name, span_of(&json), on_done, q);
}

void cloche_secret_delete(cloche_secrets *secrets, const char *name,
			  cloche_secret_fn fn, void *arg)
{
	struct request *q = request_new(secrets, NULL, fn, arg);
	struct err err = { 0 };

	if (!refused(q, name_check(name, strlen(name), &err), &err))
		secret_store_remove(secrets->store, name, on_done, q);
}

void cloche_secrets_read(cloche_secrets *secrets, cloche_secret_fn fn,
			 void *arg)
{
	secret_store_read(secrets->store, on_read,
			  request_new(secrets, NULL, fn, arg));
}

void cloche_secrets_update(cloche_secrets *secrets, const char *json,
			   size_t length, cloche_secret_fn fn, void *arg)
{
	auto_bytes struct bytes copy = { 0 };

	bytes_add(&copy, json, length);
	secret_store_update(secrets->store, span_of(&copy), on_done,
			    request_new(secrets, NULL, fn, arg));
}

void cloche_secrets_delete(cloche_secrets *secrets, cloche_secret_fn fn,
			   void *arg)
{
	secret_store_delete(secrets->store, on_done,
			    request_new(secrets, NULL, fn, arg));
}

void cloche_secrets_prefetch(cloche_secrets *secrets)
{
	secret_store_prefetch(secrets->store);
}

void cloche_secrets_clear(cloche_secrets *secrets)
{
	secret_store_clear(secrets->store);
}

/**
 * struct now - The answer that somebody waits for
 */
struct now {
	cloche_secrets *secrets;
	struct cloche_secret_value *value;
};

static void on_now(void *arg, const struct cloche_secret_answer *answer)
{
	struct now *now = arg;
	struct answer *last = &now->secrets->last;

	*last = (struct answer){ .r = answer->result,
				 .notes = answer->warnings };
	(void)snprintf(last->err.msg, sizeof(last->err.msg), "%s",
		       answer->message);
	if (answer->data) {
		now->value = mem_zalloc(sizeof(*now->value));
		bytes_add(&now->value->bytes, answer->data, answer->length);
	}
}

static int wait_now(cloche_secrets *secrets)
{
	const int r = cloche_secrets_wait(secrets);

	return r < 0 ? r : secrets->last.r;
}

int cloche_secret_get_now(cloche_secrets *secrets, const char *name,
			  struct cloche_secret_value **ret)
{
	struct now now = { .secrets = secrets };
	int r;

	cloche_secret_get(secrets, name, on_now, &now);
	r = wait_now(secrets);
	if (r == 1)
		*ret = now.value;
	else
		cloche_secret_value_free(now.value);
	return r;
}

int cloche_secret_set_now(cloche_secrets *secrets, const char *name,
			  const char *value, size_t length)
{
	struct now now = { .secrets = secrets };

	cloche_secret_set(secrets, name, value, length, on_now, &now);
	return wait_now(secrets);
}

int cloche_secret_delete_now(cloche_secrets *secrets, const char *name)
{
	struct now now = { .secrets = secrets };

	cloche_secret_delete(secrets, name, on_now, &now);
	return wait_now(secrets);
}

const char *cloche_secrets_message(const cloche_secrets *secrets)
{
	return secrets->last.err.msg;
}

unsigned int cloche_secrets_warnings(const cloche_secrets *secrets)
{
	return secrets->last.notes;
}

const char *cloche_secret_data(const struct cloche_secret_value *value)
{
	return bytes_str(&value->bytes);
}

size_t cloche_secret_length(const struct cloche_secret_value *value)
{
	return value->bytes.len;
}

void cloche_secret_value_free(struct cloche_secret_value *value)
{
	if (!value)
		return;
	bytes_done(&value->bytes);
	free(value);
}

int cloche_secret_harden(void)
{
	const struct rlimit core = { 1, 1 };
	struct rlimit lock;

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	(void)setrlimit(RLIMIT_CORE, &core);
	if (!getrlimit(RLIMIT_MEMLOCK, &lock)) {
		lock.rlim_cur = lock.rlim_max;
		(void)setrlimit(RLIMIT_MEMLOCK, &lock);
	}
	return 0;
}
