/* SPDX-License-Identifier: Apache-2.0 */
/* watch/refusal.c - a refused call as a record, with what would allow it */

#include "watch/refusal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "plan/walk-git.h"
#include "policy/violation.h"
#include "watch/calls.h"
#include "watch/judge.h"
#include "watch/observer.h"
#include "watch/place.h"
#include "watch/question.h"
#include "watch/suggest.h"
#include "watch/tracee.h"

enum {
	RANDOM_LEN = 6,		/* What mkstemp() chooses */
	RANDOM_CHANGES = 3,	/* Between capital, small and digit; words have fewer */
};

/* True if a rule for @p itself, which would be a mount on it, does not help: it
 * is to go, or it is a link
 */
static bool is_name(const struct question *q, const struct place *p)
{
	return p->exists && (S_ISLNK(p->mode) || q->what == CALL_UNLINK ||
			     q->what == CALL_RMDIR || q->what == CALL_RENAME);
}

static bool ends_with(const char *s, const char *end)
{
	const size_t n = strlen(s), m = strlen(end);

	return n > m && !strcmp(s + n - m, end);
}

static int class_of(char c)
{
	return isupper((unsigned char)c) ? 1 : islower((unsigned char)c) ? 2 :
	       isdigit((unsigned char)c) ? 3 : 0;
}

/* True if @name is another one next time: mkdtemp() puts six letters and digits at
 * the end, others say what it is
 */
static bool is_temporary(const char *name)
{
	static const char *const marks[] = { ".tmp", "tmp_", "tmp-", "_tmp", "temp-" };
	const size_t n = strlen(name);
	int changes = 0;

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		if (strstr(name, marks[i]))
			return true;
	}
	if (ends_with(name, ".swp") || ends_with(name, ".part") || ends_with(name, "~") ||
	    !strncmp(name, ".#", 2) || !strncmp(name, "tmp", 3))
		return true;
	if (n <= RANDOM_LEN)
		return false;
	for (size_t i = n - RANDOM_LEN; i < n; i++) {
		if (!class_of(name[i]))
			return false;
		changes += class_of(name[i]) != class_of(name[i - 1]);
	}
	/* The first one is that behind a separator */
	return changes >= (class_of(name[n - RANDOM_LEN - 1]) ? RANDOM_CHANGES : 2);
}

/* mkstemp() insists on a name that is not there; hardly anything else does */
static bool makes_temporary(const struct question *q, const struct place *p)
{
	return !p->exists &&
	       ((q->what == CALL_OPEN && (q->flags & O_CREAT) &&
		 (q->flags & O_EXCL)) || is_temporary(p->name));
}

/* True if @p is to take the place of another, as git does it: to allow it does not
 * allow that
 */
static bool is_lock(const struct place *p)
{
	const size_t n = strlen(p->name), suffix = strlen(".lock");
	auto_free char *other = NULL;
	struct stat st;

	if (!ends_with(p->name, ".lock"))
		return false;
	other = mem_strndup(p->name, n - suffix);
	return fstatat(p->parent, other, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* True if the user could not write @path, or make it, without a sandbox either */
static bool is_foreign(const char *path)
{
	auto_free char *at = mem_strdup(path);

	while (faccessat(AT_FDCWD, at, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
	       errno == ENOENT && at[1]) {
		char *above = path_parent(at);

		free(at);
		at = above;
	}
	return faccessat(AT_FDCWD, at, W_OK, AT_EACCESS) < 0 &&
	       (errno == EACCES || errno == EPERM);
}

/* The git directory that @path lies in, or NULL: git writes in several places of it
 */
static char *git_of(const char *path)
{
	auto_free char *at = path_parent(path);

	while (path_depth(at) >= 2) {
		char *above = path_parent(at);

		if (walk_git_is_dir(at)) {
			free(above);
			return take_ptr(at);
		}
		free(at);
		at = above;
	}
	return NULL;
}

/* What to allow so that the call succeeds: @p itself, or its directory where a rule
 * about the name does not help or would not fit the next one. NULL and *@why if
 * there is nothing to suggest.
 */
static char *grant_for(const char *home, const struct question *q,
		       const struct place *p, const char **why)
{
	auto_free char *parent = path_parent(p->path), *git = NULL;
	const bool needs = is_name(q, p) ||
			   makes_temporary(q, p) || (!p->exists && is_lock(p));
	const bool wide = home && path_is_within(parent, home);

	if (is_foreign(p->path)) {
		*why = "not yours to write";
		return NULL;
	}
	if (needs && (wide || path_depth(parent) < 2)) {
		*why = wide ? "only with the whole home writable"
			    : "only with its whole directory writable";
		return NULL;
	}
	git = git_of(p->path);
	if (git)
		return take_ptr(git);
	if (needs || (!p->exists && !q->dir && !wide && path_depth(parent) >= 3))
		return take_ptr(parent);
	return mem_strdup(p->path);
}

static void suggest(struct violation *v, const char *home,
		    const struct question *q, const struct judgement *g)
{
	const struct observer_verdict *verdict = &g->verdict;
	const struct place *p = g->place;
	const bool reads = g->kind == VIOLATION_FS_READ ||
			   g->kind == VIOLATION_UNIX_SOCKET;
	const char *why = "cannot be allowed";
	auto_free char *grant = p && !reads ? grant_for(home, q, p, &why)
					    : NULL;

	if (!p)
		return;
	if (verdict->rule_key && strstr(verdict->rule_key, "allowAll"))
		v->suggest_edit = mem_printf("%s = true", verdict->rule_key);
	else if (verdict->unprotect)
		suggest_unprotect(v, verdict->unprotect);
	else if (reads && verdict->yields)
		suggest_allow(v, NULL);
	else if (!verdict->final && (grant || reads) &&
		 (verdict->answer != OBSERVER_DENIED || v->rule_file ||
		  verdict->yields || reads))
		suggest_fill(v, grant);
	if (!v->suggest_edit && !v->suggest_command &&
	    !strstr(v->reason, "no rule"))
		suggest_nothing(v, verdict->final ? "cannot be allowed" : why);
}

void refusal_report(const struct violation_sink *sink, const char *home,
		    const struct question *q, const struct name *name,
		    const struct judgement *g)
{
	const struct place *p = g->place;
	auto_free char *asked = path_resolve("/", name->full);
	struct violation v = {
		.kind = g->kind, .error = g->error,
		.pid = tracee_process(q->tracee, NULL), .count = 1,
		.op = mem_strdup(q->call->name),
		.target = p ? mem_strdup(p->path) : NULL,
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
	suggest(&v, home, q, g);
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
