/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run/tmpdir.c - the private /tmp of a project, kept between its runs
 *
 * It lies in the state directory under a name made from the project's path, mode
 * 0700: no other user can make, enter or guess it. Beside it a file names the
 * project, for `cloche gc`. Runs hold a shared lock on the directory of both;
 * the holder of the exclusive one may remove it.
 */

#include "run/tmpdir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/policy.h"
#include "run/options.h"

enum {
	TRIES = 16,	/* Another run may remove it just before we lock it */
	LOCK_WAIT_MS = 2000,	/* Much longer than that takes */
};

char *tmpdir_path(const struct policy *policy, bool shown)
{
	auto_free char *name = path_id(policy->project);
	const char *state = policy->dirs[DIR_STATE];

	return state ? mem_printf("%s/%s/%s/" TMPDIR_FILES, state,
				  shown ? TMPDIR_SHOWN : TMPDIR_HIDDEN, name)
		     : NULL;
}

/* Say whose it is, once, and when it was used last */
static void mark(int dir, const char *project)
{
	struct stat st;

	if (fstatat(dir, TMPDIR_PROJECT, &st, AT_SYMLINK_NOFOLLOW) < 0)
		(void)fs_replace(dir, TMPDIR_PROJECT, project, strlen(project),
				 0600, NULL);
	else
		(void)utimensat(dir, TMPDIR_PROJECT, NULL, AT_SYMLINK_NOFOLLOW);
}

static int open_kept(const char *path, const char *project,
		     struct tmpdir *ret, struct err *err)
{
	auto_free char *own = path_parent(path);

	for (int i = 0; i < TRIES; i++) {
		auto_close int lock = fs_open_private_dir(own, err);
		auto_close int fd = -1;

		if (lock < 0)
			return lock;
		if (fs_flock_within(lock, LOCK_SH, LOCK_WAIT_MS) < 0)
			return fail(err, -EBUSY, "another program has locked '%s'",
				    own);
		if (!fs_is_named(lock, own))
			continue;
		fd = fs_open_private_dir(path, err);
		if (fd < 0)
			return fd;
		/* The sandbox follows no link, and ~/.local may be one */
		ret->path = realpath(path, NULL);
		if (!ret->path)
			return fail_errno(err, "cannot find '%s'", path);
		mark(lock, project);
		ret->lock = take_fd(&lock);
		return 0;
	}
	return fail(err, -EAGAIN, "'%s' keeps disappearing", own);
}

int tmpdir_open(const char *path, const char *project, bool full,
		struct tmpdir *ret, struct err *err)
{
	const int r = open_kept(path, project, ret, err);

	if (r < 0 && !full)
		return fail_in(err, r, "tier landlock has its $TMPDIR in $XDG_STATE_HOME or ~/.local/state");
	return 0;
}

void tmpdir_close(struct tmpdir *tmp)
{
	fs_unlock(&tmp->lock);
	free(tmp->path);
	tmp->path = NULL;
}

void tmpdir_share(struct policy *policy, struct origin origin)
{
	static const struct {
		const char *path;
		bool user;	/* The user's number follows */
	} hidden[] = {
		{ "/tmp/claude-", true }, { "/tmp/cc-daemon-", true },
		{ "/tmp/codex-daemon-", true }, { "/tmp/tmux-", true },
		{ "/tmp/krb5cc_", true }, { "/tmp/cc-socks", false },
		{ "/tmp/.X11-unix", false }, { "/tmp/.ICE-unix", false },
	};
	const struct path_rules *rules = &policy->paths[PATH_ALLOW_WRITE];

	policy_add_literal(policy, PATH_ALLOW_WRITE, "/tmp", RULE_USER, origin);
	for (size_t i = 0; i < rules->len; i++)
		rules->v[i].shared |= !strcmp(rules->v[i].path, "/tmp");
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++) {
		auto_free char *path = hidden[i].user ?
			mem_printf("%s%u", hidden[i].path, geteuid()) :
			mem_strdup(hidden[i].path);

		policy_add_literal(policy, PATH_DENY_READ, path, RULE_USER, origin);
	}
}

/* A real directory of ours that no other user can change: 1; or 0 */
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
	/* For the plan of this run, and of runs inside it */
	if (setenv("CLAUDE_TMPDIR", own, 1) < 0)
		return fail_errno(err, "cannot set $CLAUDE_TMPDIR");
	return options_add(options, OPTION_WRITE, own, err);
}
