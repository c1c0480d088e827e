/* SPDX-License-Identifier: Apache-2.0 */
/* tls/values.c - the values of secrets, from the pipes that have them */

#include "tls/values.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/sys.h"
#include "tls/config.h"

static int read_pipe(int fd, int64_t until, size_t max, struct bytes *ret,
		     struct err *err)
{
	char piece[4096];
	ssize_t n = 1;

	while (n > 0) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		const int64_t left = until - now_ms(CLOCK_MONOTONIC);

		if (left <= 0 || poll(&p, 1, (int)left) == 0)
			return fail(err, -ETIMEDOUT,
				    "no value was received within %d s",
				    VALUES_MS / 1000);
		n = read(fd, piece, sizeof(piece));
		if (n < 0)
			return fail_errno(err, "cannot read the value");
		bytes_add(ret, piece, (size_t)n);
		explicit_bzero(piece, sizeof(piece));
		if (ret->len > max)
			return fail(err, -EFBIG,
				    "the value has more than %zu bytes", max);
	}
	return 0;
}

/* Give secret number @i a placeholder in the form of the @n bytes at @shape. @name is
 * what tells it from others of the project.
 */
static int set_placeholder(struct tls_config *config, size_t i,
			   const char *name, const char *shape, size_t n,
			   struct err *err)
{
	struct bound_secret *secret = &config->secrets.v[i];
	int r;

	secret->placeholder = mem_zalloc(n + 1);
	r = placeholder_make(config->key, config->project, name, shape, n,
			     secret->placeholder, err);
	if (r < 0)
		return r;
	/* Equal texts would stand for two secrets */
	for (size_t k = 0; k < i; k++) {
		const char *other = config->secrets.v[k].placeholder;

		if (other && !strcmp(other, secret->placeholder))
			return fail(err, -EEXIST,
				"secrets '%s' and '%s' have one placeholder",
				config->secrets.v[k].name, secret->name);
	}
	return 0;
}

/**
 * struct masking - A text whose parts become secrets
 * @row:	Its number
 */
struct masking {
	struct tls_config *config;
	struct source_values *values;
	size_t row;
};

static const char *add_part(void *arg, const char *value, const char *shape,
			    size_t n, struct err *err)
{
	struct masking *m = arg;
	struct bound_secrets *secrets = &m->config->secrets;
	struct bytes *values = m->values->secrets.v;
	size_t i = m->values->rows;
	auto_free char *name = NULL;

	for (; i < secrets->len; i++) {
		if (m->values->part_of[i] == m->row && values[i].len == n &&
		    !memcmp(values[i].p, value, n))
			return secrets->v[i].placeholder;
	}
	if (i == BOUND_VALUES_MAX) {
		(void)fail(err, -E2BIG, "more than %d secrets in one run",
			   BOUND_VALUES_MAX);
		return NULL;
	}
	(void)bound_secrets_add_like(secrets, m->row);
	m->values->part_of[i] = m->row;
	bytes_add(&values[i], value, n);
	name = mem_printf("%s#%zu", secrets->v[i].name, i - m->values->rows);
	return set_placeholder(m->config, i, name, shape, n, err) < 0
		       ? NULL
		       : secrets->v[i].placeholder;
}

/* No part of the text of @row is a secret that can be replaced: nothing may go out */
static void forget_parts(struct masking *m, size_t from)
{
	struct bound_secrets *secrets = &m->config->secrets;

	for (size_t i = from; i < secrets->len; i++) {
		free(secrets->v[i].placeholder);
		secrets->v[i].placeholder = NULL;
		bytes_done(&m->values->secrets.v[i]);
	}
}

/* What cannot be masked stays hidden, whatever the reason */
static int mask_row(struct masking *m, const struct bytes *text,
		    struct err *err)
{
	const struct bound_secret *row = &m->config->secrets.v[m->row];
	const struct mask *mask = m->config->masks[m->row];
	auto_free char *name = mem_strdup(row->name);
	const size_t from = m->config->secrets.len;
	struct buf *shown = &m->values->shown[m->row];
	struct err why = { 0 };
	const int r = mask_text(mask, text->p, text->len, add_part, m, shown, &why);

	if (r > 0)
		return 0;
	forget_parts(m, from);
	if (r < 0) {
		buf_done(shown);
		m->values->notes[m->row] = mem_printf(
			"'%s' is masked and stays hidden: %s", name, why.msg);
		return 0;
	}
	if (mask->none == MASK_NONE_FAIL)
		return fail(err, -ENODATA,
			"no secret was found in it (onExtractNoMatch is \"error\")");
	if (mask->none == MASK_NONE_SHOW)
		buf_add(shown, text->p, text->len);
	m->values->notes[m->row] = mem_printf(mask->none == MASK_NONE_SHOW
			? "'%s' is shown as it is: its mask found no secret in it"
			: "'%s' stays hidden: its mask found no secret in it (\"onExtractNoMatch\": \"warn\" would show it)",
		name);
	return 0;
}

static int read_masked(struct masking *m, int fd, int64_t until,
		       struct err *err)
{
	auto_bytes struct bytes text = { 0 };
	const int r = read_pipe(fd, until, MASK_TEXT_MAX, &text, err);

	if (r == -EFBIG) {
		m->values->notes[m->row] = mem_printf(
			"'%s' is masked and stays hidden: it has more than %d bytes",
			m->config->secrets.v[m->row].name, MASK_TEXT_MAX);
		return 0;
	}
	return r < 0 || !text.len ? r : mask_row(m, &text, err);
}

static int read_whole(struct tls_config *config, size_t i, int fd,
		      int64_t until, struct bytes *value, struct err *err)
{
	const struct bound_secret *secret = &config->secrets.v[i];
	const char *shape = config->sources[i].shape;
	int r = read_pipe(fd, until, PLACEHOLDER_MAX, value, err);

	if (r < 0)
		return r;
	bytes_chomp(value);
	if (!value->len && shape)
		return set_placeholder(config, i, secret->name, shape,
				       strlen(shape), err);
	if (!value->len)
		return secret->optional
			       ? 0
			       : fail(err, -ENODATA, "there is no value");
	return set_placeholder(config, i, secret->name, value->p, value->len,
			       err);
}

/* 1 and the number of the secret @name, which is the whole text of it, or 0 */
static size_t secret_named(const struct tls_config *config,
			   const struct source_values *values, const char *name)
{
	for (size_t i = 0; name && i < config->secrets.len; i++) {
		const struct bound_secret *s = &config->secrets.v[i];
		const struct mask *mask =
			config->masks[i < values->rows ? i
						       : values->part_of[i]];

		if (s->placeholder && !strcmp(s->name, name) &&
		    (!mask || (!mask->extract && !mask->jwt)))
			return i + 1;
	}
	return 0;
}

/* @by_settings: settings say that they belong together */
static void link_key(const struct tls_config *config,
		     struct source_values *values, const struct aws_pair *pair,
		     bool by_settings)
{
	const size_t id = secret_named(config, values, pair->id);
	const size_t key = secret_named(config, values, pair->key);
	const size_t row = key > values->rows ? values->part_of[key - 1]
					      : key - 1;

	if (id && key) {
		struct bound_secret *s = &config->secrets.v[id - 1];

		s->aws_key = key;
		s->aws_token = secret_named(config, values, pair->token);
		s->aws_passed = config->passed;
		s->aws_pair = by_settings;
	} else if (key && !values->notes[row]) {
		/* Nothing tells that a request was signed with this placeholder */
		values->notes[row] = mem_printf(
			"'%s' has a placeholder and '%s' has none: AWS will refuse what is signed with it; mask or bind both",
			pair->key, pair->id);
	}
}

static bool is_named(const struct aws_pair *pair, const char *name)
{
	return !strcmp(pair->id, name) || !strcmp(pair->key, name) ||
	       (pair->token && !strcmp(pair->token, name));
}

/* Access keys and what goes with them: as settings say, and what AWS's own programs
 * read, unless settings speak of that
 */
static void link_keys(struct tls_config *config, struct source_values *values)
{
	char id[] = "AWS_ACCESS_KEY_ID", key[] = "AWS_SECRET_ACCESS_KEY";
	char token[] = "AWS_SESSION_TOKEN";
	const struct aws_pair own = { id, key, token };
	bool free_names = true;

	for (size_t i = 0; i < config->n_pairs; i++) {
		const struct aws_pair *pair = &config->pairs[i];

		free_names &= !is_named(pair, id) && !is_named(pair, key) &&
			      !is_named(pair, token);
		link_key(config, values, pair, true);
	}
	if (free_names)
		link_key(config, values, &own, false);
}

int values_read(struct tls_config *config, const int *fds,
		struct source_values *ret, struct err *err)
{
	const int64_t until = now_ms(CLOCK_MONOTONIC) + VALUES_MS;
	struct masking m = { .config = config, .values = ret };
	int r = 0;

	ret->rows = config->secrets.len;
	for (size_t i = 0; !r && i < ret->rows; i++) {
		m.row = i;
		r = config->masks[i] ? read_masked(&m, fds[i], until, err)
				     : read_whole(config, i, fds[i], until,
						  &ret->secrets.v[i], err);
		if (r < 0)
			r = fail_in(err, r, "secret '%s'",
				    config->secrets.v[i].name);
	}
	link_keys(config, ret);
	return r;
}
