/* SPDX-License-Identifier: Apache-2.0 */
/* watch/refusal.c - a refused call as a record, with what would allow it */

#include "watch/refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/violation.h"
#include "watch/calls.h"
#include "watch/judge.h"
#include "watch/observer.h"
#include "watch/place.h"
#include "watch/question.h"
#include "watch/suggest.h"
#include "watch/tracee.h"

/* True if a rule for @p itself, which would be a mount on it, does not help: it
 * is to go, or it is a link
 */
static bool is_name(const struct question *q, const struct place *p)
{
	return p->exists && (S_ISLNK(p->mode) || q->what == CALL_UNLINK ||
			     q->what == CALL_RMDIR || q->what == CALL_RENAME);
}

/* True if @p is to take the place of another, as git does it: to allow it does not
 * allow that
 */
static bool is_lock(const struct place *p)
{
	const size_t n = strlen(p->name), suffix = strlen(".lock");
	auto_free char *other = NULL;
	struct stat st;

	if (p->exists || n <= suffix || strcmp(p->name + n - suffix, ".lock"))
		return false;
	other = mem_strndup(p->name, n - suffix);
	return fstatat(p->parent, other, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* What to allow instead of a name: its directory, unless that is a whole world,
 * or it would be a directory itself
 */
static char *grant_for(const char *home, const struct question *q,
		       const struct place *p)
{
	auto_free char *parent = path_parent(p->path);

	if ((p->exists && !is_name(q, p)) || q->dir || path_depth(parent) < 3 ||
	    (home && path_is_within(parent, home)))
		return NULL;
	return take_ptr(parent);
}

void refusal_report(const struct violation_sink *sink, const char *home,
		    const struct question *q, const struct name *name,
		    const struct judgement *g)
{
	const struct place *p = g->place;
	auto_free char *grant = p && g->kind != VIOLATION_FS_READ ?
				grant_for(home, q, p) : NULL;
	auto_free char *asked = path_resolve("/", name->full);
	struct violation v = {
		.kind = g->kind, .error = g->error,
		.pid = tracee_process(q->tracee, NULL), .count = 1,
		.op = mem_strdup(q->call->name),
		.target = p ? mem_strdup(p->path) :
			  *name->full ? mem_strdup(name->full) : NULL,
		.rule_file = g->verdict.rule_file ?
			     mem_strdup(g->verdict.rule_file) : NULL,
		.rule_key = g->verdict.rule_key ?
			    mem_strdup(g->verdict.rule_key) : NULL,
	};

	if (p && q->what < CALL_CONNECT && strcmp(asked, p->path))
		v.reason = mem_printf("%s; given as %s", g->verdict.reason,
				      name->text);
	else
		v.reason = mem_strdup(g->verdict.reason);
	if (g->verdict.edit)
		v.suggest_edit = mem_strdup(g->verdict.edit);
	else if (p && g->verdict.yields && g->kind == VIOLATION_FS_READ)
		suggest_allow(&v, NULL);
	else if (p && !g->verdict.final &&
		 (grant || (!is_name(q, p) && !is_lock(p))) &&
		 (g->verdict.answer != OBSERVER_DENIED || v.rule_file ||
		  g->verdict.yields || g->kind == VIOLATION_FS_READ))
		suggest_fill(&v, grant);
	violation_report(sink, &v);
	violation_done(&v);
}

void refusal_told(const struct violation_sink *sink,
		  const struct observer_policy *policy, struct tracee *tracee,
		  const struct seccomp_data *call)
{
	struct violation v = {
		.kind = VIOLATION_SYSCALL, .error = EPERM, .count = 1,
	};

	if (!policy->told)
		return;
	v.pid = tracee_process(tracee, NULL);
	policy->told(policy->arg, call, &v);
	violation_report(sink, &v);
	violation_done(&v);
}
