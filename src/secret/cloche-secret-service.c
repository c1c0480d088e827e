/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/secret/service.c - the program cloche-secret-service: Secret Service
 *
 * One request on standard input, one answer on standard output (the format is
 * in secret/helper.h). It never lets the service ask a person: something
 * locked is an answer ("locked"), and what to do about it is for the caller.
 * libsecret keeps values in locked memory of its own, and encrypts them on the
 * bus.
 */

#include <errno.h>
#include <libsecret/secret.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "secret/bytes.h"
#include "secret/doc.h"
#include "secret/harden.h"
#include "secret/helper.h"

static const SecretSchema schema = {
	"org.cloche.Credentials", SECRET_SCHEMA_NONE, {
		{ "service", SECRET_SCHEMA_ATTRIBUTE_STRING },
		{ "account", SECRET_SCHEMA_ATTRIBUTE_STRING },
		{ NULL, 0 },
	},
};

/**
 * struct connection - The service, and what the request speaks of
 */
struct connection {
	SecretService *service;
	GHashTable *attributes;
};

static void connection_done(struct connection *c)
{
	g_clear_object(&c->service);
	g_clear_pointer(&c->attributes, g_hash_table_unref);
}

#define auto_connection __attribute__((cleanup(connection_done)))

static int locked(struct err *err)
{
	return fail(err, -EACCES,
		    "the keyring is locked: unlock it, for instance by logging in");
}

/* The bus's words; a service that is not there is not a failure of ours */
static int failed(GError *error, const char *what, struct err *err)
{
	static const int bus[] = {
		G_DBUS_ERROR_SERVICE_UNKNOWN, G_DBUS_ERROR_NAME_HAS_NO_OWNER,
		G_DBUS_ERROR_SPAWN_SERVICE_NOT_FOUND,
	};
	int code = -EIO;

	for (size_t i = 0; i < sizeof(bus) / sizeof(*bus); i++) {
		if (g_error_matches(error, G_DBUS_ERROR, bus[i]))
			code = -ENOTSUP;
	}
	if (g_error_matches(error, G_IO_ERROR, G_IO_ERROR_NOT_FOUND) ||
	    g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CONNECTION_REFUSED))
		code = -ENOTSUP;
	else if (g_error_matches(error, SECRET_ERROR, SECRET_ERROR_IS_LOCKED))
		code = -EACCES;
	fail(err, code, "%s: %s", what,
	     error ? error->message : "unknown reason");
	g_clear_error(&error);
	return code;
}

static int connect(struct span request, struct connection *ret,
		   struct err *err)
{
	auto_bytes struct bytes service = { 0 }, account = { 0 };
	GError *error = NULL;

	if (!doc_find_string(request, "service", &service) ||
	    !doc_find_string(request, "account", &account))
		return fail(err, -EINVAL, "not a request");
	ret->attributes = secret_attributes_build(&schema,
		"service", bytes_str(&service), "account", bytes_str(&account),
		NULL);
	ret->service = secret_service_get_sync(SECRET_SERVICE_OPEN_SESSION,
					       NULL, &error);
	return ret->service ? 0 :
		failed(error, "cannot reach the Secret Service", err);
}

static void free_items(GList *items)
{
	g_list_free_full(items, g_object_unref);
}

/* The keyring that new entries go to; NULL without an error if there is none */
static SecretCollection *default_collection(const struct connection *c,
					    struct err *err)
{
	GError *error = NULL;
	SecretCollection *found = secret_collection_for_alias_sync(c->service,
		SECRET_COLLECTION_DEFAULT, SECRET_COLLECTION_NONE, NULL,
		&error);

	if (error)
		(void)failed(error, "cannot open the keyring", err);
	return found;
}

/* Nothing was found: 0 if nothing is there, -EACCES if it may only be locked. A
 * keyring that was never unlocked does not know what its entries are; taken for
 * empty, it would later put its old values before newer ones.
 */
static int empty_or_locked(const struct connection *c, struct err *err)
{
	SecretCollection *collection = default_collection(c, err);
	bool is_locked;

	if (!collection)
		return err->code;
	is_locked = secret_collection_get_locked(collection);
	g_object_unref(collection);
	return is_locked ? locked(err) : 0;
}

/* Every item of ours, locked or not; the caller frees */
static int find_items(const struct connection *c, GList **ret, struct err *err)
{
	GError *error = NULL;
	GList *items = secret_service_search_sync(c->service, &schema,
						  c->attributes,
						  SECRET_SEARCH_ALL, NULL,
						  &error);

	if (error)
		return failed(error, "cannot search the keyring", err);
	*ret = items;
	return items ? 0 : empty_or_locked(c, err);
}

static int load(SecretItem *item, struct bytes *ret, struct err *err)
{
	GError *error = NULL;
	SecretValue *value;
	const char *text;
	gsize n = 0;

	if (secret_item_get_locked(item))
		return locked(err);
	if (!secret_item_load_secret_sync(item, NULL, &error))
		return failed(error, "cannot read the keyring", err);
	value = secret_item_get_secret(item);
	text = value ? secret_value_get(value, &n) : NULL;
	if (text && n <= DOC_MAX)
		bytes_add(ret, text, n);
	if (value)
		secret_value_unref(value);
	return n > DOC_MAX ? fail(err, -EFBIG, "the entry is too large") : 1;
}

/* Of several, which there should not be, the one that changed last */
static SecretItem *newest(GList *items)
{
	SecretItem *best = NULL;

	for (GList *i = items; i; i = i->next) {
		SecretItem *item = i->data;

		if (!best || secret_item_get_modified(item) >
			     secret_item_get_modified(best))
			best = item;
	}
	return best;
}

static int service_read(struct span request, struct bytes *ret,
			unsigned int *notes, struct err *err)
{
	auto_connection struct connection c = { 0 };
	GList *items = NULL;
	int r = connect(request, &c, err);

	(void)notes;
	if (!r)
		r = find_items(&c, &items, err);
	if (!r && items)
		r = load(newest(items), ret, err);
	free_items(items);
	return r;
}

static int service_update(struct span request, const struct bytes *data,
			  unsigned int *notes, struct err *err)
{
	auto_connection struct connection c = { 0 };
	SecretCollection *collection = NULL;
	SecretValue *value;
	SecretItem *item;
	GError *error = NULL;
	int r = connect(request, &c, err);

	(void)notes;
	if (r < 0)
		return r;
	collection = default_collection(&c, err);
	if (!collection)
		return err->code ? err->code :
			fail(err, -EACCES,
			     "there is no default keyring: make one, for instance by logging in");
	if (secret_collection_get_locked(collection)) {
		g_object_unref(collection);
		return locked(err);
	}
	/* No copy: the locked bytes themselves are what is encrypted */
	value = secret_value_new_full(data->p, (gssize)data->len,
				      "application/json", NULL);
	item = secret_item_create_sync(collection, &schema, c.attributes,
				       "cloche credentials", value,
				       SECRET_ITEM_CREATE_REPLACE, NULL,
				       &error);
	r = item ? 1 : failed(error, "cannot write to the keyring", err);
	g_clear_object(&item);
	secret_value_unref(value);
	g_object_unref(collection);
	return r;
}

static int service_delete(struct span request, struct err *err)
{
	auto_connection struct connection c = { 0 };
	GList *items = NULL;
	GError *error = NULL;
	int r = connect(request, &c, err);

	if (!r)
		r = find_items(&c, &items, err);
	for (GList *i = items; i && r >= 0; i = i->next) {
		if (secret_item_get_locked(i->data))
			r = locked(err);
		else if (secret_item_delete_sync(i->data, NULL, &error))
			r = 1;
		else
			r = failed(error, "cannot delete from the keyring",
				   err);
	}
	free_items(items);
	return r;
}

int main(void)
{
	static const struct helper_ops ops = {
		service_read, service_update, service_delete,
	};
	struct err err = { 0 };

	if (harden_process(&err) < 0) {
		fprintf(stderr, "cloche-secret-service: %s\n", err.msg);
		return 1;
	}
	return helper_serve(&ops, STDIN_FILENO, STDOUT_FILENO);
}
