/* SPDX-License-Identifier: Apache-2.0 */
/* cli/secret/names.c - set, get, delete, list */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "cli/secret/secret.h"
#include "secret/bytes.h"
#include "secret/doc.h"
#include "secret/name.h"
#include "secret/store.h"
#include "secret/sync.h"

static void print_notes(const struct answer *answer)
{
	for (int i = 0; i < NOTE_COUNT; i++) {
		const char *text = note_text((enum note)i);
		const bool why = (1U << i) & NOTE_STALE;

		if (answer->notes & (1U << i))
			fprintf(stderr, "Warning: %s%s%s\n", text,
				why ? ": " : "", why ? answer->err.msg : "");
	}
}

int session_wait(struct sync *sync, struct err *err)
{
	const int r = sync_wait(sync);

	if (r < 0)
		*err = sync->answer.err;
	else
		print_notes(&sync->answer);
	return r;
}

int session_read(struct secret_session *s, struct bytes *ret, struct err *err)
{
	auto_sync struct sync sync = { .loop = s->loop };
	int r;

	secret_store_read(s->store, sync_answer, &sync);
	r = session_wait(&sync, err);
	if (r > 0)
		bytes_move(ret, &sync.data);
	return r;
}

int session_set(struct secret_session *s, const char *name,
		const struct bytes *value, struct err *err)
{
	auto_sync struct sync sync = { .loop = s->loop };

	secret_store_set(s->store, name, span_of(value), sync_answer, &sync);
	return session_wait(&sync, err);
}

static int check_word(const struct secret_session *s, struct err *err)
{
	return name_check(s->args->word, strlen(s->args->word), err);
}

int secret_set(struct secret_session *s, struct err *err)
{
	auto_bytes struct bytes value = { 0 }, json = { 0 };
	int r = check_word(s, err);

	if (!r)
		r = input_value(s->args->word, &value, err);
	if (r < 0)
		return r;
	doc_quote(&json, value.p, value.len);
	r = session_set(s, s->args->word, &json, err);
	return r < 0 ? r : EXIT_YES;
}

static int no_secret(const struct secret_session *s)
{
	struct err err;

	fail(&err, -ENOENT, "there is no secret '%s'", s->args->word);
	fprintf(stderr, "cloche: %s\n", err.msg);
	return EXIT_NO;
}

/* {"version":1,"name":...,"value":...} */
static void as_json(const char *name, struct span value, struct bytes *ret)
{
	doc_open(ret);
	doc_add(ret, "version", span_str("1"));
	doc_add_string(ret, "name", name, strlen(name));
	doc_add(ret, "value", value);
	doc_close(ret);
}

static int print_value(struct secret_session *s, struct span found,
		       struct err *err)
{
	auto_bytes struct bytes value = { 0 };
	int r;

	if (s->args->json)
		as_json(s->args->word, found, &value);
	else if (doc_unquote(found, &value) < 0)
		bytes_add(&value, found.p, found.n);
	r = output_line(&value, err);
	return r < 0 ? r : EXIT_YES;
}

int secret_get(struct secret_session *s, struct err *err)
{
	auto_sync struct sync sync = { .loop = s->loop };
	struct span found;
	int r = check_word(s, err);

	if (!r)
		r = output_allowed(s, err);
	if (r < 0)
		return r;
	secret_store_read(s->store, sync_answer, &sync);
	if (sync_wait(&sync) < 0) {
		*err = sync.answer.err;
		return err->code;
	}
	if (!doc_find(span_of(&sync.data), s->args->word, &found))
		return no_secret(s);
	print_notes(&sync.answer);
	return print_value(s, found, err);
}

int secret_delete(struct secret_session *s, struct err *err)
{
	auto_sync struct sync sync = { .loop = s->loop };
	int r;

	if (!s->args->word == !s->args->all)
		return fail(err, -EINVAL,
			    "'secret delete' takes a NAME, or --all");
	if (s->args->all) {
		secret_store_delete(s->store, sync_answer, &sync);
		r = session_wait(&sync, err);
		return r < 0 ? r : EXIT_YES;
	}
	r = check_word(s, err);
	if (r < 0)
		return r;
	secret_store_remove(s->store, s->args->word, sync_answer, &sync);
	r = session_wait(&sync, err);
	if (!r)
		return no_secret(s);
	return r < 0 ? r : EXIT_YES;
}

/**
 * struct names - The names of a document
 */
struct names {
	char **v;
	size_t len, cap;
};

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void collect(struct span doc, struct names *names)
{
	struct doc_member m;
	size_t cursor = 0;

	while (doc_next(doc, &cursor, &m)) {
		auto_bytes struct bytes name = { 0 };

		(void)doc_unquote(m.key, &name);
		*vec_push(names) = mem_strdup(bytes_str(&name));
	}
	if (names->len)
		qsort(names->v, names->len, sizeof(*names->v), compare);
}

static void print_json(const struct names *names)
{
	auto_bytes struct bytes out = { 0 };

	for (size_t i = 0; i < names->len; i++) {
		bytes_adds(&out, i ? "," : "");
		doc_quote(&out, names->v[i], strlen(names->v[i]));
	}
	printf("{\"version\":1,\"secrets\":[%s]}\n", bytes_str(&out));
}

/* A foreign document may hold names that we would refuse: one line each, and
 * nothing that moves the cursor
 */
static void print_line(const char *name)
{
	struct err safe;

	fail(&safe, -EINVAL, "%s", name);
	puts(safe.msg);
}

int secret_list(struct secret_session *s, struct err *err)
{
	auto_bytes struct bytes doc = { 0 };
	struct names names = { 0 };
	int r = session_read(s, &doc, err);

	if (r < 0)
		return r;
	collect(span_of(&doc), &names);
	if (s->args->json)
		print_json(&names);
	for (size_t i = 0; i < names.len; i++) {
		if (!s->args->json)
			print_line(names.v[i]);
		free(names.v[i]);
	}
	free(names.v);
	return EXIT_YES;
}
