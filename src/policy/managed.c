/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/managed.c - what stronger files forbid weaker ones to set
 *
 * Theory of operation: one pass over all facts finds the locks; then the guard of a
 * fact's row decides whether the fact is admitted. A refusal has the reason and the
 * fact that locks it. Denials are never refused: a lock only removes grants.
 */

#include "policy/managed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/dedup.h"
#include "policy/document.h"
#include "policy/file-reader.h"
#include "policy/policy.h"

static enum scope scope_of(const struct fact *fact)
{
	return fact->document->source->scope;
}

static bool is_repository(const struct fact *fact)
{
	return scope_is_repository(scope_of(fact));
}

static bool is_flag(const struct fact *fact, enum policy_flag flag)
{
	return fact->setting->type == TYPE_FLAG &&
	       fact->setting->slot == (int)flag;
}

static bool has_denial(const struct fact *fact, const char *start)
{
	size_t i;
	json_t *rule;

	if (fact->setting->type != TYPE_RULES ||
	    fact->setting->slot != (int)ACTION_DENY)
		return false;
	json_array_foreach(fact->value, i, rule) {
		const char *text = json_string_value(rule);

		if (text && !strncmp(text + strspn(text, " \t"), start,
				     strlen(start)))
			return true;
	}
	return false;
}

static bool has_entries(const struct fact *fact, enum setting_type type,
			int slot)
{
	return fact->setting->type == type && fact->setting->slot == slot &&
	       json_array_size(fact->value) > 0;
}

static void lock(const struct fact **lock, const struct fact *fact, bool holds)
{
	if (holds && !*lock)
		*lock = fact;
}

static void look_at_managed(struct managed *locks, const struct fact *fact)
{
	const bool yes = json_is_true(fact->value);

	if (scope_of(fact) != SCOPE_MANAGED)
		return;
	lock(&locks->domains, fact,
	     yes && is_flag(fact, FLAG_MANAGED_DOMAINS_ONLY));
	lock(&locks->read_paths, fact,
	     yes && is_flag(fact, FLAG_MANAGED_READS_ONLY));
	lock(&locks->rules, fact,
	     yes && is_flag(fact, FLAG_MANAGED_RULES_ONLY));
	lock(&locks->filesystem, fact,
	     !strncmp(fact->setting->path, "filesystem.", 11) ||
	     has_entries(fact, TYPE_CREDENTIALS, LIST_MASKED_FILES) ||
	     has_denial(fact, "Read(") || has_denial(fact, "Edit("));
	lock(&locks->names, fact,
	     fact->setting->type == TYPE_HOSTS ||
	     (yes && is_flag(fact, FLAG_MANAGED_DOMAINS_ONLY)) ||
	     (yes && is_flag(fact, FLAG_STRICT_ALLOWLIST)) ||
	     has_denial(fact, "WebFetch(domain:"));
	lock(&locks->network, fact,
	     !strncmp(fact->setting->path, "network.", 8));
}

void managed_init(struct managed *locks, const struct facts *facts,
		  const struct file_reader *reader)
{
	*locks = (struct managed){ .denied = dedup_new(), .reader = reader };
	for (size_t i = 0; i < facts->len; i++) {
		const struct fact *fact = &facts->v[i];

		look_at_managed(locks, fact);
		lock(&locks->unsandboxed, fact, json_is_false(fact->value) &&
		     is_flag(fact, FLAG_ALLOW_UNSANDBOXED) &&
		     (scope_of(fact) == SCOPE_MANAGED ||
		      scope_of(fact) == SCOPE_FLAG));
		lock(&locks->strict, fact, !is_repository(fact) &&
		     json_is_true(fact->value) &&
		     is_flag(fact, FLAG_STRICT_ALLOWLIST));
	}
	if (!locks->network)
		locks->network = locks->names;
	if (!locks->unsandboxed)
		locks->unsandboxed = locks->domains;
}

void managed_done(struct managed *locks)
{
	dedup_free(locks->denied);
	for (size_t i = 0; i < locks->denials.len; i++)
		free(locks->denials.v[i].path);
	free(locks->denials.v);
	*locks = (struct managed){ 0 };
}

static void note_denial(struct managed *locks, enum scope scope, const char *path)
{
	if (!dedup_add(locks->denied, scope, path, 0) ||
	    scope == SCOPE_BUILTIN)
		return;
	*vec_push(&locks->denials) = (struct denial){ scope,
						      mem_strdup(path) };
}

/* A repository's file lifts only denials of a repository; other files do not lift
 * those of stronger scopes
 */
static bool may_lift(enum scope scope, enum scope denies)
{
	if (scope_is_repository(scope))
		return scope_is_repository(denies);
	return scope >= denies;
}

/* True if a file that is not the administrator's grants paths, and may not lift what
 * @denies: only then are denials collected, each of which costs a realpath()
 */
static bool opens_paths(const struct facts *facts, enum scope denies)
{
	for (size_t i = 0; i < facts->len; i++) {
		const enum ask_kind ask = facts->v[i].setting->ask;

		if (scope_of(&facts->v[i]) != SCOPE_MANAGED &&
		    !may_lift(scope_of(&facts->v[i]), denies) &&
		    (ask == ASK_READ || ask == ASK_WRITE || ask == ASK_RULE ||
		     ask == ASK_SOCKET))
			return true;
	}
	return false;
}

void managed_note_hidden(struct managed *locks, const struct facts *facts,
		       const struct policy *policy)
{
	auto_policy struct policy *plain = policy_new_like(policy);
	const struct path_rules *rules = &plain->paths[PATH_DENY_READ];

	if (!opens_paths(facts, SCOPE_COUNT))	/* Which no file may lift */
		return;
	policy_finish(plain, NULL);
	for (size_t i = 0; i < rules->len; i++)
		note_denial(locks, SCOPE_BUILTIN, rules->v[i].path);
}

void managed_note_denials(struct managed *locks, const struct facts *facts,
			const struct policy *policy)
{
	const struct file_reader *reader = locks->reader;
	const struct path_rules *rules = &policy->paths[PATH_DENY_READ];
	bool binds[SCOPE_COUNT];

	for (enum scope scope = 0; scope < SCOPE_COUNT; scope++)
		binds[scope] = opens_paths(facts, scope);
	for (size_t i = 0; i < rules->len; i++) {
		const enum scope scope = rules->v[i].origin.source->scope;
		/* A pattern denies all of the directory that it can match in */
		auto_free char *real = !binds[scope] ? NULL :
			reader->real(reader->arg, rules->v[i].path);

		if (!binds[scope])
			continue;
		note_denial(locks, scope, rules->v[i].path);
		if (real)
			note_denial(locks, scope, real);
	}
}

static bool refuse(struct refusal *ret, const char *why, const struct fact *by)
{
	*ret = (struct refusal){ why, by };
	return false;
}

static const char locked[] = "ignored: locked";
static const char managed_only[] = "ignored: for managed files only";

static bool admit_managed_only(const struct fact *fact,
			       const struct fact *lock, struct refusal *ret)
{
	return !lock || scope_of(fact) == SCOPE_MANAGED ||
	       refuse(ret, managed_only, lock);
}

bool managed_admit_host(const struct managed *locks, const struct fact *fact,
		      struct refusal *ret)
{
	return admit_managed_only(fact, locks->domains, ret);
}

bool managed_admit(const struct managed *locks, const struct fact *fact,
		 struct refusal *ret)
{
	switch (fact->setting->guard) {
	case GUARD_MANAGED:
		return scope_of(fact) == SCOPE_MANAGED ||
		       refuse(ret, managed_only, NULL);
	case GUARD_FLAG_ONLY:
		if (scope_of(fact) != SCOPE_FLAG)
			return refuse(ret, "ignored: for --settings only",
				      NULL);
		return admit_managed_only(fact, locks->read_paths, ret);
	case GUARD_FS_DISABLED:
		return admit_managed_only(fact, locks->filesystem, ret);
	case GUARD_READS:
		return admit_managed_only(fact, locks->read_paths, ret);
	case GUARD_DOMAINS:
		return managed_admit_host(locks, fact, ret);
	case GUARD_RULES:
		return admit_managed_only(fact, locks->rules, ret);
	default:
		return true;
	}
}

bool managed_admit_ask(const struct managed *locks, const struct fact *fact,
		     const struct ask *ask, struct refusal *ret)
{
	if (is_repository(fact) &&
	    (ask->kind == ASK_SETTING || ask->kind == ASK_TIER))
		return refuse(ret, "ignored: a repository's files may only tighten it",
			      NULL);
	if (is_repository(fact) && ask->kind >= ASK_NEVER)
		return refuse(ret, "ignored: never from a repository's files; write it into your user settings",
			      NULL);
	if (is_repository(fact) && locks->unsandboxed)
		return refuse(ret, locked, locks->unsandboxed);
	if (is_repository(fact) && ask->kind == ASK_HOST && locks->strict)
		return refuse(ret, locked, locks->strict);
	if (!managed_admit(locks, fact, ret) ||
	    (ask->kind == ASK_HOST && !managed_admit_host(locks, fact, ret)))
		return false;
	return !ask->path || managed_admit_path(locks, scope_of(fact), ask->path,
						ask->glob, ret);
}

static bool may_match_denied(const struct managed *locks, enum scope scope,
			     const char *dir)
{
	for (size_t i = 0; i < locks->denials.len; i++) {
		const struct denial *d = &locks->denials.v[i];

		if (!may_lift(scope, d->scope) &&
		    (path_is_within(dir, d->path) ||
		     path_is_within(d->path, dir)))
			return true;
	}
	return false;
}

bool managed_admit_path(const struct managed *locks, enum scope scope,
			const char *path, bool glob, struct refusal *ret)
{
	auto_free char *real = locks->denials.len ?
		locks->reader->real(locks->reader->arg, path) : NULL;

	if (glob && (may_match_denied(locks, scope, path) ||
		     (real && may_match_denied(locks, scope, real))))
		return refuse(ret, "ignored: a pattern that may open what others denied",
			      NULL);
	/* A link that came with the clone must not lead around a denial */
	for (enum scope s = SCOPE_USER; locks->denials.len && s < SCOPE_COUNT; s++) {
		if (!may_lift(scope, s) &&
		    (dedup_covers(locks->denied, s, path) ||
		     (real && dedup_covers(locks->denied, s, real))))
			return refuse(ret, "ignored: it opens what others denied",
				      NULL);
	}
	return true;
}

/* An option that opens what a managed file denies */
static int check_denied(const struct policy *policy, enum path_list list,
			struct err *err)
{
	const struct path_rules *rules = &policy->paths[list];
	const struct path_rules *denied = &policy->paths[PATH_DENY_READ];

	for (size_t i = 0; i < rules->len * denied->len; i++) {
		const struct path_rule *rule = &rules->v[i / denied->len];
		const struct path_rule *no = &denied->v[i % denied->len];
		auto_buf struct buf by = { 0 };

		if (rule->origin.source->scope == SCOPE_MANAGED ||
		    no->origin.source->scope != SCOPE_MANAGED ||
		    !path_is_within(no->path, rule->path))
			continue;
		origin_describe(&no->origin, &by);
		return fail(err, -EPERM, "%s %s: managed settings deny it (%s)",
			    rule->origin.source->name, rule->text,
			    buf_str(&by));
	}
	return 0;
}

static int fail_locked(const struct fact *lock, const char *option,
		      const char *value, const char *what, struct err *err)
{
	return fail(err, -EPERM, "%s %s: only managed %s count (%s sets %s)",
		    option, value, what, lock->document->source->name, lock->key);
}

int managed_check_options(const struct managed *locks,
			  const struct policy *policy, struct err *err)
{
	const struct list_rules *hosts = &policy->lists[HOST_ALLOW];
	const struct path_rules *paths = &policy->paths[PATH_ALLOW_READ];
	int r;

	if (locks->domains && hosts->len)
		return fail_locked(locks->domains, "--allow", hosts->v[0].text,
				  "domains", err);
	if (locks->read_paths && paths->len)
		return fail_locked(locks->read_paths, "--read", paths->v[0].text,
				  "paths", err);
	r = check_denied(policy, PATH_ALLOW_READ, err);
	return r < 0 ? r : check_denied(policy, PATH_ALLOW_WRITE, err);
}

int managed_check_net(const struct managed *locks, const struct policy *policy,
		      struct err *err)
{
	const enum net_mode net = policy->net;
	const struct origin *origin = &policy->net_origin;
	const struct fact *by = net == NET_HOST ? locks->network :
				net == NET_JAIL ? locks->names : NULL;

	if (!by || !origin->source || origin->source->scope == SCOPE_MANAGED)
		return 0;
	return fail(err, -EPERM, "%s is refused: %s sets %s%s",
		    net == NET_HOST ? "the host's network" :
		    "a jail that looks at no names",
		    by->document->source->name, by->key,
		    net == NET_JAIL ? "; write jail,filtered" : "");
}
