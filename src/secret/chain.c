/* SPDX-License-Identifier: Apache-2.0 */
/* secret/chain.c - which backends a store is made of, and their files */

#include "secret/chain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "secret/backend.h"
#include "secret/fallback.h"
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

static struct backend *make_service(struct chain *c, struct loop *loop,
				    const struct store_options *o)
{
	auto_free char *path = program(o, "cloche-secret-service");

	return service_new(loop, path, c->full, c->account, keyring_ms(o),
			   o->slow);
}

static struct backend *make_file(struct chain *c, struct loop *loop,
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

static struct backend *make_plain(struct chain *c, struct loop *loop,
				  const struct store_options *o)
{
	(void)loop;
	(void)o;
	return plaintext_new(c->place, c->plain);
}

static const struct {
	const char *name;
	struct backend *(*make)(struct chain *c, struct loop *loop,
				const struct store_options *o);
} backends[] = {	/* The best first */
	{ "secret-service", make_service },
	{ "file", make_file },
	{ "plaintext", make_plain },
};

static int add_leaves(struct chain *c, struct loop *loop,
		      const struct store_options *o, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(backends); i++) {
		if (!o->backend || !strcmp(backends[i].name, o->backend))
			c->leaf[c->count++] = backends[i].make(c, loop, o);
	}
	if (!c->count)
		return fail(err, -EINVAL,
			    "no backend '%s': use secret-service, file or plaintext",
			    o->backend);
	return 0;
}

/* The best in front of the rest, with a claim between the two */
static void join(struct chain *c, const char *base)
{
	c->top = c->leaf[c->count - 1];
	for (size_t i = c->count - 1; i-- > 0;) {
		c->claim_name[i] = mem_printf("%s.over-%s", base,
					      c->leaf[i]->ops->name);
		c->claim[i] = (struct claim_file){ c->place, c->claim_name[i] };
		c->top = fallback_new(c->leaf[i], c->top, &claim_file_ops,
				      &c->claim[i]);
	}
}

static char *copy_or_null(const char *s, const char *variable)
{
	const char *from = s ? s : variable ? getenv(variable) : NULL;

	return from && *from ? mem_strdup(from) : NULL;
}

static void set_key(struct chain *c, const struct key_source *key)
{
	/* What was asked for by name counts more than the environment */
	const bool env = !key_is_configured(key);

	c->passphrase_file = copy_or_null(key->passphrase_file,
					  env ? "CLOCHE_PASSPHRASE_FILE" : NULL);
	c->key_file = copy_or_null(key->key_file,
				   env ? "CLOCHE_KEY_FILE" : NULL);
	c->keyring = copy_or_null(key->keyring, NULL);
}

static int set_places(struct chain *c, const struct store_options *o,
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

static int build(struct chain *c, struct loop *loop,
		 const struct store_options *o, struct err *err)
{
	auto_free char *base = NULL;
	int r = service_check(o->service ? o->service : STORE_SERVICE, err);

	if (r < 0)
		return r;
	c->service = mem_strdup(o->service ? o->service : STORE_SERVICE);
	base = strcmp(c->service, STORE_SERVICE) ?
		mem_printf("credentials-%s", c->service) :
		mem_strdup("credentials");
	c->plain = mem_printf("%s.json", base);
	c->sealed = mem_printf("%s.enc", base);
	c->lock = mem_printf("%s.lock", base);
	account_name(c->account);
	set_key(c, &o->key);
	r = set_places(c, o, err);
	if (!r)
		r = add_leaves(c, loop, o, err);
	if (!r)
		join(c, base);
	return r;
}

int chain_init(struct chain *chain, struct loop *loop,
	       const struct store_options *options, struct err *err)
{
	int r;

	*chain = (struct chain){ 0 };
	r = build(chain, loop, options, err);
	if (r < 0)
		chain_done(chain);
	return r;
}

void chain_done(struct chain *chain)
{
	if (chain->top)
		backend_free(chain->top);
	for (size_t i = 0; !chain->top && i < chain->count; i++)
		backend_free(chain->leaf[i]);
	for (size_t i = 0; i < CHAIN_MAX; i++)
		free(chain->claim_name[i]);
	place_free(chain->place);
	place_free(chain->state);
	free(chain->plain);
	free(chain->sealed);
	free(chain->lock);
	free(chain->passphrase_file);
	free(chain->key_file);
	free(chain->keyring);
	free(chain->service);
	*chain = (struct chain){ 0 };
}
