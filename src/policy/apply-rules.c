/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/apply-rules.c - permission rules become a policy
 *
 * Theory of operation: an agent's rules speak of its tools. What a command may
 * do follows from three of them: Edit(path) opens and closes for writing,
 * Read(path) closes for reading, WebFetch(domain:host) opens and closes hosts.
 * A tool without a specifier says whether the agent may use it at all, which
 * is not the sandbox's business; nor is what must be asked about.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/apply.h"
#include "policy/document.h"
#include "policy/gitignore.h"
#include "policy/glob.h"
#include "policy/locks.h"
#include "policy/policy.h"
#include "policy/schema.h"

/**
 * struct anchored - A pattern of a Read or Edit rule, and where it starts
 * @dir:	NULL where there is no home
 * @below:	It ended in a slash and two stars: all of a directory, so the
 *		directory
 */
struct anchored {
	const char *dir;
	char *pattern;
	bool below;
};

/* The grammar differs from that of sandbox.filesystem */
static struct anchored anchor(const struct apply *apply,
			      const struct fact *fact, const char *text)
{
	struct anchored a = { .dir = apply->policy->cwd };
	size_t n;

	if (!strncmp(text, "//", 2)) {
		a.dir = "/";
		text++;
	} else if (!strcmp(text, "~") || !strncmp(text, "~/", 2)) {
		a.dir = apply->policy->home;
		text++;
	} else if (*text == '/') {
		a.dir = fact->document->rules_base;
	} else if (!strncmp(text, "./", 2)) {
		text++;
	}
	n = strlen(text);
	a.below = (n == 2 || (n > 2 && text[n - 3] == '/')) &&
		  !strcmp(text + n - 2, "**");
	a.pattern = mem_strndup(text, a.below ? n - 2 : n);
	if (a.below && n > 3)
		a.pattern[n - 3] = '\0';
	return a;
}

/* "src" and two stars: an allow means the one here, a denial all of that name.
 * Other rules with a slash in them start at their directory anyway.
 */
static unsigned int flags_for(const struct anchored *a, bool deny)
{
	return IGNORE_NO_NEGATION | (a->below && !deny ? IGNORE_ANCHORED : 0);
}

static bool admit(const struct apply *apply, const struct fact *fact,
		  size_t index, const struct ignore_pattern *pattern)
{
	struct path_rule rule = {
		.path = pattern->literal,
		.glob = pattern->literal ? NULL : pattern->glob,
	};
	struct refusal refusal = { 0 };

	if (!scope_is_repository(fact->document->source->scope))
		return true;
	if (apply->locks->unsandboxed)
		refusal = (struct refusal){ "ignored: locked",
					    apply->locks->unsandboxed };
	else if (locks_admit_path(apply->locks, apply->reader, &rule, false,
				  &refusal))
		return true;
	apply_note_refusal(apply, fact, index, &refusal);
	return false;
}

static int compile(const struct apply *apply, const struct fact *fact,
		   const char *text, bool deny, struct ignore_pattern *ret,
		   struct err *why)
{
	struct anchored a = anchor(apply, fact, text);
	auto_free char *rest = a.pattern;

	if (!a.dir)
		return fail(why, -EINVAL,
			    "'%s' needs a home directory, and $HOME is not set",
			    text);
	if (*rest && strcmp(rest, "/") != 0)
		return ignore_pattern_init(ret, a.dir, rest,
					   flags_for(&a, deny), why);
	/* Nothing left: all of the directory that it starts from */
	*ret = (struct ignore_pattern){ .literal = mem_strdup(a.dir) };
	return 0;
}

static int add_path(const struct apply *apply, const struct fact *fact,
		    size_t index, enum path_list list, const char *text,
		    struct err *why)
{
	const bool deny = list != PATH_ALLOW_WRITE;
	struct ignore_pattern pattern;
	int r;

	r = compile(apply, fact, text, deny, &pattern, why);
	if (r < 0)
		return r;
	if (!deny && !admit(apply, fact, index, &pattern))
		;	/* Noted */
	else if (pattern.literal)
		policy_add_literal(apply->policy, list, pattern.literal,
				   RULE_USER, apply_origin(fact, index));
	else
		policy_add_glob(apply->policy, list, text,
				take_ptr(pattern.glob), RULE_USER,
				apply_origin(fact, index));
	ignore_pattern_done(&pattern);
	return 0;
}

static int add_host(const struct apply *apply, const struct fact *fact,
		    size_t index, const char *host, struct err *why)
{
	const bool deny = fact->setting->slot == RULES_DENY;
	struct refusal refusal;

	if (!deny && !locks_admit_host(apply->locks, fact, &refusal)) {
		apply_note_refusal(apply, fact, index, &refusal);
		return 0;
	}
	return policy_add_host(apply->policy, deny ? HOST_DENY : HOST_ALLOW,
			       host, NULL, apply_origin(fact, index), why);
}

/* The @ret_len bytes between the parentheses of "@tool(...)", or NULL */
static const char *specifier(const char *rule, const char *tool,
			     size_t *ret_len)
{
	const size_t n = strlen(tool), len = strlen(rule);

	if (len < n + 2 || strncmp(rule, tool, n) != 0 || rule[n] != '(' ||
	    rule[len - 1] != ')')
		return NULL;
	*ret_len = len - n - 2;
	return rule + n + 1;
}

/* Claude Code takes them, and never looks at them */
static bool is_never_consulted(const char *rule)
{
	static const char *const tools[] = { "Write", "NotebookEdit", "Glob" };
	size_t n;

	for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
		if (specifier(rule, tools[i], &n))
			return true;
	}
	return false;
}

static int apply_rule(const struct apply *apply, const struct fact *fact,
		      size_t index, const char *rule, struct err *why)
{
	const bool deny = fact->setting->slot == RULES_DENY;
	auto_free char *inner = NULL;
	const char *at;
	size_t n;

	if (is_never_consulted(rule)) {
		apply_note_refusal(apply, fact, index, &(struct refusal){
			.why = "has no effect; write Edit(...) for files",
		});
		return 0;
	}
	if (fact->setting->slot == RULES_ASK)
		return 0;
	if ((at = specifier(rule, "Edit", &n)))
		inner = mem_strndup(at, n);
	if (inner && *inner)
		return add_path(apply, fact, index,
				deny ? PATH_DENY_WRITE : PATH_ALLOW_WRITE,
				inner, why);
	if (!inner && deny && (at = specifier(rule, "Read", &n)))
		inner = mem_strndup(at, n);
	if (inner && *inner)
		return add_path(apply, fact, index, PATH_DENY_READ, inner,
				why);
	at = inner ? NULL : specifier(rule, "WebFetch", &n);
	if (!at || n < 7 || strncmp(at, "domain:", 7) != 0)
		return 0;
	inner = mem_strndup(at + 7, n - 7);
	return add_host(apply, fact, index, inner, why);
}

int apply_rules(const struct apply *apply, const struct fact *fact)
{
	json_t *entry;
	size_t i;

	if (!json_is_array(fact->value))
		return apply_wrong_type(apply, fact);
	json_array_foreach(fact->value, i, entry) {
		const char *rule = json_string_value(entry);
		struct err why = { 0 };
		int r = 0;

		if (!rule || !*rule)
			r = apply_problem(apply, fact, i, "must be a rule");
		else if (apply_rule(apply, fact, i, rule, &why) < 0)
			r = apply_problem(apply, fact, i, "%s", why.msg);
		if (r < 0)
			return r;
	}
	return 0;
}
