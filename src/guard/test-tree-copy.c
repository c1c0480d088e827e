/* SPDX-License-Identifier: Apache-2.0 */
/* guard/test-tree-copy.c - copies of trees to another file system */

#include "guard/tree-copy.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "test.h"

enum { NOBODY = 65534 };

static char other[] = "/dev/shm/cloche-test-XXXXXX";

static const char *at(const char *dir, const char *name)
{
	static char room[8][4096];
	static unsigned int next;
	char *path = room[next++ % ARRAY_SIZE(room)];

	snprintf(path, sizeof(*room), "%s/%s", dir, name);
	return path;
}

static struct tree_copy limits(size_t entries, uint64_t bytes, unsigned int depth)
{
	return (struct tree_copy){ .entries = entries, .bytes = bytes,
			      .depth = depth };
}

/* Here and on another disk; modes mean nothing to root, so we are not */
static void open_both(int *from, int *to)
{
	struct stat a, b;

	CHECK(mkdtemp(other));
	CHECK_INT(stat(other, &a), 0);
	CHECK_INT(stat(test_dir(), &b), 0);
	if (a.st_dev == b.st_dev) {
		rmdir(other);
		test_skip("/dev/shm is not another file system");
	}
	if (!geteuid()) {
		CHECK_INT(chown(other, NOBODY, NOBODY), 0);
		CHECK_INT(chown(test_dir(), NOBODY, NOBODY), 0);
		CHECK_INT(seteuid(NOBODY), 0);
	}
	*from = open(test_dir(), O_RDONLY | O_DIRECTORY);
	*to = open(other, O_RDONLY | O_DIRECTORY);
	CHECK(*from >= 0 && *to >= 0);
}

/* And ourselves again: the leak checker cannot look into who changed its user
 */
static void close_both(void)
{
	CHECK_INT(rmdir(other), 0);
	CHECK_INT(seteuid(getuid()), 0);
	CHECK_INT(prctl(PR_SET_DUMPABLE, 1), 0);
}

TEST(a_tree_is_copied_to_another_file_system)
{
	auto_close int from = -1, to = -1;
	struct stat st;

	open_both(&from, &to);
	test_write(test_path("tree/d/file"), "deep");
	CHECK_INT(truncate(test_path("tree/d/file"), (off_t)1 << 40), 0);
	CHECK_INT(symlink("/etc", test_path("tree/link")), 0);
	CHECK_INT(tree_copy_move(from, "tree", to, "t", limits(3, 9999, 8)), -E2BIG);
	CHECK_INT(tree_copy_move(from, "tree", to, "t", limits(4, 9999, 1)), -ELOOP);
	CHECK(access(test_path("tree/d/file"), F_OK) == 0);
	CHECK(faccessat(to, "t", F_OK, 0) < 0);
	CHECK_INT(tree_copy_move(from, "tree", to, "t", limits(4, 9999, 8)), 0);
	CHECK(access(test_path("tree"), F_OK) < 0);
	/* Nearly all of it is a hole, and stays one */
	CHECK_INT(stat(at(other, "t/d/file"), &st), 0);
	CHECK_INT(st.st_size, (off_t)1 << 40);
	CHECK(st.st_blocks < 1024);
	CHECK_INT(truncate(at(other, "t/d/file"), 4), 0);
	CHECK_STR(test_read(at(other, "t/d/file")), "deep");
	CHECK_INT(tree_copy_remove(to, "t", 8, -1), 0);
	close_both();
}

TEST(copied_bytes_are_counted)
{
	auto_close int from = -1, to = -1;
	char text[10001];

	open_both(&from, &to);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	test_write(test_path("tree/a"), text);
	test_write(test_path("tree/b"), text);
	CHECK_INT(tree_copy_move(from, "tree", to, "t", limits(9, 19999, 8)), -EFBIG);
	CHECK_STR(test_read(test_path("tree/b")), text);
	CHECK(faccessat(to, "t", F_OK, 0) < 0);
	CHECK_INT(tree_copy_move(from, "tree", to, "t", limits(9, 20000, 8)), 0);
	CHECK_STR(test_read(at(other, "t/b")), text);
	CHECK_INT(tree_copy_remove(to, "t", 8, -1), 0);
	close_both();
}

TEST(trees_with_restrictive_modes_are_copied_with_their_modes)
{
	auto_close int from = -1, to = -1;
	struct stat st;

	open_both(&from, &to);
	test_write(test_path("tree/d/e/file"), "x");
	CHECK_INT(chmod(test_path("tree/d/e/file"), 0), 0);
	CHECK_INT(chmod(test_path("tree/d/e"), 0400), 0);
	CHECK_INT(chmod(test_path("tree/d"), 0), 0);
	CHECK_INT(chmod(test_path("tree"), 0555), 0);
	/* A copy that fails leaves everything as it was */
	CHECK_INT(tree_copy_move(from, "tree", to, "t", limits(3, 99, 8)), -E2BIG);
	CHECK_INT(stat(test_path("tree/d"), &st), 0);
	CHECK_INT(st.st_mode & 07777, 0);
	CHECK_INT(tree_copy_move(from, "tree", to, "t", limits(4, 4099, 8)), 0);
	CHECK(access(test_path("tree"), F_OK) < 0);
	CHECK_INT(stat(at(other, "t/d"), &st), 0);
	CHECK_INT(st.st_mode & 07777, 0);
	CHECK_INT(chmod(at(other, "t/d"), 0700), 0);
	CHECK_INT(stat(at(other, "t/d/e"), &st), 0);
	CHECK_INT(st.st_mode & 07777, 0400);
	CHECK_INT(tree_copy_remove(to, "t", 8, -1), 0);
	close_both();
}

TEST(an_existing_target_is_not_overwritten)
{
	auto_close int from = -1, to = -1;

	open_both(&from, &to);
	test_write(test_path("tree/file"), "new");
	test_write(at(other, "tree/file"), "old");
	CHECK_INT(tree_copy_move(from, "tree", to, "tree", limits(9, 99, 8)), -EEXIST);
	CHECK_STR(test_read(at(other, "tree/file")), "old");
	CHECK_STR(test_read(test_path("tree/file")), "new");
	CHECK_INT(tree_copy_remove(to, "tree", 8, -1), 0);
	close_both();
}
