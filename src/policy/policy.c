/* SPDX-License-Identifier: Apache-2.0 */
/* policy/policy.c - one policy: its life, its switches, and who said so */

#include "policy/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/host.h"
#include "policy/pathrule.h"
#include "policy/ruleset.h"
#include "policy/seen.h"

static void default_dir(struct policy *p, enum policy_dir dir,
			const char *below_home)
{
	if (p->home)
		p->dirs[dir] = path_resolve(p->home, below_home);
}

struct policy *policy_new(const char *cwd, const char *home)
{
	struct policy *p = mem_zalloc(sizeof(*p));

	p->refs = 1;
	p->cwd = path_resolve("/", cwd);
	p->project = mem_strdup(p->cwd);
	if (home && *home == '/')
		p->home = path_resolve("/", home);
	p->seen = seen_new();
	p->ruleset = ruleset_new();
	p->dirs[DIR_ROOT] = mem_strdup("/");
	p->dirs[DIR_ETC] = mem_strdup("/etc");
	p->dirs[DIR_CWD] = mem_strdup(p->cwd);
	p->dirs[DIR_PARENTS] = mem_strdup(p->cwd);
	default_dir(p, DIR_HOME, ".");
	default_dir(p, DIR_CLAUDE, ".claude");
	default_dir(p, DIR_CONFIG, ".config");
	default_dir(p, DIR_STATE, ".local/state");
	default_dir(p, DIR_CACHE, ".cache");
	default_dir(p, DIR_DATA, ".local/share");
	return p;
}

bool policy_holds_home(const struct policy *p, const char *path)
{
	return (p->home && path_is_within(path, p->home)) ||
	       (p->account_home && path_is_within(path, p->account_home)) ||
	       !strcmp(path, "/");
}

bool policy_has_project(const struct policy *p)
{
	return p->profile != PROFILE_SRT && !policy_holds_home(p, p->project);
}

struct policy *policy_ref(struct policy *p)
{
	p->refs++;
	return p;
}

void origin_done(struct origin *origin)
{
	free(origin->key);
	origin->key = NULL;
}

static void free_paths(struct path_rules *rules)
{
	for (size_t i = 0; i < rules->len; i++)
		path_rule_done(&rules->v[i]);
	free(rules->v);
}

static void free_hosts(struct host_rules *rules)
{
	for (size_t i = 0; i < rules->len; i++) {
		free(rules->v[i].text);
		free(rules->v[i].reason);
		host_pattern_free(rules->v[i].pattern);
		origin_done(&rules->v[i].origin);
	}
	free(rules->v);
}

static void free_strings(struct string_rules *rules)
{
	for (size_t i = 0; i < rules->len; i++) {
		free(rules->v[i].text);
		origin_done(&rules->v[i].origin);
	}
	free(rules->v);
}

static void free_ignores(struct ignore_rules *rules)
{
	for (size_t i = 0; i < rules->len; i++) {
		free(rules->v[i].command);
		free(rules->v[i].text);
		origin_done(&rules->v[i].origin);
	}
	free(rules->v);
}

void credential_done(struct credential *c)
{
	for (size_t i = 0; i < c->claims.len; i++)
		free(c->claims.v[i]);
	for (size_t i = 0; i < c->hosts.len; i++)
		free(c->hosts.v[i]);
	free(c->claims.v);
	free(c->hosts.v);
	free(c->name);
	free(c->extract);
	origin_done(&c->origin);
}

static void free_sources(struct source_list *sources)
{
	for (size_t i = 0; i < sources->len; i++) {
		free(sources->v[i]->name);
		free(sources->v[i]->text);
		free(sources->v[i]->base);
		line_cache_free(sources->v[i]->lines);
		free(sources->v[i]);
	}
	free(sources->v);
}

static void free_scalars(struct policy *p)
{
	for (size_t i = 0; i < FLAG_COUNT; i++)
		origin_done(&p->flags[i].origin);
	for (size_t i = 0; i < NUMBER_COUNT; i++)
		origin_done(&p->numbers[i].origin);
	for (size_t i = 0; i < TEXT_COUNT; i++) {
		free(p->texts[i].value);
		origin_done(&p->texts[i].origin);
	}
	origin_done(&p->profile_origin);
	origin_done(&p->net_origin);
}

void policy_unref(struct policy *p)
{
	if (!p || --p->refs)
		return;
	for (size_t i = 0; i < PATH_LISTS; i++)
		free_paths(&p->paths[i]);
	for (size_t i = 0; i < HOST_LISTS; i++)
		free_hosts(&p->hosts[i]);
	for (size_t i = 0; i < LIST_COUNT; i++)
		free_strings(&p->lists[i]);
	for (size_t i = 0; i < DIR_COUNT; i++)
		free(p->dirs[i]);
	free_scalars(p);
	free_ignores(&p->ignores);
	for (size_t i = 0; i < p->credentials.len; i++)
		credential_done(&p->credentials.v[i]);
	free(p->credentials.v);
	free_sources(&p->sources);
	seen_free(p->seen);
	ruleset_free(p->ruleset);
	free(p->cwd);
	free(p->project);
	free(p->made_top);
	free(p->made_record);
	free(p->home);
	free(p->account_home);
	free(p);
}

void policy_set_dir(struct policy *p, enum policy_dir dir, const char *path)
{
	if (!path || *path != '/')
		return;
	free(p->dirs[dir]);
	p->dirs[dir] = path_resolve("/", path);
}

const struct source *policy_add_source(struct policy *p, enum scope scope,
				       const char *name, const char *text,
				       size_t len, const char *base)
{
	struct source *source = mem_zalloc(sizeof(*source));

	source->scope = scope;
	source->name = mem_strdup(name);
	source->text = text ? mem_strndup(text, len) : NULL;
	source->len = text ? len : 0;
	source->base = mem_strdup(base ? base : p->cwd);
	source->lines = line_cache_new();
	*vec_push(&p->sources) = source;
	return source;
}

struct origin origin_make(const struct source *source, const char *key,
			  const char *reason)
{
	return (struct origin){
		.source = source,
		.key = key ? mem_strdup(key) : NULL,
		.reason = reason,
	};
}

struct origin origin_copy(const struct origin *origin)
{
	return origin_make(origin->source, origin->key, origin->reason);
}

/* The first, strongest setter wins, but anybody may be stricter than a managed
 * file
 */
static bool takes_over(bool set, struct origin *held, struct origin *origin,
		       bool stricter)
{
	const bool managed = held->source && origin->source &&
			     held->source->scope == SCOPE_MANAGED &&
			     origin->source->scope != SCOPE_MANAGED;

	if (!set || (managed && stricter)) {
		origin_done(held);
		return true;
	}
	origin_done(origin);
	return false;
}

/* Switches that are stricter when on; all others when off */
static const bool strict_on[FLAG_COUNT] = {
	[FLAG_ENABLED] = true,
	[FLAG_FAIL_IF_UNAVAILABLE] = true,
	[FLAG_STRICT_ALLOWLIST] = true,
	[FLAG_MANAGED_DOMAINS_ONLY] = true,
	[FLAG_MANAGED_READS_ONLY] = true,
	[FLAG_MANAGED_RULES_ONLY] = true,
	[FLAG_BLOCK_OUTSIDE_READS] = true,
	[FLAG_NO_FORGE] = true,
};

void policy_set_flag(struct policy *p, enum policy_flag flag, bool value,
		     struct origin origin)
{
	const struct flag *held = &p->flags[flag];

	if (!takes_over(held->set, &p->flags[flag].origin, &origin,
			held->value != value && value == strict_on[flag]))
		return;
	p->flags[flag] = (struct flag){ true, value, origin };
}

void policy_set_number(struct policy *p, enum policy_number number,
		       uint64_t value, struct origin origin)
{
	const uint64_t held = p->numbers[number].value;

	if (!takes_over(p->numbers[number].set, &p->numbers[number].origin, &origin,
			number == NUMBER_SEARCH_DEPTH ? value > held :
			number != NUMBER_HTTP_PROXY_PORT &&
			number != NUMBER_SOCKS_PROXY_PORT && value < held))
		return;
	p->numbers[number] = (struct number){ true, value, origin };
}

void policy_set_text(struct policy *p, enum policy_text text,
		     const char *value, struct origin origin)
{
	if (!takes_over(p->texts[text].value, &p->texts[text].origin, &origin,
			text == TEXT_MINIMUM_TIER && !strcmp(value, "full")))
		return;
	free(p->texts[text].value);
	p->texts[text] = (struct text_value){ mem_strdup(value), origin };
}

void policy_set_profile(struct policy *p, enum profile profile,
			struct origin origin)
{
	if (!takes_over(p->profile_origin.source, &p->profile_origin, &origin, profile == PROFILE_HOME))
		return;
	p->profile = profile;
	p->profile_origin = origin;
}

void policy_set_net(struct policy *p, enum net_mode mode,
		    struct origin origin)
{
	const bool stricter = mode == NET_NONE || p->net == NET_HOST ||
		(mode == NET_JAIL_FILTERED && p->net != NET_NONE);

	if (!takes_over(p->net_origin.source, &p->net_origin, &origin, stricter))
		return;
	p->net = mode;
	p->net_origin = origin;
}

bool policy_flag(const struct policy *p, enum policy_flag flag,
		 bool otherwise)
{
	return p->flags[flag].set ? p->flags[flag].value : otherwise;
}

static int name_parse(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(names[i], name))
			return (int)i;
	}
	return -EINVAL;
}

static const char *const profile_names[PROFILE_COUNT] = {
	[PROFILE_DEFAULT] = "default",
	[PROFILE_HOME] = "home",
	[PROFILE_SRT] = "srt",
};

int profile_parse(const char *name, enum profile *ret)
{
	const int r = name_parse(profile_names, PROFILE_COUNT, name);

	if (r < 0)
		return r;
	*ret = (enum profile)r;
	return 0;
}

const char *profile_name(enum profile profile)
{
	return profile_names[profile];
}

static const char *const net_names[NET_COUNT] = {
	[NET_FILTERED] = "filtered",
	[NET_NONE] = "none",
	[NET_JAIL] = "jail",
	[NET_HOST] = "host",
	[NET_JAIL_FILTERED] = "jail,filtered",
};

int net_mode_parse(const char *name, enum net_mode *ret)
{
	const int r = name_parse(net_names, NET_COUNT,
				 !strcmp(name, "filtered,jail") ?
				 net_names[NET_JAIL_FILTERED] : name);

	if (r < 0)
		return r;
	*ret = (enum net_mode)r;
	return 0;
}

const char *net_mode_name(enum net_mode mode)
{
	return net_names[mode];
}
