/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch/quick.c - the questions that need no look-up
 *
 * Theory of operation: the text decides, after a look that no symbolic link is
 * in it. Directories that were looked at are remembered for a moment, unless
 * somebody has asked for a call that can put a link in their place. A link that
 * gets there all the same, after the look, leads where mounts and Landlock let
 * it.
 */

#include "watch/quick.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/now.h"
#include "base/own.h"
#include "base/sys.h"
#include "watch/calls.h"
#include "watch/observer.h"
#include "watch/question.h"
#include "watch/tracee.h"
#include "watch/ways.h"

void quick_init(struct quick *q, const struct observer_config *config)
{
	*q = (struct quick) { .root = -1, .ways = config->ways,
			      .no_mounts = config->no_mounts };
}

void quick_done(struct quick *q)
{
	close_fd(&q->root);
	for (size_t i = 0; i < QUICK_DIRS; i++)
		free(q->dirs[i].path);
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

int64_t quick_now_ms(void)
{
	return now_ms(CLOCK_MONOTONIC_COARSE);
}

void quick_note(struct quick *q, const struct call *call)
{
	if (call->what == CALL_RENAME || call->what == CALL_LINK ||
	    (call->what == CALL_MAKE && strstr(call->name, "symlink")))
		q->moved_ms = quick_now_ms();
}

bool quick_moves_file(struct quick *quick, const struct question *q,
		      const struct name *names)
{
	const char *path = names[0].full;
	struct stat st;

	if ((q->what != CALL_RENAME && q->what != CALL_LINK) ||
	    (q->flags & RENAME_EXCHANGE) || !is_simple(path))
		return false;
	if (quick->root < 0)
		quick->root = tracee_root(q->tracee);
	return quick->root >= 0 &&
	       ways_stat(quick->ways, quick->root, path, &st) == 0 &&
	       S_ISREG(st.st_mode);
}

bool quick_is_still(const struct quick *q, int64_t now)
{
	return !q->moved_ms || now >= q->moved_ms + QUICK_SHADOW_MS;
}

/* 1 if the directory, the first @n bytes of @path, is reached without any
 * symbolic link, -ENOENT if it surely is not there, else 0
 */
static int has_no_links(struct quick *q, const char *path, size_t n)
{
	const int64_t now = quick_now_ms();
	struct seen_dir *seen;
	auto_close int fd = -1;
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)path[i]) * 16777619u;
	seen = &q->dirs[hash % QUICK_DIRS];
	if (seen->path && now < seen->until_ms && quick_is_still(q, now) &&
	    !strncmp(seen->path, path, n) && !seen->path[n])
		return 1;

	free(seen->path);
	seen->path = mem_strndup(path, n);
	seen->until_ms = 0;
	fd = ways_open(q->ways, q->root, seen->path, RESOLVE_NO_SYMLINKS);
	if (fd < 0)	/* A link on the way would be ELOOP */
		return fd == -ENOENT ? -ENOENT : 0;
	seen->until_ms = now + QUICK_LIFE_MS;
	return 1;
}

/* True unless the last name of @path is surely no link. All of the text may be
 * too long for one call, where its directory, up to @slash, is not.
 */
static bool may_be_link(const struct quick *q, const char *path,
			const char *slash)
{
	auto_close int fd = -1;
	struct stat st;
	int r = ways_stat(q->ways, q->root, path, &st);

	if (r == -ENAMETOOLONG) {
		auto_free char *dir = mem_strndup(path,
						  (size_t)(slash - path));

		fd = ways_open(q->ways, q->root, dir, RESOLVE_NO_SYMLINKS);
		r = fd < 0 ? fd : fstatat(fd, slash + 1, &st,
					  AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
	}
	return r < 0 ? r != -ENOENT : S_ISLNK(st.st_mode);
}

/* quick_answers() for @path, absolute text. @follow: the call follows a link in
 * the last place.
 */
static int pass(struct quick *q, const struct observer_policy *policy,
		struct tracee *tracee, const char *path, bool follow)
{
	const char *slash = strrchr(path, '/');
	int r = 1;

	if (!policy->is_plain || !is_simple(path) ||
	    !policy->is_plain(policy->arg, path))
		return 0;
	if (q->root < 0)
		q->root = tracee_root(tracee);
	if (q->root < 0)
		return 0;
	if (slash > path)
		r = has_no_links(q, path, (size_t)(slash - path));
	return r == 1 && follow ? !may_be_link(q, path, slash) : r;
}

/* No rule speaks of these, and they are opened often, the second by every bash.
 * That is the terminal of whoever opens it: ours only in our session.
 */
static dev_t device_of(const struct question *q, const char *path)
{
	if (!strcmp(path, "/dev/null"))
		return makedev(1, 3);
	if (!strcmp(path, "/dev/tty") &&
	    getsid((pid_t)q->notif->pid) == getsid(0))
		return makedev(5, 0);
	return 0;
}

int quick_device(struct quick *quick, const struct question *q,
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

	if (!device)
		return -ENODEV;
	if (quick->root < 0)
		quick->root = tracee_root(q->tracee);
	if (quick->root < 0)
		return -ENODEV;
	fd = openat(quick->root, names[0].full + 1, (int)(q->flags & KEPT) |
		    O_NOCTTY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* Unless it is masked */
	if (fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != device)
		return -ENODEV;
	return take_fd(&fd);
}

int quick_answers(struct quick *quick, const struct observer_policy *policy,
		  const struct question *q, const struct name *names)
{
	int r;

	/* Landlock does not hold those: they are made on a descriptor */
	if (quick->no_mounts && q->what == CALL_CHANGE)
		return 0;
	if (q->what == CALL_RENAME && policy->patterns &&
	    !quick_moves_file(quick, q, names))
		return 0;
	r = pass(quick, policy, q->tracee, names[0].full,
		 q->follow == PLACE_FOLLOW);
	return r == 1 && q->two ?
	       pass(quick, policy, q->tracee, names[1].full, false) : r;
}
