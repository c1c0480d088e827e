/* SPDX-License-Identifier: Apache-2.0 */
/* secret/helper.c - a store behind a helper program that speaks JSON: client */

#include "secret/helper.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "secret/backend.h"
#include "secret/bytes.h"
#include "secret/doc.h"
#include "secret/helper-words.h"
#include "secret/run.h"

enum {
	ARGV_MAX = 8,
	HUNG_S = 30,	/* Not asked again for so long */
};

/**
 * struct helper - The client
 * @ops:	Its own copy, for the name
 * @hung:	When it last did not answer in time; 0: never
 */
struct helper {
	struct backend base;
	struct backend_ops ops;
	struct loop *loop;
	char *argv[ARGV_MAX + 1];
	struct { char *name, *value; } parameters[HELPER_PARAMETERS_MAX];
	unsigned int timeout_ms;
	void (*slow)(const char *name);
	time_t hung;
	struct run_list runs;
};

/**
 * struct call - One run of the helper
 */
struct call {
	struct helper *helper;
	struct bytes request;
	answer_fn done;
	void *arg;
};

static void end_call(struct call *call, const struct answer *answer)
{
	call->done(call->arg, answer);
	bytes_done(&call->request);
	free(call);
}

static int garbage(const struct helper *h, struct err *err)
{
	return fail(err, -EPROTO, "'%s' answered with something else than it should",
		    h->argv[0]);
}

/* Its answer as ours; @data gets the document */
static int understand(const struct helper *h, struct span text,
		      struct bytes *data, struct answer *answer)
{
	auto_bytes struct bytes word = { 0 }, message = { 0 };
	struct span version, notes;
	int r;

	if (doc_check_upto(text, DOC_QUOTED_MAX, "answer", NULL) < 0 ||
	    !doc_find(text, "version", &version) ||
	    version.n != 1 || version.p[0] != '0' + HELPER_VERSION ||
	    !doc_find_string(text, "result", &word))
		return garbage(h, &answer->err);
	r = helper_result(bytes_str(&word));
	if (r == -EPROTO)
		return garbage(h, &answer->err);
	if (doc_find(text, "notes", &notes))
		answer->notes = (unsigned int)strtoul(notes.p, NULL, 10) &
				((1U << NOTE_COUNT) - 1);
	if (r < 0) {
		(void)doc_find_string(text, "message", &message);
		return fail(&answer->err, r, "%s", bytes_str(&message));
	}
	if (doc_find_string(text, "data", data)) {
		r = doc_check(span_of(data), h->ops.name, &answer->err);
		if (r < 0)
			return r;
		answer->data = data;
		r = 1;
	}
	return r;
}

static time_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return t.tv_sec + 1;	/* 0 is never */
}

static void on_slow(void *arg)
{
	const struct call *call = arg;

	call->helper->slow(call->helper->ops.name);
}

/* Who asks to store first asks to read: to wait for each would be too long */
static bool still_hangs(const struct helper *h, answer_fn done, void *arg)
{
	struct err err = { 0 };

	if (!h->hung || now() - h->hung > HUNG_S)
		return false;
	fail(&err, -ETIMEDOUT, "'%s' did not answer in time a moment ago",
	     path_base(h->argv[0]));
	answer_fail(done, arg, &err);
	return true;
}

static void ended(void *arg, struct run_result *result)
{
	struct call *call = arg;
	auto_bytes struct bytes data = { 0 };
	struct answer answer = { .r = result->r, .err = result->err };

	if (result->r == -ETIMEDOUT)
		call->helper->hung = now();
	if (result->r == -ENOENT)
		answer.r = answer.err.code = -ENOTSUP;
	else if (!result->r && result->code)
		answer.r = fail(&answer.err, -EIO, "'%s' failed (%d)%s%s",
				call->helper->argv[0], result->code,
				*result->words ? ": " : "", result->words);
	else if (!result->r)
		answer.r = understand(call->helper, span_of(&result->out),
				      &data, &answer);
	end_call(call, &answer);
}

static void send_request(struct backend *b, const char *verb,
			 const struct bytes *data, answer_fn done, void *arg)
{
	struct helper *h = (struct helper *)b;
	struct call *call;
	struct run_spec spec = {
		.argv = (const char *const *)h->argv,
		.output_max = DOC_QUOTED_MAX,
		.timeout_ms = h->timeout_ms,
		.slow = h->slow ? on_slow : NULL,
	};

	if (still_hangs(h, done, arg))
		return;
	call = mem_zalloc(sizeof(*call));
	spec.input = &call->request;
	*call = (struct call){ .helper = h, .done = done, .arg = arg };
	doc_open(&call->request);
	doc_add(&call->request, "version", span_str("1"));
	doc_add_string(&call->request, "verb", verb, strlen(verb));
	for (size_t i = 0; i < HELPER_PARAMETERS_MAX; i++) {
		if (h->parameters[i].name)
			doc_add_string(&call->request, h->parameters[i].name,
				       h->parameters[i].value,
				       strlen(h->parameters[i].value));
	}
	if (data)
		doc_add_string(&call->request, "data", data->p, data->len);
	doc_close(&call->request);
	run_start(&h->runs, h->loop, &spec, ended, call);
}

static void helper_read(struct backend *b, answer_fn done, void *arg)
{
	send_request(b, "read", NULL, done, arg);
}

static void helper_update(struct backend *b, const struct bytes *data,
			  answer_fn done, void *arg)
{
	send_request(b, "update", data, done, arg);
}

static void helper_delete(struct backend *b, answer_fn done, void *arg)
{
	send_request(b, "delete", NULL, done, arg);
}

static void helper_cancel(struct backend *b)
{
	run_cancel_all(&((struct helper *)b)->runs);
}

static void helper_free(struct backend *b)
{
	struct helper *h = (struct helper *)b;

	for (size_t i = 0; i < ARGV_MAX; i++)
		free(h->argv[i]);
	for (size_t i = 0; i < HELPER_PARAMETERS_MAX; i++) {
		free(h->parameters[i].name);
		free(h->parameters[i].value);
	}
	free(h);
}

struct backend *helper_new(struct loop *loop, const struct helper_spec *spec)
{
	const struct helper_parameter *p = spec->parameters;
	struct helper *h = mem_zalloc(sizeof(*h));
	size_t n = 0;

	h->ops = (struct backend_ops){
		.name = spec->name, .read = helper_read,
		.update = helper_update, .delete = helper_delete,
		.cancel = helper_cancel, .free = helper_free,
	};
	h->base.ops = &h->ops;
	h->loop = loop;
	h->timeout_ms = spec->timeout_ms;
	h->slow = spec->slow;
	for (size_t i = 0; spec->argv[i] && i < ARGV_MAX; i++)
		h->argv[i] = mem_strdup(spec->argv[i]);
	for (; p->name; p++) {
		if (!p->value || n == HELPER_PARAMETERS_MAX)
			continue;
		h->parameters[n].name = mem_strdup(p->name);
		h->parameters[n++].value = mem_strdup(p->value);
	}
	return &h->base;
}
