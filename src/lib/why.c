/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/why.c - may a command read, write or reach this, and who says so
 *
 * Theory of operation: the view answers for what exists and for what rules
 * name. Protected names that do not exist yet are refused when somebody makes
 * them, so they are asked about here by name, below the writable directory that
 * they would stand in.
 */

#include "lib/why.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "plan/jail.h"
#include "plan/resolve.h"
#include "plan/view.h"
#include "policy/host.h"
#include "policy/policy.h"
#include "policy/protect.h"

static const char *const op_names[WHY_OPS] = {
	[WHY_READ] = "read", [WHY_WRITE] = "write", [WHY_CONNECT] = "connect",
};

int why_op_parse(const char *name, enum why_op *ret)
{
	for (enum why_op op = 0; op < WHY_OPS; op++) {
		if (!strcmp(op_names[op], name)) {
			*ret = op;
			return 0;
		}
	}
	return -EINVAL;
}

const char *why_op_name(enum why_op op)
{
	return op_names[op];
}

void why_done(struct why *why)
{
	if (why->origin)
		origin_done(why->origin);
	free(why->origin);
	free(why->target);
	free(why->rule);
	free(why->reason);
	free(why->suggest);
	*why = (struct why){ 0 };
}

static void set_rule(struct why *why, const char *text,
		     const struct origin *origin)
{
	why->rule = mem_strdup(text);
	why->origin = mem_zalloc(sizeof(*why->origin));
	*why->origin = origin_copy(origin);
}

static void set_suggestion(struct why *why, const char *what)
{
	auto_buf struct buf b = { 0 };

	buf_addf(&b, "cloche policy allow %s ", what);
	text_shell_quote(&b, why->target);
	why->suggest = buf_take(&b);
}

/* It is given up by its name alone, wherever it is */
static void set_unprotect(struct why *why, const struct protect_row *row)
{
	why->suggest = mem_printf("sandbox.filesystem.unprotect += \"%s\"",
				  row->name);
}

static void set_verdict(struct why *why, const struct verdict *v,
			enum why_op op)
{
	const struct protect_row *row = v->rule && op == WHY_WRITE ?
					protect_row_of(v->rule) : NULL;

	why->allowed = v->allowed;
	why->reason = mem_strdup(v->reason);
	if (v->rule)
		set_rule(why, v->rule->text, &v->rule->origin);
	if (row && !v->allowed && !v->final)
		set_unprotect(why, row);
	else if (verdict_yields(v, op == WHY_READ ? VIEW_READ : VIEW_WRITE,
				why->target))
		set_suggestion(why, op_names[op]);
}

/* The row that protects @path because of its name, or NULL */
static const struct protect_row *by_name(const struct view *view,
					 const char *path)
{
	auto_free char *root = view_root_of(view, path);
	const struct protect_row *row;
	const char *below;

	if (!root || !path_is_below(root, path))
		return NULL;
	below = path + strlen(root) + (root[1] != '\0');
	row = protect_match(view->policy, below);
	for (const char *at = below; at && !row; at = strchr(at, '/')) {
		at += *at == '/';
		if (!strncasecmp(at, ".git/", 5))
			row = protect_match_repo(view->policy, at + 5);
	}
	return row;
}

static void set_protected(struct why *why, const struct protect_row *row)
{
	why->reason = mem_printf("protected name: %s", row->reason);
	why->rule = mem_strdup(row->name);
	if (row->kind != PROTECT_SENTINEL)
		set_unprotect(why, row);
}

static int ask_path(struct policy *policy, enum why_op op, struct why *why,
		    struct err *err)
{
	const enum view_op view_op = op == WHY_READ ? VIEW_READ : VIEW_WRITE;
	struct resolver *resolver = resolver_new();
	auto_view struct view *view = NULL;
	auto_free char *link = NULL;
	auto_free char *real = NULL;
	const struct protect_row *row = NULL;
	struct stat st, link_st;
	struct verdict v;
	int r;

	real = resolver_follow_both(resolver, why->target, &st, &link,
				    &link_st);
	resolver_free(resolver);
	r = view_build(policy, &view, err);
	if (r < 0)
		return r;
	v = view_verdict(view, view_op, real);
	if (v.allowed && link)
		v = view_verdict(view, view_op, link);
	free(why->target);
	why->target = mem_strdup(link && !v.allowed ? link : real);
	if (op == WHY_WRITE && v.allowed && !view_is_private(view, real))
		row = by_name(view, real);
	if (row)
		set_protected(why, row);
	else
		set_verdict(why, &v, op);
	return 0;
}

/* A jail knows addresses only; a name may lead anywhere far away */
static int ask_jail(const struct policy *policy, const struct host *host,
		    struct why *why, struct err *err)
{
	struct jail jail = { 0 };
	const struct jail_route *route;
	const int r = jail_plan(policy, "", &jail, err);

	route = r < 0 ? NULL : jail_find(&jail, host);
	why->allowed = !route;
	why->reason = route ? mem_printf("the jail does not lead there: %s",
					 route->why) :
		      mem_strdup("the jail leads to all but private addresses");
	jail_done(&jail);
	return r;
}

static int ask_host(const struct policy *policy, const char *target,
		    struct why *why, struct err *err)
{
	auto_buf struct buf shown = { 0 };
	struct host_verdict v;
	struct host host;

	if (host_parse_authority(target, strlen(target), 443, &host) < 0)
		return fail(err, -EINVAL, "'%s' is not a host or host:port",
			    target);
	/* A port is shown if it was asked about */
	host_format(&host, strrchr(target, ':') ? 0 : 443, &shown);
	why->target = buf_take(&shown);
	if (policy->net == NET_HOST || policy->net == NET_NONE) {
		why->allowed = policy->net == NET_HOST;
		why->reason = mem_strdup(why->allowed ?
			"the host's network is not filtered" :
			"there is no network");
		return 0;
	}
	if (policy->net == NET_JAIL)
		return ask_jail(policy, &host, why, err);
	v = host_decide(policy, &host, false);
	why->allowed = v.decision == HOST_ALLOWED;
	why->reason = mem_strdup(v.reason);
	if (v.rule)
		set_rule(why, v.rule->text, &v.rule->origin);
	else if (!why->allowed &&
		 !policy_flag(policy, FLAG_MANAGED_DOMAINS_ONLY, false))
		set_suggestion(why, "domain");
	return 0;
}

/* As in rules, "~" is the home */
static char *resolve_target(const struct policy *policy, const char *target)
{
	if (policy->home && *target == '~' && (!target[1] || target[1] == '/'))
		return path_resolve(policy->home,
				    target + 1 + strspn(target + 1, "/"));
	return path_resolve(policy->cwd, target);
}

int why_ask(struct policy *policy, enum why_op op, const char *target,
	    struct why *ret, struct err *err)
{
	struct why why = { 0 };
	int r;

	if (!*target)
		return fail(err, -EINVAL, "the %s is empty",
			    op == WHY_CONNECT ? "host" : "path");
	if (op == WHY_CONNECT) {
		r = ask_host(policy, target, &why, err);
	} else {
		why.target = resolve_target(policy, target);
		r = ask_path(policy, op, &why, err);
	}
	if (r < 0) {
		why_done(&why);
		return r;
	}
	*ret = why;
	return 0;
}
