/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/observer.c - decide about notified calls, report and refuse
 *
 * Theory of operation: most notifications are about an ordinary name in a writable
 * directory; fast-path.c answers those by the text of the path alone. For all others
 * the path is resolved (resolved-path.c) and decided about (decide.c).
 *
 * Races: the tracee can change the text, the links and its descriptors after the
 * observer has read them. It gains nothing by that: a call that goes on meets the
 * mounts and Landlock. It can only avoid a report, and what it plants by that is found
 * by guard/planted.c.
 */

#include "observe/observer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/sys.h"
#include "observe/notification.h"
#include "observe/decide.h"
#include "observe/emulate.h"
#include "observe/fast-path.h"
#include "observe/inflight-calls.h"
#include "observe/observer-policy.h"
#include "observe/resolved-path.h"
#include "observe/sockets.h"
#include "observe/tracee.h"
#include "report/violation.h"

enum { ANCESTORS_MAX = 1000 };

/**
 * struct waiting_call - A call that a person was asked about
 * @grant, @target: As for @ask of struct observer_config
 */
struct waiting_call {
	struct seccomp_notif notif;
	char *grant, *target;
};

/**
 * struct observer - All of it
 * @config:	Of @fast
 * @reason:	Of the refusal being reported
 * @waiting:	Calls that a person was asked about, the oldest first
 * @asks:	The call being answered may be one of them
 */
struct observer {
	struct fast_path *fast;
	const struct observer_config *config;
	struct addresses addresses;
	struct tracees tracees;
	struct name names[2];
	struct resolved_path paths[2];
	struct observer_stats stats;
	char reason[256];
	struct { struct waiting_call *v; size_t len, cap; } waiting;
	bool asks;
};

struct observer *observer_new(const struct observer_config *config)
{
	struct observer *o = mem_zalloc(sizeof(*o));

	o->fast = fast_path_new(config);
	o->config = &o->fast->config;
	o->addresses.loop = config->loop;
	for (size_t i = 0; i < config->nsockets; i++)
		*vec_push(&o->addresses.allowed) = config->sockets[i];
	tracees_init(&o->tracees, config->mask_fds);
	o->paths[0].parent = o->paths[1].parent = -1;
	/* Where reads are notified, the thread would only pass most on */
	if (!config->reads)
		(void)fast_path_start(o->fast);
	return o;
}

static void free_waiting(struct waiting_call *w)
{
	free(w->grant);
	free(w->target);
}

void observer_free(struct observer *o)
{
	if (!o)
		return;
	(void)fast_path_free(o->fast);
	tracees_done(&o->tracees);
	addresses_done(&o->addresses);
	for (size_t i = 0; i < o->waiting.len; i++)
		free_waiting(&o->waiting.v[i]);
	free(o->waiting.v);
	free(o);
}

int observer_fd(const struct observer *o)
{
	return fast_path_fd(o->fast);
}

void observer_set_rules(struct observer *o, struct observer_rules *rules)
{
	fast_path_set_rules(o->fast, rules);
}

struct observer_stats observer_stats(const struct observer *o)
{
	struct observer_stats stats = o->stats;
	const uint64_t fast = o->fast->answered;

	stats.asked += fast;
	stats.quick += fast;
	stats.passed = inflight_count(o->fast->inflight);
	return stats;
}

bool observer_settled(struct observer *o, uint64_t *ret)
{
	struct inflight *inflight = o->fast->inflight;

	/* First: the loop is notified of each name created from now on */
	o->fast->makes = false;
	if (inflight_settled(inflight, ret) && *ret == inflight_count(inflight))
		return true;
	o->fast->makes = true;
	return false;
}

static int resolve(struct observer *o, const struct notification *q, int i,
		   enum resolved_path_follow follow)
{
	struct resolved_path *p = &o->paths[i];
	const char *text = q->in_root ? o->names[i].text : o->names[i].full;
	auto_close int root = -1;

	if (q->in_root) {
		root = tracee_dir(q->tracee, o->names[i].dir);
		if (root < 0)
			return root;
	}
	return decide_found(o->config, resolved_path_find(q->tracee, root,
							 root < 0 ? "" : "/",
							 text, follow, p), p);
}

static bool needs_emulation(const struct observer *o, const struct notification *q)
{
	const struct observer_rules *rules = o->config->rules;

	return observer_rules_needs_emulation(rules, q->from->path,
					      q->from->read_only) ||
	       (q->to && observer_rules_needs_emulation(rules, q->to->path,
							q->to->read_only));
}

static struct observer_verdict check_write(const struct observer *o, const char *path)
{
	struct observer_verdict v;

	observer_rules_verdict(o->config->rules, OBSERVER_WRITE, path, &v);
	return v;
}

static bool may_write(const struct observer *o, const struct resolved_path *p)
{
	return check_write(o, p->path).answer == OBSERVER_ALLOWED;
}

/* A name is about to be created: the scan at the end may find something */
static void note_make(struct observer *o)
{
	o->stats.makes = true;
	if (o->config->on_make)
		o->config->on_make(o->config->arg);
	o->fast->makes = true;
}

/* Allowed, but not by the mounts of this sandbox, so that the kernel would refuse. A
 * call that fails anyway (the name exists, or is a special file) goes on and does so.
 */
static void emulate_call(struct observer *o, const struct notification *q,
			 struct decision *ret)
{
	int r;

	/* A second name for what may not be written would make it writable,
	 * and we are not stopped by the mounts that would stop the caller
	 */
	if (q->what == CALL_LINK && !may_write(o, q->from)) {
		ret->error = EXDEV;
		return;
	}
	if (q->from->exists &&
	    (q->what == CALL_MAKE || (!S_ISREG(q->from->mode) &&
	     q->what == CALL_OPEN && (q->flags & O_TMPFILE) != O_TMPFILE)))
		return;
	/* Only while the tracee waits: its number may be reused */
	if (!notification_waits(q, o->config->listener))
		return;
	if (notification_makes(q))
		note_make(o);
	r = emulate(q, -1, !o->config->no_mounts);
	ret->answer = r >= 0 && q->what == CALL_OPEN ? DECISION_FD : DECISION_DONE;
	ret->error = r < 0 ? -r : 0;
	ret->fd = r;
	if (ret->answer == DECISION_FD && !q->from->exists)
		observer_rules_made(o->config->rules, q->from->path, r);
}

/* Landlock does not restrict changes of mode, owner, times and attributes. Where there are
 * no mounts such a call never goes on, because its path could name another file by then.
 */
static bool changes_here(const struct observer *o, const struct notification *q)
{
	return o->config->no_mounts && q->what == CALL_SETATTR;
}

/* Change an open file through a copy of its descriptor. The policy decides about the
 * copy's path; an object without one is the command's own.
 */
static int change_open(struct observer *o, const struct notification *q,
		       struct decision *ret)
{
	auto_close int copy = q->call->dir < 0 ? -EFAULT :
		tracee_get_fd(q->tracee, (int)q->notif->data.args[q->call->dir]);
	/* Not of o->tracees, where it may take the place of q->tracee */
	auto_close int proc = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct tracee own = { getpid(), proc, NULL };
	struct observer_verdict v = {
		.answer = OBSERVER_DENIED,
		.reason = "the path could not be looked up",
	};
	char *path = o->names[0].full;
	ssize_t n;
	int r;

	if (copy < 0)
		return copy;
	o->names[0].text[0] = path[0] = 0;
	n = proc < 0 ? -EPERM : tracee_fd_link(&own, copy, path, PATH_MAX);
	if (n >= 0)
		v = check_write(o, path);
	else if (n == -ENOTDIR || n == -EIDRM)
		v.answer = OBSERVER_ALLOWED;
	if (v.answer != OBSERVER_ALLOWED) {
		*ret = (struct decision) { .error = EACCES, .report = true,
					    .kind = VIOLATION_FS_WRITE,
					    .verdict = v };
		return 0;
	}
	/* Only while the tracee waits: the copy may be of another process */
	if (!notification_waits(q, o->config->listener))
		return -EBADF;
	r = emulate(q, copy, !o->config->no_mounts);
	ret->answer = DECISION_DONE;
	ret->error = r < 0 ? -r : 0;
	return 0;
}

/* git writes its settings to a second file, which is to replace the first, and tries
 * whether it can make links
 */
static void replace(struct observer *o, const struct notification *q,
		    struct decision *ret)
{
	struct observer_rules *rules = o->config->rules;
	char target[PATH_MAX];
	bool done = false;

	if (q->link && tracee_string(q->tracee, q->notif->data.args[0], target,
				     sizeof(target)) >= 0)
		done = notification_waits(q, o->config->listener) &&
		       observer_rules_link(rules, target, q->from->path);
	else if (q->what == CALL_RENAME && !q->flags)
		done = notification_waits(q, o->config->listener) &&
		       observer_rules_replace(rules, q->from->path, q->to->path);
	if (done)
		*ret = (struct decision){ .answer = DECISION_DONE };
}

/* A git that cannot change a file of its work tree would go on with the others */
static void note_git(struct observer *o, const struct notification *q,
		     struct decision *g)
{
	struct git_locks *locks = &o->fast->git;
	const pid_t pid = (pid_t)q->notif->pid;
	const char *why = g->verdict.reason ? g->verdict.reason : "protected";
	int r;

	if (!g->error && !g->answer) {
		r = git_lock_note(locks, q, pid, q->from && q->from->parent >= 0 ?
				  q->from->path : o->names[0].full);
		g->error = r ? EROFS : 0;
		if (r != -EIO)
			return;
		*g = (struct decision) {
			.error = EROFS, .report = true, .kind = VIOLATION_FS_WRITE,
			.path = &o->paths[0],
			.verdict = { .reason = "git was ended, but its changes "
					       "could not all be undone" },
		};
	} else if (g->error && g->report && g->path &&
		   (r = git_lock_refused(locks, pid, g->path->path)) != 0) {
		snprintf(o->reason, sizeof(o->reason), "%s; git was ended, %s", why,
			 r > 0 ? "and the work tree is as before" :
			 "but its changes could not all be undone");
		g->verdict.reason = o->reason;
	}
}

/* Resolve the paths of @q and decide. 0 and *@ret, or a negative errno. */
static int decide_resolved(struct observer *o, struct notification *q,
			struct decision *ret)
{
	int r = resolve(o, q, 0, q->follow);

	q->from = &o->paths[0];
	if (q->what == CALL_LINK || q->what == CALL_RENAME) {
		const int r2 = resolve(o, q, 1, RESOLVED_PATH_STAY);

		if (r2 < 0)
			return r2;
		q->to = &o->paths[1];
		if (q->what == CALL_LINK && r == -ENOTNAM) {
			/* A file without a name gets one */
			q->what = CALL_MAKE;
			q->from = q->to;
			r = 0;
		}
	}
	if (r < 0)
		return r;
	*ret = decide_call(o->config, q);
	o->stats.names += !ret->error && ret->scan;
	if (ret->error && ret->report)
		replace(o, q, ret);
	/* Without a verdict of the policy nothing is emulated: the kernel finds
	 * why it fails
	 */
	if (!ret->error && ret->path && (changes_here(o, q) || needs_emulation(o, q))) {
		note_git(o, q, ret);	/* While what is there can be kept */
		if (!ret->error)
			emulate_call(o, q, ret);
	}
	if (!ret->error && !ret->answer && changes_here(o, q))
		return -EPERM;
	return 0;
}

static void report(struct observer *o, const struct notification *q,
		   const struct decision *g)
{
	o->stats.refused++;
	o->stats.names += g->kind == VIOLATION_FS_CREATE ||
			  g->kind == VIOLATION_FS_RENAME;
	decide_report(o->config, q, &o->names[g->path == &o->paths[1]], g);
}

/* Errors that the kernel finds as well */
static bool is_natural(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -ELOOP ||
	       error == -ENAMETOOLONG || error == -EFAULT ||
	       error == -EBADF || error == -EACCES || error == -EINVAL;
}

/* A call whose path could not be resolved is refused: each such call was a way past
 * the observer. That includes missing files, which may exist by the time the kernel
 * looks. The exceptions: calls that change nothing, unless the observer keeps hidden files
 * from being read and the kernel may find one where the observer failed; objects without a
 * path; removing one name in a directory too deep for us, which could not be cleaned up
 * otherwise; and names in a mount namespace of the command's own, which the observer does
 * not see.
 */
static bool goes_on(struct observer *o, const struct notification *q, int r)
{
	const char *text = o->names[0].text;
	const bool removes = q->what == CALL_UNLINK || q->what == CALL_RMDIR;
	const bool acts = q->what == CALL_OPEN || q->what == CALL_TRUNCATE ||
			  q->what == CALL_SETATTR;

	if (changes_here(o, q))
		return false;
	if (q->reads)
		return !o->config->reads || r == -ENOTNAM || r == -ETXTBSY ||
		       (is_natural(r) && r != -ELOOP && r != -ENAMETOOLONG) ||
		       o->config->nested;
	if (q->quiet || (r == -ENOTNAM && acts))
		return true;
	if ((r == -ENAMETOOLONG && removes && *text && !strchr(text, '/')) ||
	    (o->config->nested && r != -EFAULT && is_natural(r))) {
		o->stats.unseen++;
		return true;
	}
	return false;
}

/* Read the call in @q and decide; 0 and *@ret, or a negative errno */
static int decide_notification(struct observer *o, struct notification *q,
		      struct decision *ret)
{
	const bool reads = o->config->reads;
	int r = notification_read(q, reads, o->names);

	fast_path_note(o->fast, q->call);
	if (changes_here(o, q) && q->quiet)
		return change_open(o, q, ret);
	if (r < 0 || (q->reads && !reads) || !o->names[0].text[0])
		return r;
	/* The thread has tried that with what it passes on, but for names that a command
	 * creates while nothing else is under way
	 */
	if (reads || notification_makes(q))
		r = fast_path_check(o->fast, q, o->names);
	/* A change of an open file, or access(): not refused; but in a root that needs
	 * emulation the kernel would report a read-only file system
	 */
	if (r <= 0 && q->quiet) {
		q->from = &o->paths[0];
		if (!resolve(o, q, 0, q->follow) && q->from->exists &&
		    needs_emulation(o, q) && may_write(o, q->from))
			emulate_call(o, q, ret);
		return 0;
	}
	if (!r)
		return decide_resolved(o, q, ret);
	o->stats.quick++;
	return r < 0 ? r : 0;
}

/* The filter refuses this call with EPERM and notifies for the report alone */
static int refuse_filtered(struct observer *o, const struct notification *q)
{
	struct seccomp_notif_resp resp = { .id = q->notif->id, .error = -EPERM };
	auto_violation struct violation v = {
		.kind = VIOLATION_SYSCALL, .error = EPERM, .count = 1,
	};

	if (q->tracee && notification_waits(q, o->config->listener)) {
		v.pid = tracee_process(q->tracee, NULL);
		observer_rules_describe_call(q->notif->data.nr, &v);
		violation_report(o->config->sink, &v);
	}
	o->stats.refused++;
	return sys_notif_send(o->config->listener, &resp);
}

/* True if @group is a group of the sandbox, as far as setpgid() may join it: the
 * caller's own, or one whose leader descends from our child. Where there is a pid
 * namespace, no other group has a number.
 */
static bool may_join(const struct observer *o, pid_t caller, pid_t group)
{
	if (!o->config->no_mounts || group == getpgid(caller))
		return true;
	for (int i = 0; i < ANCESTORS_MAX && group > 1; i++) {
		group = proc_parent(group);
		if (group == getpid())
			return true;
	}
	return false;
}

/* Decide about a call of the table: 0 and *@ret, or a negative errno */
static int decide_row(struct observer *o, struct notification *q, struct decision *ret)
{
	q->what = q->call->what;
	if (q->what < CALL_CHDIR)
		return decide_notification(o, q, ret);
	if (!q->tracee)
		return -EPERM;
	if (q->what >= CALL_CONNECT) {
		const int r = address_answer(&o->addresses, o->config, q, &o->paths[0], ret);

		/* Then no rule is suggested, which would have no effect */
		ret->verdict.final |= ret->path && observer_rules_is_ours(o->config->rules,
									 ret->path->path);
		return r;
	}
	if (q->what == CALL_SETPGID &&
	    !may_join(o, (pid_t)q->notif->pid, (pid_t)q->notif->data.args[1]))
		ret->error = EPERM;
	return 0;
}

/* Put the question to a person instead of refusing: true if the call waits */
static bool ask(struct observer *o, const struct notification *q, const struct decision *g)
{
	auto_free char *grant = NULL;
	pid_t pid;

	if (!o->asks || !g->report || !q->tracee ||
	    o->waiting.len == OBSERVER_WAITING_MAX)
		return false;
	grant = decide_grant(o->config, q, g);
	pid = tracee_process(q->tracee, NULL);
	if (!grant || !notification_waits(q, o->config->listener) ||
	    !o->config->ask(o->config->arg, grant, g->path->path, pid))
		return false;
	*vec_push(&o->waiting) = (struct waiting_call){
		*q->notif, take_ptr(grant), mem_strdup(g->path->path),
	};
	return true;
}

/* Where reads are recorded: the permissions of another user's home refuse this one, no
 * rule. @r is the result of the decision.
 */
static void refuse_foreign(struct observer *o, const struct notification *q, int r,
			   struct decision *g)
{
	struct resolved_path *p = &o->paths[0];
	auto_free char *path = NULL;

	if (!q->reads || !o->config->reads || o->config->files || g->error ||
	    (r < 0 && r != -EACCES))
		return;
	path = path_resolve("/", o->names[0].full);
	if (strlen(path) >= sizeof(p->path) ||
	    !observer_rules_is_foreign(o->config->rules, path) || emulate_may_read(path))
		return;
	memcpy(p->path, path, strlen(path) + 1);
	*g = (struct decision) {
		.error = EACCES, .report = true, .kind = VIOLATION_FS_READ, .path = p,
		.verdict = { .answer = OBSERVER_DENIED, .final = true,
			     .reason = "the home of another user" },
	};
}

static int answer(struct observer *o, const struct seccomp_notif *notif)
{
	struct notification q = {
		.notif = notif, .call = call_find(notif->data.nr),
		.tracee = tracee_get(&o->tracees, (pid_t)notif->pid),
	};
	struct decision d = { 0 };
	int r;

	if (!q.call || (q.call->what == CALL_SOCKET && notif->data.args[0] != AF_UNIX))
		return refuse_filtered(o, &q);
	o->names[0].full[0] = 0;
	r = decide_row(o, &q, &d);
	if (r < 0 && !goes_on(o, &q, r)) {
		d = (struct decision){ .error = -r };
		if (!is_natural(r)) {	/* Its path could not be read or resolved */
			o->stats.failed++;
			d = (struct decision){
				.error = EACCES, .report = true,
				.kind = q.reads ? VIOLATION_FS_READ : VIOLATION_FS_WRITE,
				.verdict = { .reason = "the path could not be looked up" },
			};
		}
	}
	refuse_foreign(o, &q, r, &d);
	if (r >= 0 && ask(o, &q, &d))
		d.answer = DECISION_PENDING;
	else if (q.call->what < CALL_CONNECT)
		note_git(o, &q, &d);
	/* If the tracee is gone, its number may have been another process' by then */
	if (d.report && d.answer != DECISION_PENDING && q.tracee &&
	    notification_waits(&q, o->config->listener))
		report(o, &q, &d);
	git_lock_reported(&o->fast->git, (pid_t)notif->pid);
	resolved_path_done(&o->paths[0]);
	resolved_path_done(&o->paths[1]);
	if (d.answer == DECISION_PENDING)
		return 0;
	if (!d.answer && !d.error && notification_makes(&q)) {
		note_make(o);
		inflight_add(o->fast->inflight, notif);
	}
	return decide_send(o->config, &q, &d);
}

int observer_dispatch(struct observer *o, uint32_t events)
{
	struct seccomp_notif notif = { 0 };
	int r;

	if (!(events & EPOLLIN))
		return events & (EPOLLHUP | EPOLLERR) ? 1 : 0;
	r = fast_path_next(o->fast, &notif);
	if (r <= 0)
		return r;
	o->stats.asked++;
	o->asks = o->config->ask != NULL;
	return answer(o, &notif);
}

/* The caller's memory and the links may be others by now, so everything is read and
 * decided again; only the path that the question named is allowed once
 */
static void resume(struct observer *o, const struct waiting_call *w,
		   enum observer_consent consent)
{
	struct seccomp_notif_resp resp = { .id = w->notif.id, .error = -EINTR };

	if (consent == CONSENT_INTERRUPTED) {
		(void)sys_notif_send(o->config->listener, &resp);
		return;
	}
	o->asks = o->config->ask && consent != CONSENT_REFUSED;
	if (consent == CONSENT_ONCE)
		observer_rules_allow_once(o->config->rules, w->target);
	(void)answer(o, &w->notif);
	observer_rules_allow_once(o->config->rules, NULL);
}

void observer_resume(struct observer *o, const char *grant, enum observer_consent consent)
{
	struct waiting_call *calls = o->waiting.v;
	const size_t n = o->waiting.len;

	memset(&o->waiting, 0, sizeof(o->waiting));
	for (size_t i = 0; i < n; i++) {
		if (strcmp(calls[i].grant, grant) != 0) {
			*vec_push(&o->waiting) = calls[i];
			continue;
		}
		resume(o, &calls[i], consent);
		if (consent == CONSENT_ONCE)
			consent = CONSENT_RULES;	/* The others ask again */
		free_waiting(&calls[i]);
	}
	free(calls);
}
