/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/locks.c - what stronger files forbid weaker ones to say
 *
 * Theory of operation: one look over all facts finds the locks; then each fact
 * is asked about by its row's guard. Whoever is refused learns why, and which
 * line locked it. Denials are never refused: a lock only takes away what would
 * loosen.
 */

#include "policy/locks.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/path.h"
#include "policy/document.h"
#include "policy/number.h"
#include "policy/policy.h"
#include "policy/reader.h"
#include "policy/schema.h"
#include "policy/seen.h"

static enum scope scope_of(const struct fact *fact)
{
	return fact->document->source->scope;
}

static bool is_admin(const struct fact *fact)
{
	return scope_of(fact) == SCOPE_MANAGED || scope_of(fact) == SCOPE_FLAG;
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
	    fact->setting->slot != (int)RULES_DENY)
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

static void look_at_managed(struct locks *locks, const struct fact *fact)
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
	     has_entries(fact, TYPE_CREDENTIALS, CREDENTIAL_FILE) ||
	     has_denial(fact, "Read(") || has_denial(fact, "Edit("));
	lock(&locks->names, fact,
	     fact->setting->type == TYPE_HOSTS ||
	     (yes && is_flag(fact, FLAG_MANAGED_DOMAINS_ONLY)) ||
	     (yes && is_flag(fact, FLAG_STRICT_ALLOWLIST)) ||
	     has_denial(fact, "WebFetch(domain:"));
	lock(&locks->network, fact,
	     !strncmp(fact->setting->path, "network.", 8));
}

static void look_at_admin(struct locks *locks, const struct fact *fact)
{
	if (!is_admin(fact))
		return;
	lock(&locks->unsandboxed, fact, json_is_false(fact->value) &&
	     is_flag(fact, FLAG_ALLOW_UNSANDBOXED));
	lock(&locks->proxies, fact,
	     has_entries(fact, TYPE_HOSTS, HOST_DENY) ||
	     has_denial(fact, "WebFetch(domain:"));
	lock(&locks->reads, fact,
	     has_entries(fact, TYPE_PATHS, PATH_DENY_READ) ||
	     has_entries(fact, TYPE_CREDENTIALS, CREDENTIAL_FILE) ||
	     has_denial(fact, "Read("));
}

void locks_init(struct locks *locks, const struct facts *facts)
{
	*locks = (struct locks){ .denied = seen_new() };
	for (size_t i = 0; i < facts->len; i++) {
		const struct fact *fact = &facts->v[i];

		look_at_managed(locks, fact);
		look_at_admin(locks, fact);
		lock(&locks->strict, fact, !is_repository(fact) &&
		     json_is_true(fact->value) &&
		     is_flag(fact, FLAG_STRICT_ALLOWLIST));
	}
	if (!locks->network)
		locks->network = locks->names;
	if (!locks->unsandboxed)
		locks->unsandboxed = locks->domains;
	if (!locks->proxies)
		locks->proxies = locks->unsandboxed ? locks->unsandboxed
						    : locks->strict;
}

void locks_done(struct locks *locks)
{
	seen_free(locks->denied);
	*locks = (struct locks){ 0 };
}

/* True if a repository's file opens paths: only then is it worth knowing what
 * is denied, which costs a look at the file system for each denial
 */
static bool repository_opens_paths(const struct facts *facts)
{
	for (size_t i = 0; i < facts->len; i++) {
		const struct setting *s = facts->v[i].setting;

		if (is_repository(&facts->v[i]) &&
		    (s->guard == GUARD_ALLOW_READ ||
		     s->guard == GUARD_ALLOW_WRITE ||
		     (s->type == TYPE_RULES && s->slot == RULES_ALLOW)))
			return true;
	}
	return false;
}

void locks_note_denials(struct locks *locks, const struct facts *facts,
			const struct policy *policy,
			const struct reader *reader)
{
	const struct path_rules *rules = &policy->paths[PATH_DENY_READ];
	size_t unused;

	if (!repository_opens_paths(facts))
		return;
	for (size_t i = 0; i < rules->len; i++) {
		const struct path_rule *rule = &rules->v[i];
		auto_free char *real = NULL;

		if (scope_is_repository(rule->origin.source->scope))
			continue;
		/* A pattern counts for all of where it can match */
		real = reader->real(reader->arg, rule->path);
		(void)seen_add_copy(locks->denied, 0, rule->path, i,
				    &unused);
		if (real)
			(void)seen_add_copy(locks->denied, 0, real, i,
					    &unused);
		if (rule->origin.source->scope == SCOPE_FLAG)
			locks->option_reads = true;
	}
}

static bool refuse(struct refusal *ret, const char *why, const struct fact *by)
{
	*ret = (struct refusal){ why, by };
	return false;
}

/* What the files weaker than @fact's make of the same number; where none has a
 * word to say, the default does
 */
static bool is_less_than_weaker(const struct facts *facts,
				const struct fact *fact, bool less)
{
	uint64_t mine, other;
	bool said = false;

	if (number_of(fact->setting->type, fact->value, &mine) < 0)
		return true;	/* An error, and reported as one */
	for (size_t i = 0; i < facts->len; i++) {
		const struct fact *f = &facts->v[i];

		if (f->setting != fact->setting || is_repository(f) ||
		    number_of(f->setting->type, f->value, &other) < 0)
			continue;
		said = true;
		if (less ? mine > other : mine < other)
			return false;
	}
	return said || less ||
	       mine >= strtoull(fact->setting->otherwise, NULL, 10);
}

static bool is_word(const struct fact *fact, const char *word)
{
	const char *text = json_string_value(fact->value);

	return text && !strcmp(text, word);
}

static bool tightens(const struct facts *facts, const struct fact *fact)
{
	switch (fact->setting->tighten) {
	case TIGHTEN_NEVER:
		return false;
	case TIGHTEN_YES:
	case TIGHTEN_DENY:	/* Entry by entry */
		return true;
	case TIGHTEN_TRUE:
		return !json_is_false(fact->value);
	case TIGHTEN_FALSE:
		return !json_is_true(fact->value);
	case TIGHTEN_LESS:
		return is_less_than_weaker(facts, fact, true);
	case TIGHTEN_MORE:
		return is_less_than_weaker(facts, fact, false);
	case TIGHTEN_PROFILE:
		return is_word(fact, "home");
	case TIGHTEN_TIER:
		return is_word(fact, "full");
	case TIGHTEN_NET:
		return is_word(fact, "none");
	}
	return false;
}

/* True if a user, flag or managed file sets the same switch to true */
static bool trusted_true(const struct facts *facts, const struct fact *fact)
{
	for (size_t i = 0; i < facts->len; i++) {
		if (facts->v[i].setting == fact->setting &&
		    !is_repository(&facts->v[i]) &&
		    json_is_true(facts->v[i].value))
			return true;
	}
	return false;
}

static const char from_repository[] =
	"ignored: not from a repository's files; write it into your user settings";
static const char locked[] = "ignored: locked";
static const char managed_only[] = "ignored: for managed files only";

static bool admit_managed_only(const struct fact *fact,
			       const struct fact *lock, struct refusal *ret)
{
	return !lock || scope_of(fact) == SCOPE_MANAGED ||
	       refuse(ret, managed_only, lock);
}

static bool admit_filesystem_disabled(const struct locks *locks,
				      const struct fact *fact,
				      struct refusal *ret)
{
	if (is_repository(fact))
		return refuse(ret, from_repository, NULL);
	return admit_managed_only(fact, locks->filesystem, ret);
}

bool locks_admit_host(const struct locks *locks, const struct fact *fact,
		      struct refusal *ret)
{
	if (!admit_managed_only(fact, locks->domains, ret))
		return false;
	if (is_repository(fact) && locks->unsandboxed)
		return refuse(ret, locked, locks->unsandboxed);
	if (is_repository(fact) && locks->strict)
		return refuse(ret, locked, locks->strict);
	return true;
}

/* Guards that look at nothing but the repository's files */
static bool admit_repository(const struct locks *locks,
			     const struct facts *facts,
			     const struct fact *fact, struct refusal *ret)
{
	const bool yes = json_is_true(fact->value);

	switch (fact->setting->guard) {
	case GUARD_L1_FALSE:
		return !locks->unsandboxed || !json_is_false(fact->value) ||
		       !trusted_true(facts, fact) ||
		       refuse(ret, locked, locks->unsandboxed);
	case GUARD_L1_REPO:
	case GUARD_ALLOW_WRITE:
		return !locks->unsandboxed ||
		       refuse(ret, locked, locks->unsandboxed);
	case GUARD_L1_TRUE:
		return !locks->unsandboxed || !yes ||
		       refuse(ret, locked, locks->unsandboxed);
	case GUARD_STICKY_TRUE:
	case GUARD_NO_REPO:
		return refuse(ret, from_repository, NULL);
	case GUARD_NO_REPO_TRUE:
		return !yes || refuse(ret, from_repository, NULL);
	case GUARD_NO_PROJECT:
		if (scope_of(fact) == SCOPE_PROJECT)
			return refuse(ret, from_repository, NULL);
		return !locks->unsandboxed ||
		       refuse(ret, locked, locks->unsandboxed);
	case GUARD_TIGHTEN:
		return tightens(facts, fact) ||
		       refuse(ret, "ignored: a repository's files may only tighten it",
			      NULL);
	case GUARD_PROXY_PORT:
		return !locks->proxies || refuse(ret, locked, locks->proxies);
	default:
		return true;
	}
}

bool locks_admit(const struct locks *locks, const struct facts *facts,
		 const struct fact *fact, struct refusal *ret)
{
	if (fact->document->tightens && !tightens(facts, fact))
		return refuse(ret, "ignored: this file may only tighten", NULL);
	if (is_repository(fact) &&
	    !admit_repository(locks, facts, fact, ret))
		return false;

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
		return admit_filesystem_disabled(locks, fact, ret);
	case GUARD_ALLOW_READ:
		return admit_managed_only(fact, locks->read_paths, ret);
	case GUARD_ALLOW_DOMAINS:
		return locks_admit_host(locks, fact, ret);
	case GUARD_PROXY_PORT:
		return admit_managed_only(fact, locks->domains, ret);
	case GUARD_RULES:
		return admit_managed_only(fact, locks->rules, ret);
	default:
		return true;
	}
}

/* True if @path or a directory above it is denied by somebody trusted */
static bool is_denied(const struct locks *locks, const char *path)
{
	auto_free char *at = path_resolve("/", path);
	size_t unused;

	for (;;) {
		char *slash;

		if (seen_find(locks->denied, 0, at, &unused))
			return true;
		if (!at[1])
			return false;
		slash = strrchr(at, '/');
		slash[slash == at] = '\0';
	}
}

bool locks_admit_path(const struct locks *locks, const struct reader *reader,
		      const struct path_rule *rule, bool read,
		      struct refusal *ret)
{
	const bool holds = locks->reads || locks->option_reads ||
			   (read && locks->unsandboxed);
	const struct fact *by = locks->reads ? locks->reads
					     : locks->unsandboxed;
	auto_free char *real = NULL;

	if (!holds)
		return true;
	if (rule->glob)
		return refuse(ret, "ignored: a pattern from a repository's files, while reads are denied",
			      by);
	/* A link that came with the clone must not lead around the lock */
	real = reader->real(reader->arg, rule->path);
	if (is_denied(locks, rule->path) || (real && is_denied(locks, real)))
		return refuse(ret, "ignored: it opens what others denied", by);
	return true;
}
