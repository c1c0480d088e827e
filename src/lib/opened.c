/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/opened.c - what a project's own settings open, and nobody was asked about
 *
 * .claude/settings.json comes with a clone, and by Claude Code's rules it may
 * open paths, hosts and sockets. Claude Code asks first whether the project is
 * trusted; who never started it there was not asked, and is told.
 */

#include "lib/opened.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "lib/hook.h"
#include "policy/document.h"
#include "policy/policy.h"

/**
 * struct opened - What was found
 * @file:	The last file that was looked up, and whether it is @trusted
 * @first:	The first find: its words and where they stand
 */
struct opened {
	const struct policy *policy;
	const char *file;
	bool trusted;
	struct buf first;
	size_t count;
};

static void look(struct opened *o, const struct origin *origin,
		 const char *words)
{
	const struct source *source = origin->source;

	if (!source || !scope_is_repository(source->scope))
		return;
	if (!o->file || strcmp(o->file, source->name) != 0) {
		o->file = source->name;
		o->trusted = hook_trusts_marked(o->policy->cwd, source->name);
	}
	if (o->trusted || o->count++)
		return;
	buf_addf(&o->first, "'%s' (", words);
	origin_describe(origin, &o->first);
	buf_addc(&o->first, ')');
}

static void look_at_paths(struct opened *o)
{
	static const enum path_list lists[] = {
		PATH_ALLOW_WRITE, PATH_ALLOW_READ,
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const struct path_rules *rules = &o->policy->paths[lists[i]];

		for (size_t j = 0; j < rules->len; j++) {
			if (!path_is_within(o->policy->cwd, rules->v[j].path))
				look(o, &rules->v[j].origin, rules->v[j].text);
		}
	}
}

static void look_at_network(struct opened *o)
{
	static const enum string_list lists[] = {
		LIST_UNIX_SOCKETS, LIST_HOST_PORTS, LIST_PUBLISH,
		LIST_ALLOW_IPS,
	};
	const struct host_rules *hosts = &o->policy->hosts[HOST_ALLOW];

	for (size_t i = 0; i < hosts->len; i++)
		look(o, &hosts->v[i].origin, hosts->v[i].text);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const struct string_rules *rules = &o->policy->lists[lists[i]];

		for (size_t j = 0; j < rules->len; j++)
			look(o, &rules->v[j].origin, rules->v[j].text);
	}
}

static void look_at_flags(struct opened *o)
{
	static const enum policy_flag flags[] = {
		FLAG_ALL_UNIX_SOCKETS, FLAG_LOCAL_BINDING, FLAG_WEAKER_NESTED,
	};

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		const struct flag *flag = &o->policy->flags[flags[i]];

		if (flag->set && flag->value)
			look(o, &flag->origin, "true");
	}
}

char *opened_note(const struct policy *policy)
{
	struct opened o = { .policy = policy };
	char *note = NULL, more[32] = "";

	look_at_paths(&o);
	look_at_network(&o);
	look_at_flags(&o);
	if (o.count > 1)
		snprintf(more, sizeof(more), " and %zu more", o.count - 1);
	if (o.count)
		note = mem_printf("this project's own settings open %s%s; --no-settings leaves them out, 'cloche policy show' lists them",
				  buf_str(&o.first), more);
	buf_done(&o.first);
	return note;
}
