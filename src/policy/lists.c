/* SPDX-License-Identifier: Apache-2.0 */
/* policy/lists.c - the lists of a policy, each entry once */

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/glob.h"
#include "policy/host.h"
#include "policy/pathrule.h"
#include "policy/policy.h"
#include "policy/seen.h"

/* Keys of the set of what was seen: the lists share it */
enum { SEEN_PATHS = 0, SEEN_HOSTS = 100, SEEN_STRINGS = 200 };

static int check_room(size_t len, struct err *err)
{
	if (len < POLICY_RULES_MAX)
		return 0;
	return fail(err, -E2BIG, "more than %d entries in one list",
		    POLICY_RULES_MAX);
}

/* Take over the parts of @rule; an entry that is there already, which @whole
 * or else its path tells, is dropped
 */
static void push_path(struct policy *p, enum path_list list,
		      struct path_rule rule, const char *whole)
{
	const unsigned int key = SEEN_PATHS + (unsigned int)list * 8 +
		(unsigned int)rule.strength * 2 + !!rule.glob;
	struct path_rules *rules = &p->paths[list];
	size_t at;

	/* Our own tables do not make it a list that somebody wrote */
	if (rule.origin.source && rule.origin.source->scope != SCOPE_BUILTIN)
		rules->set = true;
	if (whole ? !seen_add_copy(p->seen, key, whole, rules->len, &at)
		  : !seen_add(p->seen, key, rule.path, rules->len, &at)) {
		path_rule_done(&rule);
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

	r = check_room(p->paths[list].len, err);
	if (r == 0)
		r = path_rule_parse(text, base, p->home, &rule, err);
	if (r < 0) {
		origin_done(&origin);
		return r;
	}
	rule.text = mem_strdup(text);
	push_path(p, list, rule, rule.literal);
	return 0;
}

void policy_add_glob(struct policy *p, enum path_list list, const char *text,
		     struct glob *glob, enum rule_strength strength,
		     struct origin origin)
{
	/* "/x" is another pattern in another file, in another directory */
	auto_free char *whole = mem_printf("%s\n%s", glob_prefix(glob), text);

	push_path(p, list, (struct path_rule){
		.text = mem_strdup(text),
		.path = mem_strdup(glob_prefix(glob)),
		.glob = glob,
		.strength = strength,
		.origin = origin,
	}, whole);
}

void policy_take_literal(struct policy *p, enum path_list list, char *path,
			 enum rule_strength strength, struct origin origin)
{
	push_path(p, list, (struct path_rule){
		.text = mem_strdup(path),
		.path = path,
		.strength = strength,
		.origin = origin,
	}, NULL);
}

void policy_add_literal(struct policy *p, enum path_list list,
			const char *path, enum rule_strength strength,
			struct origin origin)
{
	policy_take_literal(p, list, path_resolve("/", path), strength,
			    origin);
}

int policy_add_host(struct policy *p, enum host_list list, const char *text,
		    const char *reason, struct origin origin, struct err *err)
{
	struct host_rules *rules = &p->hosts[list];
	struct host_pattern *pattern;
	size_t at;
	int r;

	r = check_room(rules->len, err);
	if (r < 0)
		goto out;
	pattern = host_pattern_new(text, list == HOST_DENY, err);
	if (!pattern) {
		r = err && err->code ? err->code : -EINVAL;
		goto out;
	}
	rules->set = true;
	if (seen_find(p->seen, SEEN_HOSTS + list, text, &at)) {
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
	(void)seen_add(p->seen, SEEN_HOSTS + list,
		       rules->v[rules->len - 1].text, rules->len - 1, &at);
	return 0;
out:
	origin_done(&origin);
	return r;
}

int policy_add_string(struct policy *p, enum string_list list,
		      const char *text, struct origin origin, struct err *err)
{
	struct string_rules *rules = &p->lists[list];
	size_t at;
	int r;

	rules->set = true;
	r = check_room(rules->len, err);
	if (r < 0 || seen_find(p->seen, SEEN_STRINGS + list, text, &at)) {
		origin_done(&origin);
		return r;
	}
	*vec_push(rules) = (struct string_rule){
		.text = mem_strdup(text), .origin = origin,
	};
	(void)seen_add(p->seen, SEEN_STRINGS + list,
		       rules->v[rules->len - 1].text, rules->len - 1, &at);
	return 0;
}

int policy_add_ignore(struct policy *p, const char *command,
		      const char *text, struct origin origin, struct err *err)
{
	const int r = check_room(p->ignores.len, err);

	if (r < 0) {
		origin_done(&origin);
		return r;
	}
	*vec_push(&p->ignores) = (struct ignore_rule){
		.command = mem_strdup(command),
		.text = mem_strdup(text),
		.origin = origin,
	};
	return 0;
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
