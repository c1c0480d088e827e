/* SPDX-License-Identifier: Apache-2.0 */
/* verify/verify-verdict.c - from proofs to verdicts: does a rule of the user allow it? */

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/path.h"
#include "plan/plan.h"
#include "policy/host.h"
#include "policy/policy.h"
#include "verify/verify.h"
#include "view/view.h"

static const struct policy *policy_of(const struct verify *v)
{
	return v->plan->view->policy;
}

/* "RULE (its origin)"; true */
static bool set_reason(struct verify_result *r, const char *text,
		     const struct origin *origin)
{
	auto_buf struct buf by = { 0 };

	if (origin && origin->source)
		origin_describe(origin, &by);
	snprintf(r->why, sizeof(r->why), "allowed by your policy: %s%s%s%s",
		 text, by.len ? " (" : "", buf_str(&by), by.len ? ")" : "");
	return true;
}

/* A home of our own gives some things back, by name, and says so */
static bool home_gives(const struct view *view, enum view_op op,
		       const char *path, struct verify_result *r)
{
	const struct policy *p = view->policy;
	const struct path_rules *rules = &p->paths[PATH_ALLOW_READ];

	for (size_t i = 0; p->profile == PROFILE_HOME && op == VIEW_READ &&
	     i < rules->len; i++) {
		if (rules->v[i].path && path_is_within(rules->v[i].path, path))
			return set_reason(r, "profile home", &p->profile_origin);
	}
	return false;
}

static bool flag_allows(const struct policy *p, enum policy_flag flag,
			const char *name, struct verify_result *r)
{
	return policy_flag(p, flag, false) &&
	       set_reason(r, name, &p->flags[flag].origin);
}

static bool srt_allows(const struct policy *p, struct verify_result *r)
{
	return p->profile == PROFILE_SRT &&
	       set_reason(r, "profile srt", &p->profile_origin);
}

/* Does a rule allow it? Built-in rules are no excuse, but for the
 * profile whose point it is to be as open as srt.
 */
static bool rule_allows(const struct view *view, enum view_op op,
			const char *path, struct verify_result *r)
{
	const struct policy *p = view->policy;
	const struct verdict v = view_verdict(view, op, path);
	const struct path_rule *rule = v.rule;

	if (!v.allowed)
		return false;
	if (rule && rule->origin.source &&
	    rule->origin.source->scope != SCOPE_BUILTIN)
		return set_reason(r, rule->text, &rule->origin);
	return srt_allows(p, r) ||
	       flag_allows(p, FLAG_FS_DISABLED, "filesystem.disabled", r);
}

static bool is_read(const struct verify_row *row)
{
	return row->proof == PROOF_BYTES || row->proof == PROOF_READS;
}

static bool is_about_files(const struct verify_row *row)
{
	return (row->proof == PROOF_INTACT || row->proof == PROOF_ABSENT ||
		row->proof == PROOF_LINK || is_read(row)) && row->target[0];
}

/* The same place in the user's own home or project; NULL if there is none */
static const char *real_path(const struct verify *v, const char *target,
			     char *ret, size_t size)
{
	const struct policy *p = policy_of(v);
	const char *base = target[0] == 'H' ? p->home :
			   target[0] == 'P' ? p->cwd : NULL;

	if (!base || target[1] != '/' || strchr(target, '+'))
		return NULL;
	snprintf(ret, size, "%s%s", base, target + 1);
	return ret;
}

static bool files_allow(const struct verify *v, const struct verify_row *row,
			bool hit, struct verify_result *r)
{
	const enum view_op op = is_read(row) ? VIEW_READ : VIEW_WRITE;
	auto_free char *scratch = target_path(&v->target, row->target);
	char path[PATH_MAX];

	if (real_path(v, row->target, path, sizeof(path)) &&
	    rule_allows(v->plan->view, op, path, r))
		return true;
	return hit && (rule_allows(v->view, op, scratch, r) ||
		       home_gives(v->view, op, scratch, r));
}

static bool variable_allowed(const struct policy *p,
			     const struct verify_row *row,
			     struct verify_result *r)
{
	const char *name = strchr(row->attempt, ' ') + 1;

	return srt_allows(p, r) ||
	       (policy_has_string(p, LIST_ENV_SET, name) &&
		set_reason(r, name, NULL)) ||
	       flag_allows(p, FLAG_PASS_ENV, "--pass-env", r);
}

static bool is_network(const struct verify_row *row)
{
	return row->guarantee == GUARANTEE_NETWORK ||
	       !strcmp(row->attempt, "namespace net") ||
	       row_is(row, "abstract");
}

/* The rule by which the gate leads to this machine itself, where our listeners
 * are; NULL if there is none
 */
static const struct list_rule *opens_here(const struct verify *v)
{
	const char *const here[] = {
		"localhost", "127.0.0.1", "0.0.0.0", v->target.w.own,
	};
	const int ports[] = { v->target.w.tcp4, v->target.w.own_port };

	for (size_t i = 0; i < ARRAY_SIZE(here) * ARRAY_SIZE(ports); i++) {
		const char *name = here[i / ARRAY_SIZE(ports)];
		const int port = ports[i % ARRAY_SIZE(ports)];
		struct host_verdict verdict;
		struct host host;

		if (host_parse(name, strlen(name), (uint16_t)port, &host) < 0)
			continue;
		verdict = host_decide(policy_of(v), &host, false);
		if (verdict.decision == HOST_ALLOWED && verdict.rule)
			return verdict.rule;
	}
	return NULL;
}

/* By way of the gate; what it says to a bad request is no rule's doing */
static bool goes_by_gate(const struct verify_row *row)
{
	return row_is(row, "tcp-or-proxy") || row_is(row, "promise") ||
	       (row->group == GROUP_PROXY && row->proof == PROOF_HIT);
}

static bool is_nesting(const struct verify_row *row)
{
	return !strcmp(row->id, "P079") || !strcmp(row->id, "P120") ||
	       !strcmp(row->title, "sethostname()") ||
	       row_is(row, "fifo-write");	/* Landlock alone stops it */
}

/* Is it the user's own doing? */
static bool is_choice(const struct verify *v, const struct verify_row *row,
		      bool hit, struct verify_result *r)
{
	const struct policy *p = policy_of(v);
	const struct list_rule *here;

	if (is_about_files(row) && !(row->when & WHEN_FROZEN) && row->guarantee != GUARANTEE_IPC &&
	    (hit || row->group != GROUP_DESCRIPTORS) &&
	    files_allow(v, row, hit, r))
		return true;
	if (!hit)
		return false;
	if (row->guarantee == GUARANTEE_PLANTED && !v->plan->observe)
		return set_reason(r, "--observe off", NULL);
	/* Its only one, and pasta's at the other end */
	if (row_is(row, "other-interfaces") && p->net == NET_JAIL)
		return set_reason(r, "network jail", &p->net_origin);
	here = goes_by_gate(row) ? opens_here(v) : NULL;
	if (here)
		return set_reason(r, here->text, &here->origin);
	if (is_network(row) && p->net == NET_HOST)
		return set_reason(r, "network host", &p->net_origin);
	if (row->guarantee == GUARANTEE_UNIX_SOCKETS ||
	    !strncmp(row->title, "AF_UNIX", 7))
		return flag_allows(p, FLAG_ALL_UNIX_SOCKETS,
				   "allowAllUnixSockets", r);
	if (row_is(row, "variable"))
		return variable_allowed(p, row, r);
	if (is_nesting(row))
		return flag_allows(p, FLAG_NESTED_USERNS,
				   "allowNestedUserNamespaces", r);
	return v->plan->weak_proc &&
	       row->guarantee == GUARANTEE_PROCESSES &&
	       flag_allows(p, FLAG_WEAKER_NESTED,
			   "enableWeakerNestedSandbox", r);
}

static const char *errno_layer(const struct verify_row *row, int error)
{
	const bool call = row->group == GROUP_SYSCALLS ||
			  !strncmp(row->attempt, "tioc", 4);

	switch (error) {
	case EROFS:
		return "read-only mount";
	case EBUSY:
		return "pinned mount";
	case EXDEV:
		return "mount boundary";
	case ENOENT:
	case ENOTDIR:
		return "not in the view";
	case ESRCH:
		return "own pid namespace";
	case ECONNREFUSED:
	case ENETUNREACH:
	case EHOSTUNREACH:
		return "own network namespace";
	case EBADF:
		return "descriptors are closed";
	case ENOSYS:
	case EAFNOSUPPORT:
	case EPROTONOSUPPORT:
	case ATTACK_SIGNAL | SIGSYS:
		return "system call filter";
	case EACCES:
		return row->group == GROUP_HIDDEN ? "mask" :
		       row->group == GROUP_PROXY ? "gate" :
		       "observer, Landlock";
	case EPERM:
		return call ? "system call filter" : "observer, kernel";
	case EINVAL:
		return "refused to start";
	}
	return NULL;
}

/* What stopped it, from what the attempt reported; that can only misattribute */
static const char *layer_of(const struct verify *v,
			    const struct verify_row *row, int error)
{
	const char *layer = errno_layer(row, error);

	if (row->proof == PROOF_GONE)
		layer = "own pid namespace";
	if (row_is(row, "namespace"))
		layer = "own namespace";
	if (row_binds(row))
		layer = "a placeholder is all that is inside";
	if (row_is(row, "not-status"))
		layer = "capabilities, no_new_privs";
	if (!layer)
		layer = guarantee_in(row->guarantee, v->plan->tier,
				     plan_ground(v->plan)).by;
	return layer;
}

/* Promises that are kept with namespaces alone */
static bool needs_namespaces(const struct verify_row *row)
{
	return row_is(row, "namespace") || row_is(row, "nosuid") ||
	       row_is(row, "nodev") || row_is(row, "devices") ||
	       row_is(row, "other-interfaces") ||
	       strstr(row->attempt, "CapBnd");
}

/* @verdict, and why */
static enum verify_verdict __attribute__((format(printf, 3, 4)))
because(struct verify_result *r, enum verify_verdict verdict, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(r->why, sizeof(r->why), fmt, ap);
	va_end(ap);
	return verdict;
}

static enum verify_verdict on_hit(struct verify *v,
				  const struct verify_row *row,
				  struct verify_result *r)
{
	const struct plan *plan = v->plan;
	const struct guarantee_state g = guarantee_in(row->guarantee,
			plan->tier, plan_ground(plan));

	if (is_choice(v, row, true, r))
		return VERDICT_CHOICE;
	if (g.holds == HOLDS)
		return because(r, VERDICT_FAIL, "it worked: nothing stopped it");
	return because(r, VERDICT_INCONCLUSIVE, "tier %s does not promise it: %s",
		       tier_name(plan->tier), g.by);
}

static enum verify_verdict without_control(const struct verify_row *row,
					   struct verify_result *r)
{
	const int error = r->control_error;

	return because(r, row->when & WHEN_MAYBE ? VERDICT_SKIP :
		       VERDICT_INCONCLUSIVE, "the same attempt fails outside as well%s%s",
		       error > 0 && error < ATTACK_SIGNAL ? ": " : "",
		       error > 0 && error < ATTACK_SIGNAL ? strerror(error) : "");
}

static enum verify_verdict decide(struct verify *v, size_t number,
				  const struct verify_row *row,
				  struct verify_result *r)
{
	const bool hit = r->hit || proof_hit(&v->target, v->view, number, row,
					     &r->found);

	if (v->plan->tier != TIER_FULL && needs_namespaces(row))
		return because(r, VERDICT_SKIP, "tier %s has no namespaces",
			       tier_name(v->plan->tier));
	if (row_binds(row) && (v->plan->tier != TIER_FULL ||
			       v->plan->net != NET_FILTERED))
		return because(r, VERDICT_SKIP, "no secret can be bound: tier %s, network %s",
			       tier_name(v->plan->tier), net_mode_name(v->plan->net));
	if (row->group == GROUP_PROXY && row->proof == PROOF_CALL &&
	    v->plan->net != NET_FILTERED)
		return because(r, VERDICT_SKIP, "there is no gate to ask: network %s",
			       net_mode_name(v->plan->net));
	if (!r->control && (!hit || row->proof == PROOF_INTACT ||
			    row->proof == PROOF_LINK))
		return without_control(row, r);
	if (hit)
		return on_hit(v, row, r);
	if (r->found.error == ATTACK_NOTHING)
		return because(r, VERDICT_INCONCLUSIVE, "no answer from the sandbox%s%s",
			       v->failure[0] ? ": " : "", v->failure);
	if (is_choice(v, row, false, r))
		return VERDICT_CHOICE;
	r->layer = layer_of(v, row, r->found.error);
	return VERDICT_PASS;
}

void verify_decide(struct verify *v)
{
	v->target.open = opens_here(v) != NULL;
	for (size_t i = 0; i < verify_rows_len; i++) {
		struct verify_result *r = &v->results[i];

		if (!r->asked)
			continue;
		r->layer = "";
		r->verdict = decide(v, i, &verify_rows[i], r);
		v->counts[r->verdict]++;
	}
}
