/* SPDX-License-Identifier: Apache-2.0 */
/* observe/test-observer.c - refused calls: their errno and their record */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "test.h"
#include "base/btime.h"
#include "observe/test-watched.h"

enum { DEEP_LENGTH = 3880 };	/* With a name of NAME_MAX no path */

/**
 * struct expectation - One call: what it returns, and what is reported
 * @name:	Of the call, as reported
 * @call:	Returns 0 or -1 with errno
 * @error:	The errno, or 0 for success
 * @kind:	Of the record; VIOLATION_KINDS for none
 * @target:	Below test_dir()
 */
struct expectation {
	const char *name;
	int (*call)(void);
	int error;
	enum violation_kind kind;
	const char *target;
};

static const char *out(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "../out/%s", name);
	return path;
}

static int close_all(int fd)
{
	return fd < 0 ? -1 : close(fd);
}

#define CALL_FN(id, expression) \
	static int id(void) { return expression; }

/* Refused outside */
CALL_FN(out_write, close_all(open(out("file"), O_WRONLY)))
CALL_FN(out_trunc, close_all(open(out("file"), O_RDONLY | O_TRUNC)))
CALL_FN(out_create, close_all(open(out("new"), O_WRONLY | O_CREAT, 0600)))
CALL_FN(out_creat, close_all(creat(out("file"), 0600)))
CALL_FN(out_tmpfile, close_all(open("../out", O_TMPFILE | O_RDWR, 0600)))
CALL_FN(out_mkdir, mkdir(out("new"), 0700))
CALL_FN(out_mknod, mknod(out("new"), S_IFIFO | 0600, 0))
CALL_FN(out_symlink, symlink("x", out("new")))
CALL_FN(out_unlink, unlink(out("file")))
CALL_FN(out_rmdir, rmdir(out("dir")))
CALL_FN(out_rename, rename(out("file"), "../out/other"))
CALL_FN(out_link, link(out("file"), "../out/other"))
CALL_FN(out_truncate, truncate(out("file"), 0))
CALL_FN(out_chmod, chmod(out("file"), 0600))
CALL_FN(out_by_link, close_all(open("link/file", O_WRONLY)))
CALL_FN(out_by_last_link, close_all(open("filelink", O_WRONLY)))
CALL_FN(out_by_dots, close_all(open("./sub/..//../out/file", O_WRONLY)))
CALL_FN(out_by_proc, close_all(open("/proc/self/cwd/../out/file", O_WRONLY)))
CALL_FN(out_by_proc_link, close_all(open("self/cwd/../out/file", O_WRONLY)))

/* Protected names */
CALL_FN(fixed_create, close_all(open(".mcp.json", O_WRONLY | O_CREAT, 0600)))
CALL_FN(fixed_mkdir, mkdir(".vscode", 0700))
CALL_FN(fixed_mkdir_deep, mkdir("sub/.vscode/", 0700))
CALL_FN(fixed_symlink, symlink("x", ".mcp.json"))
CALL_FN(fixed_link, link("plain", ".mcp.json"))
CALL_FN(fixed_rename, rename("plain", ".mcp.json"))
CALL_FN(fixed_by_link, close_all(open("dangling", O_WRONLY | O_CREAT, 0600)))
CALL_FN(fixed_write, close_all(open("fixed", O_WRONLY)))
CALL_FN(fixed_unlink, unlink("fixed"))
CALL_FN(fixed_rename_away, rename("fixed", "free"))
CALL_FN(later_link, link("later.deny", "second"))
CALL_FN(later_write, close_all(open("later.deny", O_WRONLY)))

static int fixed_by_tmpfile(void)
{
	auto_close int fd = open(".", O_TMPFILE | O_RDWR, 0600);
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, AT_FDCWD, ".mcp.json",
		      AT_SYMLINK_FOLLOW);
}

static int fixed_by_empty_path(void)
{
	auto_close int fd = open(".", O_TMPFILE | O_RDWR, 0600);

	return linkat(fd, "", AT_FDCWD, ".mcp.json", AT_EMPTY_PATH);
}

static int plain_pipe(void)
{
	char path[32];
	int fds[2];

	CHECK_INT(pipe(fds), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", fds[1]);
	return close_all(open(path, O_WRONLY));
}

static int later_reopen(void)
{
	auto_close int fd = open("later.deny", O_RDONLY);
	char path[32];

	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	return close_all(open(path, O_WRONLY));
}

/* As always */
CALL_FN(plain_write, close_all(open("plain", O_WRONLY | O_CREAT, 0600)))
CALL_FN(fast_check_new, close_all(open("new", O_RDWR | O_CREAT | O_EXCL, 0600)))
CALL_FN(plain_null, close_all(open("/dev/null", O_WRONLY)))
CALL_FN(plain_missing_dir, mkdir("none/x", 0700))
CALL_FN(plain_mkdir, mkdir("fresh", 0700))
CALL_FN(out_mkdir_exists, mkdir("../out", 0700))
CALL_FN(out_dir_exists, mkdir(out("dir"), 0700))
CALL_FN(out_unlink_missing, unlink(out("none")))
CALL_FN(out_rmdir_missing, rmdir(out("none")))
CALL_FN(out_rename_missing, rename(out("none"), "../out/other"))
CALL_FN(out_excl, close_all(open(out("file"), O_WRONLY | O_CREAT | O_EXCL,
				     0600)))
CALL_FN(out_write_missing, close_all(open(out("none"), O_WRONLY)))
CALL_FN(out_write_dir, close_all(open("../out", O_WRONLY)))
CALL_FN(out_unlink_dir, unlink(out("dir")))
CALL_FN(out_access, access(out("file"), W_OK))
CALL_FN(out_read, close_all(open(out("file"), O_RDONLY)))
CALL_FN(out_create_old, close_all(open(out("file"), O_RDONLY | O_CREAT, 0600)))
CALL_FN(out_rename_in, rename("plain", "../out/plain"))
CALL_FN(own_settings, close_all(open("/proc/self/oom_score_adj", O_WRONLY)))
CALL_FN(wild_pointer, (int)syscall(SYS_mkdirat, AT_FDCWD, 16, 0700))
CALL_FN(bad_descriptor, mkdirat(999, "x", 0700))

#define NONE VIOLATION_KINDS

static const struct expectation expectations[] = {
	{ "openat", out_write, EROFS, VIOLATION_FS_WRITE, "out/file" },
	{ "openat", out_trunc, EROFS, VIOLATION_FS_WRITE, "out/file" },
	{ "openat", out_create, EROFS, VIOLATION_FS_WRITE, "out/new" },
	{ "creat", out_creat, EROFS, VIOLATION_FS_WRITE, "out/file" },
	{ "openat", out_tmpfile, EROFS, VIOLATION_FS_WRITE, "out" },
	{ "mkdir", out_mkdir, EROFS, VIOLATION_FS_WRITE, "out/new" },
	{ "mknodat", out_mknod, EROFS, VIOLATION_FS_WRITE, "out/new" },
	{ "symlink", out_symlink, EROFS, VIOLATION_FS_WRITE, "out/new" },
	{ "unlink", out_unlink, EROFS, VIOLATION_FS_WRITE, "out/file" },
	{ "rmdir", out_rmdir, EROFS, VIOLATION_FS_WRITE, "out/dir" },
	{ "rename", out_rename, EROFS, VIOLATION_FS_RENAME, "out/file" },
	{ "link", out_link, EROFS, VIOLATION_FS_WRITE, "out/other" },
	{ "truncate", out_truncate, EROFS, VIOLATION_FS_WRITE, "out/file" },
	{ "chmod", out_chmod, EROFS, VIOLATION_FS_WRITE, "out/file" },
	{ "openat", out_by_link, EROFS, VIOLATION_FS_WRITE, "out/file" },
	{ "openat", out_by_last_link, EROFS, VIOLATION_FS_WRITE, "out/file" },
	{ "openat", out_by_dots, EROFS, VIOLATION_FS_WRITE, "out/file" },
	{ "openat", out_by_proc, EROFS, VIOLATION_FS_WRITE, "out/file" },
	{ "openat", out_by_proc_link, EROFS, VIOLATION_FS_WRITE, "out/file" },

	{ "openat", fixed_create, EACCES, VIOLATION_FS_CREATE,
	  "work/.mcp.json" },
	{ "mkdir", fixed_mkdir, EACCES, VIOLATION_FS_CREATE, "work/.vscode" },
	{ "mkdir", fixed_mkdir_deep, EACCES, VIOLATION_FS_CREATE,
	  "work/sub/.vscode" },
	{ "symlink", fixed_symlink, EACCES, VIOLATION_FS_CREATE,
	  "work/.mcp.json" },
	{ "link", fixed_link, EACCES, VIOLATION_FS_CREATE, "work/.mcp.json" },
	{ "rename", fixed_rename, EACCES, VIOLATION_FS_CREATE,
	  "work/.mcp.json" },
	{ "openat", fixed_by_link, EACCES, VIOLATION_FS_CREATE,
	  "work/.mcp.json" },
	{ "linkat", fixed_by_tmpfile, EACCES, VIOLATION_FS_CREATE,
	  "work/.mcp.json" },
	{ "linkat", fixed_by_empty_path, EACCES, VIOLATION_FS_CREATE,
	  "work/.mcp.json" },
	{ "openat", fixed_write, EROFS, VIOLATION_FS_WRITE, "work/fixed" },
	{ "unlink", fixed_unlink, EBUSY, VIOLATION_FS_WRITE, "work/fixed" },
	{ "rename", fixed_rename_away, EBUSY, VIOLATION_FS_RENAME,
	  "work/fixed" },
	{ "link", later_link, EACCES, VIOLATION_FS_WRITE, "work/later.deny" },
	{ "openat", later_write, EACCES, VIOLATION_FS_WRITE,
	  "work/later.deny" },
	{ "openat", later_reopen, EACCES, VIOLATION_FS_WRITE,
	  "work/later.deny" },

	{ NULL, plain_write, 0, NONE, NULL },
	{ NULL, fast_check_new, 0, NONE, NULL },
	{ NULL, plain_null, 0, NONE, NULL },
	{ NULL, plain_pipe, 0, NONE, NULL },
	{ NULL, plain_missing_dir, ENOENT, NONE, NULL },
	{ NULL, plain_mkdir, 0, NONE, NULL },
	{ NULL, out_mkdir_exists, EEXIST, NONE, NULL },
	{ NULL, out_dir_exists, EEXIST, NONE, NULL },
	{ NULL, out_unlink_missing, ENOENT, NONE, NULL },
	{ NULL, out_rmdir_missing, ENOENT, NONE, NULL },
	{ NULL, out_rename_missing, ENOENT, NONE, NULL },
	{ NULL, out_excl, EEXIST, NONE, NULL },
	{ NULL, out_write_missing, ENOENT, NONE, NULL },
	{ NULL, out_write_dir, EISDIR, NONE, NULL },
	{ NULL, out_unlink_dir, EISDIR, NONE, NULL },
	{ NULL, out_access, EROFS, NONE, NULL },
	{ NULL, out_read, 0, NONE, NULL },
	{ NULL, out_create_old, 0, NONE, NULL },
	{ "rename", out_rename_in, EROFS, VIOLATION_FS_RENAME, "out/plain" },
	{ NULL, own_settings, 0, NONE, NULL },
	{ NULL, wild_pointer, EFAULT, NONE, NULL },
	{ NULL, bad_descriptor, EBADF, NONE, NULL },
};

static int run_one(void *arg)
{
	const struct expectation *e = arg;

	return e->call() < 0 ? errno : 0;
}

static void make_link(const char *target, const char *name)
{
	CHECK(!symlink(target, test_path(name)) || errno == EEXIST);
}

/* The tree that the calls above are about */
static void make_tree(void)
{
	test_write(test_path("work/plain"), "plain");
	test_write(test_path("work/later.deny"), "later");
	test_write(test_path("work/sub/x"), "x");
	test_write(test_path("out/file"), "file");
	(void)mkdir(test_path("out/dir"), 0755);
	(void)unlink(test_path("work/new"));
	(void)rmdir(test_path("work/fresh"));
	make_link("../out", "work/link");
	make_link("../out/file", "work/filelink");
	make_link(".mcp.json", "work/dangling");
	make_link("/proc/self", "work/self");
}

static void check_one(size_t i, bool slow)
{
	const struct expectation *e = &expectations[i];
	static struct watched w;

	printf("# %zu: %s\n", i, e->name ? e->name : "as always");
	w.slow = slow;
	make_tree();
	watched_run(&w, run_one, (void *)(uintptr_t)e);
	CHECK(WIFEXITED(w.status));
	CHECK_INT(WEXITSTATUS(w.status), e->error);
	if (!e->name) {
		CHECK_INT(w.len, 0);
		return;
	}
	CHECK_STR(watched_only(&w)->op, e->name);
	CHECK_INT(w.v[0].kind, e->kind);
	CHECK_INT(w.v[0].error, e->error);
	CHECK_STR(w.v[0].target, test_path(e->target));
	CHECK(w.v[0].pid > 0);
	CHECK(access(test_path("work/.mcp.json"), F_OK) < 0);
	CHECK(access(test_path("work/.vscode"), F_OK) < 0);
	CHECK_STR(test_read(test_path("work/fixed")), "fixed");
}

TEST(every_refused_call_gets_its_errno_and_one_record)
{
	for (size_t i = 0; i < ARRAY_SIZE(expectations); i++)
		check_one(i, false);
}

TEST(the_fast_path_gives_the_same_answers)
{
	for (size_t i = 0; i < ARRAY_SIZE(expectations); i++)
		check_one(i, true);
}

/* What the kernel would say by itself, where we do not say better */
TEST(emulated_calls_fail_with_the_kernels_errno)
{
	static struct watched w = { .no_filter = true };

	for (size_t i = 0; i < ARRAY_SIZE(expectations); i++) {
		const struct expectation *e = &expectations[i];

		if (e->error == EACCES || e->call == out_unlink_missing ||
		    e->call == out_rmdir_missing ||
		    e->call == out_rename_missing || e->call == out_unlink_dir ||
		    e->call == out_rename_in)
			continue;
		make_tree();
		watched_run(&w, run_one, (void *)(uintptr_t)e);
		printf("# %zu: %d\n", i, WEXITSTATUS(w.status));
		CHECK_INT(WEXITSTATUS(w.status), e->error);
	}
}

static int not_dumpable(void *arg)
{
	(void)arg;
	CHECK_INT(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), 0);
	return out_create() < 0 ? errno : 0;
}

TEST(calls_of_a_non_dumpable_process_are_refused_and_reported)
{
	static struct watched w;

	make_tree();
	watched_run(&w, not_dumpable, NULL);
	CHECK(WEXITSTATUS(w.status) == EROFS ||
	      WEXITSTATUS(w.status) == EACCES);
	CHECK_INT(watched_only(&w)->kind, VIOLATION_FS_WRITE);
}

/* A policy for which nothing may be looked up: whatever happens must fail */
static int unreadable(void *arg)
{
	/* The flags are in memory that is not there; a NULL how is EFAULT */
	(void)arg;
	if (syscall(SYS_openat2, AT_FDCWD, "../out/file", 16, 24) >= 0)
		return 1;
	return errno == EFAULT ? 0 : errno;
}

static int other_magic(void *arg)
{
	char path[64];

	(void)arg;
	snprintf(path, sizeof(path), "/proc/%d/cwd/.mcp.json", (int)getpid());
	return open(path, O_WRONLY | O_CREAT, 0600) < 0 ? errno : 0;
}

TEST(paths_that_cannot_be_resolved_are_refused)
{
	static struct watched w;

	make_tree();
	watched_run(&w, unreadable, NULL);
	CHECK_INT(w.status, 0);
	watched_run(&w, other_magic, NULL);
	CHECK_INT(WEXITSTATUS(w.status), EACCES);
	CHECK(access(test_path("work/.mcp.json"), F_OK) < 0);
	CHECK(!watched_only(&w)->target);
	CHECK_INT(w.stats.failed, 1);
}

TEST(a_link_is_reported_as_given_and_as_resolved)
{
	static struct watched w;

	make_tree();
	watched_run(&w, run_one, (void *)(uintptr_t)&expectations[14]);
	CHECK_CONTAINS(watched_only(&w)->reason, "given as link/file");
	CHECK_STR(w.v[0].suggest_command + strlen("cloche policy allow write "),
		  test_path("out/file"));
}

static int hundred_files(void *arg)
{
	char name[32];

	(void)arg;
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "sub/f%d", i);
		if (close_all(open(name, O_WRONLY | O_CREAT, 0600)) < 0)
			return 1;
	}
	return 0;
}

TEST(plain_files_take_the_fast_path)
{
	static struct watched w;

	make_tree();
	watched_run(&w, hundred_files, NULL);
	CHECK_INT(w.status, 0);
	CHECK(w.stats.quick >= 99);	/* Of the first one the loop must hear */
	CHECK_INT(w.len, 0);
}

/* The first time: is there something already? */
static void on_make(void *arg)
{
	struct stat st;
	int *seen = arg;

	if (*seen < 0)
		*seen = !lstat(test_path("work/sub/f0"), &st);
}

TEST(the_callback_comes_before_the_first_name_is_made)
{
	int seen = -1;
	static struct watched w = { .config.on_make = on_make };

	make_tree();
	w.config.arg = &seen;
	watched_run(&w, hundred_files, NULL);
	CHECK_INT(w.status, 0);
	CHECK_INT(seen, 0);
	CHECK(w.stats.makes);
}

static int go_down(const char *name, bool make)
{
	char path[PATH_MAX];

	while (getcwd(path, sizeof(path)) && strlen(path) < DEEP_LENGTH) {
		if ((make && mkdir(name, 0700) < 0) || chdir(name) < 0)
			return -1;
	}
	return 0;
}

static int create_below(void *arg)
{
	char name[NAME_MAX] = { 0 };

	memset(name, 'm', sizeof(name) - 1);
	CHECK_INT(go_down(arg, false), 0);
	CHECK_INT(close_all(open(name, O_WRONLY | O_CREAT, 0600)), 0);
	return 0;
}

TEST(a_name_may_be_longer_than_a_path_if_its_directory_is_not)
{
	static struct watched w;
	char name[101] = { 0 };

	make_tree();
	memset(name, 'n', sizeof(name) - 1);
	CHECK_INT(chdir(test_path("work")), 0);
	CHECK_INT(go_down(name, true), 0);
	CHECK_INT(chdir("/"), 0);
	/* The first name that a command creates is decided by the loop */
	watched_run(&w, create_below, name);
	CHECK_INT(w.status, 0);
	CHECK_INT(w.len, 0);
}

/* Sockets by path */
static int connect_to(const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	return connect(fd, (struct sockaddr *)&un, sizeof(un));
}

static int listen_at(const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	(void)unlink(path);
	if (bind(fd, (struct sockaddr *)&un, sizeof(un)) < 0 ||
	    listen(fd, 8) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static int use_sockets(void *arg)
{
	auto_close int own = -1;
	struct stat st;

	(void)arg;
	umask(0077);
	CHECK_INT(connect_to("allowed"), 0);
	CHECK(connect_to("denied") < 0 && errno == EACCES);
	CHECK(connect_to("tolink") < 0 && errno == EACCES);
	CHECK(connect_to("none") < 0 && errno == ENOENT);
	CHECK(connect_to("plain") < 0 && errno == ECONNREFUSED);
	own = listen_at("own");
	CHECK(own >= 0);
	CHECK_INT(stat("own", &st), 0);
	CHECK_INT(st.st_mode & 07777, 0700);
	CHECK_INT(connect_to("own"), 0);
	CHECK(listen_at("../out/sock") < 0 && errno == EROFS);
	CHECK(listen_at(".mcp.json") < 0 && errno == EACCES);
	return 0;
}

TEST(unix_sockets_connect_by_allowed_path_only)
{
	static struct watched w = { .config.sockets_by_path = true };
	struct observer_socket allowed;
	auto_close int a = -1, b = -1, there = -1;
	struct stat st;

	make_tree();
	CHECK_INT(chdir(test_path("work")), 0);
	a = listen_at("allowed");
	b = listen_at("denied");
	CHECK(a >= 0 && b >= 0);
	CHECK_INT(symlink("denied", "tolink"), 0);
	CHECK_INT(stat("allowed", &st), 0);
	there = open("allowed", O_PATH);
	allowed = (struct observer_socket) { .dev = st.st_dev,
					     .ino = st.st_ino,
					     .birth = btime_of(there) };
	w.config.sockets = &allowed;
	w.config.nsockets = 1;
	watched_run(&w, use_sockets, NULL);
	CHECK_INT(w.status, 0);
	CHECK_INT(w.len, 4);
	CHECK_INT(w.v[0].kind, VIOLATION_UNIX_SOCKET);
	CHECK_STR(w.v[0].target, test_path("work/denied"));
	CHECK_STR(w.v[1].target, test_path("work/denied"));
	CHECK_STR(w.v[2].target, test_path("out/sock"));
	CHECK_STR(w.v[3].target, test_path("work/.mcp.json"));
}
