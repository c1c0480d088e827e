/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/tmpdir.c - the private /tmp of a project, kept between its runs
 *
 * It lies in the user's cache directory under a name made from the project's
 * path, mode 0700: nobody else can make, enter or guess it. Runs hold a shared
 * lock on it; whoever gets the exclusive one may remove it, if it is empty.
 *
 * A home without a cache directory stays as it is: there /tmp is a tmpfs first,
 * and only what is left in it at the end of the run makes the directory.
 */

#include "lib/tmpdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "lib/options.h"
#include "watch/copy.h"

enum {
	TRIES = 16,	/* Another run may remove it just before we lock it */
	LOCK_WAIT_MS = 2000,	/* Much longer than that takes */
};

char *tmpdir_path(const char *cache, const char *project, bool shown)
{
	auto_free char *name = path_id(project);

	return mem_printf("%s/%s/%s", cache, shown ? "cloche-tmp/kept"
						   : "cloche/tmp", name);
}

/* Is the cache directory that @path lies three levels below missing? */
static bool lacks_cache(const char *path)
{
	auto_free char *all = path_parent(path);
	auto_free char *ours = path_parent(all);
	auto_free char *cache = path_parent(ours);

	return access(cache, F_OK) < 0;
}

static int open_kept(const char *path, bool may_wait, struct tmpdir *ret,
		     struct err *err)
{
	const bool made_cache = lacks_cache(path);

	if (made_cache && may_wait) {
		ret->later = mem_strdup(path);
		return 0;
	}
	for (int i = 0; i < TRIES; i++) {
		auto_close int fd = fs_open_private_dir(path, err);

		if (fd < 0)
			return fd;
		if (fs_flock_within(fd, LOCK_SH, LOCK_WAIT_MS) < 0)
			return fail(err, -EBUSY, "another program has locked '%s'",
				    path);
		if (fs_is_named(fd, path)) {
			/* The cage follows no link, and ~/.cache may be one */
			ret->path = realpath(path, NULL);
			if (!ret->path)
				return fail_errno(err, "cannot find '%s'", path);
			ret->lock = take_fd(&fd);
			ret->made_cache = made_cache;
			return 0;
		}
	}
	return fail(err, -EAGAIN, "'%s' keeps disappearing", path);
}

int tmpdir_open(const char *path, bool full, struct tmpdir *ret,
		struct err *err)
{
	const int r = open_kept(path, full, ret, err);

	if (r < 0 && !full)
		return fail_in(err, r, "tier landlock has its $TMPDIR in $XDG_CACHE_HOME or ~/.cache");
	return 0;
}

/* What is in the fresh /tmp, for the next run. A name that another run has kept
 * meanwhile stays that one's. False if something was left behind.
 */
static bool keep(const struct tmpdir *tmp)
{
	uint64_t room[512];
	struct dir dir = {
		.fd = tmp->fresh, .room = (char *)room, .size = sizeof(room),
	};
	struct copy copy = {
		.entries = TMPDIR_ENTRIES_MAX, .bytes = TMPDIR_BYTES_MAX,
		.depth = TMPDIR_DEPTH_MAX,
	};
	struct dir_entry entry;
	auto_close int to = -1;
	bool all = true;

	while (dir_next(&dir, &entry) > 0) {
		int r;

		if (to < 0)
			to = fs_open_private_dir(tmp->later, NULL);
		if (to < 0) {
			all = false;
			break;
		}
		r = copy_tree(&copy, tmp->fresh, entry.name, to, entry.name);
		all = all && (r == 0 || r == -EEXIST);
	}
	copy_done(&copy);
	return all;
}

bool tmpdir_close(struct tmpdir *tmp)
{
	const bool whole = !tmp->later || tmp->fresh < 0 || keep(tmp);

	close_fd(&tmp->fresh);
	free(take_ptr(tmp->later));
	/* Making and removing it each time would cost more than the sandbox */
	if (tmp->path && tmp->made_cache &&
	    flock(tmp->lock, LOCK_EX | LOCK_NB) == 0 &&
	    rmdir(tmp->path) == 0) {
		auto_free char *all = path_parent(tmp->path);
		auto_free char *ours = path_parent(all);

		if (rmdir(all) == 0)
			(void)rmdir(ours);
	}
	fs_unlock(&tmp->lock);
	free(tmp->path);
	tmp->path = NULL;
	return whole;
}

/* A real directory of ours that nobody else can change: 1; or 0 */
static int own_directory(const char *path)
{
	struct stat st;

	if (mkdir(path, 0700) == 0)
		return 1;
	return errno == EEXIST && lstat(path, &st) == 0 &&
	       S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 002);
}

int tmpdir_srt(struct options *options, struct err *err)
{
	const char *profile = options_get(options, OPTION_PROFILE);
	auto_free char *own = mem_printf("/tmp/claude-%u", geteuid());
	const char *code = getenv("CLAUDE_CODE_TMPDIR");
	const char *claude = getenv("CLAUDE_TMPDIR");

	if (!profile || strcmp(profile, "srt") != 0 || (code && *code) ||
	    (claude && *claude) || own_directory("/tmp/claude") ||
	    !own_directory(own))
		return 0;
	/* Whoever plans this run, and any within it, finds it there */
	if (setenv("CLAUDE_TMPDIR", own, 1) < 0)
		return fail_errno(err, "cannot set $CLAUDE_TMPDIR");
	return options_add(options, OPTION_WRITE, own, err);
}
