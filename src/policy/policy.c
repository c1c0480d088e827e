/* SPDX-License-Identifier: Apache-2.0 */
/* policy/policy.c - one policy: its life, its switches, and its lists */

#include "policy/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/dedup.h"
#include "policy/host.h"
#include "policy/permission.h"

const char *policy_dir_below_home(enum policy_dir dir)
{
	static const char *const below[DIR_COUNT] = {
		[DIR_HOME] = ".",
		[DIR_CLAUDE] = ".claude",
		[DIR_CONFIG] = ".config",
		[DIR_STATE] = ".local/state",
		[DIR_CACHE] = ".cache",
		[DIR_DATA] = ".local/share",
	};

	return below[dir];
}

struct policy *policy_new(const char *cwd, const char *home)
{
	struct policy *p = mem_zalloc(sizeof(*p));

	p->refs = 1;
	p->cwd = path_resolve("/", cwd);
	p->project = mem_strdup(p->cwd);
	if (home && *home == '/')
		p->home = path_resolve("/", home);
	p->seen = dedup_new();
	p->ruleset = permission_new();
	p->dirs[DIR_ROOT] = mem_strdup("/");
	p->dirs[DIR_ETC] = mem_strdup("/etc");
	p->dirs[DIR_CWD] = mem_strdup(p->cwd);
	p->dirs[DIR_PARENTS] = mem_strdup(p->cwd);
	for (enum policy_dir dir = 0; p->home && dir < DIR_COUNT; dir++) {
		const char *below = policy_dir_below_home(dir);

		if (below)
			p->dirs[dir] = path_resolve(p->home, below);
	}
	return p;
}

struct policy *policy_new_like(const struct policy *other)
{
	struct policy *p = policy_new(other->cwd, other->home);

	for (enum policy_dir dir = 0; dir < DIR_COUNT; dir++)
		policy_set_dir(p, dir, other->dirs[dir]);
	if (other->account_home)
		p->account_home = mem_strdup(other->account_home);
	p->variable = other->variable;
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

void policy_unref(struct policy *p)
{
	if (!p || --p->refs)
		return;
	for (size_t i = 0; i < PATH_LISTS; i++) {
		for (size_t j = 0; j < p->paths[i].len; j++)
			path_rule_done(&p->paths[i].v[j]);
		free(p->paths[i].v);
	}
	for (size_t i = 0; i < LIST_COUNT; i++) {
		for (size_t j = 0; j < p->lists[i].len; j++) {
			free(p->lists[i].v[j].text);
			free(p->lists[i].v[j].detail);
			host_pattern_free(p->lists[i].v[j].pattern);
		}
		free(p->lists[i].v);
	}
	for (size_t i = 0; i < DIR_COUNT; i++)
		free(p->dirs[i]);
	for (size_t i = 0; i < TEXT_COUNT; i++)
		free(p->texts[i].value);
	for (size_t i = 0; i < p->sources.len; i++)
		source_free(p->sources.v[i]);
	free(p->sources.v);
	dedup_free(p->seen);
	permission_free(p->ruleset);
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
	struct source *source = source_new(scope, name, text, len,
					   base ? base : p->cwd);

	*vec_push(&p->sources) = source;
	return source;
}

/* The first, strongest setter wins, but any other may be stricter than a managed
 * file
 */
static bool takes_over(bool set, const struct origin *old,
		       const struct origin *new, bool stricter)
{
	return !set || (stricter && old->source && new->source &&
			old->source->scope == SCOPE_MANAGED &&
			new->source->scope != SCOPE_MANAGED);
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
	const struct flag *old = &p->flags[flag];

	if (!takes_over(old->set, &p->flags[flag].origin, &origin,
			old->value != value && value == strict_on[flag]))
		return;
	p->flags[flag] = (struct flag){ true, value, origin };
}

void policy_set_number(struct policy *p, enum policy_number number,
		       uint64_t value, struct origin origin)
{
	const uint64_t old = p->numbers[number].value;

	if (!takes_over(p->numbers[number].set, &p->numbers[number].origin, &origin,
			number == NUMBER_SEARCH_DEPTH ? value > old :
			number != NUMBER_HTTP_PROXY_PORT &&
			number != NUMBER_SOCKS_PROXY_PORT && value < old))
		return;
	p->numbers[number] = (struct number){ true, value, origin };
}

void policy_force_text(struct policy *p, enum policy_text text,
		       const char *value, struct origin origin)
{
	free(p->texts[text].value);
	p->texts[text] = (struct text_value){ mem_strdup(value), origin };
}

void policy_set_text(struct policy *p, enum policy_text text,
		     const char *value, struct origin origin)
{
	if (takes_over(p->texts[text].value, &p->texts[text].origin, &origin,
		       text == TEXT_MINIMUM_TIER && !strcmp(value, "full")))
		policy_force_text(p, text, value, origin);
}

void policy_set_profile(struct policy *p, enum profile profile,
			struct origin origin)
{
	if (!takes_over(p->profile_origin.source, &p->profile_origin, &origin,
			profile == PROFILE_HOME))
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

static const char *const profile_names[PROFILE_COUNT] = {
	[PROFILE_DEFAULT] = "default",
	[PROFILE_HOME] = "home",
	[PROFILE_SRT] = "srt",
};

int profile_parse(const char *name, enum profile *ret)
{
	const int r = text_index(profile_names, PROFILE_COUNT, name);

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
	const int r = text_index(net_names, NET_COUNT,
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

/* Keys of the set of what was seen: the lists share it */
enum { SEEN_PATHS = 0, SEEN_LISTS = 100 };

static int check_limit(size_t len, struct err *err)
{
	if (len < POLICY_RULES_MAX)
		return 0;
	return fail(err, -E2BIG, "more than %d entries in one list",
		    POLICY_RULES_MAX);
}

/* Where a repository's file and the user's deny the same path, the rule becomes the
 * user's, which no repository can lift
 */
static void keep_denial(struct path_rule *old, struct path_rule *rule)
{
	const struct origin origin = rule->origin;

	if (!origin.source || origin.source->scope != SCOPE_USER ||
	    (old->origin.source->scope != SCOPE_PROJECT &&
	     old->origin.source->scope != SCOPE_LOCAL))
		return;
	rule->origin = old->origin;
	old->origin = origin;
}

/* Take over the parts of @rule; NULL if such an entry is there already */
static struct path_rule *push_path(struct policy *p, enum path_list list,
				   struct path_rule rule)
{
	const unsigned int key = SEEN_PATHS + (unsigned int)list * 8 +
		(unsigned int)rule.strength * 2 + !!rule.glob;
	struct path_rules *rules = &p->paths[list];
	/* "/x" is another pattern in another file, in another directory */
	auto_free char *whole = !rule.glob || rule.literal ? NULL :
		mem_printf("%s\n%s", rule.path, rule.text);
	const char *name = whole ? whole : rule.literal ? rule.literal
							: rule.path;
	size_t at;

	/* Our own tables do not count as setting the list */
	if (rule.origin.source && rule.origin.source->scope != SCOPE_BUILTIN)
		rules->set = true;
	if (!dedup_add(p->seen, key, name, rules->len)) {
		if (dedup_find(p->seen, key, name, &at) && path_list_denies(list))
			keep_denial(&rules->v[at], &rule);
		path_rule_done(&rule);
		return NULL;
	}
	*vec_push(rules) = rule;
	return &rules->v[rules->len - 1];
}

int policy_take_path(struct policy *p, enum path_list list,
		     struct path_rule *rule, struct err *err)
{
	const int r = check_limit(p->paths[list].len, err);

	if (r == 0)
		push_path(p, list, *rule);
	else
		path_rule_done(rule);
	*rule = (struct path_rule){ 0 };
	return r;
}

int policy_add_path(struct policy *p, enum path_list list, const char *text,
		    enum rule_strength strength, struct origin origin,
		    struct err *err)
{
	const char *base = origin.source ? origin.source->base : p->cwd;
	struct path_rule rule = { .strength = strength, .origin = origin };
	const int r = path_rule_parse(text, base, p->home, &rule, err);

	return r < 0 ? r : policy_take_path(p, list, &rule, err);
}

struct path_rule *policy_take_literal(struct policy *p, enum path_list list,
				      char *path, enum rule_strength strength,
				      struct origin origin)
{
	return push_path(p, list, (struct path_rule){
		.text = path,
		.path = path,
		.strength = strength,
		.origin = origin,
	});
}

void policy_add_literal(struct policy *p, enum path_list list,
			const char *path, enum rule_strength strength,
			struct origin origin)
{
	policy_take_literal(p, list, path_resolve("/", path), strength,
			    origin);
}

/* Takes over @pattern */
static int push_list(struct policy *p, enum string_list list, const char *text,
		     struct host_pattern *pattern, const char *detail,
		     struct origin origin, struct err *err)
{
	struct list_rules *rules = &p->lists[list];
	const int r = check_limit(rules->len, err);

	rules->set = true;
	/* LIST_IGNORES may have the same text for several commands */
	if (r < 0 || (!dedup_add(p->seen, SEEN_LISTS + list, text, rules->len) &&
		      list != LIST_IGNORES)) {
		host_pattern_free(pattern);
		return r;
	}
	*vec_push(rules) = (struct list_rule){
		.text = mem_strdup(text),
		.detail = detail ? mem_strdup(detail) : NULL,
		.pattern = pattern,
		.origin = origin,
	};
	return 0;
}

int policy_add_host(struct policy *p, enum string_list list, const char *text,
		    const char *reason, struct origin origin, struct err *err)
{
	struct host_pattern *pattern = host_pattern_new(text, list == HOST_DENY,
							err);

	if (!pattern)
		return err && err->code ? err->code : -EINVAL;
	/* The reason may come from another file than the entry */
	if (reason)
		(void)policy_set_reason(p, list, text, reason);
	return push_list(p, list, text, pattern, reason, origin, err);
}

int policy_add_string(struct policy *p, enum string_list list,
		      const char *text, struct origin origin, struct err *err)
{
	return push_list(p, list, text, NULL, NULL, origin, err);
}

int policy_add_ignore(struct policy *p, const char *command,
		      const char *text, struct origin origin, struct err *err)
{
	return push_list(p, LIST_IGNORES, text, NULL, command, origin, err);
}

bool policy_set_reason(struct policy *p, enum string_list list,
		       const char *text, const char *reason)
{
	struct list_rule *rule;
	size_t at;

	if (!dedup_find(p->seen, SEEN_LISTS + list, text, &at))
		return false;
	rule = &p->lists[list].v[at];
	if (!rule->detail)
		rule->detail = mem_strdup(reason);
	return true;
}

bool policy_has_string(const struct policy *p, enum string_list list,
		       const char *text)
{
	for (size_t i = 0; i < p->lists[list].len; i++) {
		if (!strcmp(p->lists[list].v[i].text, text))
			return true;
	}
	return false;
}
