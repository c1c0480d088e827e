/* SPDX-License-Identifier: Apache-2.0 */
/* plan/explain.c - a plan for people, and for programs */

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "plan/plan.h"
#include "policy/env-rules.h"
#include "policy/host.h"
#include "view/view.h"

/* JSON strings are UTF-8; names need not be */
static json_t *explain_json_name(const char *s)
{
	json_t *value = json_string(s);

	if (!value) {
		auto_buf struct buf safe = { 0 };

		text_escape(&safe, s);
		value = json_string(buf_str(&safe));
	}
	return value;
}

/* What was asked for, or in a lesser tier what became of it */
static enum net_mode net_of(const struct plan *plan)
{
	return plan->jail.on ? plan->view->policy->net : plan->net;
}

static void add_range(struct buf *out, const struct host_range *range)
{
	const int bytes = range->kind == HOST_IPV4 ? 4 : 16;
	struct host host;

	host_of_address(range->address, (size_t)bytes, 0, &host);
	buf_addf(out, "%s", host.name);
	if (range->bits != bytes * 8)
		buf_addf(out, "/%u", range->bits);
}

/* One line: what, which, and why */
static void print_line(struct buf *out, const char *what, const char *which,
		       const char *why)
{
	buf_addf(out, "  %-14s ", what);
	text_escape(out, which);
	buf_adds(out, "  (");
	text_escape(out, why);
	buf_adds(out, ")\n");
}

/* The same; @origin says why */
static void print_origin(struct buf *out, const char *what, const char *which,
			 const struct origin *origin)
{
	auto_buf struct buf words = { 0 };

	origin_describe(origin, &words);
	print_line(out, what, which, buf_str(&words));
}

/* The same for what @rule, or if that is NULL @reason, is behind */
static void print_rule(struct buf *out, const char *what, const char *which,
		       const struct path_rule *rule, const char *reason)
{
	if (rule)
		print_origin(out, what, which, &rule->origin);
	else
		print_line(out, what, which, reason);
}

static void print_jail(const struct plan *plan, struct buf *out)
{
	if (!plan->jail.on)
		return;
	print_line(out, "unreachable", "the networks that the machine is in, its gateway",
		   plan->net == NET_FILTERED ? "pasta and routes, for the gate"
					     : "pasta and routes");
	for (size_t i = 0; i < plan->jail.len; i++) {
		const struct jail_route *route = &plan->jail.v[i];
		auto_buf struct buf range = { 0 };

		add_range(&range, &route->range);
		print_line(out, route->open ? "reachable" : "unreachable",
			   buf_str(&range), route->why);
	}
}

static json_t *json_jail(const struct plan *plan)
{
	json_t *list = json_array();

	for (size_t i = 0; plan->jail.on && i < plan->jail.len; i++) {
		const struct jail_route *route = &plan->jail.v[i];
		auto_buf struct buf range = { 0 };

		add_range(&range, &route->range);
		json_array_append_new(list, json_pack("{s:s, s:b, s:s}",
			"range", buf_str(&range), "reachable", route->open,
			"why", route->why));
	}
	return list;
}

/* Lists of text. What @gated says is the gate's: another network has none. */
static const struct {
	enum string_list list;
	bool gated;
	const char *what, *key;
} lists[] = {
	{ LIST_DENIED_ADDRESSES, true, "deny address", "deniedAddresses" },
	{ LIST_HOST_PORTS, true, "host's port", "hostPorts" },
	{ LIST_PUBLISH, true, "publish", "publish" },
	{ LIST_SECRETS, true, "secret", "secrets" },
	{ LIST_UNIX_SOCKETS, false, "Unix socket", "unixSocketPaths" },
};

static const struct {
	enum policy_text text;
	const char *what, *key;
} parents[] = {
	{ TEXT_PARENT_HTTP, "HTTP through", "http" },
	{ TEXT_PARENT_HTTPS, "HTTPS through", "https" },
};

static const struct {
	enum policy_number number;
	const char *what, *key;
} own_proxies[] = {
	{ NUMBER_HTTP_PROXY_PORT, "HTTP by", "httpProxyPort" },
	{ NUMBER_SOCKS_PROXY_PORT, "SOCKS5 by", "socksProxyPort" },
};

static bool is_gated(const struct plan *plan)
{
	return plan->net == NET_FILTERED;
}

static void print_hosts(const struct policy *policy, enum string_list which,
			const char *what, struct buf *out)
{
	const struct list_rules *rules = &policy->lists[which];

	for (size_t i = 0; i < rules->len; i++)
		print_origin(out, what, rules->v[i].text, &rules->v[i].origin);
}

static void print_lists(const struct plan *plan, struct buf *out)
{
	const struct policy *policy = plan->view->policy;
	const struct flag *any = &policy->flags[FLAG_LOCAL_BINDING];

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const struct list_rules *l = &policy->lists[lists[i].list];

		for (size_t j = 0; j < l->len; j++) {
			if (!lists[i].gated || is_gated(plan))
				print_origin(out, lists[i].what, l->v[j].text,
					   &l->v[j].origin);
		}
	}
	if (is_gated(plan) && plan->network.publish_any)
		print_origin(out, "publish", "whatever is listened on",
			   &any->origin);
}

/* Where a proxy is, without the password that its address may hold */
static bool parent_place(const struct policy *policy, enum policy_text text,
			 struct buf *out)
{
	const char *url = policy->texts[text].value, *user;
	struct host host;
	size_t n;

	if (!url || !*url || proxy_parse(url, &host, &user, &n, NULL) < 0)
		return false;
	host_format(&host, 0, out);
	return true;
}

static void print_proxies(const struct policy *policy, struct buf *out)
{
	bool any = false;

	for (size_t i = 0; i < ARRAY_SIZE(own_proxies); i++) {
		const struct number *n =
			&policy->numbers[own_proxies[i].number];
		auto_buf struct buf place = { 0 };

		if (!n->set)
			continue;
		buf_addf(&place, "port %u of the host, which alone decides",
			 (unsigned int)n->value);
		print_origin(out, own_proxies[i].what, buf_str(&place),
			   &n->origin);
	}
	for (size_t i = 0; i < ARRAY_SIZE(parents); i++) {
		auto_buf struct buf place = { 0 };

		if (!parent_place(policy, parents[i].text, &place))
			continue;
		any = true;
		print_origin(out, parents[i].what, buf_str(&place),
			   &policy->texts[parents[i].text].origin);
	}
	if (any)
		buf_adds(out, "  unchecked      addresses of names  (that proxy looks them up)\n");
}

/* For who does not know the word: "filtered" alone lets nothing through */
static bool is_closed(const struct plan *plan)
{
	const struct policy *policy = plan->view->policy;

	return is_gated(plan) && !policy->lists[HOST_ALLOW].len &&
	       !policy->numbers[NUMBER_HTTP_PROXY_PORT].set &&
	       !policy->numbers[NUMBER_SOCKS_PROXY_PORT].set;
}

static void explain_network(const struct plan *plan, struct buf *out)
{
	const struct policy *policy = plan->view->policy;

	buf_addf(out, "network\n  %s\n", net_mode_name(net_of(plan)));
	if (is_closed(plan))
		buf_adds(out, "  no host        is allowed, so none is reached\n");
	print_jail(plan, out);
	if (is_gated(plan)) {
		print_hosts(policy, HOST_ALLOW, "allow", out);
		print_hosts(policy, HOST_DENY, "deny", out);
	}
	print_lists(plan, out);
	if (is_gated(plan))
		print_proxies(policy, out);
}

static json_t *json_hosts(const struct policy *policy, enum string_list which)
{
	json_t *list = json_array();

	for (size_t i = 0; i < policy->lists[which].len; i++)
		json_array_append_new(list, explain_json_name(
			policy->lists[which].v[i].text));
	return list;
}

static json_t *json_list(const struct plan *plan, size_t row)
{
	const struct list_rules *l =
		&plan->view->policy->lists[lists[row].list];
	json_t *list = json_array();

	for (size_t i = 0; i < l->len; i++) {
		if (!lists[row].gated || is_gated(plan))
			json_array_append_new(list,
					      explain_json_name(l->v[i].text));
	}
	return list;
}

static void json_proxies(const struct policy *policy, json_t *root)
{
	json_t *parent = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(own_proxies); i++) {
		const struct number *n =
			&policy->numbers[own_proxies[i].number];

		if (n->set)
			json_object_set_new(root, own_proxies[i].key,
				json_integer((json_int_t)n->value));
	}
	for (size_t i = 0; i < ARRAY_SIZE(parents); i++) {
		auto_buf struct buf place = { 0 };

		if (parent_place(policy, parents[i].text, &place))
			json_object_set_new(parent, parents[i].key,
				explain_json_name(buf_str(&place)));
	}
	json_object_set_new(root, "parentProxy", parent);
}

static void explain_network_json(const struct plan *plan, struct json_t *root)
{
	const struct policy *policy = plan->view->policy;

	json_object_set_new(root, "net",
			    json_string(net_mode_name(net_of(plan))));
	json_object_set_new(root, "jail", json_jail(plan));
	json_object_set_new(root, "allowedDomains",
			    json_hosts(policy, HOST_ALLOW));
	json_object_set_new(root, "deniedDomains",
			    json_hosts(policy, HOST_DENY));
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		json_object_set_new(root, lists[i].key, json_list(plan, i));
	json_object_set_new(root, "publishAny", json_boolean(
		is_gated(plan) && plan->network.publish_any));
	if (is_gated(plan))
		json_proxies(policy, root);
}

/* Who lets the variable @name in: an option or a setting, our table, or us */
static void add_variable_words(struct buf *out, const struct policy *policy,
			       const char *name, const char *value)
{
	const struct list_rules *asked = &policy->lists[LIST_ENV_SET];
	const char *outside = getenv(name);
	const size_t n = strlen(name);
	auto_free char *entry = mem_printf("%s=%s", name, value);
	const struct env_verdict v = env_decide(policy, entry, n);
	auto_buf struct buf words = { 0 };

	for (size_t i = 0; !words.len && i < asked->len; i++) {
		const char *text = asked->v[i].text;

		if (!strncmp(text, name, n) && (!text[n] || text[n] == '='))
			origin_describe(&asked->v[i].origin, &words);
	}
	if (!words.len)
		buf_adds(&words, v.pass && outside && !strcmp(outside, value) ?
				 v.reason : "set for the sandbox");
	text_escape(out, buf_str(&words));
}

static void print_withheld(const struct policy *policy, struct buf *out)
{
	for (char **e = environ; *e; e++) {
		const size_t n = strcspn(*e, "=");
		const struct env_verdict v = env_decide(policy, *e, n);
		auto_free char *name = mem_strndup(*e, n);

		auto_free char *why = mem_printf("%s; --env NAME passes it", v.reason);

		if (!v.pass && n)
			print_line(out, "not passed", name, why);
	}
}

static const char *tmp_words(enum tmp_kind tmp)
{
	static const char *const words[] = {
		[TMP_HOST] = "the host's",
		[TMP_KEPT] = "private, kept for this project",
		[TMP_FRESH] = "private, gone afterwards",
	};

	return words[tmp];
}

static const char *grant_words(enum grant_right right)
{
	static const char *const words[] = {
		[GRANT_NOTHING] = "hide", [GRANT_LIST] = "list",
		[GRANT_READ] = "read", [GRANT_WRITE] = "write",
	};

	return words[right];
}

/* Entries beside something are told by their directory: there are many */
static void print_grants(const struct plan *plan, struct buf *out)
{
	buf_adds(out, "files (Landlock)\n");
	for (size_t i = 0; i < plan->grants.len; i++) {
		const struct plan_grant *g = &plan->grants.v[i];

		if (!g->beside)
			print_rule(out, grant_words(g->right), g->path, g->rule,
				   "readable by default");
	}
	for (size_t i = 0; i < plan->carved.len; i++) {
		const struct plan_carved *c = &plan->carved.v[i];
		auto_free char *why = mem_printf("its entries one by one, because of %s%s%s",
			c->because, c->listed ? "" : "; it cannot be listed",
			c->right != GRANT_WRITE ? "" :
			plan_ground(plan).observer ?
			"; what is made or removed in it goes through the observer" :
			"; without the observer nothing can be made or removed in it");

		print_line(out, grant_words(c->right), c->path, why);
	}
}

static void print_tier(const struct plan *plan, struct buf *out)
{
	const struct ground ground = plan_ground(plan);

	buf_addf(out, "tier\n  %s  (%s)\n", tier_name(plan->tier),
		 tier_words(plan->tier, ground));
	for (enum guarantee g = 0; g < GUARANTEE_COUNT; g++) {
		const struct guarantee_state s =
			guarantee_in(g, plan->tier, ground);

		if (s.holds != HOLDS)
			buf_addf(out, "  %-14s %s: %s\n", holds_name(s.holds),
				 s.promise, s.by);
	}
}

static void print_mounts(const struct plan *plan, struct buf *out)
{
	const struct verdict root = view_verdict(plan->view, VIEW_WRITE, "/");

	buf_adds(out, "files\n");
	print_rule(out, plan->root_writable ? "write" : "read-only", "/",
		   plan->root_writable ? root.rule : NULL,
		   plan->root_writable ? root.reason : "everything not listed below");
	/* The host's is as its own rules say, below */
	if (plan->tmp != TMP_HOST)
		print_line(out, "write", "/tmp", tmp_words(plan->tmp));
	for (size_t i = 0; i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];

		print_rule(out, mount_kind_name(m->kind), m->path, m->rule, m->reason);
	}
}

/* Made for the run: what stands in a private place that was not mounted */
static void print_made(const struct plan *plan, struct buf *out)
{
	for (size_t i = 0; i < plan->points.len; i++) {
		const struct plan_point *point = &plan->points.v[i];

		if (point->target)
			print_line(out, "link", point->path,
				   "a program's; leads where the host's does");
		else if (point->text)
			print_line(out, "make", point->path,
				   "in the private home: git's settings, safe ones only");
	}
}

static void print_rest(const struct plan *plan, struct buf *out)
{
	explain_network(plan, out);
	buf_addf(out, "process\n  namespaces     %s%s\n",
		 plan->tier == TIER_FULL ? "user, mount, pid, ipc, uts, cgroup"
					 : "none",
		 plan->net == NET_HOST || plan->tier != TIER_FULL ? ""
								  : ", net");
	buf_adds(out, "  capabilities   none; no_new_privs; no core dumps; new session keyring\n");
	buf_adds(out, "  system calls   by table (seccomp); AF_UNIX sockets ");
	buf_addf(out, "%s\n", plan->unix_sockets ? "allowed" :
		 plan->sockets_by_path ? "of its own, or by path" : "refused");
	if (plan->machine.landlock_abi)
		buf_addf(out, "  Landlock       ABI %d, %s layer for files\n",
			 plan->machine.landlock_abi,
			 plan->tier == TIER_FULL ? "second" : "only");
	else
		buf_adds(out, "  Landlock       missing on this kernel: files have one layer\n");
	buf_addf(out, "  observer       %s\n",
		 !plan_ground(plan).observer ? "off" :
		 plan->observe_full ? "reads and writes" :
		 plan->observe_files ? "writes, and reads of hidden files" :
		 "writes");
}

static const char *const limit_names[NUMBER_COUNT] = {
	[NUMBER_TIMEOUT_MS] = "timeout (ms)",
	[NUMBER_MEMORY] = "memory (bytes)",
	[NUMBER_PIDS] = "processes",
	[NUMBER_FILE_SIZE] = "file size (bytes)",
	[NUMBER_OUTPUT] = "output (bytes)",
};

static void print_limits(const struct plan *plan, struct buf *out)
{
	bool any = false;

	for (size_t i = 0; i < NUMBER_COUNT; i++) {
		const struct number *n = &plan->view->policy->numbers[i];
		auto_free char *value = NULL;

		if (!limit_names[i] || !n->set)
			continue;
		if (!any)
			buf_adds(out, "limits\n");
		any = true;
		value = mem_printf("%llu", (unsigned long long)n->value);
		print_origin(out, limit_names[i], value, &n->origin);
	}
}

static void print_project(const struct policy *policy, struct buf *out)
{
	buf_adds(out, "project ");
	text_escape(out, policy_has_project(policy) ? policy->project :
		    "none: nothing is writable by default");
	if (strcmp(policy->project, policy->cwd) != 0) {
		buf_adds(out, " (the git work tree around ");
		text_escape(out, policy->cwd);
		buf_addc(out, ')');
	}
	buf_addc(out, '\n');
}

void plan_print(const struct plan *plan, struct buf *out)
{
	print_project(plan->view->policy, out);
	print_tier(plan, out);
	if (plan->tier == TIER_FULL) {
		print_mounts(plan, out);
		print_made(plan, out);
	} else {
		print_grants(plan, out);
	}
	print_rest(plan, out);
	print_limits(plan, out);
	buf_adds(out, "environment\n");
	for (char **e = plan->env; *e; e++) {
		/* A value may be somebody's secret, passed on purpose */
		auto_free char *name = mem_strndup(*e, strcspn(*e, "="));

		buf_addf(out, "  %-14s (", name);
		add_variable_words(out, plan->view->policy, name,
				   *e + strlen(name) + 1);
		buf_adds(out, ")\n");
	}
	print_withheld(plan->view->policy, out);
	if (plan->argv[0]) {
		buf_adds(out, "command\n ");
		for (char **a = plan->argv; *a; a++) {
			auto_buf struct buf word = { 0 };

			text_shell_quote(&word, *a);
			buf_addc(out, ' ');
			text_escape(out, buf_str(&word));
		}
		buf_addc(out, '\n');
	}
	for (size_t i = 0; i < plan->view->notes.len; i++) {
		buf_adds(out, "note: ");
		text_escape(out, plan->view->notes.v[i].text);
		buf_addc(out, '\n');
	}
}

static json_t *json_rule(const struct path_rule *rule, const char *reason)
{
	auto_buf struct buf words = { 0 };
	json_t *o = json_object();

	if (rule)
		origin_describe(&rule->origin, &words);
	else
		buf_adds(&words, reason);
	json_object_set_new(o, "words", explain_json_name(buf_str(&words)));
	if (rule && rule->origin.source) {
		json_object_set_new(o, "scope", json_string(
			scope_name(rule->origin.source->scope)));
		json_object_set_new(o, "source",
				    explain_json_name(rule->origin.source->name));
		json_object_set_new(o, "line",
				    json_integer(origin_line(&rule->origin)));
	}
	if (rule)
		json_object_set_new(o, "text", explain_json_name(rule->text));
	return o;
}

static json_t *json_mounts(const struct plan *plan)
{
	json_t *list = json_array();

	for (size_t i = 0; i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];

		json_array_append_new(list, json_pack("{s:s, s:o, s:o}",
			"kind", mount_kind_name(m->kind), "path",
			explain_json_name(m->path), "rule",
			json_rule(m->rule, m->reason)));
	}
	return list;
}

static json_t *json_limits(const struct policy *policy)
{
	json_t *o = json_object();

	for (size_t i = 0; i < NUMBER_COUNT; i++) {
		if (limit_names[i] && policy->numbers[i].set)
			json_object_set_new(o, limit_names[i], json_integer(
				(json_int_t)policy->numbers[i].value));
	}
	return o;
}

static json_t *json_grants(const struct plan *plan)
{
	json_t *list = json_array();

	for (size_t i = 0; i < plan->grants.len; i++) {
		const struct plan_grant *g = &plan->grants.v[i];
		json_t *o = json_rule(g->rule, "readable by default");

		json_object_set_new(o, "right",
				    json_string(grant_words(g->right)));
		json_object_set_new(o, "path", explain_json_name(g->path));
		json_array_append_new(list, o);
	}
	return list;
}

void plan_print_json(const struct plan *plan, struct buf *out)
{
	const struct policy *policy = plan->view->policy;
	json_t *env = json_array(), *argv = json_array(), *notes = json_array();
	json_t *root;
	auto_free char *text = NULL;

	for (char **e = plan->env; *e; e++) {
		auto_buf struct buf name = { 0 };

		buf_add(&name, *e, strcspn(*e, "="));
		json_array_append_new(env, explain_json_name(buf_str(&name)));
	}
	for (char **a = plan->argv; *a; a++)
		json_array_append_new(argv, explain_json_name(*a));
	for (size_t i = 0; i < plan->view->notes.len; i++)
		json_array_append_new(notes,
			explain_json_name(plan->view->notes.v[i].text));
	root = json_pack("{s:i, s:s, s:o, s:s, s:b, s:s, s:o, s:i, s:b, s:b, s:o, s:o, s:o, s:o, s:s, s:o}",
		"version", 1, "cwd", plan->cwd,
		"project", policy_has_project(policy) ?
			   explain_json_name(policy->project) : json_null(),
		"profile", profile_name(policy->profile),
		"rootWritable", plan->root_writable,
		"tmp", tmp_words(plan->tmp), "mounts", json_mounts(plan),
		"landlock", plan->machine.landlock_abi,
		"observe", plan->observe, "unixSockets", plan->unix_sockets,
		"limits", json_limits(policy), "environment", env,
		"command", argv, "notes", notes,
		"tier", tier_name(plan->tier), "grants", json_grants(plan));
	if (root)
		explain_network_json(plan, root);
	text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
	buf_adds(out, text ? text : "{\"version\": 1}");
	buf_addc(out, '\n');
	json_decref(root);
}
