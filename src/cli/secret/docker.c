/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/secret/docker.c - docker-credential-cloche: docker's credential helper
 *
 * docker reads the reason of a failure from standard output and knows one of
 * them by its words.
 */

#include <errno.h>
#include <stdio.h>
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

#define PREFIX "docker:"

enum { INPUT_MAX = 128 << 10 };

/* A server has a host; nothing in it may end a line. 0 or -EINVAL. */
static int check_url(const struct bytes *url, struct err *err)
{
	const char *scheme = strstr(bytes_str(url), "://");
	const char *host = scheme ? scheme + 3 : bytes_str(url);
	const int r = name_check(bytes_str(url), url->len, err);

	if (r < 0)
		return fail(err, -EINVAL, "no credentials server URL: %s",
			    err->msg);
	if (!strcspn(host, "/:"))
		return fail(err, -EINVAL, "no credentials server URL: no host");
	return 0;
}

static int read_url(struct bytes *ret, struct err *err)
{
	int r = input_all(INPUT_MAX, ret, err);

	if (r < 0)
		return r;
	if (ret->len && ret->p[ret->len - 1] == '\n')
		ret->p[--ret->len] = '\0';
	return check_url(ret, err);
}

static char *entry_name(const struct bytes *url)
{
	return mem_printf(PREFIX "%s", bytes_str(url));
}

static int docker_get(struct secret_session *s, struct err *err)
{
	auto_bytes struct bytes url = { 0 }, doc = { 0 }, user = { 0 },
		secret = { 0 }, out = { 0 };
	auto_free char *name = NULL;
	struct span entry;
	int r = read_url(&url, err);

	if (!r)
		r = session_read(s, &doc, err);
	if (r < 0)
		return r;
	name = entry_name(&url);
	if (!doc_find(span_of(&doc), name, &entry) ||
	    !doc_find_string(entry, "Username", &user) ||
	    !doc_find_string(entry, "Secret", &secret))
		return fail(err, -ENOENT,
			    "credentials not found in native keychain");
	doc_open(&out);
	doc_add_string(&out, "ServerURL", url.p, url.len);
	doc_add_string(&out, "Username", user.p, user.len);
	doc_add_string(&out, "Secret", secret.p, secret.len);
	doc_close(&out);
	return output_line(&out, err);
}

static int docker_store(struct secret_session *s, struct err *err)
{
	auto_bytes struct bytes input = { 0 }, url = { 0 }, user = { 0 },
		secret = { 0 }, entry = { 0 };
	auto_free char *name = NULL;
	int r = input_all(INPUT_MAX, &input, err);

	if (!r)
		r = doc_check(span_of(&input), "standard input", err);
	if (r < 0)
		return r;
	(void)doc_find_string(span_of(&input), "ServerURL", &url);
	r = check_url(&url, err);
	if (r < 0)
		return r;
	if (!doc_find_string(span_of(&input), "Username", &user) || !user.len)
		return fail(err, -EINVAL, "no credentials username");
	(void)doc_find_string(span_of(&input), "Secret", &secret);
	r = name_check(bytes_str(&user), user.len, err);
	if (!r)
		r = value_check(bytes_str(&secret), secret.len, err);
	if (r < 0)
		return r;
	doc_open(&entry);
	doc_add_string(&entry, "Username", user.p, user.len);
	doc_add_string(&entry, "Secret", secret.p, secret.len);
	doc_close(&entry);
	name = entry_name(&url);
	return session_set(s, name, &entry, err);
}

static int docker_erase(struct secret_session *s, struct err *err)
{
	auto_sync struct sync sync = { .loop = s->loop };
	auto_bytes struct bytes url = { 0 };
	auto_free char *name = NULL;
	const int r = read_url(&url, err);

	if (r < 0)
		return r;
	name = entry_name(&url);
	secret_store_remove(s->store, name, sync_answer, &sync);
	return session_wait(&sync, err);
}

/* {"URL":"user", ...} */
static int docker_list(struct secret_session *s, struct err *err)
{
	auto_bytes struct bytes doc = { 0 }, out = { 0 };
	struct doc_member m;
	size_t cursor = 0;
	const int r = session_read(s, &doc, err);

	if (r < 0)
		return r;
	doc_open(&out);
	while (doc_next(span_of(&doc), &cursor, &m)) {
		auto_bytes struct bytes name = { 0 }, user = { 0 };

		if (!doc_unquote(m.key, &name) &&
		    !strncmp(bytes_str(&name), PREFIX, strlen(PREFIX)) &&
		    doc_find_string(m.value, "Username", &user))
			doc_add_string(&out, name.p + strlen(PREFIX), user.p,
				       user.len);
	}
	doc_close(&out);
	return output_line(&out, err);
}

static const struct {
	const char *action;
	int (*run)(struct secret_session *s, struct err *err);
} actions[] = {
	{ "get", docker_get }, { "store", docker_store },
	{ "erase", docker_erase }, { "list", docker_list },
};

int secret_docker(struct secret_session *s, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		if (strcmp(actions[i].action, s->args->word) != 0)
			continue;
		if (actions[i].run(s, err) >= 0)
			return EXIT_YES;
		puts(err->msg);
		return EXIT_NO;
	}
	return fail(err, -EINVAL,
		    "'docker-credential' takes get, store, erase or list");
}
