/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch/observer.c - who tries to change what: answers to seccomp's questions
 *
 * Theory of operation: most questions are about a plain name in a writable
 * directory; quick.c answers those with the text alone. All others are looked
 * up (place.c) and judged (judge.c). A thread does nothing but the quick answers
 * (fast.c).
 *
 * Races: the process can change the text, the links and its descriptors after
 * we looked. It gains nothing by it: a call that goes on meets the kernel's own
 * floor. It can only hide from a report, and what it plants by that is found
 * by born.c.
 */

#include "watch/observer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "policy/violation.h"
#include "watch/address.h"
#include "watch/calls.h"
#include "watch/fast.h"
#include "watch/judge.h"
#include "watch/later.h"
#include "watch/git-lock.h"
#include "watch/passed.h"
#include "watch/perform.h"
#include "watch/place.h"
#include "watch/question.h"
#include "watch/quick.h"
#include "watch/refusal.h"
#include "watch/tracee.h"

enum { ANCESTORS_MAX = 1000 };

struct observer {
	int listener;
	struct judge judge;
	struct observer_policy policy;
	bool nested;
	const struct violation_sink *sink;
	struct addresses addresses;
	struct tracees tracees;
	struct quick quick;
	struct name names[2];
	struct place places[2];
	struct observer_stats stats;
	void (*on_make)(void *arg);
	void *arg;
	const char *home;
	struct fast *fast;
	struct passed *passed;
	struct git_lock *git;
	char reason[256];	/* Of the refusal being reported */
	struct later *later;	/* Where every connect() is made here */
};

static int questions_fd(const struct observer *o)
{
	return o->fast ? fast_fd(o->fast) : o->listener;
}

int observer_new(const struct observer_config *config, struct observer **ret,
		 struct err *err)
{
	struct observer *o;
	int r;

	if (!config->policy.verdict)
		return fail(err, -EINVAL, "an observer needs a policy");
	o = mem_zalloc(sizeof(*o));
	o->listener = config->listener;
	quick_init(&o->quick, config);
	o->policy = config->policy;
	o->judge = (struct judge) { &o->policy, config->no_mounts,
				    config->reads };
	o->nested = config->nested;
	o->sink = config->sink;
	o->on_make = config->on_make;
	o->home = config->home;
	o->arg = config->arg;
	o->addresses.by_path = config->sockets_by_path;
	o->addresses.listener = config->listener;
	for (size_t i = 0; i < config->nsockets; i++)
		*vec_push(&o->addresses.allowed) = config->sockets[i];
	tracees_init(&o->tracees, config->ways);
	o->places[0].parent = o->places[1].parent = -1;
	/* Where reads are asked about, most would only be handed on */
	o->passed = passed_new();
	o->git = mem_zalloc(sizeof(*o->git));
	if (!config->reads)
		(void)fast_start(config, o->passed, o->git, &o->fast);
	if (config->sockets_by_path &&
	    (r = later_new(questions_fd(o), o->listener,
			   &o->later)) < 0) {
		observer_free(o);
		return fail(err, r, "cannot wait for connections");
	}
	*ret = o;
	return 0;
}

void observer_free(struct observer *o)
{
	if (!o)
		return;
	if (!o->fast || fast_stop(o->fast)) {
		close_fd(&o->listener);
		passed_free(o->passed);
		free(o->git);
	}
	later_free(o->later);
	tracees_done(&o->tracees);
	addresses_done(&o->addresses);
	quick_done(&o->quick);
	free(o);
}

int observer_fd(const struct observer *o)
{
	return o->later ? later_fd(o->later) : questions_fd(o);
}

void observer_set_policy(struct observer *o,
			 const struct observer_policy *policy)
{
	o->policy = *policy;
	if (o->fast)
		fast_set_policy(o->fast, policy);
}

struct observer_stats observer_stats(const struct observer *o)
{
	struct observer_stats stats = o->stats;
	const uint64_t fast = o->fast ? fast_answered(o->fast) : 0;

	stats.asked += fast;
	stats.quick += fast;
	stats.passed = passed_count(o->passed);
	return stats;
}

bool observer_settled(struct observer *o, uint64_t *ret)
{
	/* First: who makes a name from now on is heard of */
	if (o->fast)
		fast_makes(o->fast, false);
	if (passed_settled(o->passed, ret) && *ret == passed_count(o->passed))
		return true;
	if (o->fast)
		fast_makes(o->fast, true);
	return false;
}

static int look_up(struct observer *o, const struct question *q, int i,
		   enum place_follow follow)
{
	struct place *p = &o->places[i];
	const char *text = q->in_root ? o->names[i].text : o->names[i].full;
	auto_close int root = -1;

	if (q->in_root) {
		root = tracee_dir(q->tracee, o->names[i].dir);
		if (root < 0)
			return root;
	}
	return judge_found(&o->judge, place_find(q->tracee, root,
						 root < 0 ? "" : "/", text,
						 follow, p), p);
}

static bool is_late(const struct observer *o, const struct attempt *a)
{
	const struct observer_policy *p = &o->policy;

	return p->is_late &&
	       (p->is_late(p->arg, a->from->path, a->from->read_only) ||
		(a->to && p->is_late(p->arg, a->to->path,
				     a->to->read_only)));
}

static bool may_write(const struct observer *o, const struct place *p)
{
	struct observer_verdict v;

	o->policy.verdict(o->policy.arg, OBSERVER_WRITE, p->path, &v);
	return v.answer == OBSERVER_ALLOWED;
}

/* A name is about to be made: what is looked for in the end may come with it */
static void note_make(struct observer *o)
{
	o->stats.makes = true;
	if (o->on_make)
		o->on_make(o->arg);
	if (o->fast)
		fast_makes(o->fast, true);
}

/* Allowed, but only since an edit of the settings: the kernel would refuse.
 * What fails by itself (it exists, it is special) goes on and does so.
 */
static void perform_late(struct observer *o, struct question *q,
			 const struct attempt *a, struct judgement *ret)
{
	const struct performance p = {
		.call = q->call, .what = a->what, .flags = a->flags,
		.how_mode = q->how_mode, .args = q->notif->data.args,
		.tracee = q->tracee, .from = a->from, .to = a->to, .fd = -1,
		.one_user = !o->judge.no_mounts,
	};
	int r;

	/* A second name for what may not be written would make it writable,
	 * and we are not stopped by the mounts that would stop the caller
	 */
	if (a->what == CALL_LINK && !may_write(o, a->from)) {
		ret->error = EXDEV;
		return;
	}
	if (a->from->exists &&
	    (a->what == CALL_MAKE || (!S_ISREG(a->from->mode) &&
	     a->what == CALL_OPEN && (a->flags & O_TMPFILE) != O_TMPFILE)))
		return;
	/* Only for the one who asked: it must still be waiting */
	if (ioctl(o->listener, SECCOMP_IOCTL_NOTIF_ID_VALID,
		  &q->notif->id) < 0)
		return;
	if (question_makes(q))
		note_make(o);
	r = perform(&p);
	q->done = true;
	if (r < 0)
		ret->error = -r;
	else if (a->what == CALL_OPEN)
		q->fd = r;
}

/* What is open, or the question whether it may be written, is nothing to refuse;
 * but in such a root the kernel would say that it is read-only
 */
static void answer_quietly(struct observer *o, struct question *q,
			   struct judgement *ret)
{
	const struct attempt a = { .what = q->what, .flags = q->flags,
				   .from = &o->places[0] };

	if (!look_up(o, q, 0, q->follow) && a.from->exists &&
	    is_late(o, &a) && may_write(o, a.from))
		perform_late(o, q, &a, ret);
}

/* Landlock knows nothing of modes, owners, times and attributes: where there are
 * no mounts such a call never goes on, since what it names could be another file
 * by then
 */
static bool changes_here(const struct observer *o, const struct question *q)
{
	return o->judge.no_mounts && q->what == CALL_CHANGE;
}

/* The change of what is open, on a copy of its descriptor. The policy is asked
 * about the copy's name; an object that has none is the command's own.
 */
static int change_open(struct observer *o, struct question *q,
		       struct judgement *ret)
{
	const unsigned long long *args = q->notif->data.args;
	auto_close int copy = q->call->dir < 0 ? -EFAULT :
		tracee_get_fd(q->tracee, (int)args[q->call->dir]);
	struct tracee *own = tracee_get(&o->tracees, getpid());
	const struct performance p = {
		.call = q->call, .what = q->what, .flags = q->flags,
		.args = args, .tracee = q->tracee, .fd = copy,
	};
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
	n = own ? tracee_fd_link(own, copy, path, PATH_MAX) : -EPERM;
	if (n >= 0)
		o->policy.verdict(o->policy.arg, OBSERVER_WRITE, path, &v);
	else if (n == -ENOTDIR || n == -EIDRM)
		v.answer = OBSERVER_ALLOWED;
	if (v.answer != OBSERVER_ALLOWED) {
		*ret = (struct judgement) { .error = EACCES, .report = true,
					    .kind = VIOLATION_FS_WRITE,
					    .verdict = v };
		return 0;
	}
	/* Only for the one who asked: what was copied may be another's */
	if (ioctl(o->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &q->notif->id) < 0)
		return -EBADF;
	r = perform(&p);
	q->done = true;
	ret->error = r < 0 ? -r : 0;
	return 0;
}

/* git writes its settings to a second file, which is to replace the first */
static void replace(struct observer *o, struct question *q,
		    const struct attempt *a, struct judgement *ret)
{
	if (a->what != CALL_RENAME || a->flags || !o->policy.replace ||
	    ioctl(o->listener, SECCOMP_IOCTL_NOTIF_ID_VALID,
		  &q->notif->id) < 0 ||
	    !o->policy.replace(o->policy.arg, a->from->path, a->to->path))
		return;
	*ret = (struct judgement){ 0 };
	q->done = true;
}

/* Look up and judge what was not quick. 0 and *@ret, or a negative errno. */
static int judge_slowly(struct observer *o, struct question *q,
			struct judgement *ret)
{
	struct attempt a = { .what = q->what, .flags = q->flags,
			     .link = q->link, .dir = q->dir, .open = q->open,
			     .from = &o->places[0] };
	int r = look_up(o, q, 0, q->follow);

	if (q->what == CALL_LINK || q->what == CALL_RENAME) {
		const int r2 = look_up(o, q, 1, PLACE_STAY);

		if (r2 < 0)
			return r2;
		a.to = &o->places[1];
		if (q->what == CALL_LINK && r == -ENOTNAM) {
			/* A file without a name gets one */
			a.what = CALL_MAKE;
			a.from = a.to;
			r = 0;
		}
	}
	if (r < 0)
		return r;
	*ret = judge(&o->judge, &a);
	o->stats.names += !ret->error && ret->look;
	if (ret->error && ret->report)
		replace(o, q, &a, ret);
	/* What the policy was not asked about is not done on its behalf: the
	 * kernel finds why it fails
	 */
	if (!ret->error && ret->place && (changes_here(o, q) || is_late(o, &a)))
		perform_late(o, q, &a, ret);
	if (!ret->error && !q->done && changes_here(o, q))
		return -EPERM;
	return 0;
}

static void report(struct observer *o, const struct question *q,
		   const struct judgement *g)
{
	o->stats.refused++;
	o->stats.names += g->kind == VIOLATION_FS_CREATE ||
			  g->kind == VIOLATION_FS_RENAME;
	refusal_report(o->sink, o->home, q,
		       &o->names[g->place == &o->places[1]], g);
}

/* Errors that the kernel finds as well */
static bool is_natural(int error)
{
	return error == -ENOENT || error == -ENOTDIR || error == -ELOOP ||
	       error == -ENAMETOOLONG || error == -EFAULT ||
	       error == -EBADF || error == -EACCES || error == -EINVAL;
}

/* What could not be looked up does not go on: every such call was a way past
 * the observer. Also what is not there for us, which may be there in a moment.
 * The exceptions: what changes nothing; an object that has no path; removing one
 * name in a directory that is too deep for us, or nobody could tidy up there; and
 * names in a mount namespace of the command's own, which we do not see.
 */
static bool goes_on(struct observer *o, const struct question *q, int r)
{
	const char *text = o->names[0].text;
	const bool removes = q->what == CALL_UNLINK || q->what == CALL_RMDIR;
	const bool acts = q->what == CALL_OPEN || q->what == CALL_CUT ||
			  q->what == CALL_CHANGE;

	if (changes_here(o, q))
		return false;
	if (q->reads || q->quiet || (r == -ENOTNAM && acts))
		return true;
	if ((r == -ENAMETOOLONG && removes && *text && !strchr(text, '/')) ||
	    (o->nested && r != -EFAULT && is_natural(r))) {
		o->stats.unseen++;
		return true;
	}
	return false;
}

/* Read and judge the call in @q; 0 and *@ret, or a negative errno */
static int judge_call(struct observer *o, struct question *q,
		      struct judgement *ret)
{
	int r = question_read(q, o->judge.reads, o->names);

	if (o->fast)
		fast_note(o->fast, q->call);
	else
		quick_note(&o->quick, q->call);
	if (changes_here(o, q) && q->quiet)
		return change_open(o, q, ret);
	if (r < 0 || (q->reads && !o->judge.reads) || !o->names[0].text[0])
		return r;
	/* What the thread hands on is not quick */
	if (!o->fast)
		r = quick_answers(&o->quick, &o->policy, q, o->names);
	if (r <= 0 && q->quiet) {
		answer_quietly(o, q, ret);
		return 0;
	}
	if (!r)
		return judge_slowly(o, q, ret);
	o->stats.quick++;
	return r < 0 ? r : 0;
}

static int respond(struct observer *o, uint64_t id, int error)
{
	struct seccomp_notif_resp resp = { .id = id, .error = -error };

	return sys_notif_send(o->listener, &resp);
}

static int let_go_on(struct observer *o, const struct seccomp_notif *notif)
{
	struct seccomp_notif_resp resp = {
		.id = notif->id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE,
	};

	return sys_notif_send(o->listener, &resp);
}

/* The filter refuses it, as the kernel would, and has us say so */
static int refuse_told(struct observer *o, const struct seccomp_notif *notif)
{
	struct tracee *t = tracee_get(&o->tracees, (pid_t)notif->pid);

	if (t && !ioctl(o->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &notif->id))
		refusal_told(o->sink, &o->policy, t, &notif->data);
	o->stats.refused++;
	return respond(o, notif->id, EPERM);
}

/* Refuse what could not be read or looked up */
static struct judgement refuse_unseen(struct observer *o)
{
	o->stats.failed++;
	return (struct judgement) {
		.error = EACCES, .report = true, .kind = VIOLATION_FS_WRITE,
		.verdict = { .reason = "the path could not be looked up" },
	};
}

/* True if @group is a group of the sandbox, as far as setpgid() may join it: the
 * caller's own, or one whose leader descends from our child. Where there is a pid
 * namespace, no other group has a number.
 */
static bool may_join(const struct observer *o, pid_t caller, pid_t group)
{
	if (!o->judge.no_mounts || group == getpgid(caller))
		return true;
	for (int i = 0; i < ANCESTORS_MAX && group > 1; i++) {
		group = tracee_parent(group);
		if (group == getpid())
			return true;
	}
	return false;
}

/* A git that cannot change a file of its work tree would go on with the others */
static void stop_git(struct observer *o, pid_t pid, struct judgement *g)
{
	if (!g->error || !g->report || !g->place ||
	    !git_lock_stop(o->git, pid, g->place->path))
		return;
	snprintf(o->reason, sizeof(o->reason),
		 "%s; git was ended before it changed anything",
		 g->verdict.reason ? g->verdict.reason : "protected");
	g->verdict.reason = o->reason;
}

static int answer(struct observer *o, const struct seccomp_notif *notif)
{
	struct question q = {
		.notif = notif, .call = call_find(notif->data.nr),
		.tracee = tracee_get(&o->tracees, (pid_t)notif->pid),
		.fd = -1,
	};
	struct address_answer a = { .later = -1, .inode = -1 };
	int r = q.call && q.tracee ? 0 : -EPERM;

	if (!q.call)
		return refuse_told(o, notif);
	o->names[0].full[0] = 0;
	if (!r && q.call->what >= CALL_CONNECT) {
		q.what = q.call->what;
		o->addresses.id = notif->id;
		r = address_answer(&o->addresses, &o->judge, q.tracee, q.call,
				   notif->data.args, &o->places[0], &a);
	} else if (!r && q.call->what == CALL_GROUP) {
		if (!may_join(o, (pid_t)notif->pid, (pid_t)notif->data.args[1]))
			a.judgement.error = EPERM;
	} else if (!r && q.call->what != CALL_TURN &&
		   q.call->what != CALL_SPLIT) {
		r = judge_call(o, &q, &a.judgement);
	}
	/* Masks hide what must not be read, whether we can tell or not */
	if (r < 0 && !goes_on(o, &q, r)) {
		if (is_natural(r))
			a.judgement.error = -r;
		else
			a.judgement = refuse_unseen(o);
	}

	if (r >= 0 && q.call && q.call->what < CALL_CONNECT)
		stop_git(o, (pid_t)notif->pid, &a.judgement);

	/* If it is gone, what we read may have been somebody else's */
	if (a.judgement.report && q.call && q.tracee &&
	    !ioctl(o->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &notif->id))
		report(o, &q, &a.judgement);
	place_done(&o->places[0]);
	place_done(&o->places[1]);
	if (!a.done && !q.done && !a.judgement.error && question_makes(&q)) {
		note_make(o);
		passed_add(o->passed, notif);
	}
	if (q.fd >= 0) {
		r = question_hand_in(&q, o->listener);
		close_fd(&q.fd);
		return r < 0 ? respond(o, notif->id, -r) : 0;
	}
	if (a.later >= 0) {
		r = later_try(o->later, notif->id, a.later, a.inode);
		return r < 0 ? respond(o, notif->id, EAGAIN) : 0;
	}
	if (q.call->what < CALL_CONNECT && !a.judgement.error)
		git_lock_note(o->git, &q, (pid_t)notif->pid, o->names[0].full);
	if (a.done || q.done || a.judgement.error)
		return respond(o, notif->id, a.done ? a.error
						    : a.judgement.error);
	return let_go_on(o, notif);
}

static void on_connected(void *arg, uint64_t id, int error)
{
	(void)respond(arg, id, error);
}

int observer_dispatch(struct observer *o, uint32_t events)
{
	struct seccomp_notif notif = { 0 };

	if (o->later) {
		events = later_turn(o->later, on_connected, o);
		if (!events)
			return 0;
	}
	if (!(events & EPOLLIN))
		return events & (EPOLLHUP | EPOLLERR) ? 1 : 0;
	if (o->fast) {
		if (!fast_next(o->fast, &notif))
			return 0;
	} else if (ioctl(o->listener, SECCOMP_IOCTL_NOTIF_RECV, &notif) < 0) {
		return errno == ENOENT || errno == EINTR ? 0 : -errno;
	}
	if (!o->fast)
		passed_asks(o->passed, (pid_t)notif.pid);
	o->stats.asked++;
	return answer(o, &notif);
}
