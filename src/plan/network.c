/* SPDX-License-Identifier: Apache-2.0 */
/* plan/network.c - the ports that a sandbox's network needs, and its variables */

#include "plan/network.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "ipc/listener.h"
#include "policy/host.h"
#include "policy/policy.h"

#define HTTP_URL	NETWORK_HTTP_URL
#define SOCKS_URL	"socks5h://localhost:1080"

/* The variables that name the proxies; programs work without, as connections are captured.
 * @srt: in profile srt, if that is another value, as srt has it.
 */
static const struct {
	const char *name, *value, *srt;
} variables[] = {
	{ "HTTP_PROXY",			HTTP_URL },
	{ "HTTPS_PROXY",		HTTP_URL },
	{ "http_proxy",			HTTP_URL },
	{ "https_proxy",		HTTP_URL },
	{ "ALL_PROXY",			SOCKS_URL, HTTP_URL },
	{ "all_proxy",			SOCKS_URL, HTTP_URL },
	{ "FTP_PROXY",			SOCKS_URL },
	{ "ftp_proxy",			SOCKS_URL },
	{ "GRPC_PROXY",			SOCKS_URL, HTTP_URL },
	{ "grpc_proxy",			SOCKS_URL, HTTP_URL },
	{ "RSYNC_PROXY",		"localhost:1080" },
	{ "DOCKER_HTTP_PROXY",		HTTP_URL },
	{ "DOCKER_HTTPS_PROXY",		HTTP_URL },
	{ "CLOUDSDK_PROXY_TYPE",	"http" },
	{ "CLOUDSDK_PROXY_ADDRESS",	"localhost" },
	{ "CLOUDSDK_PROXY_PORT",	"3128" },
	{ "NODE_USE_ENV_PROXY",		"1" },
	{ "CLAUDE_CODE_HOST_HTTP_PROXY_PORT",	"3128" },
	{ "CLAUDE_CODE_HOST_SOCKS_PROXY_PORT",	"1080" },
};

/* Entries of NO_PROXY, each left out where a rule allows something of @what */
static const struct {
	const char *entry, *what;
} direct[] = {
	{ "localhost",		"localhost" },
	{ "127.0.0.1",		"127.0.0.0/8" },
	{ "::1",			"::1/128" },
	{ "*.local",		".local" },
	{ ".local",		".local" },
	{ "169.254.0.0/16",	"169.254.0.0/16" },
	{ "10.0.0.0/8",		"10.0.0.0/8" },
	{ "172.16.0.0/12",		"172.16.0.0/12" },
	{ "192.168.0.0/16",	"192.168.0.0/16" },
};

static bool add(struct network_ports *ports, uint16_t port)
{
	for (size_t i = 0; i < ports->len; i++) {
		if (ports->v[i] == port)
			return true;
	}
	if (ports->len == NETWORK_PORTS_MAX)
		return false;
	ports->v[ports->len++] = port;
	return true;
}

static int add_list(struct network_ports *ports, const struct policy *policy,
		    enum string_list list, const char *option, struct err *err)
{
	const struct list_rules *rules = &policy->lists[list];

	for (size_t i = 0; i < rules->len; i++) {
		uint64_t port;

		if (text_to_u64(rules->v[i].text, UINT16_MAX, &port) < 0 ||
		    !port)
			return fail(err, -EINVAL, "%s: '%s' is not a port",
				    option, rules->v[i].text);
		if (!add(ports, (uint16_t)port))
			return fail(err, -E2BIG, "%s: more than %d ports",
				    option, NETWORK_PORTS_MAX);
	}
	return 0;
}

/* Inside, these numbers are the gate's: a port of the host would not be reached,
 * and to publish one would let others use the gate
 */
static int check_own(const struct network_ports *ports, const char *option,
		     struct err *err)
{
	for (size_t i = 0; i < ports->len; i++) {
		if (ports->v[i] == LISTENER_HTTP_PORT ||
		    ports->v[i] == LISTENER_SOCKS_PORT ||
		    ports->v[i] == LISTENER_DNS_PORT)
			return fail(err, -EINVAL, "%s: %u is a port of the sandbox's own proxies or DNS; use another one",
				    option, ports->v[i]);
	}
	return 0;
}

/* The range in a rule's text, which may end in a port */
static int range_of(const char *text, struct host_range *ret)
{
	const char *colon = strrchr(text, ':');

	if (!host_range_parse(text, strlen(text), ret))
		return 0;
	return colon ? host_range_parse(text, (size_t)(colon - text), ret)
		     : -EINVAL;
}

static bool holds_first_of(const struct host_range *a,
			   const struct host_range *b)
{
	struct host first;

	host_of_address(b->address, b->kind == HOST_IPV4 ? 4 : 16, 0, &first);
	return host_range_has(a, &first);
}

/* True if the rule @text allows something of what @what stands for */
static bool allows(const char *text, const char *what)
{
	const size_t n = strcspn(text, ":"), len = strlen(what);
	struct host_range range, rule;

	if (!host_range_parse(what, len, &range))
		return !range_of(text, &rule) &&
		       (holds_first_of(&range, &rule) ||
			holds_first_of(&rule, &range));
	return *what == '.' ? n >= len && !strncmp(text + n - len, what, len)
			    : n == len && !strncmp(text, what, n);
}

/* The sandbox's own loopback is never captured: a program of its own may listen
 * there
 */
static bool is_loopback(const char *text)
{
	return allows(text, "localhost") || allows(text, "127.0.0.1") ||
	       allows(text, "::1");
}

int network_plan(const struct policy *policy, struct network *ret,
		 struct err *err)
{
	const struct list_rules *allow = &policy->lists[HOST_ALLOW];
	int r;

	*ret = (struct network){
		.publish_any = policy_flag(policy, FLAG_LOCAL_BINDING, false),
	};
	if ((r = add_list(&ret->host_ports, policy, LIST_HOST_PORTS,
			  "--host-port", err)) == 0 &&
	    (r = add_list(&ret->publish, policy, LIST_PUBLISH, "--publish",
			  err)) == 0 &&
	    (r = check_own(&ret->host_ports, "--host-port", err)) == 0)
		r = check_own(&ret->publish, "--publish", err);
	for (size_t i = 0; !r && i < allow->len; i++) {
		const uint16_t port = host_pattern_port(allow->v[i].pattern);

		if (port && !is_loopback(allow->v[i].text))
			(void)add(&ret->capture, port);
	}
	return r;
}

static bool is_allowed(const struct policy *policy, const char *what)
{
	const struct list_rules *allow = &policy->lists[HOST_ALLOW];

	for (size_t i = 0; i < allow->len; i++) {
		if (allows(allow->v[i].text, what))
			return true;
	}
	return false;
}

/* The variables of a private network's proxies, with other addresses: numbers,
 * because there may be no resolver
 */
static void put_moved(const char *name, const char *value,
		      const struct network_proxies *proxies,
		      void (*put)(void *arg, const char *name,
				  const char *value), void *arg)
{
	static const char *const names[] = { "localhost", "3128", "1080" };
	auto_buf struct buf text = { 0 };

	while (*value) {
		size_t i = 0;

		while (i < ARRAY_SIZE(names) &&
		       strncmp(value, names[i], strlen(names[i])) != 0)
			i++;
		if (i == ARRAY_SIZE(names))
			buf_addc(&text, *value++);
		else if (i == 0)
			buf_adds(&text, "127.0.0.1");
		else
			buf_addf(&text, "%u", i == 1 ? proxies->http
						     : proxies->socks);
		if (i < ARRAY_SIZE(names))
			value += strlen(names[i]);
	}
	put(arg, name, buf_str(&text));
}

/* True if no program needs the proxies: not where they are another sandbox's,
 * nor where a rule allows the host's loopback, which only they lead to
 */
static bool is_captured_as_well(const struct policy *policy)
{
	return policy->profile != PROFILE_SRT &&
	       !policy->numbers[NUMBER_HTTP_PROXY_PORT].set &&
	       !policy->numbers[NUMBER_SOCKS_PROXY_PORT].set &&
	       !is_allowed(policy, "localhost") &&
	       !is_allowed(policy, "127.0.0.0/8") &&
	       !is_allowed(policy, "::1/128");
}

void network_env(const struct policy *policy,
		 const struct network_proxies *proxies, bool any_port,
		 void (*put)(void *arg, const char *name, const char *value),
		 void *arg)
{
	auto_buf struct buf list = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		const char *value = policy->profile == PROFILE_SRT && variables[i].srt ?
				    variables[i].srt : variables[i].value;

		if (proxies)
			put_moved(variables[i].name, value, proxies, put, arg);
		else
			put(arg, variables[i].name, value);
	}
	for (size_t i = 0; i < ARRAY_SIZE(direct); i++) {
		if (!is_allowed(policy, direct[i].what))
			buf_addf(&list, "%s%s", list.len ? "," : "",
				 direct[i].entry);
	}
	put(arg, "NO_PROXY", buf_str(&list));
	/* axios asks an HTTP proxy for https://, which none but a few can do, and
	 * httpx ends at a SOCKS proxy. Both look at this name, and take an entry
	 * "*" for all hosts; those who can use a proxy (curl, git, pip, Go) take
	 * it for a host
	 */
	if (any_port && is_captured_as_well(policy))
		buf_adds(&list, ",*");
	put(arg, "no_proxy", buf_str(&list));
}

bool network_ssh(const char *program, struct buf *out)
{
	/* Through git's shell, ssh's own words and the user's shell: what any
	 * of them might take for something else stays out
	 */
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789/._+-";

	/* A copy of us that is called srt would run a command of that name */
	if (*program != '/' || program[strspn(program, plain)] ||
	    strncmp(path_base(program), "cloche", strlen("cloche")) != 0)
		return false;
	/* A shared connection is a Unix socket: ssh ends where it has none. And the
	 * known hosts are read-only.
	 */
	buf_addf(out, "ssh -o ControlMaster=no -o ControlPath=none -o UpdateHostKeys=no "
		      "-o ProxyUseFdpass=yes -o ProxyCommand='%s ssh-connect %%h %%p'",
		 program);
	return true;
}
