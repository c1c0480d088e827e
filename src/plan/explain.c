/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan/explain.c - print a plan, as text or as JSON
 *
 * Both forms are made in one pass, so that neither leaves out what the other has. What is
 * decided by a table of the program itself is in the lines for people only.
 */

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "plan/plan.h"
#include "policy/env-rules.h"
#include "policy/host.h"
#include "view/view.h"

/**
 * struct explanation - A plan in both forms
 * @out:	Lines for people
 * @root:	An object for programs
 */
struct explanation {
	const struct plan *plan;
	const struct policy *policy;
	struct buf *out;
	json_t *root;
};

static void add(const struct explanation *e, const char *key, json_t *value)
{
	json_object_set_new(e->root, key, value);
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

static void explain_jail(const struct explanation *e)
{
	const struct jail *jail = &e->plan->jail;
	json_t *list = json_array();

	if (jail->on)
		print_line(e->out, "unreachable", "the networks that the machine is in, its gateway",
			   e->plan->net == NET_FILTERED ?
			   "pasta and routes, for the gate" : "pasta and routes");
	for (size_t i = 0; jail->on && i < jail->len; i++) {
		const struct jail_route *route = &jail->v[i];
		auto_buf struct buf range = { 0 };

		add_range(&range, &route->range);
		print_line(e->out, route->open ? "reachable" : "unreachable",
			   buf_str(&range), route->why);
		json_array_append_new(list, json_pack("{s:s, s:b, s:s}",
			"range", buf_str(&range), "reachable", route->open,
			"why", route->why));
	}
	add(e, "jail", list);
}

/* Lists of text. What is @gated counts where there is a gate; programs get what is
 * @always in any case.
 */
static const struct {
	enum string_list list;
	bool gated, always;
	const char *what, *key;
} lists[] = {
	{ HOST_ALLOW, true, true, "allow", "allowedDomains" },
	{ HOST_DENY, true, true, "deny", "deniedDomains" },
	{ LIST_DENIED_ADDRESSES, true, false, "deny address", "deniedAddresses" },
	{ LIST_HOST_PORTS, true, false, "host's port", "hostPorts" },
	{ LIST_PUBLISH, true, false, "publish", "publish" },
	{ LIST_SECRETS, true, false, "secret", "secrets" },
	{ LIST_UNIX_SOCKETS, false, false, "Unix socket", "unixSocketPaths" },
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

static void explain_list(const struct explanation *e, size_t row)
{
	const struct list_rules *l = &e->policy->lists[lists[row].list];
	const bool counts = !lists[row].gated || is_gated(e->plan);
	json_t *list = json_array();

	for (size_t i = 0; i < l->len; i++) {
		if (counts)
			print_origin(e->out, lists[row].what, l->v[i].text,
				     &l->v[i].origin);
		if (counts || lists[row].always)
			json_array_append_new(list, json_text(l->v[i].text));
	}
	add(e, lists[row].key, list);
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

static void explain_proxies(const struct explanation *e)
{
	json_t *parent = json_object();

	for (size_t i = 0; i < ARRAY_SIZE(own_proxies); i++) {
		const struct number *n =
			&e->policy->numbers[own_proxies[i].number];
		auto_free char *place =
			mem_printf("port %u of the host, which alone decides",
				   (unsigned int)n->value);

		if (!n->set)
			continue;
		print_origin(e->out, own_proxies[i].what, place, &n->origin);
		add(e, own_proxies[i].key, json_integer((json_int_t)n->value));
	}
	for (size_t i = 0; i < ARRAY_SIZE(parents); i++) {
		auto_buf struct buf place = { 0 };

		if (!parent_place(e->policy, parents[i].text, &place))
			continue;
		print_origin(e->out, parents[i].what, buf_str(&place),
			     &e->policy->texts[parents[i].text].origin);
		json_object_set_new(parent, parents[i].key,
				    json_text(buf_str(&place)));
	}
	if (json_object_size(parent))
		buf_adds(e->out, "  unchecked      addresses of names  (that proxy looks them up)\n");
	add(e, "parentProxy", parent);
}

/* "filtered" alone lets nothing through, which the word does not say */
static bool is_closed(const struct plan *plan)
{
	const struct policy *policy = plan->view->policy;

	return is_gated(plan) && !policy->lists[HOST_ALLOW].len &&
	       !policy->numbers[NUMBER_HTTP_PROXY_PORT].set &&
	       !policy->numbers[NUMBER_SOCKS_PROXY_PORT].set;
}

static void explain_network(const struct explanation *e)
{
	const struct plan *plan = e->plan;
	const bool any = is_gated(plan) && plan->network.publish_any;
	/* What was asked for, or in a lesser tier what became of it */
	const char *mode = net_mode_name(plan->jail.on ? e->policy->net : plan->net);

	buf_addf(e->out, "network\n  %s\n", mode);
	add(e, "net", json_string(mode));
	if (is_closed(plan))
		buf_adds(e->out, "  no host        is allowed, so none is reached\n");
	explain_jail(e);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		explain_list(e, i);
	if (any)
		print_origin(e->out, "publish", "whatever is listened on",
			     &e->policy->flags[FLAG_LOCAL_BINDING].origin);
	add(e, "publishAny", json_boolean(any));
	if (is_gated(plan))
		explain_proxies(e);
}

/* Why the variable @name is passed: an option or a setting, the table, or the sandbox */
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
	if (v.replaced)
		buf_adds(out, "a placeholder for the value outside; ");
	text_escape(out, buf_str(&words));
}

static void print_withheld(const struct policy *policy, struct buf *out)
{
	for (char **e = environ; *e; e++) {
		const size_t n = strcspn(*e, "=");
		const struct env_verdict v = env_decide(policy, *e, n);
		auto_free char *name = mem_strndup(*e, n);

		auto_free char *why = mem_printf("%s; --env NAME passes it", v.reason);

		if (!v.pass && !v.replaced && n)
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

static json_t *json_rule(const struct path_rule *rule, const char *reason)
{
	auto_buf struct buf words = { 0 };
	json_t *o = json_object();

	if (rule)
		origin_describe(&rule->origin, &words);
	json_object_set_new(o, "words", json_text(rule ? buf_str(&words) : reason));
	if (rule && rule->origin.source) {
		json_object_set_new(o, "scope", json_string(
			scope_name(rule->origin.source->scope)));
		json_object_set_new(o, "source",
				    json_text(rule->origin.source->name));
		json_object_set_new(o, "line",
				    json_integer(origin_line(&rule->origin)));
	}
	if (rule)
		json_object_set_new(o, "text", json_text(rule->text));
	return o;
}

/* For people, entries beside something are described by their directory: there are many */
static void explain_grants(const struct explanation *e)
{
	static const char reason[] = "readable by default";
	const struct plan *plan = e->plan;
	json_t *list = json_array();

	if (plan->tier != TIER_FULL)
		buf_adds(e->out, "files (Landlock)\n");
	for (size_t i = 0; i < plan->grants.len; i++) {
		const struct plan_grant *g = &plan->grants.v[i];
		json_t *o = json_rule(g->rule, reason);

		if (!g->beside)
			print_rule(e->out, grant_words(g->right), g->path,
				   g->rule, reason);
		json_object_set_new(o, "right", json_string(grant_words(g->right)));
		json_object_set_new(o, "path", json_text(g->path));
		json_array_append_new(list, o);
	}
	for (size_t i = 0; i < plan->carved.len; i++) {
		const struct plan_carved *c = &plan->carved.v[i];
		auto_free char *why = mem_printf("its entries one by one, because of %s%s%s",
			c->because, c->listed ? "" : "; it cannot be listed",
			c->right != GRANT_WRITE ? "" :
			plan_ground(plan).observer ?
			"; what is made or removed in it goes through the observer" :
			"; without the observer nothing can be made or removed in it");

		print_line(e->out, grant_words(c->right), c->path, why);
	}
	add(e, "grants", list);
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

static void explain_mounts(const struct explanation *e)
{
	const struct plan *plan = e->plan;
	const struct verdict root = view_verdict(plan->view, VIEW_WRITE, "/");
	json_t *list = json_array();

	if (plan->tier == TIER_FULL) {
		buf_adds(e->out, "files\n");
		print_rule(e->out, plan->root_writable ? "write" : "read-only", "/",
			   plan->root_writable ? root.rule : NULL,
			   plan->root_writable ? root.reason :
			   "everything not listed below");
		/* The host's is as its own rules say, below */
		if (plan->tmp != TMP_HOST)
			print_line(e->out, "write", "/tmp", tmp_words(plan->tmp));
	}
	for (size_t i = 0; i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];
		const char *kind = mount_kind_name(m->kind);

		print_rule(e->out, kind, m->path, m->rule, m->reason);
		json_array_append_new(list, json_pack("{s:s, s:o, s:o}",
			"kind", kind, "path", json_text(m->path),
			"rule", json_rule(m->rule, m->reason)));
	}
	add(e, "mounts", list);
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

static void print_process(const struct plan *plan, struct buf *out)
{
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

static void explain_limits(const struct explanation *e)
{
	json_t *o = json_object();

	for (size_t i = 0; i < NUMBER_COUNT; i++) {
		const struct number *n = &e->policy->numbers[i];
		auto_free char *value = mem_printf("%llu",
						   (unsigned long long)n->value);

		if (!limit_names[i] || !n->set)
			continue;
		if (!json_object_size(o))
			buf_adds(e->out, "limits\n");
		print_origin(e->out, limit_names[i], value, &n->origin);
		json_object_set_new(o, limit_names[i],
				    json_integer((json_int_t)n->value));
	}
	add(e, "limits", o);
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

/* A value may be a secret that was passed on purpose: only names are shown */
static void explain_environment(const struct explanation *e)
{
	json_t *list = json_array();

	buf_adds(e->out, "environment\n");
	for (char **v = e->plan->env; *v; v++) {
		auto_free char *name = mem_strndup(*v, strcspn(*v, "="));

		buf_addf(e->out, "  %-14s (", name);
		add_variable_words(e->out, e->policy, name, *v + strlen(name) + 1);
		buf_adds(e->out, ")\n");
		json_array_append_new(list, json_text(name));
	}
	print_withheld(e->policy, e->out);
	add(e, "environment", list);
}

static void explain_command(const struct explanation *e)
{
	json_t *list = json_array();

	for (char **a = e->plan->argv; *a; a++) {
		auto_buf struct buf word = { 0 };

		text_shell_quote(&word, *a);
		buf_adds(e->out, json_array_size(list) ? " " : "command\n  ");
		text_escape(e->out, buf_str(&word));
		json_array_append_new(list, json_text(*a));
	}
	if (json_array_size(list))
		buf_addc(e->out, '\n');
	add(e, "command", list);
}

static void explain_notes(const struct explanation *e)
{
	json_t *list = json_array();

	for (size_t i = 0; i < e->plan->view->notes.len; i++) {
		const char *text = e->plan->view->notes.v[i].text;

		buf_adds(e->out, "note: ");
		text_escape(e->out, text);
		buf_addc(e->out, '\n');
		json_array_append_new(list, json_text(text));
	}
	add(e, "notes", list);
}

/* Both forms; the caller owns the object, which is NULL without memory */
static json_t *explain(const struct plan *plan, struct buf *out)
{
	const struct policy *policy = plan->view->policy;
	const struct explanation e = {
		plan, policy, out,
		json_pack("{s:i, s:o, s:o, s:s, s:b, s:s, s:i, s:b, s:b, s:s}",
			"version", 1, "cwd", json_text(plan->cwd),
			"project", policy_has_project(policy) ?
				   json_text(policy->project) : json_null(),
			"profile", profile_name(policy->profile),
			"rootWritable", plan->root_writable,
			"tmp", tmp_words(plan->tmp),
			"landlock", plan->machine.landlock_abi,
			"observe", plan->observe,
			"unixSockets", plan->unix_sockets,
			"tier", tier_name(plan->tier)),
	};

	print_project(policy, out);
	print_tier(plan, out);
	explain_mounts(&e);
	print_made(plan, out);
	explain_grants(&e);
	explain_network(&e);
	print_process(plan, out);
	explain_limits(&e);
	explain_environment(&e);
	explain_command(&e);
	explain_notes(&e);
	return e.root;
}

void plan_print(const struct plan *plan, struct buf *out)
{
	json_decref(explain(plan, out));
}

void plan_print_json(const struct plan *plan, struct buf *out)
{
	auto_buf struct buf lines = { 0 };
	auto_json json_t *root = explain(plan, &lines);
	auto_free char *text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;

	buf_addf(out, "%s\n", text ? text : "{\"version\": 1}");
}
