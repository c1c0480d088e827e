/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run/settings-watch.c - settings files that change while a command runs
 *
 * An event says where to look; what stat() says of a file decides whether it was
 * edited. The number of inotify watches per user is limited, and the command runs as
 * the same user: where none is left the files are looked at all the time, or a command
 * could use all watches up and never see a denial.
 */

#include "run/settings-watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "guard/planted.h"
#include "guard/settings-receipt.h"
#include "plan/plan.h"
#include "policy/policy.h"
#include "policy/schema.h"
#include "run/approval.h"
#include "run/options.h"
#include "run/output.h"
#include "run/run.h"
#include "view/view.h"

enum {
	LOOK_EVERY_MS = 200,	/* Where nothing can be watched */
	GONE_MS = 200,		/* An editor may remove a file on its way to a new one */
	READS_MAX = 8,	/* At once: a process that makes files without end must not block us */
};

/**
 * struct watched_file - One file
 * @wd:		The watch on @dir
 * @dir:	The nearest directory above it that exists
 * @seen:	What it was when it was looked at last; zero if it was not there
 * @gone:	It was there at the look before
 */
struct watched_file {
	char *path, *dir;
	int wd;
	struct stat seen;
	bool gone;
};

/**
 * struct settings_watch - What is waited for
 * @events:	inotify; -1 where the files are looked at every LOOK_EVERY_MS
 * @timer:	For that, or for what is gone; -1 until it is needed
 * @changed:	A file was edited, and @fn was not called yet
 */
struct settings_watch {
	struct loop *loop;
	struct loop_source events, timer;
	void (*fn)(void *arg);
	void *arg;
	bool changed;
	struct { struct watched_file *v; size_t len, cap; } files;
};

/* Watch the nearest directory above @f; again after something was made */
static void watch(struct settings_watch *w, struct watched_file *f)
{
	auto_free char *dir = path_parent(f->path);
	int wd;

	for (;;) {
		char *above;

		/* Attributes: it may have become unreadable */
		wd = inotify_add_watch(w->events.fd, dir, IN_CLOSE_WRITE |
				       IN_MOVED_TO | IN_CREATE | IN_ATTRIB |
				       IN_DELETE | IN_MOVED_FROM |
				       IN_MOVE_SELF | IN_ONLYDIR);
		/* Out of watches: one above instead would see nothing */
		if (wd >= 0 || errno == ENOSPC || !strcmp(dir, "/"))
			break;
		above = path_parent(dir);
		free(dir);
		dir = above;
	}
	free(f->dir);
	f->dir = take_ptr(dir);
	f->wd = wd;
}

/* What @path is; zero if that is no file */
static struct stat look_at(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) ? st :
	       (struct stat){ 0 };
}

static bool has(const struct settings_watch *w, const char *path)
{
	for (size_t i = 0; i < w->files.len; i++) {
		if (!strcmp(w->files.v[i].path, path))
			return true;
	}
	return false;
}

/* Also where @path leads, if it is a link: that is what is edited */
static void add_file(struct settings_watch *w, const char *path)
{
	auto_free char *real = realpath(path, NULL);

	for (const char *p = path; p; p = p == path ? real : NULL) {
		struct watched_file *f;

		if (has(w, p) || w->files.len >= SETTINGS_WATCH_FILES_MAX)
			continue;
		f = vec_push(&w->files);
		*f = (struct watched_file){ .path = mem_strdup(p), .wd = -1,
					     .seen = look_at(p) };
		watch(w, f);
	}
}

static bool is_same_stat(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev &&
	       a->st_size == b->st_size &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

/* Look at all files, and call @fn if one is another than before. One that is gone
 * counts if it is still gone when @time is up; until then the others wait, too.
 */
static void look(struct settings_watch *w, bool time)
{
	bool wait = false;

	for (size_t i = 0; i < w->files.len; i++) {
		struct watched_file *f = &w->files.v[i];
		const struct stat now = look_at(f->path);

		if (f->seen.st_ino && !now.st_ino && !(f->gone && time)) {
			f->gone = wait = true;
			continue;
		}
		f->gone = false;
		w->changed |= !is_same_stat(&f->seen, &now);
		f->seen = now;
	}
	/* Where the files are looked at all the time, the timer runs */
	if (wait && (w->events.fd < 0 ||
		     loop_set_timer(w->loop, &w->timer, GONE_MS, false) == 0))
		return;
	if (!w->changed)
		return;
	w->changed = false;
	for (size_t i = 0, n = w->files.len; i < n; i++) {
		auto_free char *path = mem_strdup(w->files.v[i].path);

		add_file(w, path);	/* A link may lead elsewhere now */
	}
	w->fn(w->arg);
}

static int on_timer(void *arg)
{
	struct settings_watch *w = arg;
	uint64_t times;

	if (read(w->timer.fd, &times, sizeof(times)) == sizeof(times))
		look(w, true);
	return 0;
}

static bool is_watched(const struct settings_watch *w)
{
	bool all = w->events.fd >= 0;

	for (size_t i = 0; i < w->files.len; i++)
		all = all && w->files.v[i].wd >= 0;
	return all;
}

static int look_always(struct settings_watch *w)
{
	if (w->events.fd >= 0)
		loop_remove(w->loop, &w->events);
	close_fd(&w->events.fd);
	return loop_set_timer(w->loop, &w->timer, LOOK_EVERY_MS, true);
}

/* A link is complete when it is made */
static bool is_link(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* True if @event is about a file, or a directory on the way to one, which is watched
 * then. A file that was made counts when it is closed.
 */
static bool take_event(struct settings_watch *w, const struct inotify_event *event)
{
	bool counts = event->mask & IN_Q_OVERFLOW;

	for (size_t i = 0; i < w->files.len; i++) {
		struct watched_file *f = &w->files.v[i];
		auto_free char *at = NULL;

		if (f->wd != event->wd)
			continue;
		at = path_join(f->dir, event->len ? event->name : "");
		if (event->len && !strcmp(at, f->path)) {
			counts |= !(event->mask & IN_CREATE) || is_link(at);
		} else if (!event->len || path_is_below(at, f->path)) {
			watch(w, f);
			counts = true;
		} else if (is_link(f->path) && is_link(at)) {
			/* It may lead through that: ..data in the directory of a ConfigMap */
			counts = true;
		}
	}
	return counts;
}

static int on_events(void *arg)
{
	struct settings_watch *w = arg;
	char buffer[8192] __attribute__((aligned(__alignof__(
		struct inotify_event))));
	bool counts = false;
	ssize_t n;

	for (int i = 0; i < READS_MAX &&
	     (n = read(w->events.fd, buffer, sizeof(buffer))) > 0; i++) {
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *event =
				(const void *)(buffer + at);

			counts |= take_event(w, event);
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	}
	if (!is_watched(w))
		(void)look_always(w);
	if (counts)
		look(w, false);
	return 0;
}

int settings_watch_new(struct loop *loop, const char *const *files, size_t n,
		       void (*fn)(void *arg), void *arg,
		       struct settings_watch **ret)
{
	struct settings_watch *w = mem_zalloc(sizeof(*w));
	int r;

	w->loop = loop;
	w->events = (struct loop_source){
		inotify_init1(IN_NONBLOCK | IN_CLOEXEC), on_events, w };
	w->timer = (struct loop_source){ -1, on_timer, w };
	w->fn = fn;
	w->arg = arg;
	for (size_t i = 0; i < n; i++)
		add_file(w, files[i]);
	r = is_watched(w) ? loop_add(loop, &w->events, EPOLLIN) : look_always(w);
	if (r < 0)
		settings_watch_free(w);
	else
		*ret = w;
	return r;
}

void settings_watch_free(struct settings_watch *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->files.len; i++) {
		free(w->files.v[i].path);
		free(w->files.v[i].dir);
	}
	free(w->files.v);
	close_fd(&w->events.fd);
	close_fd(&w->timer.fd);
	free(w);
}

int settings_watch_fd(const struct settings_watch *w)
{
	return w->events.fd;
}

static const struct source *find_source(const struct policy *policy,
					const char *file)
{
	for (size_t i = 0; i < policy->sources.len; i++) {
		const struct source *s = policy->sources.v[i];

		if (s->text && !strcmp(s->name, file))
			return s;
	}
	return NULL;
}

/* True if @file is not what @policy was made from */
static bool is_edited(const struct policy *policy, const char *file)
{
	const struct source *s = find_source(policy, file);
	auto_buf struct buf now = { 0 };

	if (fs_read(AT_FDCWD, file, JSON_TEXT_MAX, &now, NULL) < 0)
		return s != NULL;
	return !s || s->len != now.len ||
	       memcmp(s->text, buf_str(&now), now.len) != 0;
}

int settings_check_gone(const struct policy *old, const struct policy *policy,
			struct err *err)
{
	for (size_t i = 0; i < old->sources.len; i++) {
		const struct source *s = old->sources.v[i];

		if (s->text && s->name[0] == '/' && s->scope != SCOPE_FLAG &&
		    !find_source(policy, s->name))
			return fail(err, -ENOENT, "'%s' was removed or is invalid; restore it ('{}' is an empty file)",
				    s->name);
	}
	return 0;
}

int settings_check_own(const struct policy *old, const struct policy *policy,
		       const char *state, const struct planted *planted,
		       struct err *err)
{
	for (size_t i = 0; i < policy->sources.len; i++) {
		const struct source *s = policy->sources.v[i], *was;

		/* A repository's files widen nothing that was not approved */
		if (!s->text || s->name[0] != '/' || s->scope != SCOPE_USER ||
		    (planted && !planted_covers(planted, s->name)))
			continue;
		was = find_source(old, s->name);
		if (was && was->len == s->len &&
		    !memcmp(was->text, s->text, s->len))
			continue;
		if (!state || !settings_receipt_holds(state, s->name, s->text, s->len))
			return fail(err, -EPERM, "'%s' changed where the command can write; use 'cloche policy'; edited otherwise, it applies to new runs only",
				    s->name);
	}
	return 0;
}

int settings_watch_all(const struct run *run, void (*fn)(void *arg), void *arg,
		       struct settings_watch **ret, bool *ret_edited)
{
	auto_policy struct policy *unused = NULL;
	auto_report struct settings_report report = { 0 };
	auto_free char *approved = approvals_path();
	const char *files[SETTINGS_WATCH_FILES_MAX];
	struct err ignored = { 0 };
	size_t n = 0;
	int r;

	/* Only the list of files is wanted, whatever is in them by now */
	r = decision_policy_report(run->options, true, &unused, &report, &ignored);
	if (r < 0)
		return r;
	if (approved)
		files[n++] = approved;
	for (size_t i = 0; i < report.files.len && n < SETTINGS_WATCH_FILES_MAX; i++) {
		if (report.files.v[i].path && report.files.v[i].path[0] == '/')
			files[n++] = report.files.v[i].path;
	}
	r = n ? settings_watch_new(run->loop, files, n, fn, arg, ret) : -ENOENT;
	for (size_t i = approved ? 1 : 0; r == 0 && i < n && !*ret_edited; i++)
		*ret_edited = is_edited(run->decision.policy, files[i]);
	return r;
}

/* What a sandbox is built with, and has to its end */
static const char *const fixed[] = {
	"profile", "network.mode", "limits.timeout", "limits.memory",
	"limits.pids", "limits.fileSize", "limits.output",
	"allowNestedUserNamespaces", "network.allowAllUnixSockets",
	"network.allowLocalBinding", "filesystem.disabled", "passEnv",
	"network.allowUnixSockets", "network.hostPorts", "network.publish",
	"network.allowIps", "env",
};

static bool are_same(const struct list_rules *a, const struct list_rules *b)
{
	size_t i = 0;

	while (i < a->len && i < b->len && !strcmp(a->v[i].text, b->v[i].text))
		i++;
	return i == a->len && i == b->len;
}

static bool is_same_setting(const struct policy *a, const struct policy *b,
			    const struct setting *s)
{
	switch (s->type) {
	case TYPE_PROFILE:
		return a->profile == b->profile;
	case TYPE_NET:
		return a->net == b->net;
	case TYPE_FLAG:
		return a->flags[s->slot].value == b->flags[s->slot].value;
	case TYPE_COUNT:
	case TYPE_SIZE:
	case TYPE_DURATION:
		return a->numbers[s->slot].set == b->numbers[s->slot].set &&
		       a->numbers[s->slot].value == b->numbers[s->slot].value;
	default:
		return are_same(&a->lists[s->slot], &b->lists[s->slot]);
	}
}

static void add_deferred(struct buf *ret, const char *words)
{
	buf_addf(ret, "%s%s", ret->len ? ", " : "", words);
}

/* True if @path may be read or written since the edit, but not in this run: masks
 * stay, writes below a mask are not emulated, and anywhere only an
 * observer does
 */
static bool is_deferred(const struct plan *plan, const struct view *before,
			const struct view *now, enum view_op op,
			const char *path)
{
	auto_free char *above = path_parent(path);

	if (view_verdict(before, op, path).allowed ||
	    !view_verdict(now, op, path).allowed)
		return false;
	return op == VIEW_READ ||
	       !view_verdict(now, VIEW_READ, above).allowed || !plan->observe;
}

static void name_opened(const struct plan *plan, const struct view *before,
			const struct view *now, enum view_op op,
			struct buf *ret)
{
	const size_t n = before->rules.len;

	for (size_t i = 0; i < n + now->rules.len; i++) {
		const struct view_rule *r = i < n ? &before->rules.v[i] :
					    &now->rules.v[i - n];
		auto_free char *words = NULL;

		if (!is_deferred(plan, before, now, op, r->path))
			continue;
		words = mem_printf("%s '%s'", op == VIEW_WRITE ? "writing" :
				   "reading", r->path);
		if (!strstr(buf_str(ret), words))
			add_deferred(ret, words);
	}
}

void settings_print_deferred(const struct run *run, const struct view *before,
			     const struct view *now)
{
	const struct plan *plan = run->decision.plan;
	auto_buf struct buf words = { 0 };

	if (options_has(run->options, OPTION_QUIET))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
		if (!is_same_setting(before->policy, now->policy,
				     schema_find(AREA_SANDBOX, fixed[i])))
			add_deferred(&words, fixed[i]);
	}
	name_opened(plan, before, now, VIEW_READ, &words);
	name_opened(plan, before, now, VIEW_WRITE, &words);
	if (words.len)
		output_say(run->output, "settings reloaded; applies to new runs only: %s",
			   buf_str(&words));
}
