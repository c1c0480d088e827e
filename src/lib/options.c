/* SPDX-License-Identifier: Apache-2.0 */
/* lib/options.c - the options of a run, by name; one table for every use */

#include "lib/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/policy.h"

enum option_kind {
	KIND_PATH, KIND_HOST, KIND_LIST, KIND_PORT, KIND_SOCKET, KIND_ENV,
	KIND_SIZE, KIND_TIME, KIND_COUNT, KIND_FLAG, KIND_RUN,
};

static const struct option_row rows[OPTION_COUNT] = {
#define OPTION(id, name, letter, argument, kind, index, help)	\
	[OPTION_##id] = { name, letter, argument, help },
#include "lib/options.def"
#undef OPTION
};

static const struct {
	enum option_kind kind;
	int index;
} effects[OPTION_COUNT] = {
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

static int check_number(enum option_kind kind, const char *value,
			uint64_t *ret)
{
	switch (kind) {
	case KIND_SIZE:
		return text_to_size(value, ret);
	case KIND_TIME:
		return text_to_duration_ms(value, ret);
	case KIND_PORT:
		return text_to_u64(value, 65535, ret);
	default:
		return text_to_u64(value, 1 << 22, ret);
	}
}

/* What can be said about a value without a policy to put it in */
static int check(enum option_id id, const char *value, struct err *err)
{
	const struct option_row *row = &rows[id];
	uint64_t n = 1;

	if (!row->argument)
		return 0;
	if (!*value)
		return fail(err, -EINVAL, "--%s needs a %s that is not empty",
			    row->name, row->argument);
	switch (effects[id].kind) {
	case KIND_SIZE:
	case KIND_TIME:
	case KIND_COUNT:
	case KIND_PORT:
		if (check_number(effects[id].kind, value, &n) < 0 || !n)
			return fail(err, -EINVAL, "--%s: '%s' is not a %s",
				    row->name, value, row->argument);
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
		return fail(err, -EINVAL, "--%s needs a %s", rows[id].name,
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

static int add_path(struct policy *policy, enum path_list list,
		    const char *value, struct origin origin, struct err *err)
{
	const size_t before = policy->paths[list].len;
	const int r = policy_add_path(policy, list, value, RULE_USER, origin,
				      err);

	/* What somebody typed just now should be there */
	if (r == 0 && policy->paths[list].len > before &&
	    (list == PATH_ALLOW_WRITE || list == PATH_ALLOW_READ))
		policy->paths[list].v[before].must_exist = true;
	return r;
}

static int apply(const struct option_value *v, struct policy *policy,
		 struct err *err)
{
	const struct option_row *row = &rows[v->id];
	const int index = effects[v->id].index;
	auto_free char *name = mem_printf("--%s", row->name);
	const struct source *source;
	struct origin origin;
	auto_free char *path = NULL;
	uint64_t n = 0;

	if (effects[v->id].kind == KIND_RUN)
		return 0;
	source = policy_add_source(policy, SCOPE_FLAG, name, NULL, 0,
				   policy->cwd);
	origin = origin_make(source, NULL, NULL);
	switch (effects[v->id].kind) {
	case KIND_PATH:
		return add_path(policy, (enum path_list)index, v->value,
				origin, err);
	case KIND_HOST:
		return policy_add_host(policy, (enum host_list)index,
				       v->value, NULL, origin, err);
	case KIND_SOCKET:
		path = path_resolve(policy->cwd, v->value);
		policy_add_string(policy, (enum string_list)index, path,
				  origin);
		return 0;
	case KIND_LIST:
	case KIND_PORT:
	case KIND_ENV:
		policy_add_string(policy, (enum string_list)index, v->value,
				  origin);
		return 0;
	case KIND_FLAG:
		policy_set_flag(policy, (enum policy_flag)index, true, origin);
		return 0;
	default:
		(void)check_number(effects[v->id].kind, v->value, &n);
		policy_set_number(policy, (enum policy_number)index, n,
				  origin);
		return 0;
	}
}

int options_apply(const struct options *options, struct policy *policy,
		  struct err *err)
{
	for (size_t i = 0; i < options->len; i++) {
		const int r = apply(&options->v[i], policy, err);

		if (r < 0)
			return fail_in(err, "--%s",
				       rows[options->v[i].id].name);
	}
	return 0;
}
