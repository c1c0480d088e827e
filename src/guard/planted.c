/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch/born.c - protected names that appear during a run
 *
 * Theory of operation: before the run a journal says what it may write and what
 * is there; what appears in the writable roots is looked at at once
 * (inotify), and everything at the end (sweep.c), also the end of a run that
 * was killed.
 */

#include "watch/born.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "plan/view.h"
#include "plan/walk-git.h"
#include "policy/policy.h"
#include "policy/protect.h"
#include "watch/journal.h"
#include "watch/sweep.h"
#include "watch/trust.h"

/**
 * struct watch - A directory that is watched
 */
struct watch {
	int wd;
	char *path;
};

/**
 * struct own - A protected name that came during the run and is the user's: no mount
 *		holds it until somebody sees to that
 * @dev, @ino:	What it is a name of
 */
struct own {
	char *path;
	dev_t dev;
	ino_t ino;
};

struct born {
	struct born_config config;
	struct journal journal;
	bool armed, news;
	unsigned int moves;
	int held, inotify;
	struct { struct own *v; size_t len, cap; } owns;
	struct { struct watch *v; size_t len, cap; } watches;
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
 * depends on it. A setting may have left names alone, which were there and nobody
 * noted: those are older than the run.
 */
static int sweep_roots(const struct gitrepo_config *seal,
		       const struct journal *j, const char *home,
		       struct err *err)
{
	struct sweep s = { .journal = j, .guessed = true, .seal = *seal };
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
	return r < 0 ? 0 : sweep_all(&s, policy, NULL, true, err);
}

static bool sweep_after(void *arg, const struct journal *j)
{
	const struct replay *replay = arg;
	const struct gitrepo_config seal = { replay->state, j->run,
					     replay->sink };

	return !err_is_shortage(-sweep_roots(&seal, j, replay->home, NULL));
}

void born_replay(const char *state, const char *home,
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
	return r->list == PATH_ALLOW_WRITE && (S_ISDIR(r->mode) || !r->mode);
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
		else if (sweep_knows(r) ||
			 (r->list == PATH_DENY_WRITE && r->mode))
			add_existing(j, r->path);
	}
	return found;
}

static void fill_journal(const struct born_config *c, struct journal *j)
{
	const struct protect_row *rows;
	size_t n;

	j->run = mem_strdup(c->run);
	j->cwd = mem_strdup(c->view->policy->cwd);
	j->since = c->since;
	j->profile = c->view->policy->profile;
	(void)add_roots(j, c->view);
	rows = protect_table(&n);
	for (size_t i = 0; i < n; i++) {
		auto_free char *path = path_join(j->cwd, rows[i].name);

		if (rows[i].kind == PROTECT_SENTINEL &&
		    sweep_sees(j->cwd, rows[i].name))
			add_existing(j, path);
	}
}

/* It is gone, or is to be known by another name */
static void forget_watch(struct born *b, int wd)
{
	for (size_t i = b->watches.len; i > 0; i--) {
		if (b->watches.v[i - 1].wd != wd)
			continue;
		free(b->watches.v[i - 1].path);
		b->watches.v[i - 1] = b->watches.v[--b->watches.len];
	}
}

/* 0 or -errno */
static int watch_dir(struct born *b, const char *path)
{
	struct watch *w;
	int wd;

	if (b->watches.len == BORN_ROOTS_MAX)
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

void born_new(const struct born_config *config, struct born **ret)
{
	struct born *b = mem_zalloc(sizeof(*b));

	b->config = *config;
	b->held = b->inotify = -1;
	*ret = b;
	fill_journal(config, &b->journal);
}

static struct own *find_own(const struct born *b, const char *path)
{
	for (size_t i = 0; i < b->owns.len; i++) {
		if (!strcmp(b->owns.v[i].path, path))
			return &b->owns.v[i];
	}
	return NULL;
}

/* @path is the user's, as it is now */
static void add_own(struct born *b, const char *path, const struct stat *st)
{
	struct own *own = find_own(b, path);

	if (!own) {
		own = vec_push(&b->owns);
		own->path = mem_strdup(path);
		add_existing(&b->journal, path);
	}
	own->dev = st->st_dev;
	own->ino = st->st_ino;
	b->news = true;
}

/* Something else has taken the place of the user's */
static void forget_own(struct born *b, struct own *own)
{
	struct journal *j = &b->journal;

	for (size_t i = j->existing.len; i > 0; i--) {
		if (strcmp(j->existing.v[i - 1], own->path) != 0)
			continue;
		free(j->existing.v[i - 1]);
		j->existing.v[i - 1] = j->existing.v[--j->existing.len];
	}
	free(own->path);
	*own = b->owns.v[--b->owns.len];
}

/* True if nobody inside can have made @path, which has just appeared: cloche wrote
 * it, or no call was under way in this run, and no other run can write there
 */
static bool is_users(const struct born *b, const char *path)
{
	const struct born_config *c = &b->config;

	return trust_has(c->state, path) ||
	       ((!b->armed || (c->is_quiet && c->is_quiet(c->arg))) &&
		!journal_others(c->state, &b->journal, path));
}

/* What has appeared since the start, and before anybody inside made anything */
static void add_early(struct born *b)
{
	const struct journal *j = &b->journal;
	const struct protect_row *rows;
	size_t n;

	rows = protect_table(&n);
	for (size_t i = 0; i < n * j->roots.len; i++) {
		const char *root = j->roots.v[i / n];
		const char *name = rows[i % n].name;
		auto_free char *path = path_join(root, name);
		struct stat st;

		if (!journal_existed(j, path) && lstat(path, &st) == 0 &&
		    is_users(b, path))
			add_own(b, path, &st);
	}
}

/* All roots, and the directories in them that rows are in, where there are any:
 * 0 or -errno
 */
static int watch_roots(struct born *b)
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
	return r == -ENOENT || r == -ENOTDIR ? 0 : r;
}

int born_arm(struct born *b, struct err *err)
{
	int r;

	if (b->armed)
		return 0;
	add_early(b);
	b->armed = true;
	b->held = journal_write(b->config.state, &b->journal, err);
	b->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	r = watch_roots(b);
	if (b->held < 0)
		return fail_in(err, b->held, "planted files are not watched for");
	return r < 0 ? fail(err, r, "planted files are looked for only at the end: %s",
			    sys_inotify_why(-r)) : 0;
}

void born_free(struct born *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->watches.len; i++)
		free(b->watches.v[i].path);
	free(b->watches.v);
	for (size_t i = 0; i < b->owns.len; i++)
		free(b->owns.v[i].path);
	free(b->owns.v);
	close_fd(&b->held);
	close_fd(&b->inotify);
	policy_unref(b->later);
	journal_done(&b->journal);
	free(b);
}

int born_fd(const struct born *b)
{
	return b->inotify;
}

int born_held(const struct born *b)
{
	return b->held;
}

/* True of a ".git" file that leads nowhere yet: git writes it before there is what
 * it names (--separate-git-dir), and obeys none such. The end decides.
 */
static bool is_unfinished(const char *path, const struct stat *st)
{
	auto_free char *target = NULL;

	if (!S_ISREG(st->st_mode) || strcasecmp(path_base(path), ".git") != 0)
		return false;
	target = walk_git_target(path, NULL);
	return !target;
}

/* A name has appeared: if it is a protected one, is it the user's? */
static void consider(struct born *b, const char *path)
{
	const char *root = journal_root(&b->journal, path);
	/* The root may itself be called so: only what is below counts */
	const struct protect_row *row = root ?
		protect_match(b->config.view->policy, path + strlen(root)) :
		NULL;
	struct sweep s = { .journal = &b->journal,
			   .seal = { b->config.state, b->config.run,
				     b->config.sink } };
	struct own *own = find_own(b, path);
	struct stat st;

	if (!row || (!own && journal_existed(&b->journal, path)) ||
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
	/* Whoever plants all day must not fill the quarantine, nor have one of
	 * them stay until the end
	 */
	s.seal.full = b->moves >= BORN_MOVES_MAX;
	b->moves += !s.seal.full;
	sweep_name(&s, path, row->reason);
}

/* A directory of ours to watch has appeared, perhaps with names in it */
static void enter_dir(struct born *b, const char *path)
{
	const char *name = path_base(path);
	const size_t n = strlen(name);
	const struct protect_row *rows;
	size_t len;

	(void)watch_dir(b, path);
	rows = protect_table(&len);
	for (size_t i = 0; i < len; i++) {
		auto_free char *below = NULL;

		if (strncmp(rows[i].name, name, n) || rows[i].name[n] != '/')
			continue;
		below = path_join(path, rows[i].name + n + 1);
		consider(b, below);
	}
}

/* So much was made that not all of it was told: whoever plants may have seen to
 * that
 */
static void consider_all(struct born *b)
{
	const struct journal *j = &b->journal;
	const struct protect_row *rows;
	size_t n;

	rows = protect_table(&n);
	for (size_t i = 0; i < n * j->roots.len; i++) {
		auto_free char *path = path_join(j->roots.v[i / n],
						 rows[i % n].name);

		consider(b, path);
	}
}

static void take_event(struct born *b, const struct inotify_event *event)
{
	if (event->mask & IN_Q_OVERFLOW)
		consider_all(b);
	if (event->mask & IN_IGNORED)
		forget_watch(b, event->wd);
	for (size_t i = 0; event->len && i < b->watches.len; i++) {
		auto_free char *path = NULL;

		if (b->watches.v[i].wd != event->wd)
			continue;
		path = path_join(b->watches.v[i].path, event->name);
		if (!strcmp(event->name, ".claude"))
			enter_dir(b, path);
		consider(b, path);
		break;
	}
}

bool born_dispatch(struct born *b)
{
	char room[8192] __attribute__((aligned(__alignof__(
		struct inotify_event))));
	ssize_t n = 1;

	/* Who makes names without end is not waited for */
	for (int i = 0; n > 0 && i < BORN_READS_MAX; i++) {
		n = read(b->inotify, room, sizeof(room));
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *event =
				(const struct inotify_event *)(const void *)
				(room + at);

			take_event(b, event);
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	}
	return n < 0;
}

bool born_covers(const struct born *b, const char *path)
{
	return journal_root(&b->journal, path);
}

bool born_is_late(const struct born *b, const char *path)
{
	for (size_t i = 0; i < b->owns.len; i++) {
		if (path_is_within(b->owns.v[i].path, path))
			return true;
	}
	return false;
}

bool born_has_news(struct born *b)
{
	const bool news = b->news;

	b->news = false;
	return news;
}

void born_open(const struct born *b)
{
	sweep_open(&b->journal);
}

void born_grant(struct born *b, const struct view *view)
{
	if (!add_roots(&b->journal, view))
		return;
	policy_unref(b->later);
	b->later = policy_ref(view->policy);
	if (b->armed && b->held >= 0)
		journal_rewrite(b->held, &b->journal);
}

void born_drop(const struct born *b)
{
	if (b->armed)
		journal_remove(b->config.state, &b->journal);
}

int born_finish(struct born *b, bool changed, bool seen, bool watched,
		struct err *err)
{
	const struct view *view = b->config.view;
	const struct sweep s = { .journal = &b->journal, .seen = seen,
				 .before = view,
				 .seal = { b->config.state, b->config.run,
					   b->config.sink } };
	struct sweep first = s, second = s;
	int r = 0;

	/* To write to what is there makes no name, and nothing counts it */
	if (!changed && view)
		gitrepo_check_todos(&s.seal, view, view, &b->journal.since);
	if (changed)
		r = sweep_all(&first, b->config.view->policy,
			      b->config.view->cache, !watched, err);
	if (r == 0 && changed && b->later)
		r = sweep_all(&second, b->later, NULL, !watched, err);
	if (r < 0 && !err_is_shortage(-r))
		r = sweep_roots(&s.seal, &b->journal, view->policy->home, err);
	if (r == 0)
		born_drop(b);
	return r;
}
