/* SPDX-License-Identifier: Apache-2.0 */
/* secret/git-credential.c - cloche secret git-credential: git's helper */

#include "secret/git-credential.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "secret/credential-store.h"
#include "secret/secret-verbs.h"

const char *const attribute_names[ATTRIBUTE_COUNT] = {
	[ATTRIBUTE_PROTOCOL] = "protocol",
	[ATTRIBUTE_HOST] = "host",
	[ATTRIBUTE_PATH] = "path",
	[ATTRIBUTE_USERNAME] = "username",
	[ATTRIBUTE_PASSWORD] = "password",
	[ATTRIBUTE_EXPIRY] = "password_expiry_utc",
	[ATTRIBUTE_REFRESH] = "oauth_refresh_token",
};

static int parse_attribute(char *line, struct git_credential *ret,
			   struct err *err)
{
	json_auto_t *utf8 = json_string(line);	/* NULL if it is not */
	char *equals = strchr(line, '=');

	if (!equals || equals == line)
		return fail(err, -EINVAL, "a line without key=value");
	if (!utf8)
		return fail(err, -EINVAL, "a line that is not UTF-8");
	*equals = '\0';
	for (int i = 0; i < ATTRIBUTE_COUNT; i++) {
		if (strcmp(attribute_names[i], line) != 0)
			continue;
		if (ret->of[i])
			return fail(err, -EINVAL, "%s is given twice", line);
		ret->of[i] = equals + 1;
	}
	return 0;
}

int credential_parse(struct bytes *input, struct git_credential *ret,
		     struct err *err)
{
	struct git_credential c = { 0 };
	char *line = input->p, *next = line;

	if (input->len && (memchr(line, '\0', input->len) ||
			   memchr(line, '\r', input->len)))
		return fail(err, -EINVAL,
			    "a carriage return or a NUL byte in a credential is refused");
	while ((line = strsep(&next, "\n")) && *line) {
		const int r = parse_attribute(line, &c, err);

		if (r < 0)
			return r;
	}
	if (!c.of[ATTRIBUTE_PROTOCOL] || !*c.of[ATTRIBUTE_PROTOCOL] ||
	    !c.of[ATTRIBUTE_HOST] || !*c.of[ATTRIBUTE_HOST])
		return fail(err, -EINVAL,
			    "a credential without a protocol or a host is refused");
	*ret = c;
	return 0;
}

bool credential_matches(const struct git_credential *want, const json_t *entry,
			bool password)
{
	const int last = password ? ATTRIBUTE_PASSWORD : ATTRIBUTE_USERNAME;

	for (int i = ATTRIBUTE_PROTOCOL; i <= last; i++) {
		const char *have = document_string(entry, attribute_names[i]);

		if (want->of[i] && (!have || strcmp(have, want->of[i]) != 0))
			return false;
	}
	return true;
}

/* What separates the parts of the name must not come out of one of them */
static void add_part(struct bytes *ret, const char *part, const char *escape)
{
	for (; *part; part++) {
		char hex[4];

		if (*part == '%' || strchr(escape, *part)) {
			(void)snprintf(hex, sizeof(hex), "%%%02x",
				       (unsigned char)*part);
			bytes_adds(ret, hex);
		} else {
			bytes_add(ret, part, 1);
		}
	}
}

void credential_name(const struct git_credential *c, struct bytes *ret)
{
	bytes_adds(ret, "git:");
	add_part(ret, c->of[ATTRIBUTE_PROTOCOL], ":/@ ");
	bytes_adds(ret, "://");
	if (c->of[ATTRIBUTE_USERNAME]) {
		add_part(ret, c->of[ATTRIBUTE_USERNAME], ":/@ .");
		bytes_adds(ret, "@");
	}
	add_part(ret, c->of[ATTRIBUTE_HOST], "/@ ");
	if (c->of[ATTRIBUTE_PATH]) {
		bytes_adds(ret, "/");
		add_part(ret, c->of[ATTRIBUTE_PATH], " ");
	}
}

json_t *credential_entry(const struct git_credential *c)
{
	json_t *entry = json_object();

	for (int i = 0; i < ATTRIBUTE_COUNT; i++) {
		if (c->of[i])
			(void)json_object_set_new(entry, attribute_names[i],
						  json_string(c->of[i]));
	}
	return entry;
}

static bool is_git(const char *name)
{
	return !strncmp(name, "git:", 4);
}

/* The one that was stored last counts; it is no failure if there is none */
static int git_get(struct store *s, const struct git_credential *want,
		   struct err *err)
{
	json_auto_t *doc = NULL;
	auto_bytes struct bytes out = { 0 };
	const json_t *found = NULL;
	const char *name;
	json_t *entry;
	int r = store_read(s, &doc, err);

	if (r < 0)
		return r;
	json_object_foreach(doc, name, entry) {
		const char *expiry = document_string(entry,
						     attribute_names[ATTRIBUTE_EXPIRY]);

		if (is_git(name) && credential_matches(want, entry, false) &&
		    (!expiry || strtoll(expiry, NULL, 10) > (long long)time(NULL)))
			found = entry;
	}
	if (!found)
		return EXIT_YES;
	for (int i = ATTRIBUTE_USERNAME; i < ATTRIBUTE_COUNT; i++) {
		const char *value = document_string(found, attribute_names[i]);

		if (!value)
			continue;
		bytes_adds(&out, out.len ? "\n" : "");
		bytes_adds(&out, attribute_names[i]);
		bytes_adds(&out, "=");
		bytes_adds(&out, value);
	}
	r = output_line(bytes_str(&out), err);
	return r < 0 ? r : EXIT_YES;
}

static int git_store(struct store *s, const struct git_credential *c,
		     struct err *err)
{
	const char *password = c->of[ATTRIBUTE_PASSWORD];
	auto_bytes struct bytes name = { 0 };
	int r;

	/* git offers what it has; half a credential is not worth keeping */
	if (!c->of[ATTRIBUTE_USERNAME] || !password || !*password)
		return EXIT_YES;
	credential_name(c, &name);
	r = name_check(bytes_str(&name), name.len, err);
	if (!r)
		r = value_check(password, strlen(password), err);
	if (!r)
		r = store_put(s, bytes_str(&name), credential_entry(c), err);
	return r < 0 ? r : EXIT_YES;
}

static int remove_matching(json_t *doc, void *arg, struct err *err)
{
	const struct git_credential *want = arg;
	const char *name;
	json_t *entry;
	void *next;
	int any = 0;

	(void)err;
	json_object_foreach_safe(doc, next, name, entry) {
		if (is_git(name) && credential_matches(want, entry, true))
			any |= !json_object_del(doc, name);
	}
	return any;
}

int secret_git(struct store *s, const struct arguments *args, struct err *err)
{
	auto_bytes struct bytes input = { 0 };
	const char *action = args->word;
	struct git_credential c;
	int r;

	/* git may ask for what later versions know: that is not an error */
	if (strcmp(action, "get") && strcmp(action, "store") &&
	    strcmp(action, "erase"))
		return EXIT_YES;
	r = input_all(CREDENTIAL_INPUT_MAX, &input, err);
	if (!r)
		r = credential_parse(&input, &c, err);
	if (r < 0)
		return r;
	if (!strcmp(action, "get"))
		return git_get(s, &c, err);
	if (!strcmp(action, "store"))
		return git_store(s, &c, err);
	r = store_edit(s, true, remove_matching, &c, err);
	return r < 0 ? r : EXIT_YES;
}
