/* SPDX-License-Identifier: Apache-2.0 */
/* cli/secret/git.c - cloche secret git-credential: git's credential helper */

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "cli/secret/protocol.h"
#include "cli/secret/secret.h"
#include "secret/bytes.h"
#include "secret/doc.h"
#include "secret/name.h"
#include "secret/store.h"
#include "secret/sync.h"

/* The next member of @doc that is a credential of git's */
static bool next_entry(struct span doc, size_t *cursor, struct doc_member *ret)
{
	while (doc_next(doc, cursor, ret)) {
		if (ret->key.n > 5 && !memcmp(ret->key.p, "\"git:", 5))
			return true;
	}
	return false;
}

static bool is_expired(struct span entry)
{
	auto_bytes struct bytes text = { 0 };

	return doc_find_string(entry, attribute_name(ATTRIBUTE_EXPIRY),
			       &text) &&
	       strtoll(bytes_str(&text), NULL, 10) <= (long long)time(NULL);
}

static void add_line(struct span entry, enum attribute which,
		     struct bytes *out)
{
	auto_bytes struct bytes value = { 0 };

	if (!doc_find_string(entry, attribute_name(which), &value))
		return;
	bytes_adds(out, attribute_name(which));
	bytes_addc(out, '=');
	bytes_add(out, value.p, value.len);
	bytes_addc(out, '\n');
}

/* The one that was stored last counts; none is no failure */
static int git_get(struct secret_session *s, const struct git_credential *want,
		   struct err *err)
{
	auto_bytes struct bytes doc = { 0 }, out = { 0 };
	struct span found = { 0 };
	struct doc_member m;
	size_t cursor = 0;
	int r = session_read(s, &doc, err);

	if (r < 0)
		return r;
	while (next_entry(span_of(&doc), &cursor, &m)) {
		if (credential_matches(want, m.value, false) &&
		    !is_expired(m.value))
			found = m.value;
	}
	if (!found.p)
		return EXIT_YES;
	for (int i = ATTRIBUTE_USERNAME; i < ATTRIBUTE_COUNT; i++)
		add_line(found, (enum attribute)i, &out);
	out.len--;	/* The line end that follows */
	r = output_line(&out, err);
	return r < 0 ? r : EXIT_YES;
}

static int git_store(struct secret_session *s, const struct git_credential *c,
		     struct err *err)
{
	auto_bytes struct bytes name = { 0 }, entry = { 0 };
	int r;

	/* git offers what it has: half a credential is nothing to keep */
	if (!c->of[ATTRIBUTE_USERNAME].p || !c->of[ATTRIBUTE_PASSWORD].n)
		return EXIT_YES;
	credential_name(c, &name);
	r = name_check(bytes_str(&name), name.len, err);
	if (!r)
		r = value_check(c->of[ATTRIBUTE_PASSWORD].p,
				c->of[ATTRIBUTE_PASSWORD].n, err);
	if (r < 0)
		return r;
	credential_entry(c, &entry);
	r = session_set(s, bytes_str(&name), &entry, err);
	return r < 0 ? r : EXIT_YES;
}

static int drop_matching(void *arg, struct span old, struct bytes *ret,
			 struct err *err)
{
	const struct git_credential *want = arg;
	struct doc_member m;
	size_t cursor = 0;
	bool any = false;

	(void)err;
	bytes_add(ret, old.p, old.n);
	while (next_entry(old, &cursor, &m)) {
		auto_bytes struct bytes name = { 0 }, rest = { 0 };

		if (!credential_matches(want, m.value, true))
			continue;
		(void)doc_unquote(m.key, &name);
		doc_drop(span_of(ret), bytes_str(&name), &rest);
		bytes_move(ret, &rest);
		any = true;
	}
	return any;
}

static int git_erase(struct secret_session *s, struct git_credential *want,
		     struct err *err)
{
	auto_sync struct sync sync = { .loop = s->loop };
	int r;

	secret_store_edit(s->store, drop_matching, want, sync_answer, &sync);
	r = session_wait(&sync, err);
	return r < 0 ? r : EXIT_YES;
}

int secret_git(struct secret_session *s, struct err *err)
{
	auto_bytes struct bytes input = { 0 };
	struct git_credential c;
	const char *action = s->args->word;
	int r;

	/* git may ask for what later versions know: that is not an error */
	if (strcmp(action, "get") && strcmp(action, "store") &&
	    strcmp(action, "erase"))
		return EXIT_YES;
	r = input_all(CREDENTIAL_INPUT_MAX, &input, err);
	if (!r)
		r = credential_parse(span_of(&input), &c, err);
	if (r < 0)
		return r;
	if (!strcmp(action, "get"))
		return git_get(s, &c, err);
	return !strcmp(action, "store") ? git_store(s, &c, err) :
					  git_erase(s, &c, err);
}
