/* SPDX-License-Identifier: Apache-2.0 */
/* lib/options.c - the options of a run, by name; one table for every use */

#include "lib/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/policy.h"

enum { COUNT_MAX = 4194304 };	/* Processes that Linux can have */

static const struct option_row rows[OPTION_COUNT] = {
#define OPTION(id, name, letter, argument, kind, index, help)	\
	[OPTION_##id] = { name, letter, argument, help },
#include "lib/options.def"
#undef OPTION
};

static const struct option_effect effects[OPTION_COUNT] = {
#define OPTION(id, name, letter, argument, kind, index, help)	\
	[OPTION_##id] = { KIND_##kind, (int)index },
#include "lib/options.def"
#undef OPTION
};

const struct option_row *option_row(enum option_id id)
{
	return &rows[id];
}

enum option_id option_find(const char *name, size_t n)
{
	enum option_id id = 0;

	while (id < OPTION_COUNT && (strncmp(rows[id].name, name, n) != 0 ||
				     rows[id].name[n]))
		id++;
	return id;
}

enum option_id option_find_letter(char letter)
{
	enum option_id id = 0;

	while (id < OPTION_COUNT && (!letter || rows[id].letter != letter))
		id++;
	return id;
}

const struct option_effect *option_effect(enum option_id id)
{
	return &effects[id];
}

int option_number(enum option_kind kind, const char *value, uint64_t *ret)
{
	switch (kind) {
	case KIND_SIZE:
		return text_to_size(value, ret);
	case KIND_TIME:
		return text_to_duration_ms(value, ret);
	case KIND_PORT:
		return text_to_u64(value, 65535, ret);
	default:
		return text_to_u64(value, COUNT_MAX, ret);
	}
}

/* What a number should have looked like */
static const char *const examples[] = {
	[KIND_SIZE] = "a size like 512M or 2G",
	[KIND_TIME] = "a time like 30s, 5m or 2h",
	[KIND_COUNT] = "a number from 1 to 4194304",
	[KIND_PORT] = "a port from 1 to 65535",
};

/* What can be said about a value without a policy to put it in */
static int check(enum option_id id, const char *value, struct err *err)
{
	const struct option_row *row = &rows[id];
	uint64_t n = 1;

	if (!row->argument)
		return 0;
	if (!*value)
		return fail(err, -EINVAL, "--%s needs a value (%s) that is not empty",
			    row->name, row->argument);
	switch (effects[id].kind) {
	case KIND_SIZE:
	case KIND_TIME:
	case KIND_COUNT:
	case KIND_PORT:
		if (option_number(effects[id].kind, value, &n) < 0 || !n)
			return fail(err, -EINVAL, "--%s: '%s' is not %s",
				    row->name, value,
				    examples[effects[id].kind]);
		return 0;
	case KIND_ENV:
		if (*value == '=')
			return fail(err, -EINVAL, "--env: '%s' has no name",
				    value);
		return 0;
	default:
		return 0;
	}
}

int options_add(struct options *options, enum option_id id, const char *value,
		struct err *err)
{
	struct option_value *v;
	int r;

	if (!rows[id].argument && value)
		return fail(err, -EINVAL, "--%s takes no value",
			    rows[id].name);
	if (rows[id].argument && !value)
		return fail(err, -EINVAL, "--%s needs a value (%s)", rows[id].name,
			    rows[id].argument);
	r = check(id, value, err);
	if (r < 0)
		return r;
	v = vec_push(options);
	v->id = id;
	v->value = value ? mem_strdup(value) : NULL;
	return 0;
}

void options_done(struct options *options)
{
	for (size_t i = 0; i < options->len; i++)
		free(options->v[i].value);
	free(options->v);
	*options = (struct options){ 0 };
}

char *options_swap(struct options *options, enum option_id id,
		   const char *value)
{
	struct option_value *v;
	size_t i = options->len;
	char *old;

	while (i > 0 && options->v[i - 1].id != id)
		i--;
	if (!i && value) {
		v = vec_push(options);
		*v = (struct option_value){ id, mem_strdup(value) };
	}
	if (!i)
		return NULL;
	v = &options->v[i - 1];
	old = v->value;
	if (value) {
		v->value = mem_strdup(value);
	} else {
		options->len--;
		memmove(v, v + 1, (options->len - (i - 1)) * sizeof(*v));
	}
	return old;
}

char *const *options_env(const struct options *options)
{
	return options->env ? options->env : environ;
}

const char *options_get(const struct options *options, enum option_id id)
{
	for (size_t i = options->len; i-- > 0;) {
		if (options->v[i].id == id)
			return options->v[i].value ? options->v[i].value : "";
	}
	return NULL;
}

bool options_has(const struct options *options, enum option_id id)
{
	return options_get(options, id) != NULL;
}
