/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard/planted.c - protected names that appear during a run
 *
 * Theory of operation: before the run a journal records what it may write and what
 * exists. A name that appears in a writable root is checked at once (inotify),
 * and everything at the end (planted-scan.c); the next run does that for a run that
 * was killed.
 */

#include "guard/planted.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/btime.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "guard/git-sanitize.h"
#include "guard/journal.h"
#include "guard/planted-scan.h"
#include "guard/settings-receipt.h"
#include "policy/policy.h"
#include "policy/protected-names.h"
#include "report/violation.h"
#include "view/view.h"
#include "view/walk-git.h"

/**
 * struct watch - A directory that is watched
 */
struct watch {
	int wd;
	char *path;
};

/**
 * struct own - A protected name that appeared during the run and is the user's: no
 *		mount covers it until the keeper makes one
 * @dev, @ino:	What it is a name of
 * @birth:	btime_of() it, in @exposed
 * @text:	What a file held then
 */
struct own {
	char *path;
	dev_t dev;
	ino_t ino;
	int64_t birth;
	struct buf text;
};

static void own_done(struct own *own)
{
	free(own->path);
	buf_done(&own->text);
}

struct planted {
	struct planted_config config;
	struct journal journal;
	bool armed, news;
	unsigned int moves;
	int held, inotify;
	struct { struct own *v; size_t len, cap; } owns;
	/* Files that a process inside had open when a mount covered them */
	struct { struct own *v; size_t len, cap; } exposed;
	struct { struct watch *v; size_t len, cap; } watches;
	struct quarantine_pending pending;
	struct policy *later;	/* That granted more, or NULL */
};

/**
 * struct replay - What cleaning up needs to know
 */
struct replay {
	const char *state, *home;
	const struct violation_sink *sink;
};

/* What a run could write, by its journal alone: its policy is gone, or cannot be looked
 * up any more because the command has moved a root away. What is protected hardly
 * depends on it. Names that a setting left unprotected existed without a record:
 * those are older than the run.
 */
static int scan_roots(const struct quarantine_config *quarantine,
		       const struct journal *j, const char *home,
		       struct err *err)
{
	struct planted_scan s = { .journal = j, .guessed = true, .quarantine = *quarantine };
	auto_policy struct policy *policy = policy_new(j->cwd, home);
	const struct source *source = policy_add_source(policy, SCOPE_FLAG,
							"journal", NULL, 0,
							"/");
	int r;

	for (size_t i = 0; i < j->roots.len; i++)
		policy_add_literal(policy, PATH_ALLOW_WRITE, j->roots.v[i],
				   RULE_USER, origin_make(source, NULL, NULL));
	policy_set_profile(policy, j->profile,
			   origin_make(source, NULL, NULL));
	r = policy_finish(policy, NULL);
	return r < 0 ? 0 : planted_scan_all(&s, policy, NULL, true, err);
}

static bool sweep_after(void *arg, const struct journal *j)
{
	const struct replay *replay = arg;
	const struct quarantine_config quarantine = { replay->state, j->run,
					     replay->sink };

	return !err_is_shortage(-scan_roots(&quarantine, j, replay->home, NULL)) &&
	       quarantine_sync(NULL) == 0;
}

void planted_replay(const char *state, const char *home,
		 const struct violation_sink *sink)
{
	struct replay replay = { state, home, sink };

	journal_replay(state, sweep_after, &replay);
}

static void add_existing(struct journal *j, const char *path)
{
	*vec_push(&j->existing) = mem_strdup(path);
}

static bool is_root(const struct view_rule *r)
{
	/* One that does not exist yet may become a directory */
	return r->list == PATH_ALLOW_WRITE && (S_ISDIR(r->mode) || !r->mode) &&
	       !r->rule->shared;
}

/* The row that protects @path. The root may itself be called so: only what is below
 * counts.
 */
static const struct protected_row *find_row(const struct journal *j,
					    const struct view *view,
					    const char *path)
{
	const char *root = journal_root(j, path);

	return root ? protected_match(view->policy, path + strlen(root)) : NULL;
}

/* The roots of @view that are new, and what is protected in them; false if
 * there are none
 */
static bool add_roots(struct journal *j, const struct view *view)
{
	auto_free bool *known = mem_zalloc(view->rules.len + 1);
	bool found = false;

	for (size_t i = 0; i < view->rules.len; i++) {
		known[i] = journal_root(j, view->rules.v[i].path);
		found |= is_root(&view->rules.v[i]) && !known[i];
	}
	for (size_t i = 0; found && i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];

		if (known[i])
			continue;
		if (is_root(r))
			*vec_push(&j->roots) = mem_strdup(r->path);
		else if (planted_scan_is_found(r) ||
			 (r->list == PATH_DENY_WRITE && r->mode))
			add_existing(j, r->path);
	}
	for (size_t i = 0; found && i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];

		if (!known[i] && r->rule->obeyed && !r->mode &&
		    journal_root(j, r->path) && !find_row(j, view, r->path))
			*vec_push(&j->obeyed) = mem_strdup(r->path);
	}
	return found;
}

static void fill_journal(const struct planted_config *c, struct journal *j)
{
	const struct protected_row *rows;
	size_t n;

	j->run = mem_strdup(c->run);
	j->cwd = mem_strdup(c->view->policy->cwd);
	j->since = c->since;
	j->profile = c->view->policy->profile;
	(void)add_roots(j, c->view);
	rows = protected_table(&n);
	for (size_t i = 0; i < n; i++) {
		auto_free char *path = path_join(j->cwd, rows[i].name);

		if (rows[i].kind == PROTECTED_SENTINEL &&
		    planted_scan_has(j->cwd, rows[i].name))
			*vec_push(&j->sentinels) = take_ptr(path);
	}
}

/* The directory is gone, or is watched by another path */
static void forget_watch(struct planted *b, int wd)
{
	for (size_t i = b->watches.len; i > 0; i--) {
		if (b->watches.v[i - 1].wd != wd)
			continue;
		free(b->watches.v[i - 1].path);
		b->watches.v[i - 1] = b->watches.v[--b->watches.len];
	}
}

/* 0 or -errno */
static int watch_dir(struct planted *b, const char *path)
{
	struct watch *w;
	int wd;

	if (b->watches.len == PLANTED_ROOTS_MAX)
		return 0;
	wd = inotify_add_watch(b->inotify, path, IN_CREATE | IN_MOVED_TO |
			       IN_ONLYDIR | IN_DONT_FOLLOW);
	if (wd < 0)
		return -errno;
	forget_watch(b, wd);
	w = vec_push(&b->watches);
	w->wd = wd;
	w->path = mem_strdup(path);
	return 0;
}

void planted_new(const struct planted_config *config, struct planted **ret)
{
	struct planted *b = mem_zalloc(sizeof(*b));

	b->config = *config;
	b->held = b->inotify = -1;
	*ret = b;
	fill_journal(config, &b->journal);
}

static struct own *find_own(const struct planted *b, const char *path)
{
	for (size_t i = 0; i < b->owns.len; i++) {
		if (!strcmp(b->owns.v[i].path, path))
			return &b->owns.v[i];
	}
	return NULL;
}

/* A process that opens the file meanwhile waits for us; the default signal is SIGIO, which
 * would end us
 */
static bool may_lease(int fd)
{
	return fcntl(fd, F_SETSIG, SIGURG) == 0 &&
	       fcntl(fd, F_SETLEASE, F_RDLCK) == 0 &&
	       fcntl(fd, F_SETLEASE, F_UNLCK) == 0;
}

static bool is_same_inode(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The link to a file that is open for writing is itself writable */
static bool has_open(const char *pid, const struct stat *file)
{
	char path[300];
	auto_closedir DIR *dir = NULL;
	const struct dirent *entry;
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)) != NULL) {
		if (fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 &&
		    is_same_inode(&st, file) &&
		    fstatat(dirfd(dir), entry->d_name, &st,
			    AT_SYMLINK_NOFOLLOW) == 0 && st.st_mode & S_IWUSR)
			return true;
	}
	return false;
}

/* True if a process in another user namespace than ours may write to the file that
 * @fd is open on: it has it open, or the writer cannot be seen (a descriptor in flight
 * over a socket, a mapping). The kernel grants a read lease only where no process has
 * the file open for writing; otherwise the descriptors of all processes are compared.
 */
static bool is_open_inside(int fd)
{
	auto_closedir DIR *dir = NULL;
	const struct dirent *entry;
	struct stat file, ours, ns;
	bool outside;
	char path[300];

	if (may_lease(fd))
		return false;
	outside = errno != EAGAIN;	/* No leases here, or not for us */
	if (fstat(fd, &file) < 0 || stat("/proc/self/ns/user", &ours) < 0)
		return false;
	dir = opendir("/proc");
	while (dir && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    !has_open(entry->d_name, &file))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/ns/user", entry->d_name);
		if (stat(path, &ns) == 0 && !is_same_inode(&ns, &ours))
			return true;
		outside = true;
	}
	return !outside && !may_lease(fd);
}

/* The inode and the content of @path; @inside: whether a process inside has it open
 * for writing
 */
static void read_own(const char *path, struct own *ret, bool *inside)
{
	auto_close int fd = sys_open_nofollow(AT_FDCWD, path, O_RDONLY |
					      O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
					      0);
	struct stat st;

	ret->text.len = 0;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	if (inside)	/* First: a file that is not open cannot be opened any more */
		*inside = is_open_inside(fd);
	ret->dev = st.st_dev;
	ret->ino = st.st_ino;
	ret->birth = btime_of(fd);
	(void)fs_read_fd(fd, PLANTED_TEXT_MAX, &ret->text, NULL);
}

static bool is_equal(const struct buf *a, const struct buf *b)
{
	return a->len == b->len && (!a->len || !memcmp(a->p, b->p, a->len));
}

/* @path is the user's, as it is now */
static void add_own(struct planted *b, const char *path, const struct stat *st)
{
	struct own *own = find_own(b, path);

	if (!own) {
		own = vec_push(&b->owns);
		own->path = mem_strdup(path);
		add_existing(&b->journal, path);
	}
	read_own(path, own, NULL);
	own->dev = st->st_dev;
	own->ino = st->st_ino;
	b->news = true;
}

/* Something else has taken the place of the user's */
static void forget_own(struct planted *b, struct own *own)
{
	struct journal *j = &b->journal;

	for (size_t i = j->existing.len; i > 0; i--) {
		if (strcmp(j->existing.v[i - 1], own->path) != 0)
			continue;
		free(j->existing.v[i - 1]);
		j->existing.v[i - 1] = j->existing.v[--j->existing.len];
	}
	own_done(own);
	*own = b->owns.v[--b->owns.len];
}

/* True if the sandbox cannot have made @path, which has just appeared: cloche wrote
 * it, or no call was under way in this run, and no other run can write there
 */
static bool is_users(const struct planted *b, const char *path)
{
	const struct planted_config *c = &b->config;

	return settings_receipt_has(c->state, path) ||
	       ((!b->armed || (c->is_quiet && c->is_quiet(c->arg))) &&
		!journal_others(c->state, &b->journal, path));
}

/* All roots, and the directories in them that rows are in, where there are any:
 * 0 or -errno
 */
static int watch_roots(struct planted *b)
{
	int r = b->inotify < 0 ? -errno : 0;

	for (size_t i = 0; r != -ENOSPC && b->inotify >= 0 &&
	     i < b->journal.roots.len; i++) {
		auto_free char *claude = path_join(b->journal.roots.v[i],
						   ".claude");

		r = watch_dir(b, b->journal.roots.v[i]);
		if (r == 0)
			(void)watch_dir(b, claude);
	}
	for (size_t i = 0; b->inotify >= 0 && i < b->journal.obeyed.len; i++) {
		auto_free char *dir = path_parent(b->journal.obeyed.v[i]);

		(void)watch_dir(b, dir);
	}
	return r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

void planted_free(struct planted *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->watches.len; i++)
		free(b->watches.v[i].path);
	free(b->watches.v);
	for (size_t i = 0; i < b->owns.len; i++)
		own_done(&b->owns.v[i]);
	free(b->owns.v);
	for (size_t i = 0; i < b->exposed.len; i++)
		own_done(&b->exposed.v[i]);
	free(b->exposed.v);
	for (size_t i = 0; i < b->pending.len; i++) {
		free(b->pending.v[i].id);
		free(b->pending.v[i].path);
	}
	free(b->pending.v);
	close_fd(&b->held);
	close_fd(&b->inotify);
	policy_unref(b->later);
	journal_done(&b->journal);
	free(b);
}

int planted_fd(const struct planted *b)
{
	return b->inotify;
}

int planted_journal_fd(const struct planted *b)
{
	return b->held;
}

/* True if a ".git" file names a missing directory: git writes the file first
 * (--separate-git-dir), and does not obey it yet. The scan at the end decides.
 */
static bool is_unfinished(const char *path, const struct stat *st)
{
	auto_free char *target = NULL;

	if (!S_ISREG(st->st_mode) || strcasecmp(path_base(path), ".git") != 0)
		return false;
	target = walk_git_target(path, NULL);
	return !target;
}

/* A name has appeared: if it is protected and not the user's, treat it as planted */
static void consider(struct planted *b, const char *path)
{
	const struct protected_row *row = find_row(&b->journal, b->config.view, path);
	const char *reason = row ? row->reason :
		strings_have(&b->journal.obeyed, path) ? PLANTED_OBEYED : NULL;
	struct planted_scan s = { .journal = &b->journal, .policy = b->config.view->policy,
			   .quarantine = { b->config.state, b->config.run,
				     b->config.sink, .pending = &b->pending } };
	struct own *own = find_own(b, path);
	struct stat st;

	if (!reason || (!own && journal_existed(&b->journal, path)) ||
	    lstat(path, &st) < 0 ||
	    (own && own->dev == st.st_dev && own->ino == st.st_ino) ||
	    is_unfinished(path, &st))
		return;
	if (is_users(b, path)) {
		add_own(b, path, &st);
		return;
	}
	if (own)
		forget_own(b, own);
	/* A command that plants without end must not fill the quarantine, nor have a
	 * planted file stay until the end of the run
	 */
	s.quarantine.full = b->moves >= PLANTED_MOVES_MAX;
	b->moves += !s.quarantine.full;
	planted_decide(&s, path, reason);
}

/* Check every protected name: before the command made anything, after a directory
 * with names in it appeared, or after inotify lost events, which a command can cause
 */
static void consider_all(struct planted *b)
{
	const struct journal *j = &b->journal;
	const struct protected_row *rows;
	size_t n;

	rows = protected_table(&n);
	for (size_t i = 0; i < n * j->roots.len; i++) {
		auto_free char *path = path_join(j->roots.v[i / n],
						 rows[i % n].name);

		consider(b, path);
	}
	for (size_t i = 0; i < j->obeyed.len; i++)
		consider(b, j->obeyed.v[i]);
}

int planted_arm(struct planted *b, struct err *err)
{
	int r;

	if (b->armed)
		return 0;
	consider_all(b);
	b->armed = true;
	b->held = journal_write(b->config.state, &b->journal, err);
	b->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	r = watch_roots(b);
	if (b->held < 0)
		return fail_in(err, b->held, "planted files are not watched for");
	return r < 0 ? fail(err, r, "planted files are looked for only at the end: %s",
			    sys_inotify_why(-r)) : 0;
}

static void take_event(struct planted *b, const struct inotify_event *event)
{
	bool all = event->mask & IN_Q_OVERFLOW;

	if (event->mask & IN_IGNORED)
		forget_watch(b, event->wd);
	for (size_t i = 0; event->len && i < b->watches.len; i++) {
		auto_free char *path = NULL;

		if (b->watches.v[i].wd != event->wd)
			continue;
		path = path_join(b->watches.v[i].path, event->name);
		if (!strcmp(event->name, ".claude"))
			all = watch_dir(b, path) == 0;
		consider(b, path);
		break;
	}
	if (all)
		consider_all(b);
}

bool planted_dispatch(struct planted *b)
{
	char buffer[8192] __attribute__((aligned(__alignof__(
		struct inotify_event))));
	ssize_t n = 1;

	/* A command can create names without end */
	for (int i = 0; n > 0 && i < PLANTED_READS_MAX; i++) {
		n = read(b->inotify, buffer, sizeof(buffer));
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *event =
				(const struct inotify_event *)(const void *)
				(buffer + at);

			take_event(b, event);
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	}
	return n < 0;
}

void planted_covered(struct planted *b, const char *path)
{
	struct own *own = find_own(b, path), *e = NULL, now = { 0 };
	bool inside = false;

	read_own(path, &now, &inside);
	if (own && !is_equal(&now.text, &own->text)) {
		own->ino = 0;	/* It is another one now */
		consider(b, path);
	}
	for (size_t i = 0; i < b->exposed.len && !e; i++)
		e = strcmp(b->exposed.v[i].path, path) ? NULL :
		    &b->exposed.v[i];
	/* Of two saves the first may be covered after the second: by then the command
	 * may have written, and what the file held before that counts
	 */
	if (e && now.birth && e->birth == now.birth && e->ino == now.ino &&
	    e->dev == now.dev) {
		inside = false;
	} else if (e) {	/* The user has saved it once more */
		own_done(e);
		*e = b->exposed.v[--b->exposed.len];
	}
	if (inside) {
		auto_violation struct violation v = {
			.kind = VIOLATION_FS_WRITE, .count = 1, .op = mem_strdup("open"),
			.target = mem_strdup(path), .reason = mem_strdup(
				"opened while it was replaced from outside; compare it with what you saved"),
		};

		now.path = mem_strdup(path);
		*vec_push(&b->exposed) = now;
		violation_report(b->config.sink, &v);
	} else {
		own_done(&now);
	}
}

/* What was written through a descriptor that no mount stops is undone */
static void restore_exposed(const struct planted *b,
			    const struct quarantine_config *quarantine)
{
	for (size_t i = 0; i < b->exposed.len; i++) {
		const struct own *e = &b->exposed.v[i];
		auto_free char *parent = path_parent(e->path);
		auto_close int dir = sys_open_nofollow(AT_FDCWD, parent, O_PATH |
						       O_DIRECTORY | O_CLOEXEC,
						       0);
		struct own now = { 0 };

		read_own(e->path, &now, NULL);
		if (dir >= 0 && !is_equal(&now.text, &e->text))
			(void)quarantine_rewrite(quarantine, dir, e->path, &now.text,
				&e->text, "changed after it was saved, by a command that had it open");
		own_done(&now);
	}
}

bool planted_covers(const struct planted *b, const char *path)
{
	return journal_root(&b->journal, path);
}

bool planted_is_users(const struct planted *b, const char *path)
{
	for (size_t i = 0; i < b->owns.len; i++) {
		if (path_is_within(b->owns.v[i].path, path))
			return true;
	}
	return false;
}

bool planted_has_news(struct planted *b)
{
	const bool news = b->news;

	b->news = false;
	return news;
}

void planted_open(const struct planted *b)
{
	planted_scan_open(&b->journal);
}

void planted_grant(struct planted *b, const struct view *view)
{
	if (!add_roots(&b->journal, view))
		return;
	policy_unref(b->later);
	b->later = policy_ref(view->policy);
	if (b->armed && b->held >= 0)
		journal_rewrite(b->held, &b->journal);
}

void planted_drop(const struct planted *b)
{
	if (b->armed)
		journal_remove(b->config.state, &b->journal);
}

int planted_finish(struct planted *b, bool changed, bool seen, bool watched,
		struct err *err)
{
	const struct view *view = b->config.view;
	const struct planted_scan s = { .journal = &b->journal, .seen = seen,
				 .before = view,
				 .quarantine = { b->config.state, b->config.run,
					   b->config.sink } };
	struct planted_scan first = s, second = s;
	int r = 0, synced;

	quarantine_collect_pending(&s.quarantine, &b->pending);
	restore_exposed(b, &s.quarantine);
	/* To write to what is there makes no name, and nothing counts it */
	if (!changed && view)
		git_sanitize_check_todos(&s.quarantine, view, view, &b->journal.since);
	if (changed)
		r = planted_scan_all(&first, b->config.view->policy,
			      b->config.view->cache, !watched, err);
	if (r == 0 && changed && b->later)
		r = planted_scan_all(&second, b->later, NULL, !watched, err);
	if (r < 0 && !err_is_shortage(-r))
		r = scan_roots(&s.quarantine, &b->journal, view->policy->home, err);
	synced = quarantine_sync(r < 0 ? NULL : err);
	if (r == 0)
		r = synced;
	if (r == 0)
		planted_drop(b);
	return r;
}
