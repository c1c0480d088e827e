/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/test-odd.c - calls of odd shapes: what fails by itself is no refusal,
 * and what is refused is seen, however it was asked
 */

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "base/own.h"
#include "base/sys.h"
#include "test.h"
#include "observe/test-watched.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

static int close_all(int fd)
{
	return fd < 0 ? -1 : close(fd);
}

/* ".." may have to be tried again where others mount or rename meanwhile */
static int open_in_root(const char *dir, const char *path, uint64_t flags)
{
	const struct open_how how = {
		.flags = flags, .mode = flags & O_CREAT ? 0600 : 0,
		.resolve = RESOLVE_IN_ROOT,
	};
	auto_close int fd = open(dir, O_PATH | O_DIRECTORY);
	int r;

	do
		r = close_all(sys_openat2(fd, path, &how));
	while (r < 0 && errno == EAGAIN);
	return r;
}

static int set_mode_of_nameless(void)
{
	auto_close int fd = open(".", O_TMPFILE | O_RDWR, 0600);
	const long r = syscall(SYS_fchmodat2, fd, "", 0600, AT_EMPTY_PATH);

	return r < 0 && errno == ENOSYS ? 0 : (int)r;
}

static int set_times_of_open(void)
{
	auto_close int fd = open("plain", O_RDONLY);

	return futimens(fd, NULL);
}

#define CALL_FN(id, expression) \
	static int id(void) { return expression; }

/* Between two mounts of one file system */
CALL_FN(link_out, link("plain", "../out/hard"))
CALL_FN(link_in, link("../out/file", "hard"))
CALL_FN(rename_out, rename("plain", "../out/plain"))
CALL_FN(rename_over, rename("plain", "../out/file"))
CALL_FN(rename_in, rename("../out/file", "in"))
CALL_FN(rename_missing, rename("none", "../out/plain"))
CALL_FN(rename_kept, (int)syscall(SYS_renameat2, AT_FDCWD, "plain", AT_FDCWD,
				  "../out/file", 1))

/* What a mount stands on stays */
CALL_FN(remove_held, unlink("fixed"))

/* A slash after what is no directory */
CALL_FN(slash_create, close_all(open("../out/new/", O_WRONLY | O_CREAT, 0600)))
CALL_FN(slash_create_in, close_all(open("new/", O_WRONLY | O_CREAT, 0600)))
CALL_FN(slash_write, close_all(open("../out/file/", O_WRONLY)))
CALL_FN(slash_by_link, close_all(open("filelink/", O_WRONLY)))
CALL_FN(slash_node, mknod("../out/new/", S_IFIFO | 0600, 0))
CALL_FN(slash_symlink, symlink("x", "../out/new/"))
CALL_FN(slash_link, link("../out/file", "../out/new/"))
CALL_FN(slash_link_from, link("../out/file/", "../out/new"))
CALL_FN(slash_mode, chmod("../out/file/", 0600))
CALL_FN(slash_cut, truncate("../out/file/", 0))
CALL_FN(slash_unlink, unlink("../out/file/"))
CALL_FN(slash_rename, rename("../out/file", "../out/new/"))
CALL_FN(slash_mkdir, mkdir("../out/new/", 0700))
CALL_FN(slash_mkdir_link, mkdir("dangling/", 0700))
CALL_FN(slash_rmdir_link, rmdir("link/"))

/* Flags that do not fit */
CALL_FN(no_follow, close_all(open("filelink", O_WRONLY | O_NOFOLLOW)))
CALL_FN(no_directory, close_all(open("../out/file", O_RDWR | O_DIRECTORY)))
CALL_FN(nameless_in_file, close_all(open("../out/file", O_TMPFILE | O_RDWR,
					 0600)))
CALL_FN(nameless_for_none, close_all(open("none/x", O_TMPFILE, 0600)))
CALL_FN(new_directory, close_all(open("../out/new", O_CREAT | O_DIRECTORY,
				      0600)))
CALL_FN(neither, close_all(open("../out/file", O_ACCMODE)))
CALL_FN(cut_directory, truncate("../out/dir", 0))
CALL_FN(no_name, mkdirat(999, "", 0700))
CALL_FN(no_new_name, rename("plain", ""))

/* A directory that is the root to one call */
CALL_FN(root_read, open_in_root("sub", "/x", O_RDONLY))
CALL_FN(root_write, open_in_root("sub", "/x", O_WRONLY))
CALL_FN(root_link, open_in_root("sub", "../absolute", O_WRONLY))
CALL_FN(root_new, open_in_root("sub", "//../y", O_WRONLY | O_CREAT))
CALL_FN(root_out, open_in_root("../out", "/file", O_WRONLY))
CALL_FN(root_fixed, open_in_root(".", "/.mcp.json", O_WRONLY | O_CREAT))
CALL_FN(root_process, open_in_root("/", "proc/self/comm", O_WRONLY))

/* Owner, times, attributes */
static const struct timeval some_times[2] = { { 1, 2 }, { 3, 4 } };
static const struct timespec precise_times[2] = { { 1, 2 }, { 3, 4 } };

CALL_FN(out_chown, chown("../out/file", (uid_t)-1, (gid_t)-1))
CALL_FN(out_lchown, lchown("filelink", (uid_t)-1, (gid_t)-1))
CALL_FN(out_chown_link, chown("filelink", (uid_t)-1, (gid_t)-1))
CALL_FN(out_utime, utime("../out/file", &(struct utimbuf){ 1, 2 }))
CALL_FN(out_utimes, utimes("../out/file", some_times))
CALL_FN(out_times, utimensat(AT_FDCWD, "../out/file", precise_times, 0))
CALL_FN(out_attribute, setxattr("../out/file", "user.a", "b", 1, 0))
CALL_FN(out_no_attribute, removexattr("../out/file", "user.a"))
CALL_FN(in_times, utimensat(AT_FDCWD, "plain", precise_times, 0))
CALL_FN(missing_times, utimensat(AT_FDCWD, "../out/none", precise_times, 0))

#define NONE VIOLATION_KINDS

static const struct {
	const char *name;
	int (*call)(void);
	int error;
	enum violation_kind kind;
	const char *target;
} calls[] = {
	{ "link_out", link_out, EROFS, VIOLATION_FS_WRITE, "out/hard" },
	{ "link_in", link_in, EXDEV, NONE, NULL },
	{ "rename_out", rename_out, EROFS, VIOLATION_FS_RENAME, "out/plain" },
	{ "rename_over", rename_over, EROFS, VIOLATION_FS_RENAME, "out/file" },
	{ "rename_in", rename_in, EROFS, VIOLATION_FS_RENAME, "out/file" },
	{ "rename_missing", rename_missing, ENOENT, NONE, NULL },
	{ "rename_kept", rename_kept, EXDEV, NONE, NULL },
	{ "remove_held", remove_held, EBUSY, VIOLATION_FS_WRITE,
	  "work/fixed" },

	{ "slash_create", slash_create, EISDIR, NONE, NULL },
	{ "slash_create_in", slash_create_in, EISDIR, NONE, NULL },
	{ "slash_write", slash_write, ENOTDIR, NONE, NULL },
	{ "slash_by_link", slash_by_link, ENOTDIR, NONE, NULL },
	{ "slash_node", slash_node, ENOENT, NONE, NULL },
	{ "slash_symlink", slash_symlink, ENOENT, NONE, NULL },
	{ "slash_link", slash_link, ENOENT, NONE, NULL },
	{ "slash_link_from", slash_link_from, ENOTDIR, NONE, NULL },
	{ "slash_mode", slash_mode, ENOTDIR, NONE, NULL },
	{ "slash_cut", slash_cut, ENOTDIR, NONE, NULL },
	{ "slash_unlink", slash_unlink, ENOTDIR, NONE, NULL },
	{ "slash_rename", slash_rename, ENOTDIR, NONE, NULL },
	{ "slash_mkdir", slash_mkdir, EROFS, VIOLATION_FS_WRITE, "out/new" },
	{ "slash_mkdir_link", slash_mkdir_link, EEXIST, NONE, NULL },
	{ "slash_rmdir_link", slash_rmdir_link, ENOTDIR, NONE, NULL },

	{ "no_follow", no_follow, ELOOP, NONE, NULL },
	{ "no_directory", no_directory, ENOTDIR, NONE, NULL },
	{ "nameless_in_file", nameless_in_file, ENOTDIR, NONE, NULL },
	{ "nameless_for_none", nameless_for_none, EINVAL, NONE, NULL },
	{ "new_directory", new_directory, EINVAL, NONE, NULL },
	{ "neither", neither, 0, NONE, NULL },
	{ "cut_directory", cut_directory, EISDIR, NONE, NULL },
	{ "no_name", no_name, ENOENT, NONE, NULL },
	{ "no_new_name", no_new_name, ENOENT, NONE, NULL },

	{ "root_read", root_read, 0, NONE, NULL },
	{ "root_write", root_write, 0, NONE, NULL },
	{ "root_link", root_link, 0, NONE, NULL },
	{ "root_new", root_new, 0, NONE, NULL },
	{ "root_out", root_out, EROFS, VIOLATION_FS_WRITE, "out/file" },
	{ "root_fixed", root_fixed, EACCES, VIOLATION_FS_CREATE,
	  "work/.mcp.json" },
	{ "root_process", root_process, EACCES, VIOLATION_FS_WRITE, NULL },

	{ "out_chown", out_chown, EROFS, VIOLATION_FS_WRITE, "out/file" },
	{ "out_lchown", out_lchown, 0, NONE, NULL },
	{ "out_chown_link", out_chown_link, EROFS, VIOLATION_FS_WRITE,
	  "out/file" },
	{ "out_utime", out_utime, EROFS, VIOLATION_FS_WRITE, "out/file" },
	{ "out_utimes", out_utimes, EROFS, VIOLATION_FS_WRITE, "out/file" },
	{ "out_times", out_times, EROFS, VIOLATION_FS_WRITE, "out/file" },
	{ "out_attribute", out_attribute, EROFS, VIOLATION_FS_WRITE,
	  "out/file" },
	{ "out_no_attribute", out_no_attribute, EROFS, VIOLATION_FS_WRITE,
	  "out/file" },
	{ "in_times", in_times, 0, NONE, NULL },
	{ "missing_times", missing_times, ENOENT, NONE, NULL },
	{ "set_times_of_open", set_times_of_open, 0, NONE, NULL },
	{ "set_mode_of_nameless", set_mode_of_nameless, 0, NONE, NULL },
};

static int run_one(void *arg)
{
	int (*const *call)(void) = arg;

	return (*call)() < 0 ? errno : 0;
}

static void make_link(const char *target, const char *name)
{
	CHECK(!symlink(target, test_path(name)) || errno == EEXIST);
}

static void make_tree(void)
{
	test_write(test_path("work/plain"), "plain");
	test_write(test_path("work/sub/x"), "x");
	test_write(test_path("out/file"), "file");
	(void)mkdir(test_path("out/dir"), 0755);
	make_link("../out", "work/link");
	make_link("../out/file", "work/filelink");
	make_link("none", "work/dangling");
	make_link("/x", "work/sub/absolute");
}

static void check_one(size_t i, bool slow)
{
	static struct watched w;
	int (*call)(void) = calls[i].call;

	printf("# %s\n", calls[i].name);
	w.slow = slow;
	make_tree();
	watched_run(&w, run_one, &call);
	CHECK(WIFEXITED(w.status));
	CHECK_INT(WEXITSTATUS(w.status), calls[i].error);
	if (calls[i].kind == NONE) {
		CHECK_INT(w.len, 0);
		return;
	}
	CHECK_INT(watched_only(&w)->kind, calls[i].kind);
	CHECK_INT(w.v[0].error, calls[i].error);
	if (calls[i].target)
		CHECK_STR(w.v[0].target, test_path(calls[i].target));
	CHECK(access(test_path("work/.mcp.json"), F_OK) < 0);
}

TEST(unusual_calls_fail_as_in_the_kernel_or_are_reported)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		check_one(i, false);
}

TEST(the_fast_path_handles_unusual_calls_alike)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		check_one(i, true);
}

static const struct violation *suggestion(struct watched *w, int (*call)(void))
{
	make_tree();
	watched_run(w, run_one, &call);
	return watched_only(w);
}

CALL_FN(remove_file, unlink("../out/file"))
CALL_FN(settings_edit_file, chmod("../out/file", 0600))

/* A mount on the file would not let it go */
TEST(a_refused_unlink_suggests_the_directory)
{
	static struct watched w;
	char expected[4200];

	snprintf(expected, sizeof(expected), "cloche policy allow write %s",
		 test_path("out/file"));
	CHECK_STR(suggestion(&w, settings_edit_file)->suggest_command, expected);
	*strrchr(expected, '/') = 0;
	CHECK_STR(suggestion(&w, remove_file)->suggest_command, expected);
	CHECK_STR(suggestion(&w, rename_in)->suggest_command, expected);
	CHECK_STR(suggestion(&w, rename_over)->suggest_command, expected);
}
