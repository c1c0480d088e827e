/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret/docker-credential.c - docker-credential-cloche: docker's helper
 *
 * docker reads the reason of a failure from standard output and recognises one of
 * them by its text.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "secret/credential-store.h"
#include "secret/secret-verbs.h"

#define PREFIX "docker:"

enum { INPUT_MAX = 128 << 10 };

/* A server has a host; nothing in it may end a line. 0 or -EINVAL. */
static int check_url(const char *url, size_t n, struct err *err)
{
	const char *scheme = strstr(url, "://");
	const char *host = scheme ? scheme + 3 : url;

	if (name_check(url, n, err) < 0)
		return fail_in(err, -EINVAL, "no credentials server URL");
	if (!strcspn(host, "/:"))
		return fail(err, -EINVAL, "no credentials server URL: no host");
	return 0;
}

static int read_url(struct bytes *ret, struct err *err)
{
	const int r = input_all(INPUT_MAX, ret, err);

	bytes_chomp(ret);
	return r < 0 ? r : check_url(bytes_str(ret), ret->len, err);
}

static char *entry_name(const char *url)
{
	return mem_printf(PREFIX "%s", url);
}

static int docker_get(struct store *s, struct err *err)
{
	json_auto_t *doc = NULL, *answer = NULL;
	auto_bytes struct bytes url = { 0 };
	auto_free char *name = NULL;
	const json_t *entry;
	int r = read_url(&url, err);

	if (!r)
		r = store_read(s, &doc, err);
	if (r < 0)
		return r;
	name = entry_name(bytes_str(&url));
	entry = json_object_get(doc, name);
	if (!document_string(entry, "Username") ||
	    !document_string(entry, "Secret"))
		return fail(err, -ENOENT,
			    "credentials not found in native keychain");
	answer = json_pack("{ss ss ss}", "ServerURL", bytes_str(&url),
			   "Username", document_string(entry, "Username"),
			   "Secret", document_string(entry, "Secret"));
	return output_json(answer, err);
}

static int docker_store(struct store *s, struct err *err)
{
	auto_bytes struct bytes input = { 0 };
	json_auto_t *login = NULL;
	const char *url, *user, *secret;
	auto_free char *name = NULL;
	int r = input_all(INPUT_MAX, &input, err);

	if (!r)
		r = document_parse(bytes_str(&input), input.len,
				   "standard input", &login, err);
	if (r < 0)
		return r;
	url = document_string(login, "ServerURL");
	user = document_string(login, "Username");
	secret = document_string(login, "Secret");
	r = check_url(url ? url : "", url ? strlen(url) : 0, err);
	if (!r && (!user || !*user))
		r = fail(err, -EINVAL, "no credentials username");
	if (!r)
		r = name_check(user, strlen(user), err);
	if (!r)
		r = value_check(secret ? secret : "",
				secret ? strlen(secret) : 0, err);
	if (r < 0)
		return r;
	name = entry_name(url);
	return store_put(s, name, json_pack("{ss ss}", "Username", user,
					    "Secret", secret), err);
}

static int docker_erase(struct store *s, struct err *err)
{
	auto_bytes struct bytes url = { 0 };
	auto_free char *name = NULL;
	const int r = read_url(&url, err);

	if (r < 0)
		return r;
	name = entry_name(bytes_str(&url));
	return store_drop(s, name, err);
}

/* {"URL":"user", ...} */
static int docker_list(struct store *s, struct err *err)
{
	json_auto_t *doc = NULL, *list = json_object();
	const char *name;
	json_t *entry;
	const int r = store_read(s, &doc, err);

	if (r < 0)
		return r;
	json_object_foreach(doc, name, entry) {
		const char *user = document_string(entry, "Username");

		if (!strncmp(name, PREFIX, strlen(PREFIX)) && user)
			document_put(list, name + strlen(PREFIX),
				     json_string(user));
	}
	return output_json(list, err);
}

static const struct {
	const char *action;
	int (*run)(struct store *s, struct err *err);
} actions[] = {
	{ "get", docker_get }, { "store", docker_store },
	{ "erase", docker_erase }, { "list", docker_list },
};

int secret_docker(struct store *s, const struct arguments *args,
		  struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		if (strcmp(actions[i].action, args->word) != 0)
			continue;
		if (actions[i].run(s, err) >= 0)
			return EXIT_YES;
		puts(err->msg);
		return EXIT_NO;
	}
	return fail(err, -EINVAL,
		    "'docker-credential' takes get, store, erase or list");
}
