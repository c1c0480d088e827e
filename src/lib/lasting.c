/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/lasting.c - what an edit changes, but not for the command that runs
 *
 * Hosts, writable paths, what is hidden and what is shown change at once.
 * Namespaces, limits, variables and the filter are made once; so is all that
 * Landlock alone holds.
 */

#include "lib/lasting.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "lib/hooks.h"
#include "lib/options.h"
#include "plan/plan.h"
#include "plan/view.h"
#include "policy/policy.h"

enum { PATHS_TOLD = 2 };	/* Paths that are named; others are counted */

static const struct { enum policy_number number; const char *key; } numbers[] = {
	{ NUMBER_TIMEOUT_MS, "limits.timeout" },
	{ NUMBER_MEMORY, "limits.memory" },
	{ NUMBER_PIDS, "limits.pids" },
	{ NUMBER_FILE_SIZE, "limits.fileSize" },
	{ NUMBER_OUTPUT, "limits.output" },
};

static const struct { enum policy_flag flag; const char *key; } flags[] = {
	{ FLAG_NESTED_USERNS, "allowNestedUserNamespaces" },
	{ FLAG_ALL_UNIX_SOCKETS, "network.allowAllUnixSockets" },
	{ FLAG_LOCAL_BINDING, "network.allowLocalBinding" },
	{ FLAG_FS_DISABLED, "filesystem.disabled" },
	{ FLAG_PASS_ENV, "passEnv" },
};

static const struct { enum string_list list; const char *key; } lists[] = {
	{ LIST_UNIX_SOCKETS, "network.allowUnixSockets" },
	{ LIST_HOST_PORTS, "network.hostPorts" },
	{ LIST_PUBLISH, "network.publish" },
	{ LIST_ALLOW_IPS, "network.allowIps" },
	{ LIST_ENV_SET, "env" },
};

static void add(struct buf *ret, const char *words)
{
	buf_adds(ret, ret->len ? ", " : "");
	buf_adds(ret, words);
}

static bool are_same(const struct string_rules *a, const struct string_rules *b)
{
	size_t i = 0;

	while (i < a->len && i < b->len && !strcmp(a->v[i].text, b->v[i].text))
		i++;
	return i == a->len && i == b->len;
}

static void name_values(const struct policy *a, const struct policy *b,
			struct buf *ret)
{
	if (a->profile != b->profile)
		add(ret, "profile");
	if (a->net != b->net)
		add(ret, "network.mode");
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		const struct number *x = &a->numbers[numbers[i].number];
		const struct number *y = &b->numbers[numbers[i].number];

		if (x->set != y->set || x->value != y->value)
			add(ret, numbers[i].key);
	}
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		if (a->flags[flags[i].flag].value !=
		    b->flags[flags[i].flag].value)
			add(ret, flags[i].key);
	}
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		if (!are_same(&a->lists[lists[i].list],
			      &b->lists[lists[i].list]))
			add(ret, lists[i].key);
	}
}

/**
 * struct views - The policy on this file system: when the run began, before the edit
 *		and after it
 */
struct views {
	const struct view *first, *before, *after;
};

/* What may be done since the edit, and could not before, nor when the run began, where
 * @rules have one of @list
 */
static size_t name_opened(const struct views *v, const struct view *rules,
			  enum path_list list, struct buf *ret)
{
	const enum view_op op = list == PATH_ALLOW_WRITE ? VIEW_WRITE
							 : VIEW_READ;
	size_t n = 0;

	for (size_t i = 0; i < rules->rules.len; i++) {
		const struct view_rule *r = &rules->rules.v[i];

		if (r->list != list ||
		    view_verdict(v->first, op, r->path).allowed ||
		    view_verdict(v->before, op, r->path).allowed ||
		    !view_verdict(v->after, op, r->path).allowed)
			continue;
		if (n++ < PATHS_TOLD) {
			add(ret, op == VIEW_WRITE ? "writing " : "reading ");
			buf_addf(ret, "'%s'", r->path);
		}
	}
	if (n > PATHS_TOLD)
		buf_addf(ret, " and %zu more", n - PATHS_TOLD);
	return n;
}

/* Nobody writes on the command's behalf without an observer; and without mounts
 * nothing is shown again
 */
static void name_paths(const struct plan *plan, const struct view *before,
		       const struct view *after, struct buf *ret)
{
	const struct views v = { plan->view, before, after };

	if (!plan->observe)
		(void)name_opened(&v, after, PATH_ALLOW_WRITE, ret);
	if (plan->tier != TIER_FULL &&
	    !name_opened(&v, after, PATH_ALLOW_READ, ret))
		(void)name_opened(&v, before, PATH_DENY_READ, ret);
}

void lasting_tell(const struct options *options, const struct plan *plan,
		  const struct lasting *before, const struct policy *policy,
		  const struct view *view)
{
	auto_buf struct buf words = { 0 };

	name_values(before->policy, policy, &words);
	name_paths(plan, before->view, view, &words);
	if (words.len && !options_has(options, OPTION_QUIET))
		hooks_say(options, "settings reloaded; this counts from the next run on: %s",
			  buf_str(&words));
}
