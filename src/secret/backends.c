/* SPDX-License-Identifier: Apache-2.0 */
/* secret/backends.c - the back ends of a store, and their files */

#include "secret/backends.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "secret/backend.h"
#include "secret/file.h"
#include "secret/place.h"
#include "secret/plain.h"
#include "secret/service.h"
#include "secret/store.h"
#include "installed.h"

static unsigned int helper_ms(const struct store_options *o)
{
	return o->helper_ms ? o->helper_ms : STORE_HELPER_MS;
}

static unsigned int keyring_ms(const struct store_options *o)
{
	return o->helper_ms ? o->helper_ms : STORE_KEYRING_MS;
}

/* A helper of ours by its absolute path; never by $PATH. The caller frees. */
static char *program(const struct store_options *o, const char *name)
{
	return path_join(o->programs ? o->programs : CLOCHE_LIBEXECDIR, name);
}

static struct backend *make_service(struct backends *c, struct loop *loop,
				    const struct store_options *o)
{
	auto_free char *path = program(o, "cloche-secret-service");

	return service_new(loop, path, c->full, c->account, keyring_ms(o),
			   o->slow);
}

static struct backend *make_file(struct backends *c, struct loop *loop,
				 const struct store_options *o)
{
	auto_free char *path = program(o, "cloche-secret");
	const struct file_spec spec = {
		.vault = {
			.place = c->place, .state = c->state,
			.name = c->sealed, .service = c->service,
			.key = {
				.passphrase_file = c->passphrase_file,
				.key_file = c->key_file,
				.keyring = c->keyring,
				.ask = o->key.ask,
				.ask_arg = o->key.ask_arg,
			},
		},
		.program = path, .timeout_ms = helper_ms(o),
	};

	return file_new(loop, &spec);
}

static struct backend *make_plain(struct backends *c, struct loop *loop,
				  const struct store_options *o)
{
	(void)loop;
	(void)o;
	return plaintext_new(c->place, c->plain);
}

static const struct {
	const char *name;
	struct backend *(*make)(struct backends *c, struct loop *loop,
				const struct store_options *o);
} kinds[] = {	/* The best first */
	{ "secret-service", make_service },
	{ "file", make_file },
	{ "plaintext", make_plain },
};

static int add_leaves(struct backends *c, struct loop *loop,
		      const struct store_options *o, struct err *err)
{
	struct select *s = &c->select;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		s->leaf[s->count++] = kinds[i].make(c, loop, o);
		if (o->backend && !strcmp(kinds[i].name, o->backend))
			s->forced = s->leaf[i];
	}
	if (o->backend && !s->forced)
		return fail(err, -EINVAL,
			    "no backend '%s': use secret-service, file or plaintext",
			    o->backend);
	s->place = c->place;
	s->files = c->files;
	select_init(s);
	return 0;
}

static char *copy_or_null(const char *s, const char *variable)
{
	const char *from = s ? s : variable ? getenv(variable) : NULL;

	return from && *from ? mem_strdup(from) : NULL;
}

static void set_key(struct backends *c, const struct key_source *key)
{
	/* What was asked for by name counts more than the environment */
	const bool env = !key_is_configured(key);

	c->passphrase_file = copy_or_null(key->passphrase_file,
					  env ? "CLOCHE_PASSPHRASE_FILE" : NULL);
	c->key_file = copy_or_null(key->key_file,
				   env ? "CLOCHE_KEY_FILE" : NULL);
	c->keyring = copy_or_null(key->keyring, NULL);
}

static int set_places(struct backends *c, const struct store_options *o,
		      struct err *err)
{
	auto_free char *home = fs_home();
	auto_free char *state = fs_xdg("XDG_STATE_HOME", ".local/state");
	auto_free char *dir = NULL, *usual = NULL, *seen = NULL;

	if (!o->dir && !state)
		return fail(err, -ENOENT,
			    "there is no home directory: set HOME");
	dir = o->dir ? path_resolve("/", o->dir) : path_join(state, "cloche/secrets");
	usual = home ? path_join(home, ".local/state/cloche/secrets") : NULL;
	service_full(c->service, dir, usual, c->full);
	c->place = place_new(dir);
	if (state) {
		seen = mem_printf("%s/cloche/secret/%s", state, c->full);
		c->state = place_new(seen);
	}
	return 0;
}

static int build(struct backends *c, struct loop *loop,
		 const struct store_options *o, struct err *err)
{
	int r = service_check(o->service ? o->service : STORE_SERVICE, err);

	if (r < 0)
		return r;
	c->service = mem_strdup(o->service ? o->service : STORE_SERVICE);
	c->files = strcmp(c->service, STORE_SERVICE) ?
		mem_printf("credentials-%s", c->service) :
		mem_strdup("credentials");
	c->plain = mem_printf("%s.json", c->files);
	c->sealed = mem_printf("%s.enc", c->files);
	c->lock = mem_printf("%s.lock", c->files);
	account_name(c->account);
	set_key(c, &o->key);
	r = set_places(c, o, err);
	if (!r)
		r = add_leaves(c, loop, o, err);
	return r;
}

int backends_init(struct backends *b, struct loop *loop,
		  const struct store_options *options, struct err *err)
{
	int r;

	*b = (struct backends){ 0 };
	r = build(b, loop, options, err);
	if (r < 0)
		backends_done(b);
	return r;
}

void backends_done(struct backends *b)
{
	for (size_t i = 0; i < b->select.count; i++)
		backend_free(b->select.leaf[i]);
	place_free(b->place);
	place_free(b->state);
	free(b->files);
	free(b->plain);
	free(b->sealed);
	free(b->lock);
	free(b->passphrase_file);
	free(b->key_file);
	free(b->keyring);
	free(b->service);
	*b = (struct backends){ 0 };
}
