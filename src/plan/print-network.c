/* SPDX-License-Identifier: Apache-2.0 */
/* plan/print-network.c - the network's part of what explain prints */

#include "plan/print.h"

#include <jansson.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/text.h"
#include "plan/plan.h"
#include "plan/view.h"
#include "policy/proxy.h"

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

static void print_jail(const struct plan *plan, struct buf *out)
{
	if (!plan->jail.on)
		return;
	buf_addf(out, "  %-14s the networks that the machine is in, its gateway  (pasta and routes%s)\n",
		 "unreachable",
		 plan->net == NET_FILTERED ? ", for the gate" : "");
	for (size_t i = 0; i < plan->jail.len; i++) {
		const struct jail_route *route = &plan->jail.v[i];

		buf_addf(out, "  %-14s ", route->open ? "reachable"
						      : "unreachable");
		add_range(out, &route->range);
		buf_addf(out, "  (%s)\n", route->why);
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

/* One line: what, which, and who says so */
static void print_line(struct buf *out, const char *what, const char *which,
		       const struct origin *origin)
{
	auto_buf struct buf words = { 0 };

	origin_describe(origin, &words);
	buf_addf(out, "  %-14s ", what);
	text_escape(out, which);
	buf_adds(out, "  (");
	text_escape(out, buf_str(&words));
	buf_adds(out, ")\n");
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

static void print_hosts(const struct policy *policy, enum host_list which,
			const char *what, struct buf *out)
{
	const struct host_rules *rules = &policy->hosts[which];

	for (size_t i = 0; i < rules->len; i++)
		print_line(out, what, rules->v[i].text, &rules->v[i].origin);
}

static void print_lists(const struct plan *plan, struct buf *out)
{
	const struct policy *policy = plan->view->policy;
	const struct flag *any = &policy->flags[FLAG_LOCAL_BINDING];

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const struct string_rules *l = &policy->lists[lists[i].list];

		for (size_t j = 0; j < l->len; j++) {
			if (!lists[i].gated || is_gated(plan))
				print_line(out, lists[i].what, l->v[j].text,
					   &l->v[j].origin);
		}
	}
	if (is_gated(plan) && plan->network.publish_any)
		print_line(out, "publish", "whatever is listened on",
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
		print_line(out, own_proxies[i].what, buf_str(&place),
			   &n->origin);
	}
	for (size_t i = 0; i < ARRAY_SIZE(parents); i++) {
		auto_buf struct buf place = { 0 };

		if (!parent_place(policy, parents[i].text, &place))
			continue;
		any = true;
		print_line(out, parents[i].what, buf_str(&place),
			   &policy->texts[parents[i].text].origin);
	}
	if (any)
		buf_adds(out, "  unchecked      addresses of names  (that proxy looks them up)\n");
}

/* For who does not know the word: "filtered" alone lets nothing through */
static bool is_closed(const struct plan *plan)
{
	const struct policy *policy = plan->view->policy;

	return is_gated(plan) && !policy->hosts[HOST_ALLOW].len &&
	       !policy->numbers[NUMBER_HTTP_PROXY_PORT].set &&
	       !policy->numbers[NUMBER_SOCKS_PROXY_PORT].set;
}

void print_network(const struct plan *plan, struct buf *out)
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

static json_t *json_hosts(const struct policy *policy, enum host_list which)
{
	json_t *list = json_array();

	for (size_t i = 0; i < policy->hosts[which].len; i++)
		json_array_append_new(list, print_json_name(
			policy->hosts[which].v[i].text));
	return list;
}

static json_t *json_list(const struct plan *plan, size_t row)
{
	const struct string_rules *l =
		&plan->view->policy->lists[lists[row].list];
	json_t *list = json_array();

	for (size_t i = 0; i < l->len; i++) {
		if (!lists[row].gated || is_gated(plan))
			json_array_append_new(list,
					      print_json_name(l->v[i].text));
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
				print_json_name(buf_str(&place)));
	}
	json_object_set_new(root, "parentProxy", parent);
}

void print_network_json(const struct plan *plan, struct json_t *root)
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
