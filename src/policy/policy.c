/* SPDX-License-Identifier: Apache-2.0 */
/* policy/policy.c - one policy: its lists, its switches, and who said so */

#include "policy/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/glob.h"
#include "policy/host.h"
#include "policy/pathrule.h"
#include "policy/seen.h"

/* Keys of the set of what was seen: the lists share it */
enum { SEEN_PATHS = 0, SEEN_HOSTS = 100, SEEN_STRINGS = 200 };

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
	if (home && *home == '/')
		p->home = path_resolve("/", home);
	p->seen = seen_new();
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

static void free_path_rule(struct path_rule *rule)
{
	free(rule->text);
	free(rule->path);
	free(rule->literal);
	glob_free(rule->glob);
	origin_done(&rule->origin);
}

static void free_paths(struct path_rules *rules)
{
	for (size_t i = 0; i < rules->len; i++)
		free_path_rule(&rules->v[i]);
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
	free(p->cwd);
	free(p->home);
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

static int check_room(size_t len, const struct origin *origin,
		      struct err *err)
{
	if (len < POLICY_RULES_MAX)
		return 0;
	return fail(err, -E2BIG, "%s: more than %d entries in one list",
		    origin->source ? origin->source->name : "built in",
		    POLICY_RULES_MAX);
}

/* Take over the parts of @rule; an entry that is there already, which @whole
 * tells, is dropped
 */
static void push_path(struct policy *p, enum path_list list,
		      struct path_rule rule, const char *whole)
{
	const int key = SEEN_PATHS + (int)list * 8 + (int)rule.strength * 2 +
			!!rule.glob;
	struct path_rules *rules = &p->paths[list];
	size_t at;

	/* Our own tables do not make it a list that somebody wrote */
	if (rule.origin.source && rule.origin.source->scope != SCOPE_BUILTIN)
		rules->set = true;
	if (!seen_add(p->seen, key, whole, rules->len, &at)) {
		rules->v[at].must_exist |= rule.must_exist;
		free_path_rule(&rule);
		return;
	}
	*vec_push(rules) = rule;
}

int policy_add_path(struct policy *p, enum path_list list, const char *text,
		    enum rule_strength strength, struct origin origin,
		    struct err *err)
{
	const char *base = origin.source ? origin.source->base : p->cwd;
	struct path_rule rule = { .strength = strength, .origin = origin };
	int r;

	r = check_room(p->paths[list].len, &origin, err);
	if (r == 0)
		r = path_rule_parse(text, base, p->home, &rule, err);
	if (r < 0) {
		origin_done(&origin);
		return r;
	}
	rule.text = mem_strdup(text);
	push_path(p, list, rule, rule.literal ? rule.literal : rule.path);
	return 0;
}

void policy_add_glob(struct policy *p, enum path_list list, const char *text,
		     struct glob *glob, enum rule_strength strength,
		     struct origin origin)
{
	const char *base = origin.source ? origin.source->base : p->cwd;
	auto_free char *whole = mem_printf("%s\n%s", base, text);

	push_path(p, list, (struct path_rule){
		.text = mem_strdup(text),
		.path = mem_strdup(glob_prefix(glob)),
		.glob = glob,
		.strength = strength,
		.origin = origin,
	}, whole);
}

int policy_require_path(struct policy *p, enum path_list list,
			const char *text, struct origin origin,
			struct err *err)
{
	const char *base = origin.source ? origin.source->base : p->cwd;
	struct path_rule rule = {
		.strength = RULE_USER, .must_exist = true, .origin = origin,
	};

	if (!*text) {
		origin_done(&origin);
		return fail(err, -EINVAL, "the path is empty");
	}
	rule.text = mem_strdup(text);
	rule.path = path_resolve(base, text);
	push_path(p, list, rule, rule.path);
	return 0;
}

void policy_add_literal(struct policy *p, enum path_list list,
			const char *path, enum rule_strength strength,
			struct origin origin)
{
	struct path_rule rule = {
		.text = mem_strdup(path),
		.path = path_resolve("/", path),
		.strength = strength,
		.origin = origin,
	};

	push_path(p, list, rule, rule.path);
}

int policy_add_host(struct policy *p, enum host_list list, const char *text,
		    const char *reason, struct origin origin, struct err *err)
{
	struct host_rules *rules = &p->hosts[list];
	struct host_pattern *pattern;
	size_t at;
	int r;

	r = check_room(rules->len, &origin, err);
	if (r < 0)
		goto out;
	pattern = host_pattern_new(text, list == HOST_DENY, err);
	if (!pattern) {
		r = err && err->code ? err->code : -EINVAL;
		goto out;
	}
	rules->set = true;
	if (!seen_add(p->seen, SEEN_HOSTS + (int)list, text, rules->len,
		      &at)) {
		struct host_rule *first = &rules->v[at];

		/* The words may come from another file than the entry */
		if (reason && !first->reason)
			first->reason = mem_strdup(reason);
		host_pattern_free(pattern);
		goto out;
	}
	*vec_push(rules) = (struct host_rule){
		.text = mem_strdup(text),
		.pattern = pattern,
		.reason = reason ? mem_strdup(reason) : NULL,
		.origin = origin,
	};
	return 0;
out:
	origin_done(&origin);
	return r;
}

void policy_add_string(struct policy *p, enum string_list list,
		       const char *text, struct origin origin)
{
	struct string_rules *rules = &p->lists[list];
	size_t at;

	rules->set = true;
	if (rules->len >= POLICY_RULES_MAX ||
	    !seen_add(p->seen, SEEN_STRINGS + (int)list, text, rules->len,
		      &at)) {
		origin_done(&origin);
		return;
	}
	*vec_push(rules) = (struct string_rule){
		.text = mem_strdup(text), .origin = origin,
	};
}

void policy_add_ignore(struct policy *p, const char *command,
		       const char *text, struct origin origin)
{
	if (p->ignores.len >= POLICY_RULES_MAX) {
		origin_done(&origin);
		return;
	}
	*vec_push(&p->ignores) = (struct ignore_rule){
		.command = mem_strdup(command),
		.text = mem_strdup(text),
		.origin = origin,
	};
}

bool policy_set_reason(struct policy *p, const char *text,
		       const char *reason)
{
	struct host_rule *rule;
	size_t at;

	if (!seen_find(p->seen, SEEN_HOSTS + HOST_DENY, text, &at))
		return false;
	rule = &p->hosts[HOST_DENY].v[at];
	if (!rule->reason)
		rule->reason = mem_strdup(reason);
	return true;
}

void policy_mark_paths(struct policy *p, enum path_list list)
{
	p->paths[list].set = true;
}

void policy_mark_hosts(struct policy *p, enum host_list list)
{
	p->hosts[list].set = true;
}

void policy_mark_strings(struct policy *p, enum string_list list)
{
	p->lists[list].set = true;
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

void policy_set_flag(struct policy *p, enum policy_flag flag, bool value,
		     struct origin origin)
{
	if (p->flags[flag].set) {
		origin_done(&origin);
		return;
	}
	p->flags[flag] = (struct flag){ true, value, origin };
}

void policy_set_number(struct policy *p, enum policy_number number,
		       uint64_t value, struct origin origin)
{
	if (p->numbers[number].set) {
		origin_done(&origin);
		return;
	}
	p->numbers[number] = (struct number){ true, value, origin };
}

void policy_set_text(struct policy *p, enum policy_text text,
		     const char *value, struct origin origin)
{
	if (p->texts[text].value) {
		origin_done(&origin);
		return;
	}
	p->texts[text] = (struct text_value){ mem_strdup(value), origin };
}

void policy_set_profile(struct policy *p, enum profile profile,
			struct origin origin)
{
	if (p->profile_origin.source) {
		origin_done(&origin);
		return;
	}
	p->profile = profile;
	p->profile_origin = origin;
}

void policy_set_net(struct policy *p, enum net_mode mode,
		    struct origin origin)
{
	if (p->net_origin.source) {
		origin_done(&origin);
		return;
	}
	p->net = mode;
	p->net_origin = origin;
}

bool policy_flag(const struct policy *p, enum policy_flag flag,
		 bool otherwise)
{
	return p->flags[flag].set ? p->flags[flag].value : otherwise;
}

uint64_t policy_number(const struct policy *p, enum policy_number number,
		       uint64_t otherwise)
{
	return p->numbers[number].set ? p->numbers[number].value : otherwise;
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
};

int net_mode_parse(const char *name, enum net_mode *ret)
{
	const int r = name_parse(net_names, NET_COUNT, name);

	if (r < 0)
		return r;
	*ret = (enum net_mode)r;
	return 0;
}

const char *net_mode_name(enum net_mode mode)
{
	return net_names[mode];
}
