/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/fast-path.c - answer simple notifications without resolving their paths
 *
 * Theory of operation: where no component of a path is a symbolic link, its text
 * decides. Directories that are not links are cached for a moment; a notified call that
 * can replace one by a link empties the cache. If a link appears all the same, mounts
 * and Landlock still apply to its target.
 *
 * A thread that waits in the listener is woken on the processor of the tracee, and
 * wakes the tracee there. epoll wakes the loop on any idle processor, which in a
 * virtual machine costs more than the call.
 *
 * Two answers are not "continue": ENOENT for a missing directory, which might exist
 * by the time the kernel looks, and a descriptor for an open of /dev/null or the
 * terminal.
 */

#include "observe/fast-path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/sys.h"
#include "observe/decide.h"
#include "observe/inflight-calls.h"
#include "observe/mask-fds.h"
#include "observe/observer-policy.h"
#include "observe/sockets.h"

enum { STACK_SIZE = 128 * 1024 };

static int64_t now_coarse_ms(void)
{
	return now_ms(CLOCK_MONOTONIC_COARSE);
}

struct fast_path *fast_path_new(const struct observer_config *config)
{
	struct fast_path *f = mem_zalloc(sizeof(*f));

	f->config = *config;
	f->root = f->pipe[0] = f->pipe[1] = -1;
	f->inflight = inflight_new();
	pthread_mutex_init(&f->lock, NULL);
	git_locks_init(&f->git);
	tracees_init(&f->tracees, config->mask_fds);
	return f;
}

static void release(struct fast_path *f)
{
	close_fd(&f->pipe[0]);
	close_fd(&f->root);
	close_fd(&f->config.listener);
	for (size_t i = 0; i < FAST_PATH_DIRS; i++)
		free(f->dirs[i].path);
	tracees_done(&f->tracees);
	git_locks_done(&f->git);
	inflight_free(f->inflight);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

bool fast_path_free(struct fast_path *f)
{
	bool over;

	pthread_mutex_lock(&f->lock);
	f->stopped = true;
	over = f->over || f->pipe[0] < 0;
	pthread_mutex_unlock(&f->lock);
	if (over)
		release(f);
	return over;
}

/* True if every component of @path is a plain name */
static bool is_simple(const char *path)
{
	for (const char *p = path; *p; p++) {
		if (*p != '/')
			continue;
		if (p[1] == '/' || !p[1])
			return false;
		if (p[1] == '.' && (p[2] == '/' || !p[2] || (p[2] == '.' &&
				    (p[3] == '/' || !p[3]))))
			return false;
	}
	return strncmp(path, "/proc/", 6) != 0;
}

void fast_path_note(struct fast_path *f, const struct call *call)
{
	if (call->what == CALL_RENAME || call->what == CALL_LINK ||
	    (call->what == CALL_MAKE && strstr(call->name, "symlink")))
		f->moved_ms = now_coarse_ms();
}

/* True unless a call that fast_path_note() was for may still be under way */
static bool is_still(const struct fast_path *f, int64_t now)
{
	return !f->moved_ms || now >= f->moved_ms + FAST_PATH_SHADOW_MS;
}

static bool has_root(struct fast_path *f, struct tracee *tracee)
{
	if (f->root < 0)
		f->root = tracee_root(tracee);
	return f->root >= 0;
}

/* True if @q renames or links a regular file, which places no link: a process that
 * puts one in its place meanwhile is notified for that
 */
static bool moves_file(struct fast_path *f, const struct notification *q,
		       const struct name *names)
{
	const char *path = names[0].full;
	struct stat st;

	return (q->what == CALL_RENAME || q->what == CALL_LINK) &&
	       !(q->flags & RENAME_EXCHANGE) && is_simple(path) &&
	       has_root(f, q->tracee) &&
	       mask_fds_stat(f->config.mask_fds, f->root, path, &st) == 0 &&
	       S_ISREG(st.st_mode);
}

/* 1 if the directory, the first @n bytes of @path, is reached without any
 * symbolic link, -ENOENT if it is missing, else 0
 */
static int has_no_links(struct fast_path *f, const char *path, size_t n)
{
	const int64_t now = now_coarse_ms();
	struct seen_dir *seen;
	auto_close int fd = -1;
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)path[i]) * 16777619u;
	seen = &f->dirs[hash % FAST_PATH_DIRS];
	if (seen->path && now < seen->until_ms && is_still(f, now) &&
	    !strncmp(seen->path, path, n) && !seen->path[n])
		return 1;

	free(seen->path);
	seen->path = mem_strndup(path, n);
	seen->until_ms = 0;
	fd = mask_fds_open(f->config.mask_fds, f->root, seen->path, RESOLVE_NO_SYMLINKS);
	if (fd < 0)	/* A link on the way would be ELOOP */
		return fd == -ENOENT ? -ENOENT : 0;
	seen->until_ms = now + FAST_PATH_LIFE_MS;
	return 1;
}

/* False only if the last component of @path is known not to be a link. The path may
 * be too long for one call where its directory, up to @slash, is not.
 */
static bool may_be_link(const struct fast_path *f, const char *path,
			const char *slash)
{
	auto_close int fd = -1;
	struct stat st;
	int r = mask_fds_stat(f->config.mask_fds, f->root, path, &st);

	if (r == -ENAMETOOLONG) {
		auto_free char *dir = mem_strndup(path,
						  (size_t)(slash - path));

		fd = mask_fds_open(f->config.mask_fds, f->root, dir, RESOLVE_NO_SYMLINKS);
		r = fd < 0 ? fd : fstatat(fd, slash + 1, &st,
					  AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
	}
	return r < 0 ? r != -ENOENT : S_ISLNK(st.st_mode);
}

/* check_call() for @path, absolute text. @follow: the call follows a link in
 * the last component.
 */
static int check_path(struct fast_path *f, struct tracee *tracee,
		      const char *path, bool follow)
{
	const char *slash = strrchr(path, '/');
	int r = 1;

	if (!is_simple(path) || !observer_rules_is_fast(f->config.rules, path) ||
	    !has_root(f, tracee))
		return 0;
	if (slash > path)
		r = has_no_links(f, path, (size_t)(slash - path));
	return r == 1 && follow ? !may_be_link(f, path, slash) : r;
}

static int check_call(struct fast_path *f, const struct notification *q,
		      const struct name *names)
{
	int r;

	/* Landlock does not restrict those: the observer emulates them */
	if (f->config.no_mounts && q->what == CALL_SETATTR)
		return 0;
	if (q->what == CALL_RENAME &&
	    observer_rules_has_patterns(f->config.rules) &&
	    !moves_file(f, q, names))
		return 0;
	r = check_path(f, q->tracee, names[0].full,
		       q->follow == RESOLVED_PATH_FOLLOW);
	return r == 1 && q->two ?
	       check_path(f, q->tracee, names[1].full, false) : r;
}

int fast_path_check(struct fast_path *f, const struct notification *q,
		    const struct name *names)
{
	int r;

	pthread_mutex_lock(&f->lock);
	r = check_call(f, q, names);
	pthread_mutex_unlock(&f->lock);
	return r;
}

/* No rule is about these, and they are opened often, the second by every bash.
 * /dev/tty is the terminal of the process that opens it: ours only in our session.
 */
static dev_t device_of(const struct notification *q, const char *path)
{
	if (!strcmp(path, "/dev/null"))
		return makedev(1, 3);
	if (!strcmp(path, "/dev/tty") &&
	    getsid((pid_t)q->notif->pid) == getsid(0))
		return makedev(5, 0);
	return 0;
}

int fast_path_open_device(struct fast_path *f, const struct notification *q,
			  const struct name *names)
{
	enum {
		KEPT = O_ACCMODE | O_APPEND | O_NONBLOCK,
		KNOWN = KEPT | O_CREAT | O_TRUNC | O_NOCTTY | O_NOFOLLOW |
			O_CLOEXEC,
	};
	const dev_t device = q->call->what == CALL_OPEN && !q->reads &&
			     !(q->flags & ~(uint64_t)KNOWN) ?
			     device_of(q, names[0].full) : 0;
	auto_close int fd = -1;
	struct stat st;

	if (!device || !has_root(f, q->tracee))
		return -ENODEV;
	fd = openat(f->root, names[0].full + 1, (int)(q->flags & KEPT) |
		    O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* Unless it is masked */
	if (fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != device)
		return -ENODEV;
	return take_fd(&fd);
}

/* connect() and bind(): true if the address in the tracee's memory decides */
static bool check_address(struct fast_path *f, const struct notification *q)
{
	const struct tracee tracee = { (pid_t)q->notif->pid, -1, NULL };
	const unsigned long long *args = q->notif->data.args;

	/* The address may be a path when the kernel reads it */
	if (q->what == CALL_BIND)
		return f->makes && address_is_free(&f->config.network, &tracee, args);
	return !f->config.sockets_by_path &&
	       address_is_served(&f->config.network, &tracee, args);
}

/* A call with paths: true if *@ret is the answer */
static bool check_names(struct fast_path *f, struct notification *q,
			struct decision *ret)
{
	int r;

	q->tracee = tracee_get(&f->tracees, (pid_t)q->notif->pid);
	r = q->tracee ? notification_read(q, false, f->names) : -EPERM;
	if (r < 0 || !moves_file(f, q, f->names))
		fast_path_note(f, q->call);
	if (r < 0)
		return false;
	r = f->config.nested ? -ENODEV : fast_path_open_device(f, q, f->names);
	if (r >= 0 || r == -ENXIO) {
		ret->answer = r < 0 ? DECISION_ERROR : DECISION_FD;
		ret->error = r < 0 ? -r : 0;
		ret->fd = r;
		return true;
	}
	if (notification_makes(q) && !f->makes)
		return false;
	if (q->reads || !f->names[0].text[0])
		return q->reads;
	if (git_lock_refuses(&f->git, (pid_t)q->notif->pid))
		return false;
	r = check_call(f, q, f->names);
	/* In a mount namespace of its own the tracee may see what we do not */
	if (r < 0 && (f->config.nested || q->quiet))
		return false;
	ret->error = r < 0 ? -r : 0;
	if (r > 0)
		git_lock_note(&f->git, q, (pid_t)q->notif->pid, f->names[0].full);
	return r;
}

/* True if *@ret is the answer */
static bool decide_fast(struct fast_path *f, struct notification *q,
			struct decision *ret)
{
	const pid_t tid = (pid_t)q->notif->pid;
	const int64_t now = now_coarse_ms();

	q->call = call_find(q->notif->data.nr);
	if (!q->call || q->call->what >= CALL_LISTEN ||
	    q->call->what == CALL_SETPGID)
		return false;
	q->what = q->call->what;
	if (q->what == CALL_CHDIR) {
		cwd_note_chdir(&f->cwds, tid, now);
		return true;
	}
	/* A thread that executes another program gets its first thread's number */
	if (q->what == CALL_UNSHARE) {
		f->unshared = true;
		return true;
	}
	cwd_note_call(&f->cwds, tid);
	if (!f->config.nested && !f->unshared && is_still(f, now))
		q->cwds = &f->cwds;
	return q->what >= CALL_CONNECT ? check_address(f, q) : check_names(f, q, ret);
}

/* 0, or a negative errno when there is nothing left to do */
static int answer(struct fast_path *f, const struct seccomp_notif *notif)
{
	struct notification q = { .notif = notif };
	struct decision decision = { 0 };
	bool stopped, fast = false;

	inflight_note_call(f->inflight, (pid_t)notif->pid);
	pthread_mutex_lock(&f->lock);
	stopped = f->stopped;
	if (!stopped)
		fast = decide_fast(f, &q, &decision);
	pthread_mutex_unlock(&f->lock);
	if (stopped)
		return -ECANCELED;
	if (!fast)
		return write(f->pipe[1], notif, sizeof(*notif)) < 0 ? -errno : 0;
	f->answered++;
	/* First: what appears from now on may be the command's */
	if (!decision.answer && !decision.error && notification_makes(&q))
		inflight_add(f->inflight, notif);
	return decide_send(&f->config, &q, &decision);
}

/* ENOENT: the tracee ended before its notification was read; or all have */
static bool has_tracees(const struct fast_path *f)
{
	struct pollfd p = { .fd = f->config.listener, .events = POLLIN };

	return poll(&p, 1, 0) >= 0 && !(p.revents & (POLLHUP | POLLERR));
}

static void *serve(void *arg)
{
	struct fast_path *f = arg;
	bool stopped;
	int r = 0;

	(void)prctl(PR_SET_NAME, "cloche-fast");
	while (r == 0) {
		struct seccomp_notif notif = { 0 };

		if (!ioctl(f->config.listener, SECCOMP_IOCTL_NOTIF_RECV, &notif))
			r = answer(f, &notif);
		else if (errno == ENOENT)
			r = has_tracees(f) ? 0 : -ENOENT;
		else if (errno != EINTR)
			r = -errno;
	}
	pthread_mutex_lock(&f->lock);
	f->over = true;
	stopped = f->stopped;
	close_fd(&f->pipe[1]);	/* The loop gets EPOLLHUP */
	pthread_mutex_unlock(&f->lock);
	if (stopped)
		release(f);
	return NULL;
}

static int start_thread(struct fast_path *f)
{
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t thread;
	int r;

	/* Signals are the loop's */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	r = pthread_create(&thread, &attr, serve, f);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -r;
}

int fast_path_start(struct fast_path *f)
{
	int r;

	if (pipe2(f->pipe, O_CLOEXEC) < 0) {
		f->pipe[0] = f->pipe[1] = -1;
		return -errno;
	}
	/* Wake thread and tracee on one processor; older kernels cannot */
	(void)ioctl(f->config.listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS,
		    SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	r = start_thread(f);
	if (r < 0) {
		close_fd(&f->pipe[0]);
		close_fd(&f->pipe[1]);
	}
	return r;
}

int fast_path_fd(const struct fast_path *f)
{
	return f->pipe[0] < 0 ? f->config.listener : f->pipe[0];
}

int fast_path_next(struct fast_path *f, struct seccomp_notif *ret)
{
	if (f->pipe[0] >= 0)
		return read(f->pipe[0], ret, sizeof(*ret)) == (ssize_t)sizeof(*ret);
	if (ioctl(f->config.listener, SECCOMP_IOCTL_NOTIF_RECV, ret) < 0)
		return errno == ENOENT || errno == EINTR ? 0 : -errno;
	inflight_note_call(f->inflight, (pid_t)ret->pid);
	return 1;
}

void fast_path_set_rules(struct fast_path *f, struct observer_rules *rules)
{
	pthread_mutex_lock(&f->lock);
	f->config.rules = rules;
	pthread_mutex_unlock(&f->lock);
}
