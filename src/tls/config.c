/* SPDX-License-Identifier: Apache-2.0 */
/* tls/config.c - the configuration that the supervisor sends to cloche-tls */

#include "tls/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "policy/host.h"
#include "tls/sigv4.h"

static char *string_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? mem_strdup(text) : NULL;
}

static int read_key(const char *hex, uint8_t key[PLACEHOLDER_KEY])
{
	if (!hex || strlen(hex) != 2 * (size_t)PLACEHOLDER_KEY)
		return -EINVAL;
	for (size_t i = 0; i < PLACEHOLDER_KEY; i++) {
		const int high = text_hex_digit(hex[2 * i]);
		const int low = text_hex_digit(hex[2 * i + 1]);

		if (high < 0 || low < 0)
			return -EINVAL;
		key[i] = (uint8_t)(high << 4 | low);
	}
	return 0;
}

static int read_hosts(const json_t *hosts, struct bound_secret *s,
		      struct err *err)
{
	const size_t n = json_array_size(hosts);

	if (!n || n > BOUND_HOSTS_MAX)
		return fail(err, -EINVAL, "secret '%s' must have 1 to %d hosts",
			    s->name, BOUND_HOSTS_MAX);
	s->hosts = mem_zalloc(n * sizeof(*s->hosts));
	s->patterns = mem_zalloc(n * sizeof(*s->patterns));
	for (size_t i = 0; i < n; i++) {
		const char *text = json_string_value(json_array_get(hosts, i));
		struct host_pattern *pattern =
			text ? host_pattern_new(text, false, err) : NULL;

		if (!pattern)
			return fail(err, -EINVAL,
				    "secret '%s': host %zu is not a host name", s->name,
				    i + 1);
		s->hosts[s->n_hosts] = mem_strdup(text);
		s->patterns[s->n_hosts++] = pattern;
	}
	return 0;
}

static struct mask *read_mask(const json_t *row)
{
	const json_t *claims = json_object_get(row, "maskClaims");
	auto_free char *none = string_of(row, "onExtractNoMatch");
	auto_free char *decode = string_of(row, "decode");
	struct mask *mask;

	if (!row)
		return NULL;
	mask = mem_zalloc(sizeof(*mask));
	mask->extract = string_of(row, "extract");
	mask->jwt = decode;
	for (size_t i = 0;
	     i < json_array_size(claims) && mask->n_claims < MASK_CLAIMS_MAX;
	     i++) {
		const char *name = json_string_value(json_array_get(claims, i));

		if (name)
			mask->claims[mask->n_claims++] = mem_strdup(name);
	}
	if (none && !strcmp(none, "warn"))
		mask->none = MASK_NONE_SHOW;
	if (none && !strcmp(none, "error"))
		mask->none = MASK_NONE_FAIL;
	return mask;
}

static int read_secret(const json_t *row, struct bound_secrets *secrets,
		       struct err *err)
{
	struct bound_secret *s = vec_push(secrets);

	s->name = string_of(row, "name");
	s->optional = json_is_true(json_object_get(row, "optional"));
	s->header = string_of(row, "header");
	s->method = string_of(row, "method");
	s->path = string_of(row, "path");
	s->url = string_of(row, "url");
	if (!s->name)
		return fail(err, -EINVAL, "a secret has no name");
	return read_hosts(json_object_get(row, "hosts"), s, err);
}

/* What srt calls them */
static const char *const forms[] = {
	[SIGV4_STREAMING] = "streaming",
	[SIGV4_PRESIGNED] = "presigned",
	[SIGV4_ASYMMETRIC] = "sigv4a",
};

static int read_aws(const json_t *root, struct tls_config *ret, struct err *err)
{
	const json_t *pairs = json_object_get(root, "pairs");
	const json_t *sigv4 = json_object_get(root, "sigv4");

	if (json_array_size(pairs) > CONFIG_PAIRS_MAX)
		return fail(err, -E2BIG,
			    "credentials.awsPairs has more than %d entries",
			    CONFIG_PAIRS_MAX);
	for (size_t i = 0; i < json_array_size(pairs); i++) {
		const json_t *row = json_array_get(pairs, i);
		struct aws_pair *pair = &ret->pairs[ret->n_pairs++];

		pair->id = string_of(row, "accessKeyIdVar");
		pair->key = string_of(row, "secretAccessKeyVar");
		pair->token = string_of(row, "sessionTokenVar");
		if (!pair->id || !pair->key)
			return fail(err, -EINVAL, "a key of AWS has no name");
	}
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		const char *word = forms[i] ? json_string_value(json_object_get(
						      sigv4, forms[i]))
					    : NULL;

		if (word && !strcmp(word, "passthrough"))
			ret->passed |= 1U << i;
	}
	return 0;
}

static int read_all(const json_t *root, struct tls_config *ret, struct err *err)
{
	const json_t *secrets = json_object_get(root, "secrets");
	const json_t *cas = json_object_get(root, "cas");
	int r = read_aws(root, ret, err);

	if (r < 0)
		return r;
	ret->project = string_of(root, "project");
	if (!ret->project ||
	    read_key(json_string_value(json_object_get(root, "key")),
		     ret->key) < 0)
		return fail(err, -EINVAL, "no project or key");
	if (json_array_size(cas) > CONFIG_CAS_MAX)
		return fail(err, -EINVAL, "more than %d files with authorities",
			    CONFIG_CAS_MAX);
	for (size_t i = 0; i < json_array_size(cas); i++) {
		const char *path = json_string_value(json_array_get(cas, i));

		if (!path)
			return fail(err, -EINVAL, "an authority is not a path");
		ret->cas[ret->n_cas++] = mem_strdup(path);
	}
	if (!json_array_size(secrets) ||
	    json_array_size(secrets) > BOUND_SECRETS_MAX)
		return fail(err, -EINVAL, "there must be 1 to %d secrets",
			    BOUND_SECRETS_MAX);
	for (size_t i = 0; !r && i < json_array_size(secrets); i++) {
		const json_t *row = json_array_get(secrets, i);

		r = read_secret(row, &ret->secrets, err);
		ret->masks[i] = read_mask(json_object_get(row, "mask"));
		ret->sources[i] = (struct value_source){
			.shape = string_of(row, "shape"),
			.ttl = json_integer_value(json_object_get(row, "ttl")),
			.stored = json_is_true(json_object_get(row, "stored")),
		};
		ret->secrets.v[i].masked = ret->masks[i];
	}
	return r;
}

int tls_config_read(const char *text, size_t n, struct tls_config *ret,
		    struct err *err)
{
	json_t *root = json_parse(text, n, "configuration", err);
	int r;

	*ret = (struct tls_config){ 0 };
	if (!root)
		return err->code ? err->code : -EINVAL;
	r = read_all(root, ret, err);
	json_decref(root);
	if (r < 0)
		tls_config_done(ret);
	return r;
}

void tls_config_done(struct tls_config *config)
{
	bound_secrets_done(&config->secrets);
	for (size_t i = 0; i < BOUND_SECRETS_MAX; i++) {
		mask_free(config->masks[i]);
		free(config->sources[i].shape);
	}
	for (size_t i = 0; i < config->n_cas; i++)
		free(config->cas[i]);
	for (size_t i = 0; i < config->n_pairs; i++) {
		free(config->pairs[i].id);
		free(config->pairs[i].key);
		free(config->pairs[i].token);
	}
	free(config->project);
	*config = (struct tls_config){ 0 };
}
