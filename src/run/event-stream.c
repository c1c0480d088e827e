/* SPDX-License-Identifier: Apache-2.0 */
/* run/event-stream.c - the file or descriptor of --events */

#include "run/decision.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "policy/policy.h"
#include "view/symlink-guard.h"
#include "view/view.h"

/* A descriptor, or what was meant to be one */
static bool is_number(const char *where)
{
	return strspn(where, "-0123456789") == strlen(where);
}

/* The file that @where names, absolute; NULL if it is a descriptor, or in /dev or
 * /proc
 */
static char *file_of(const char *where)
{
	auto_free char *cwd = getcwd(NULL, 0);
	auto_free char *path = path_resolve(cwd ? cwd : "/", where);

	if (is_number(where) || path_is_within("/dev", path) ||
	    path_is_within("/proc", path))
		return NULL;
	return take_ptr(path);
}

/* A file that a command can replace by a link would be any file, with lines in
 * it whose words the command chooses. What is in /dev leads to open files.
 */
static int open_file(const struct policy *policy, const char *where,
		     struct err *err)
{
	const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY;
	auto_free char *path = file_of(where);
	auto_free char *real = NULL;
	int fd, r;

	if (!path) {
		fd = open(where, flags, 0600);
	} else {
		r = symlink_guard_follow(policy, path, &real);
		if (r > 0)
			return fail(err, -ELOOP, "--events: '%s' goes through the symbolic link '%s', which a command could have made; name the file itself",
				    where, real);
		errno = -r;
		fd = r < 0 ? -1 : sys_open_nofollow(AT_FDCWD, real, flags,
						    0600);
	}
	return fd < 0 ? fail_errno(err, "--events: cannot open '%s'", where)
		      : fd;
}

/* True if the command holds, or can open, what @fd writes to. A terminal is read by
 * people.
 */
static bool is_shared(const struct view *view, int fd)
{
	auto_free char *path = fs_fd_path(fd);
	auto_free char *root = path ? view_root_of(view, path) : NULL;
	struct stat st, other;

	if (fstat(fd, &st) < 0 || S_ISCHR(st.st_mode))
		return false;
	for (int std = STDIN_FILENO; std <= STDERR_FILENO; std++) {
		if (fstat(std, &other) == 0 && st.st_dev == other.st_dev &&
		    st.st_ino == other.st_ino)
			return true;
	}
	/* A regular file is frozen; a pipe by name cannot be */
	return root && !S_ISREG(st.st_mode);
}

int event_stream_open(const struct view *view, const char *where, int *ret,
		      struct err *err)
{
	int fd;

	*ret = -1;
	if (!where)
		return 0;
	fd = fs_given_fd(where);
	if (fd == -EBADF || (fd >= 0 && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY))
		return fail(err, -EBADF, "--events: descriptor %s is not open for writing; open it for cloche (%s>FILE), or name a file",
			    where, where);
	if (fd < 0 && is_number(where))
		return fail(err, -EINVAL, "--events: '%s' is neither a descriptor nor a file; write ./%s for a file of that name",
			    where, where);
	if (fd >= 0 && is_shared(view, fd))
		return fail(err, -EPERM, "--events: the command can write to descriptor %s itself; name a file, or open another pipe",
			    where);
	*ret = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) :
	       open_file(view->policy, where, err);
	if (*ret < 0 && fd >= 0)
		return fail_errno(err, "--events: descriptor %s", where);
	return *ret < 0 ? *ret : 0;
}

void event_stream_protect(struct policy *policy, const char *where)
{
	const int fd = where ? fs_given_fd(where) : -1;
	auto_free char *path = !where ? NULL : fd >= 0 ? fs_fd_path(fd)
						       : file_of(where);
	const struct source *source;

	if (!path || path_is_within("/dev", path))
		return;
	source = policy_add_source(policy, SCOPE_FLAG, "--events", NULL, 0, "/");
	policy_add_literal(policy, PATH_DENY_WRITE, path, RULE_ALWAYS,
			   origin_make(source, NULL, "the record of this run"));
}

bool event_stream_make(const struct view *view, const char *where)
{
	auto_free char *path = where ? file_of(where) : NULL;
	auto_free char *root = path ? view_root_of(view, path) : NULL;
	auto_close int fd = -1;

	if (!root || access(path, F_OK) == 0)
		return false;
	fd = open_file(view->policy, where, NULL);
	return fd >= 0;
}
