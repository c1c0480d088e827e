/* SPDX-License-Identifier: Apache-2.0 */
/* secret/secret-document.c - all secrets of a service: one JSON object */

#include "secret/secret-document.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "secret/locked-memory.h"

/* Before anything of jansson is used */
__attribute__((constructor)) static void use_locked_memory(void)
{
	json_set_alloc_funcs(locked_alloc, locked_free);
}

int document_parse(const char *text, size_t n, const char *what, json_t **ret,
		   struct err *err)
{
	json_auto_t *doc = NULL;
	json_error_t why = { 0 };
	int at;

	if (n > DOCUMENT_MAX)
		return fail(err, -EFBIG, "%s: larger than %d bytes", what,
			    DOCUMENT_MAX);
	/* jansson takes a NUL byte between tokens for a blank */
	if (!memchr(text, '\0', n))
		doc = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);
	at = why.position;
	explicit_bzero(&why, sizeof(why));	/* It quotes the text */
	if (!doc)
		return fail(err, -EBADMSG, "%s: not valid JSON at byte %d",
			    what, at);
	if (!json_is_object(doc))
		return fail(err, -EBADMSG, "%s: not a JSON object", what);
	*ret = json_incref(doc);
	return 0;
}

void document_print(const json_t *value, struct bytes *ret)
{
	bytes_done(ret);
	ret->p = json_dumps(value, JSON_COMPACT | JSON_ENSURE_ASCII |
			    JSON_ENCODE_ANY);
	ret->len = ret->p ? strlen(ret->p) : 0;
	ret->cap = ret->len + 1;
}

void document_put(json_t *doc, const char *name, json_t *value)
{
	(void)json_object_del(doc, name);
	(void)json_object_set_new(doc, name, value);
}

const char *document_string(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}
