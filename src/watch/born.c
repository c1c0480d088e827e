/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch/born.c - protected names that appear during a run
 *
 * Theory of operation: the view is built again and compared with the one from
 * before: a protected name that is found now and was not then has been
 * planted. Repositories are another matter: one whose git directory was born
 * in the run must work, so only what git would run is taken out of it.
 */

#include "watch/born.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "plan/resolve.h"
#include "plan/view.h"
#include "policy/policy.h"
#include "policy/protect.h"
#include "watch/birth.h"
#include "watch/gitrepo.h"
#include "watch/journal.h"
#include "watch/sealed.h"
#include "watch/trust.h"

/**
 * struct watch - A directory that is watched
 */
struct watch {
	int wd;
	char *path;
};

struct born {
	struct born_config config;
	struct journal journal;
	bool armed;
	int held, inotify;
	struct { struct watch *v; size_t len, cap; } watches;
};

/**
 * struct sweep - One look at everything
 */
struct sweep {
	const struct journal *journal;
	struct gitrepo_config seal;
	struct { char **v; size_t len, cap; } repos;
};

static const char *root_of(const struct journal *j, const char *path)
{
	const char *best = NULL;

	for (size_t i = 0; i < j->roots.len; i++) {
		if (path_is_within(j->roots.v[i], path) &&
		    (!best || strlen(j->roots.v[i]) < strlen(best)))
			best = j->roots.v[i];
	}
	return best;
}

/* The git directory that @path lies in, or NULL. The caller frees. */
static char *git_dir_of(const char *path)
{
	const char *in = protect_in_git(path);

	return in ? mem_strndup(path, (size_t)(in - path) - 1) : NULL;
}

static void add_repo(struct sweep *s, char *git)
{
	for (size_t i = 0; i < s->repos.len; i++) {
		if (!strcmp(s->repos.v[i], git)) {
			free(git);
			return;
		}
	}
	*vec_push(&s->repos) = git;
}

/* A protected name that was not there before */
static void take_name(struct sweep *s, const char *path, const char *reason)
{
	const struct journal *j = s->journal;
	const char *root = root_of(j, path);
	auto_free char *parent = path_parent(path), *plant = NULL;
	char *git = git_dir_of(path);

	if (git && birth_is_after(git, &j->since)) {
		add_repo(s, git);
		return;
	}
	free(git);
	/* A worktree made in this run points at its repository */
	if (!root || (strcasecmp(path_base(path), ".git") ?
		      birth_in_repository(root, path, &j->since) :
		      birth_is_after(parent, &j->since) &&
		      gitrepo_is_pointer(path)))
		return;
	plant = sealed_plant(root, path);
	(void)sealed_move(&s->seal, plant, reason);
}

static bool exists(const char *dir, const char *name)
{
	auto_free char *path = path_join(dir, name);
	struct stat st;

	return !lstat(path, &st);
}

/* Files that together make the start directory look like a bare repository:
 * git would obey them wherever it is called in there
 */
static void take_sentinels(struct sweep *s, const struct policy *policy)
{
	const char *cwd = s->journal->cwd;
	const bool bare = exists(cwd, "HEAD") && exists(cwd, "objects") &&
			  exists(cwd, "refs");
	const struct protect_row *rows;
	size_t n;

	rows = protect_table(&n);
	for (size_t i = 0; i < n; i++) {
		auto_free char *path = path_join(cwd, rows[i].name);

		if (rows[i].kind != PROTECT_SENTINEL ||
		    !protect_applies(policy, &rows[i]) ||
		    !root_of(s->journal, path) ||
		    journal_existed(s->journal, path))
			continue;
		if (exists(cwd, rows[i].name) &&
		    (bare || !strcmp(rows[i].name, "HEAD")))
			(void)sealed_move(&s->seal, path, rows[i].reason);
	}
}

static bool is_protected_name(const struct view_rule *r)
{
	return r->found && r->list == PATH_DENY_WRITE;
}

/* True if @path is a directory that was closed to us, and is open now */
static bool open_again(const char *path)
{
	auto_close int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW |
				 O_CLOEXEC);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 &&
	       fs_chmod(fd, st.st_mode | S_IRWXU) == 0;
}

/* No run starts in a root that is closed: it was closed from inside */
static void open_roots(const struct journal *j)
{
	for (size_t i = 0; i < j->roots.len; i++) {
		auto_free char *closed = resolve_closed(j->roots.v[i]);

		if (closed && path_is_within(j->roots.v[i], closed))
			(void)open_again(closed);
	}
}

/* Directories that were closed in this run: true if one is open now */
static bool open_closed(const struct journal *j, const struct view *view)
{
	bool opened = false;

	for (size_t i = 0; i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];

		if (r->closed && r->list == PATH_DENY_WRITE &&
		    root_of(j, r->path) &&
		    !journal_existed(j, r->path) &&
		    (!view->deep || birth_changed_after(r->path, &j->since)))
			opened = open_again(r->path) || opened;
	}
	return opened;
}

/* What is there now. Nothing may hide in a directory without a mode; in each
 * that is opened may be another.
 */
static struct view *look(const struct journal *j, struct policy *policy,
			 struct walk_cache *cache, bool deep)
{
	struct view *view = NULL;
	int r;

	open_roots(j);
	for (int i = 0; i < BORN_OPEN_MAX; i++) {
		view_free(view);
		view = NULL;
		r = deep ? view_build_deep(policy, j->since.tv_sec, &view, NULL)
			 : view_build_with(policy, cache, &view, NULL);
		if (r < 0)
			return NULL;
		if (!open_closed(j, view))
			break;
	}
	return view;
}

static void take_rule(struct sweep *s, const struct view_rule *r)
{
	if (is_protected_name(r) && !journal_existed(s->journal, r->path))
		take_name(s, r->path, r->rule->origin.reason ?
			  r->rule->origin.reason : "protected name");
}

/* Nobody watched: also deeper than the first walk was, where nobody knows what
 * was there before but by its times
 */
static void sweep_deep(struct sweep *s, struct policy *policy)
{
	auto_view struct view *view = look(s->journal, policy, NULL, true);

	for (size_t i = 0; view && i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];

		if (birth_came_after(r->path, &s->journal->since))
			take_rule(s, r);
	}
}

static void sweep_all(struct sweep *s, struct policy *policy,
		      struct walk_cache *cache, bool deep)
{
	auto_view struct view *view = look(s->journal, policy, cache, false);

	if (!view)
		return;
	for (size_t i = 0; i < view->rules.len; i++)
		take_rule(s, &view->rules.v[i]);
	if (deep)
		sweep_deep(s, policy);
	for (size_t i = 0; i < s->repos.len; i++) {
		gitrepo_disarm(&s->seal, s->repos.v[i]);
		free(s->repos.v[i]);
	}
	free(s->repos.v);
	take_sentinels(s, policy);
}

/* A run that was killed: its policy is gone, but what it could write is known,
 * and what is protected does not depend on it
 */
static void sweep_after(void *arg, const struct journal *j)
{
	const struct born_config *c = arg;
	struct sweep s = { .journal = j,
			   .seal = { c->state, j->run, c->sink } };
	auto_policy struct policy *policy =
		policy_new(j->cwd, c->view->policy->home);
	const struct source *source = policy_add_source(policy, SCOPE_FLAG,
							"journal", NULL, 0,
							"/");

	for (size_t i = 0; i < j->roots.len; i++)
		policy_add_literal(policy, PATH_ALLOW_WRITE, j->roots.v[i],
				   RULE_USER, origin_make(source, NULL, NULL));
	if (policy_finish(policy, NULL) == 0)
		sweep_all(&s, policy, NULL, true);
}

static void add_existing(struct journal *j, const char *path)
{
	*vec_push(&j->existing) = mem_strdup(path);
}

static void fill_journal(const struct born_config *c, struct journal *j)
{
	const struct view *view = c->view;
	const struct protect_row *rows;
	size_t n;

	j->run = mem_strdup(c->run);
	j->cwd = mem_strdup(view->policy->cwd);
	j->since = c->since;
	for (size_t i = 0; i < view->rules.len; i++) {
		const struct view_rule *r = &view->rules.v[i];

		if (r->list == PATH_ALLOW_WRITE && S_ISDIR(r->mode))
			*vec_push(&j->roots) = mem_strdup(r->path);
		else if (is_protected_name(r) ||
			 (r->list == PATH_DENY_WRITE && r->mode))
			add_existing(j, r->path);
	}
	rows = protect_table(&n);
	for (size_t i = 0; i < n; i++) {
		auto_free char *path = path_join(j->cwd, rows[i].name);

		if (rows[i].kind == PROTECT_SENTINEL &&
		    exists(j->cwd, rows[i].name))
			add_existing(j, path);
	}
}

static void watch_dir(struct born *b, const char *path)
{
	const int wd = b->watches.len < BORN_ROOTS_MAX ?
		inotify_add_watch(b->inotify, path, IN_CREATE | IN_MOVED_TO |
				  IN_ONLYDIR | IN_DONT_FOLLOW) : -1;
	struct watch *w;

	if (wd < 0)
		return;
	w = vec_push(&b->watches);
	w->wd = wd;
	w->path = mem_strdup(path);
}

void born_new(const struct born_config *config, struct born **ret)
{
	struct born *b = mem_zalloc(sizeof(*b));

	b->config = *config;
	b->held = b->inotify = -1;
	*ret = b;
	journal_replay(config->state, sweep_after, &b->config);
	fill_journal(config, &b->journal);
}

/* What has appeared since the start, and before anybody inside made anything,
 * is the user's
 */
static void add_late(struct journal *j)
{
	const struct protect_row *rows;
	size_t n;

	rows = protect_table(&n);
	for (size_t i = 0; i < n * j->roots.len; i++) {
		const char *root = j->roots.v[i / n];
		const char *name = rows[i % n].name;
		auto_free char *path = path_join(root, name);

		if (exists(root, name) && !journal_existed(j, path))
			add_existing(j, path);
	}
}

int born_arm(struct born *b, struct err *err)
{
	if (b->armed)
		return 0;
	add_late(&b->journal);
	b->armed = true;
	b->held = journal_write(b->config.state, &b->journal, err);
	b->inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	for (size_t i = 0; b->inotify >= 0 && i < b->journal.roots.len; i++) {
		auto_free char *claude = path_join(b->journal.roots.v[i],
						   ".claude");

		watch_dir(b, b->journal.roots.v[i]);
		watch_dir(b, claude);
	}
	if (b->inotify < 0)
		return fail_errno(err, "cannot watch the writable directories");
	return b->held < 0 ? b->held : 0;
}

void born_free(struct born *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->watches.len; i++)
		free(b->watches.v[i].path);
	free(b->watches.v);
	close_fd(&b->held);
	close_fd(&b->inotify);
	journal_done(&b->journal);
	free(b);
}

int born_fd(const struct born *b)
{
	return b->inotify;
}

/* A name has appeared: if it is a protected one, is it the user's? */
static void consider(struct born *b, const char *path)
{
	const char *root = root_of(&b->journal, path);
	/* The root may itself be called so: only what is below counts */
	const struct protect_row *row = root ?
		protect_match(b->config.view->policy, path + strlen(root)) :
		NULL;
	struct sweep s = { .journal = &b->journal,
			   .seal = { b->config.state, b->config.run,
				     b->config.sink } };
	struct stat st;

	if (!row || journal_existed(&b->journal, path) || lstat(path, &st) < 0)
		return;
	if (trust_has(b->config.state, path) ||
	    (b->config.is_inside && !b->config.is_inside(b->config.arg, path)))
		add_existing(&b->journal, path);
	else
		take_name(&s, path, row->reason);
}

/* A directory of ours to watch has appeared, perhaps with names in it */
static void enter_dir(struct born *b, const char *path)
{
	const char *name = path_base(path);
	const size_t n = strlen(name);
	const struct protect_row *rows;
	size_t len;

	watch_dir(b, path);
	rows = protect_table(&len);
	for (size_t i = 0; i < len; i++) {
		auto_free char *below = NULL;

		if (strncmp(rows[i].name, name, n) || rows[i].name[n] != '/')
			continue;
		below = path_join(path, rows[i].name + n + 1);
		consider(b, below);
	}
}

static void take_event(struct born *b, const struct inotify_event *event)
{
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

void born_dispatch(struct born *b)
{
	char room[8192] __attribute__((aligned(__alignof__(
		struct inotify_event))));
	const ssize_t n = read(b->inotify, room, sizeof(room));

	for (ssize_t at = 0; at < n;) {
		const struct inotify_event *event =
			(const struct inotify_event *)(const void *)(room + at);

		take_event(b, event);
		at += (ssize_t)(sizeof(*event) + event->len);
	}
}

bool born_is_own(const struct born *b, const char *path)
{
	return !b->armed || !root_of(&b->journal, path) ||
	       journal_existed(&b->journal, path);
}

void born_open(const struct born *b)
{
	open_roots(&b->journal);
}

void born_finish(struct born *b, bool changed, bool watched)
{
	struct sweep s = { .journal = &b->journal,
			   .seal = { b->config.state, b->config.run,
				     b->config.sink } };

	if (changed)
		sweep_all(&s, b->config.view->policy, b->config.view->cache,
			  !watched);
	if (b->armed)
		journal_remove(b->config.state, &b->journal);
}
