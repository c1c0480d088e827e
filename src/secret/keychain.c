/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret/keychain.c - the macOS keychain, through its program `security`
 *
 * The document is handed over in hexadecimal, so that no quoting can go wrong,
 * and on standard input, so that it is in no argument list; only a document too
 * long for that goes through the arguments, with a note. `security` prints
 * what it finds as text, or in hexadecimal when it is not plain ASCII.
 */

#include "secret/keychain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "secret/backend.h"
#include "secret/bytes.h"
#include "secret/doc.h"
#include "secret/run.h"

struct keychain {
	struct backend base;
	struct loop *loop;
	char *program, *service, *account;
	unsigned int timeout_ms;
	struct run_list runs;
};

/**
 * struct call - One run of `security`
 * @input:	For its standard input
 * @hex:	For its arguments, when it must be
 */
struct call {
	struct bytes input, hex;
	unsigned int notes;
	answer_fn done;
	void *arg;
};

static struct call *call_new(answer_fn done, void *arg)
{
	struct call *call = mem_zalloc(sizeof(*call));

	call->done = done;
	call->arg = arg;
	return call;
}

static void end_call(struct call *call, const struct answer *answer)
{
	call->done(call->arg, answer);
	bytes_done(&call->input);
	bytes_done(&call->hex);
	free(call);
}

/* Its exit status as a result: 1, 0 for "no such item", or -errno */
static int outcome(const struct run_result *result, struct err *err)
{
	if (result->r < 0) {
		*err = result->err;
		return result->r == -ENOENT ? -ENOTSUP : result->r;
	}
	switch (result->code) {
	case 0:
		return 1;
	case KEYCHAIN_NOT_FOUND:
		return 0;
	case KEYCHAIN_LOCKED:
		return fail(err, -EACCES,
			    "the keychain is locked: run security unlock-keychain");
	default:
		return fail(err, -EIO, "security failed (%d)%s%s",
			    result->code, *result->words ? ": " : "",
			    result->words);
	}
}

static void wrote(void *arg, struct run_result *result)
{
	struct call *call = arg;
	struct answer answer = { .notes = call->notes };

	answer.r = outcome(result, &answer.err);
	/* "No such item" is no answer to storing one */
	if (!answer.r)
		answer.r = fail(&answer.err, -EIO,
				"security did not store the entry");
	end_call(call, &answer);
}

static void deleted(void *arg, struct run_result *result)
{
	struct answer answer = { 0 };

	answer.r = outcome(result, &answer.err);
	end_call(arg, &answer);
}

static int decode(const struct bytes *out, struct bytes *ret, struct err *err)
{
	size_t n = out->len;

	while (n && (out->p[n - 1] == '\n' || out->p[n - 1] == '\r'))
		n--;
	if (!n || out->p[0] == '{' || bytes_add_unhex(ret, out->p, n) < 0)
		bytes_add(ret, bytes_str(out), n);
	return doc_check(span_of(ret), "the keychain's entry", err);
}

static void found(void *arg, struct run_result *result)
{
	auto_bytes struct bytes data = { 0 };
	struct answer answer = { 0 };

	answer.r = outcome(result, &answer.err);
	if (answer.r > 0) {
		const int r = decode(&result->out, &data, &answer.err);

		answer.r = r < 0 ? r : 1;
		answer.data = r < 0 ? NULL : &data;
	}
	end_call(arg, &answer);
}

static void start(struct keychain *k, const char *const *argv,
		  struct call *call, run_fn done)
{
	const struct run_spec spec = {
		.argv = argv,
		.input = &call->input,
		.output_max = 2 * DOC_MAX + 2,
		.timeout_ms = k->timeout_ms,
	};

	run_start(&k->runs, k->loop, &spec, done, call);
}

static void keychain_read(struct backend *b, answer_fn done, void *arg)
{
	struct keychain *k = (struct keychain *)b;
	const char *const argv[] = { k->program, "find-generic-password", "-a",
				     k->account, "-w", "-s", k->service, NULL };

	start(k, argv, call_new(done, arg), found);
}

static void keychain_delete(struct backend *b, answer_fn done, void *arg)
{
	struct keychain *k = (struct keychain *)b;
	const char *const argv[] = { k->program, "delete-generic-password",
				     "-a", k->account, "-s", k->service, NULL };

	start(k, argv, call_new(done, arg), deleted);
}

static void make_line(const struct keychain *k, struct call *call)
{
	bytes_adds(&call->input, "add-generic-password -U -a \"");
	bytes_adds(&call->input, k->account);
	bytes_adds(&call->input, "\" -s \"");
	bytes_adds(&call->input, k->service);
	bytes_adds(&call->input, "\" -X \"");
	bytes_add(&call->input, call->hex.p, call->hex.len);
	bytes_adds(&call->input, "\"\n");
}

/* The child that execs does not have the locked pages: the argument must be in
 * ordinary memory, as it will be in the process list anyway
 */
static void update_by_argument(struct keychain *k, struct call *call)
{
	char *visible = mem_strndup(call->hex.p, call->hex.len);
	const char *const argv[] = {
		k->program, "add-generic-password", "-U", "-a", k->account,
		"-s", k->service, "-X", visible, NULL,
	};

	call->notes = NOTE_ARGV;
	bytes_clear(&call->input);
	start(k, argv, call, wrote);
	explicit_bzero(visible, strlen(visible));
	free(visible);
}

static void keychain_update(struct backend *b, const struct bytes *data,
			    answer_fn done, void *arg)
{
	struct keychain *k = (struct keychain *)b;
	struct call *call = call_new(done, arg);
	const char *const argv[] = { k->program, "-i", NULL };
	struct answer answer = { 0 };

	bytes_add_hex(&call->hex, data->p, data->len);
	make_line(k, call);
	if (call->input.len <= KEYCHAIN_LINE_MAX) {
		start(k, argv, call, wrote);
	} else if (call->hex.len <= KEYCHAIN_ARGUMENT_MAX) {
		update_by_argument(k, call);
	} else {
		answer.r = fail(&answer.err, -E2BIG,
				"too much for one entry of the keychain");
		end_call(call, &answer);
	}
}

static void keychain_cancel(struct backend *b)
{
	run_cancel_all(&((struct keychain *)b)->runs);
}

static void keychain_free(struct backend *b)
{
	struct keychain *k = (struct keychain *)b;

	free(k->program);
	free(k->service);
	free(k->account);
	free(k);
}

static const struct backend_ops keychain_ops = {
	.name = "keychain",
	.read = keychain_read,
	.update = keychain_update,
	.delete = keychain_delete,
	.cancel = keychain_cancel,
	.free = keychain_free,
};

struct backend *keychain_new(struct loop *loop, const char *program,
			     const char *service, const char *account,
			     unsigned int timeout_ms)
{
	struct keychain *k = mem_zalloc(sizeof(*k));

	k->base.ops = &keychain_ops;
	k->loop = loop;
	k->program = mem_strdup(program);
	k->service = mem_strdup(service);
	k->account = mem_strdup(account);
	k->timeout_ms = timeout_ms;
	return &k->base;
}
