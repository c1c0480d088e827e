/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret/cloche-secret-service.c - the program that talks to the Secret Service
 *
 * secret/keyring-helper.h says how it is called. It never lets the service ask
 * the user: a locked keyring is a result, and what to do about it is for the
 * caller. libsecret keeps values in locked memory of its own, and encrypts them
 * on the bus.
 */

#include <errno.h>
#include <libsecret/secret.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "secret/harden.h"
#include "secret/keyring-helper.h"
#include "secret/locked-memory.h"

enum { ENTRY_MAX = 512 << 10 };	/* DOCUMENT_MAX, without jansson */

static const SecretSchema schema = {
	"org.cloche.Credentials", SECRET_SCHEMA_NONE, {
		{ "service", SECRET_SCHEMA_ATTRIBUTE_STRING },
		{ NULL, 0 },
	},
};

/**
 * struct connection - The service, and the attributes of our entry
 */
struct connection {
	SecretService *service;
	GHashTable *attributes;
};

static int fail_locked(struct err *err)
{
	return fail(err, -EACCES,
		    "the keyring is locked: unlock it, for instance by logging in");
}

/* The message of the bus. A missing service means that this back end is absent. */
static int fail_bus(GError *error, const char *what, struct err *err)
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

static int connect_service(const char *service, struct connection *ret,
			   struct err *err)
{
	GError *error = NULL;

	ret->attributes = secret_attributes_build(&schema, "service", service,
						  NULL);
	ret->service = secret_service_get_sync(SECRET_SERVICE_OPEN_SESSION,
					       NULL, &error);
	return ret->service ? 0 :
		fail_bus(error, "cannot reach the Secret Service", err);
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
		(void)fail_bus(error, "cannot open the keyring", err);
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
	return is_locked ? fail_locked(err) : 0;
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
		return fail_bus(error, "cannot search the keyring", err);
	*ret = items;
	return items ? 0 : empty_or_locked(c, err);
}

/* Print the item from libsecret's own memory: 1 or a negative errno */
static int print_item(SecretItem *item, struct err *err)
{
	GError *error = NULL;
	SecretValue *value;
	const char *text;
	gsize n = 0;
	int r;

	if (secret_item_get_locked(item))
		return fail_locked(err);
	if (!secret_item_load_secret_sync(item, NULL, &error))
		return fail_bus(error, "cannot read the keyring", err);
	value = secret_item_get_secret(item);
	if (!value)
		return fail(err, -EIO, "the keyring's entry has no secret");
	text = secret_value_get(value, &n);
	r = fs_write_all(STDOUT_FILENO, text, n);
	secret_value_unref(value);
	return r < 0 ? fail(err, r, "cannot write to standard output") : 1;
}

static int read_entry(const struct connection *c, struct err *err)
{
	GList *items = NULL;
	int r = find_items(c, &items, err);

	if (!r && items)
		r = print_item(items->data, err);
	g_list_free_full(items, g_object_unref);
	return r;
}

static int write_entry(const struct connection *c, struct err *err)
{
	SecretCollection *collection = default_collection(c, err);
	auto_bytes struct bytes text = { 0 };
	SecretValue *value;
	SecretItem *item;
	GError *error = NULL;
	int r;

	if (!collection)
		return err->code ? err->code :
			fail(err, -EACCES,
			     "there is no default keyring: make one, for instance by logging in");
	r = secret_collection_get_locked(collection) ? fail_locked(err) :
		bytes_read_fd(&text, STDIN_FILENO, ENTRY_MAX, err);
	if (r < 0) {
		g_object_unref(collection);
		return r;
	}
	/* No copy: libsecret encrypts the locked bytes themselves */
	value = secret_value_new_full(text.p, (gssize)text.len,
				      "application/json", NULL);
	item = secret_item_create_sync(collection, &schema, c->attributes,
				       "cloche credentials", value,
				       SECRET_ITEM_CREATE_REPLACE, NULL,
				       &error);
	r = item ? 1 : fail_bus(error, "cannot write to the keyring", err);
	g_clear_object(&item);
	secret_value_unref(value);
	g_object_unref(collection);
	return r;
}

static int remove_entry(const struct connection *c, struct err *err)
{
	GList *items = NULL;
	GError *error = NULL;
	int r = find_items(c, &items, err);

	for (GList *i = items; i && r >= 0; i = i->next) {
		if (secret_item_get_locked(i->data))
			r = fail_locked(err);
		else if (secret_item_delete_sync(i->data, NULL, &error))
			r = 1;
		else
			r = fail_bus(error, "cannot delete from the keyring",
				     err);
	}
	g_list_free_full(items, g_object_unref);
	return r;
}

static int run_request(char **argv, struct err *err)
{
	struct connection c = { 0 };
	int r = harden_process(err);

	if (r >= 0)
		r = connect_service(argv[2], &c, err);
	if (r >= 0)
		r = !strcmp(argv[1], "read") ? read_entry(&c, err) :
		    !strcmp(argv[1], "write") ? write_entry(&c, err) :
						remove_entry(&c, err);
	g_clear_object(&c.service);
	g_clear_pointer(&c.attributes, g_hash_table_unref);
	return r;
}

int main(int argc, char **argv)
{
	struct err err = { 0 };
	const int r = argc == 3 ? run_request(argv, &err) :
		fail(&err, -EINVAL, "only cloche-secret runs this program");

	if (r < 0)
		fprintf(stderr, "%s\n", err.msg);
	return r > 0 ? KEYRING_DONE : !r ? KEYRING_EMPTY :
	       r == -ENOTSUP ? KEYRING_UNAVAILABLE :
	       r == -EACCES ? KEYRING_LOCKED : KEYRING_FAILED;
}
