/* SPDX-License-Identifier: Apache-2.0 */
/* cli/secret/status.c - what each store holds, and whether it works */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cli/secret/secret.h"
#include "secret/bytes.h"
#include "secret/doc.h"
#include "secret/store.h"
#include "secret/sync.h"

static const char *state_of(int r)
{
	switch (r) {
	case 1:
		return "ok";
	case 0:
		return "empty";
	case -ENOTSUP:
		return "unavailable";
	case -EACCES:
	case -ENOKEY:
		return "locked";
	default:
		return "failed";
	}
}

static void as_json(struct bytes *out, const char *name,
		    const struct answer *answer, size_t count)
{
	const char *state = state_of(answer->r);
	char number[24];

	(void)snprintf(number, sizeof(number), "%zu", count);
	if (out->len)
		bytes_addc(out, ',');
	doc_open(out);
	doc_add_string(out, "name", name, strlen(name));
	doc_add_string(out, "state", state, strlen(state));
	if (answer->r > 0)
		doc_add(out, "secrets", span_str(number));
	if (answer->r < 0)
		doc_add_string(out, "message", answer->err.msg,
			       strlen(answer->err.msg));
	doc_close(out);
}

static void as_line(const char *name, const struct answer *answer,
		    size_t count)
{
	if (answer->r > 0)
		printf("%-15s ok: %zu secret%s\n", name, count,
		       count == 1 ? "" : "s");
	else
		printf("%-15s %s%s%s\n", name, state_of(answer->r),
		       answer->r < 0 ? ": " : "",
		       answer->r < 0 ? answer->err.msg : "");
}

/* Look into one backend alone */
static void look(struct secret_session *s, struct backend *b,
		 struct bytes *json)
{
	auto_sync struct sync sync = { .loop = s->loop };
	auto_bytes struct bytes doc = { 0 };
	size_t count = 0;

	backend_read(b, sync_answer, &sync);
	if (sync_wait(&sync) > 0) {
		doc_strip(span_of(&sync.data), &doc);
		count = doc_count(span_of(&doc));
	}
	if (s->args->json)
		as_json(json, b->ops->name, &sync.answer, count);
	else
		as_line(b->ops->name, &sync.answer, count);
}

int secret_status(struct secret_session *s, struct err *err)
{
	auto_bytes struct bytes json = { 0 }, dir = { 0 };
	auto_sync struct sync all = { .loop = s->loop };
	const char *path = secret_store_dir(s->store);
	const char *kept = secret_store_kept_in(s->store);
	struct backend *b;
	int healthy;

	(void)err;
	for (size_t i = 0; (b = secret_store_backend(s->store, i)) != NULL; i++)
		look(s, b, &json);
	secret_store_read(s->store, sync_answer, &all);
	healthy = sync_wait(&all) >= 0;
	if (!s->args->json) {
		printf("%-15s %s\n", "kept in", kept ? kept : "nothing yet");
		printf("%-15s %s\n", "directory", path);
		printf("%-15s %s\n", "memory", bytes_unlocked() ?
		       "not locked: raise ulimit -l" : "locked");
		return healthy ? EXIT_YES : EXIT_NO;
	}
	doc_quote(&dir, path, strlen(path));
	printf("{\"version\":1,\"healthy\":%s,\"keptIn\":%s%s%s,\"directory\":%s,\"memoryLocked\":%s,\"backends\":[%s]}\n",
	       healthy ? "true" : "false", kept ? "\"" : "",
	       kept ? kept : "null", kept ? "\"" : "", bytes_str(&dir),
	       bytes_unlocked() ? "false" : "true", bytes_str(&json));
	return healthy ? EXIT_YES : EXIT_NO;
}
