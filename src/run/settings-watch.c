/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run/settings-watch.c - settings files that change while a command runs
 *
 * The number of inotify watches per user is limited, and the command runs as the same
 * user: where none is left the files are polled, or a command could use all watches up
 * and never see a denial.
 *
 * An editor may remove a file on its way to a new one, so a removal counts after
 * GONE_MS. The timer for that is made when it is needed; from then on the loop waits
 * for an epoll instance with both.
 */

#include "run/settings-watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "guard/planted.h"
#include "guard/settings-receipt.h"
#include "plan/plan.h"
#include "policy/policy.h"
#include "policy/settings.h"
#include "run/approval.h"
#include "run/decision.h"
#include "run/options.h"
#include "run/output.h"
#include "view/view.h"

enum {
	LOOK_EVERY_MS = 200, GONE_MS = 200,
	READS_MAX = 8,	/* At once: who makes files without end is not waited for */
};

/**
 * struct live_file - One file
 * @wd:		The watch on @dir
 * @dir:	The nearest directory above it that exists
 * @seen:	What it was when it was looked at last
 * @gone:	It was there, and has been removed
 */
struct live_file {
	char *path, *dir;
	int wd;
	struct stat seen;
	bool gone;
};

/**
 * struct settings_watch - What is waited for
 * @fd:		All of it
 * @watch:	inotify, where it is not @fd itself; -1
 * @moment:	The timer for what is gone; -1
 * @looks:	Nothing can be watched; @fd is a timer
 */
struct settings_watch {
	int fd, watch, moment;
	bool looks;
	void (*fn)(void *arg);
	void *arg;
	struct { struct live_file *v; size_t len, cap; } files;
};

static int inotify_of(const struct settings_watch *live)
{
	return live->watch >= 0 ? live->watch : live->fd;
}

/* Watch the nearest directory above @f; again after something was made */
static void watch(struct settings_watch *live, struct live_file *f)
{
	auto_free char *dir = path_parent(f->path);
	int wd;

	for (;;) {
		char *above;

		/* Attributes: it may have become unreadable */
		wd = inotify_add_watch(inotify_of(live), dir, IN_CLOSE_WRITE |
				       IN_MOVED_TO | IN_CREATE | IN_ATTRIB |
				       IN_DELETE | IN_MOVED_FROM |
				       IN_MOVE_SELF | IN_ONLYDIR);
		/* Not one above instead, if there is no room for this one */
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

static bool has(const struct settings_watch *live, const char *path)
{
	for (size_t i = 0; i < live->files.len; i++) {
		if (!strcmp(live->files.v[i].path, path))
			return true;
	}
	return false;
}

/* Also where @path leads, if it is a link: that is what is edited */
static void add_file(struct settings_watch *live, const char *path)
{
	auto_free char *real = realpath(path, NULL);

	for (const char *p = path; p; p = p == path ? real : NULL) {
		struct live_file *f;

		if (has(live, p) || live->files.len >= SETTINGS_WATCH_FILES_MAX)
			continue;
		f = vec_push(&live->files);
		*f = (struct live_file){ .path = mem_strdup(p), .wd = -1 };
		watch(live, f);
	}
}

/* True if a file is another one than at the last look, or gone since the one
 * before it
 */
static bool look(struct settings_watch *live)
{
	bool changed = false;

	for (size_t i = 0; i < live->files.len; i++) {
		struct live_file *f = &live->files.v[i];
		struct stat *seen = &f->seen, now = { 0 };

		if (stat(f->path, &now) < 0) {
			changed |= f->gone;
			f->gone = !f->gone && seen->st_ino;
			if (!f->gone)
				*seen = now;
			continue;
		}
		f->gone = false;
		changed |= now.st_ino != seen->st_ino ||
			   now.st_dev != seen->st_dev ||
			   now.st_size != seen->st_size ||
			   now.st_ctim.tv_sec != seen->st_ctim.tv_sec ||
			   now.st_ctim.tv_nsec != seen->st_ctim.tv_nsec;
		*seen = now;
	}
	return changed;
}

static bool is_watched(const struct settings_watch *live)
{
	bool all = live->fd >= 0;

	for (size_t i = 0; i < live->files.len; i++)
		all = all && live->files.v[i].wd >= 0;
	return all;
}

/* The new descriptor has another number than the old one */
static int begin_looking(struct settings_watch *live)
{
	const struct timespec step = { .tv_nsec = LOOK_EVERY_MS * 1000000 };
	const struct itimerspec when = { step, step };
	auto_close int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC |
					   TFD_NONBLOCK);

	if (fd < 0 || timerfd_settime(fd, 0, &when, NULL) < 0)
		return -errno;
	close_fd(&live->watch);
	close_fd(&live->moment);
	close_fd(&live->fd);
	live->fd = take_fd(&fd);
	live->looks = true;
	(void)look(live);
	return 0;
}

int settings_watch_new(const char *const *files, size_t n, void (*fn)(void *arg),
	     void *arg, struct settings_watch **ret)
{
	struct settings_watch *live = mem_zalloc(sizeof(*live));
	int r = 0;

	live->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	live->watch = live->moment = -1;
	live->fn = fn;
	live->arg = arg;
	for (size_t i = 0; i < n; i++)
		add_file(live, files[i]);
	if (!is_watched(live))
		r = begin_looking(live);
	if (r < 0)
		settings_watch_free(live);
	else
		*ret = live;
	return r;
}

void settings_watch_free(struct settings_watch *live)
{
	if (!live)
		return;
	for (size_t i = 0; i < live->files.len; i++) {
		free(live->files.v[i].path);
		free(live->files.v[i].dir);
	}
	free(live->files.v);
	close_fd(&live->watch);
	close_fd(&live->moment);
	close_fd(&live->fd);
	free(live);
}

int settings_watch_fd(const struct settings_watch *live)
{
	return live->fd;
}

/* A link is complete when it is made */
static bool is_link(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* Wait for both; 0 or -errno */
static int start_moment(struct settings_watch *live)
{
	struct epoll_event event = { .events = EPOLLIN };
	auto_close int moment = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC |
					       TFD_NONBLOCK);
	auto_close int both = epoll_create1(EPOLL_CLOEXEC);

	if (moment < 0 || both < 0 ||
	    epoll_ctl(both, EPOLL_CTL_ADD, live->fd, &event) < 0 ||
	    epoll_ctl(both, EPOLL_CTL_ADD, moment, &event) < 0)
		return -errno;
	live->watch = live->fd;
	live->fd = take_fd(&both);
	live->moment = take_fd(&moment);
	return 0;
}

/* True if it cannot be waited for: then it counts at once */
static bool await_gone(struct settings_watch *live, struct live_file *f)
{
	const struct itimerspec when = {
		.it_value.tv_nsec = GONE_MS * 1000000,
	};

	f->gone = true;
	if (live->moment < 0 && start_moment(live) < 0)
		return true;
	return timerfd_settime(live->moment, 0, &when, NULL) < 0;
}

/* True if one that was removed is not there, or is no file any more */
static bool is_gone(const struct settings_watch *live)
{
	struct stat st;

	for (size_t i = 0; i < live->files.len; i++) {
		const struct live_file *f = &live->files.v[i];

		if (f->gone && (stat(f->path, &st) < 0 ||
				!S_ISREG(st.st_mode)))
			return true;
	}
	return false;
}

/* The moment is over: true if it lasts */
static bool end_moment(struct settings_watch *live)
{
	const bool gone = is_gone(live);
	uint64_t times;

	if (live->moment < 0 ||
	    read(live->moment, &times, sizeof(times)) != sizeof(times))
		return false;
	for (size_t i = 0; i < live->files.len; i++)
		live->files.v[i].gone = false;
	return gone;
}

/* The directory itself was removed or moved away, or the file out of it */
static bool take_loss(struct settings_watch *live, const struct inotify_event *event,
		      struct live_file *f)
{
	auto_free char *lost = event->len ? path_join(f->dir, event->name) : NULL;

	if (event->mask & (IN_MOVE_SELF | IN_IGNORED))
		watch(live, f);
	else if (!lost || strcmp(lost, f->path) != 0)
		return false;
	return await_gone(live, f);
}

/* True if a file was written. Directories on the way to one are watched. */
static bool take_event(struct settings_watch *live, const struct inotify_event *event)
{
	bool changed = event->mask & IN_Q_OVERFLOW;

	for (size_t i = 0; i < live->files.len; i++) {
		struct live_file *f = &live->files.v[i];
		auto_free char *made = NULL;

		if (f->wd != event->wd)
			continue;
		if (event->mask & (IN_DELETE | IN_MOVED_FROM | IN_MOVE_SELF |
				   IN_IGNORED)) {
			changed |= take_loss(live, event, f);
			continue;
		}
		if (!event->len)
			continue;
		made = path_join(f->dir, event->name);
		if (!strcmp(made, f->path)) {
			const bool link = is_link(made);

			changed |= link || !(event->mask & IN_CREATE);
			if (link)
				add_file(live, made);
		} else if (path_is_below(made, f->path)) {
			watch(live, f);
			/* It may be complete already: a directory moved here */
			changed |= !access(f->path, F_OK);
		}
	}
	return changed;
}

void settings_watch_dispatch(struct settings_watch *live)
{
	char room[8192] __attribute__((aligned(__alignof__(
		struct inotify_event))));
	bool changed = live->looks && look(live);
	const bool lost = end_moment(live);
	ssize_t n;

	for (int i = 0; i < READS_MAX &&
	     (n = read(inotify_of(live), room, sizeof(room))) > 0 &&
	     !live->looks; i++) {
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *event =
				(const void *)(room + at);

			changed |= take_event(live, event);
			at += (ssize_t)(sizeof(*event) + event->len);
		}
	}
	/* What came before the first look was not heard of */
	if (!live->looks && !is_watched(live))
		changed |= begin_looking(live) == 0;
	/* What changed beside a loss is read when that is over */
	if (lost || (changed && (live->moment < 0 || !is_gone(live))))
		live->fn(live->arg);
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
			return fail(err, -ENOENT, "'%s' is gone or makes no sense; put it back, with {} in it if it is to say nothing",
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
			return fail(err, -EPERM, "'%s' changed where the command can write; use 'cloche policy', or it counts from the next run on",
				    s->name);
	}
	return 0;
}

int settings_watch_all(const struct decision *decision, void (*fn)(void *arg),
		       void *arg, struct settings_watch **ret, bool *ret_edited)
{
	auto_policy struct policy *unused = NULL;
	auto_report struct settings_report report = { 0 };
	auto_free char *approved = approvals_path();
	const char *files[SETTINGS_WATCH_FILES_MAX];
	struct err ignored = { 0 };
	size_t n = 0;
	int r;

	/* Only the list of files is wanted, whatever is in them by now */
	r = decision_policy_report(decision->options, true, &unused, &report, &ignored);
	if (r < 0)
		return r;
	if (approved)
		files[n++] = approved;
	for (size_t i = 0; i < report.files.len && n < SETTINGS_WATCH_FILES_MAX; i++) {
		if (report.files.v[i].path && report.files.v[i].path[0] == '/')
			files[n++] = report.files.v[i].path;
	}
	r = n ? settings_watch_new(files, n, fn, arg, ret) : -ENOENT;
	for (size_t i = approved ? 1 : 0; r == 0 && i < n && !*ret_edited; i++)
		*ret_edited = is_edited(decision->policy, files[i]);
	return r;
}

static const struct { enum policy_number number; const char *key; } numbers[] = {
	{ NUMBER_TIMEOUT_MS, "limits.timeout" },
	{ NUMBER_MEMORY, "limits.memory" },
	{ NUMBER_PIDS, "limits.pids" },
	{ NUMBER_FILE_SIZE, "limits.fileSize" },
	{ NUMBER_OUTPUT, "limits.output" },
};

static const struct { enum policy_flag flag; const char *key; } flags[] = {
	{ FLAG_NESTED_USERNS, "allowNestedUserNamespaces" },
	{ FLAG_ALL_UNIX_SOCKETS, "network.allowAllUnixSockets" },
	{ FLAG_LOCAL_BINDING, "network.allowLocalBinding" },
	{ FLAG_FS_DISABLED, "filesystem.disabled" },
	{ FLAG_PASS_ENV, "passEnv" },
};

static const struct { enum string_list list; const char *key; } lists[] = {
	{ LIST_UNIX_SOCKETS, "network.allowUnixSockets" },
	{ LIST_HOST_PORTS, "network.hostPorts" },
	{ LIST_PUBLISH, "network.publish" },
	{ LIST_ALLOW_IPS, "network.allowIps" },
	{ LIST_ENV_SET, "env" },
};

static void add_deferred(struct buf *ret, const char *words)
{
	buf_adds(ret, ret->len ? ", " : "");
	buf_adds(ret, words);
}

static bool are_same(const struct string_rules *a, const struct string_rules *b)
{
	size_t i = 0;

	while (i < a->len && i < b->len && !strcmp(a->v[i].text, b->v[i].text))
		i++;
	return i == a->len && i == b->len;
}

static void name_values(const struct policy *a, const struct policy *b,
			struct buf *ret)
{
	if (a->profile != b->profile)
		add_deferred(ret, "profile");
	if (a->net != b->net)
		add_deferred(ret, "network.mode");
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		const struct number *x = &a->numbers[numbers[i].number];
		const struct number *y = &b->numbers[numbers[i].number];

		if (x->set != y->set || x->value != y->value)
			add_deferred(ret, numbers[i].key);
	}
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		if (a->flags[flags[i].flag].value !=
		    b->flags[flags[i].flag].value)
			add_deferred(ret, flags[i].key);
	}
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		if (!are_same(&a->lists[lists[i].list],
			      &b->lists[lists[i].list]))
			add_deferred(ret, lists[i].key);
	}
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

void settings_print_deferred(const struct decision *decision,
			     const struct settings_state *before,
			     const struct settings_state *now)
{
	const struct plan *plan = decision->plan;
	auto_buf struct buf words = { 0 };

	if (options_has(decision->options, OPTION_QUIET))
		return;
	name_values(before->policy, now->policy, &words);
	name_opened(plan, before->view, now->view, VIEW_READ, &words);
	name_opened(plan, before->view, now->view, VIEW_WRITE, &words);
	if (words.len)
		output_say(decision->output, "settings reloaded; this counts from the next run on: %s",
			  buf_str(&words));
}
