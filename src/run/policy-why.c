/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run/policy-why.c - whether a command may read, write or reach something, and by which rule
 *
 * Theory of operation: the view answers for what exists and for what rules
 * name. Protected names that do not exist yet are refused when a command makes
 * them, so they are asked about here by name, below the writable directory that
 * they would stand in.
 */

#include "run/policy-why.h"

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
#include "policy/env-rules.h"
#include "policy/host.h"
#include "policy/policy.h"
#include "policy/protected-names.h"
#include "view/realpath.h"
#include "view/view.h"

static const char *const op_names[POLICY_WHY_OPS] = {
	[POLICY_WHY_READ] = "read", [POLICY_WHY_WRITE] = "write", [POLICY_WHY_HOST] = "host",
	[POLICY_WHY_SOCKET] = "socket", [POLICY_WHY_PORT] = "port",
	[POLICY_WHY_VARIABLE] = "variable",
};

static const char *const old_names[POLICY_WHY_OPS] = {
	[POLICY_WHY_HOST] = "connect", [POLICY_WHY_SOCKET] = "unix-socket",
	[POLICY_WHY_PORT] = "host-port", [POLICY_WHY_VARIABLE] = "env",
};

int policy_why_op_parse(const char *name, enum policy_why_op *ret)
{
	for (enum policy_why_op op = 0; op < POLICY_WHY_OPS; op++) {
		if (!strcmp(op_names[op], name) ||
		    (old_names[op] && !strcmp(old_names[op], name))) {
			*ret = op;
			return 0;
		}
	}
	*ret = POLICY_WHY_HOST;
	return strcmp(name, "domain") ? -EINVAL : 0;
}

const char *policy_why_op_name(enum policy_why_op op)
{
	return op_names[op];
}

void policy_why_done(struct policy_why *why)
{
	free(why->origin);
	free(why->target);
	free(why->rule);
	free(why->reason);
	free(why->suggest);
	*why = (struct policy_why){ 0 };
}

static void set_rule(struct policy_why *why, const char *text,
		     const struct origin *origin)
{
	why->rule = mem_strdup(text);
	why->origin = mem_zalloc(sizeof(*why->origin));
	*why->origin = *origin;
}

static void set_suggestion(struct policy_why *why, const char *what)
{
	auto_buf struct buf b = { 0 };

	buf_addf(&b, "cloche policy allow %s ", what);
	text_shell_quote(&b, why->target);
	why->suggest = buf_take(&b);
}

/* It is given up by its name alone, wherever it is */
static void set_unprotect(struct policy_why *why, const struct protected_row *row)
{
	why->suggest = mem_printf("cloche policy allow unprotect %s",
				  row->name);
}

static void set_verdict(struct policy_why *why, const struct verdict *v,
			enum policy_why_op op)
{
	const struct protected_row *row = v->rule && op == POLICY_WHY_WRITE ?
					protected_row_of(v->rule) : NULL;

	why->allowed = v->allowed;
	why->reason = mem_strdup(v->reason);
	if (v->rule)
		set_rule(why, v->rule->text, &v->rule->origin);
	if (row && !v->allowed && !v->final)
		set_unprotect(why, row);
	else if (verdict_yields(v, op == POLICY_WHY_READ ? VIEW_READ : VIEW_WRITE,
				why->target))
		set_suggestion(why, op_names[op]);
}

/* The row that protects @path because of its name, or NULL */
static const struct protected_row *by_name(const struct view *view,
					 const char *path)
{
	auto_free char *root = view_root_of(view, path);
	const struct protected_row *row;
	const char *below;

	if (!root || !path_is_below(root, path))
		return NULL;
	below = path + strlen(root) + (root[1] != '\0');
	row = protected_match(view->policy, below);
	for (const char *at = below; at && !row; at = strchr(at, '/')) {
		at += *at == '/';
		if (!strncasecmp(at, ".git/", 5))
			row = protected_match_repo(view->policy, at + 5);
	}
	return row;
}

static void set_protected(struct policy_why *why, const struct protected_row *row)
{
	why->reason = mem_printf("protected name: %s", row->reason);
	why->rule = mem_strdup(row->name);
	if (row->kind != PROTECTED_SENTINEL)
		set_unprotect(why, row);
}

static int ask_path(struct policy *policy, enum policy_why_op op, struct policy_why *why,
		    struct err *err)
{
	const enum view_op view_op = op == POLICY_WHY_READ ? VIEW_READ : VIEW_WRITE;
	struct realpath *resolver = realpath_new();
	auto_view struct view *view = NULL;
	auto_free char *link = NULL;
	auto_free char *real = NULL;
	const struct protected_row *row = NULL;
	enum view_place place;
	struct stat st, link_st;
	struct verdict v;
	int r;

	real = realpath_follow_both(resolver, why->target, &st, &link,
				    &link_st);
	realpath_free(resolver);
	r = view_build(policy, &view, err);
	if (r < 0)
		return r;
	v = view_verdict(view, view_op, real);
	place = view_place(view, real);
	if (v.allowed && link)
		v = view_verdict(view, view_op, link);
	free(why->target);
	why->target = mem_strdup(link && !v.allowed ? link : real);
	if (op == POLICY_WHY_WRITE && v.allowed && !view_is_private(view, real))
		row = by_name(view, real);
	if (op == POLICY_WHY_READ &&
	    (place == VIEW_TMP ||
	     (place == VIEW_PRIVATE && path_is_within(VAR_TMP, real)))) {
		why->reason = mem_strdup("the sandbox has a directory of its own there; the host's file is not in it");
		set_suggestion(why, "read");
	} else if (row)
		set_protected(why, row);
	else
		set_verdict(why, &v, op);
	return 0;
}

/* A jail knows addresses only; a name may lead anywhere far away */
static int ask_jail(const struct policy *policy, const struct host *host,
		    struct policy_why *why, struct err *err)
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

/* The port of "localhost:PORT", which is the sandbox's own: a rule about the host does
 * not lead to the machine's. NULL if it is another host, or no port.
 */
static const char *local_port(const struct policy *policy, const char *target)
{
	static const char *const names[] = { "localhost:", "127.0.0.1:", "[::1]:" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (policy->net == NET_FILTERED &&
		    !strncmp(target, names[i], strlen(names[i])))
			return target + strlen(names[i]);
	}
	return NULL;
}

static int ask_host(const struct policy *policy, const char *target,
		    struct policy_why *why, struct err *err)
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
		set_suggestion(why, "host");
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

/* Whether an entry of @list is @why->target, or something else opens all of it */
static void ask_list(const struct policy *policy, enum string_list list,
		     bool all, const char *otherwise, const char *kind,
		     struct policy_why *why)
{
	const struct list_rules *rules = &policy->lists[list];

	for (size_t i = 0; i < rules->len && !why->rule; i++) {
		if (!strcmp(rules->v[i].text, why->target))
			set_rule(why, rules->v[i].text, &rules->v[i].origin);
	}
	why->allowed = all || why->rule;
	why->reason = mem_strdup(why->rule ? "a rule allows it" :
				 all ? "all of them are allowed" : otherwise);
	if (!why->allowed)
		set_suggestion(why, kind);
}

static void ask_variable(const struct policy *policy, struct policy_why *why)
{
	const char *value = getenv(why->target);
	auto_free char *entry = mem_printf("%s=%s", why->target,
					   value ? value : "");
	const struct env_verdict v = env_decide(policy, entry,
						strlen(why->target));

	why->allowed = v.pass;
	why->reason = mem_strdup(v.reason);
	if (!v.pass && !policy_has_string(policy, LIST_ENV_DENY, why->target))
		set_suggestion(why, "variable");
}

int policy_why_ask(struct policy *policy, enum policy_why_op op, const char *target,
	    struct policy_why *ret, struct err *err)
{
	const bool host_net = policy->net == NET_HOST;
	struct policy_why why = { 0 };
	uint64_t port;
	int r = 0;

	if (!*target)
		return fail(err, -EINVAL, "the %s is empty", op_names[op]);
	if (op == POLICY_WHY_HOST && local_port(policy, target)) {
		op = POLICY_WHY_PORT;
		target = local_port(policy, target);
	}
	if (op == POLICY_WHY_HOST && *target == '/')	/* "connect" may mean either */
		op = POLICY_WHY_SOCKET;
	why.op = op;
	if (op == POLICY_WHY_READ || op == POLICY_WHY_WRITE || op == POLICY_WHY_SOCKET)
		why.target = resolve_target(policy, target);
	else if (op != POLICY_WHY_HOST)
		why.target = mem_strdup(target);
	if (op == POLICY_WHY_HOST)
		r = ask_host(policy, target, &why, err);
	else if (op == POLICY_WHY_SOCKET)
		ask_list(policy, LIST_UNIX_SOCKETS,
			 policy_flag(policy, FLAG_ALL_UNIX_SOCKETS, false),
			 "sockets of the host are refused; its own work", "socket",
			 &why);
	else if (op == POLICY_WHY_PORT && (text_to_u64(target, 65535, &port) < 0 || !port))
		r = fail(err, -EINVAL, "'%s' is not a port from 1 to 65535", target);
	else if (op == POLICY_WHY_PORT)
		ask_list(policy, LIST_HOST_PORTS, host_net,
			 "localhost inside is the sandbox's own", "port", &why);
	else if (op == POLICY_WHY_VARIABLE)
		ask_variable(policy, &why);
	else
		r = ask_path(policy, op, &why, err);
	if (r < 0) {
		policy_why_done(&why);
		return r;
	}
	*ret = why;
	return 0;
}
