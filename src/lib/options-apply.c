/* SPDX-License-Identifier: Apache-2.0 */
/* lib/options-apply.c - what the options of a run do to its policy */

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "lib/options.h"
#include "policy/pathrule.h"
#include "policy/policy.h"

static int add_path(struct policy *policy, enum path_list list,
		    const char *value, struct origin origin, struct err *err)
{
	const size_t before = policy->paths[list].len;
	const char *doubt = path_list_denies(list) ?
			    path_rule_doubt(value, false) : NULL;
	int r;

	if (doubt) {
		origin_done(&origin);
		return fail(err, -EINVAL, "'%s': %s", value, doubt);
	}
	r = policy_add_path(policy, list, value, RULE_USER, origin, err);

	/* What somebody typed just now should be there */
	if (r == 0 && policy->paths[list].len > before &&
	    (list == PATH_ALLOW_WRITE || list == PATH_ALLOW_READ))
		policy->paths[list].v[before].must_exist = true;
	return r;
}

static int apply(const struct option_value *v, struct policy *policy,
		 struct err *err)
{
	const struct option_row *row = option_row(v->id);
	const enum option_kind kind = option_effect(v->id)->kind;
	const int index = option_effect(v->id)->index;
	auto_free char *name = mem_printf("--%s", row->name);
	const struct source *source;
	struct origin origin;
	auto_free char *path = NULL;
	uint64_t n = 0;

	if (kind == KIND_RUN)
		return 0;
	source = policy_add_source(policy, SCOPE_FLAG, name, NULL, 0,
				   policy->cwd);
	origin = origin_make(source, NULL, NULL);
	switch (kind) {
	case KIND_PATH:
		return add_path(policy, (enum path_list)index, v->value,
				origin, err);
	case KIND_HOST:
		return policy_add_host(policy, (enum host_list)index,
				       v->value, NULL, origin, err);
	case KIND_SOCKET:
		path = path_resolve(policy->cwd, v->value);
		return policy_add_string(policy, (enum string_list)index, path,
					 origin, err);
	case KIND_LIST:
	case KIND_PORT:
	case KIND_ENV:
		return policy_add_string(policy, (enum string_list)index,
					 v->value, origin, err);
	case KIND_FLAG:
		policy_set_flag(policy, (enum policy_flag)index, true, origin);
		return 0;
	default:
		(void)option_number(kind, v->value, &n);
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
			return fail_in(err, r, "--%s",
				       option_row(options->v[i].id)->name);
	}
	return 0;
}
