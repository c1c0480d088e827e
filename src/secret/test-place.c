/* SPDX-License-Identifier: Apache-2.0 */
/* secret/test-place.c - a private directory, and files that are not safe */

#include "secret/place.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "secret/bytes.h"
#include "test.h"

static struct err err;

static struct place *fresh(void)
{
	const char *path = test_path("a/store");

	return place_new(path);
}

static char *file_of(struct place *place)
{
	return path_join(place_path(place), "f");
}

static int put(struct place *place, const char *text)
{
	err.msg[0] = '\0';
	return place_write(place, "f", text, strlen(text), &err);
}

static int get(struct place *place, const char *want)
{
	auto_bytes struct bytes b = { 0 };
	int r;

	err.msg[0] = '\0';
	r = place_read(place, "f", 64, &b, &err);
	if (want)
		CHECK_STR(bytes_str(&b), want);
	else
		CHECK_INT(b.len, 0);
	return r;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	CHECK_INT(stat(path, &st), 0);
	return st.st_mode & 07777;
}

TEST(a_directory_and_a_file_are_private_from_birth)
{
	struct place *place = fresh();
	auto_free char *file = file_of(place);

	(void)umask(0);
	CHECK_INT(get(place, NULL), 0);
	CHECK(access(place_path(place), F_OK) < 0);	/* Reading makes none */
	CHECK_INT(put(place, "one"), 0);
	CHECK_INT(mode_of(place_path(place)), 0700);
	CHECK_INT(mode_of(file), 0600);
	CHECK_INT(get(place, "one"), 1);
	CHECK_INT(put(place, "two"), 0);
	CHECK_INT(get(place, "two"), 1);
	CHECK_INT(place_remove(place, "f", NULL), 1);
	CHECK_INT(place_remove(place, "f", NULL), 0);
	CHECK_INT(get(place, NULL), 0);
	place_free(place);
}

/* What is there is refused for reading and for writing, and stays */
static void refused(struct place *place, const char *words)
{
	CHECK_INT(get(place, NULL), -EPERM);
	CHECK_CONTAINS(err.msg, words);
	CHECK_INT(put(place, "new"), -EPERM);
	CHECK_CONTAINS(err.msg, words);
	CHECK_INT(place_remove(place, "f", NULL), -EPERM);
}

TEST(a_link_is_refused)
{
	struct place *place = fresh();
	auto_free char *file = file_of(place);
	const char *target = test_path("target");

	CHECK_INT(put(place, "old"), 0);
	CHECK_INT(rename(file, target), 0);
	CHECK_INT(symlink(target, file), 0);
	refused(place, "symbolic link");
	CHECK_STR(test_read(target), "old");
	CHECK_INT(unlink(file), 0);
	CHECK_INT(get(place, NULL), 0);
	place_free(place);
}

TEST(a_second_name_is_refused)
{
	struct place *place = fresh();
	auto_free char *file = file_of(place);
	const char *other = test_path("other");

	CHECK_INT(put(place, "old"), 0);
	CHECK_INT(link(file, other), 0);
	refused(place, "more than one name");
	CHECK_INT(unlink(other), 0);
	CHECK_INT(get(place, "old"), 1);
	place_free(place);
}

TEST(what_others_can_read_is_refused)
{
	static const mode_t modes[] = { 0640, 0604, 0620, 0602, 0660, 0644 };
	struct place *place = fresh();
	auto_free char *file = file_of(place);

	CHECK_INT(put(place, "old"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		CHECK_INT(chmod(file, modes[i]), 0);
		refused(place, "chmod 600");
	}
	CHECK_INT(chmod(file, 0600), 0);
	CHECK_INT(get(place, "old"), 1);
	place_free(place);
}

TEST(what_is_no_file_is_refused)
{
	struct place *place = fresh();
	auto_free char *file = file_of(place);

	CHECK(place_fd(place, true, NULL) >= 0);
	CHECK_INT(mkfifo(file, 0600), 0);
	refused(place, "not a regular file");
	CHECK_INT(unlink(file), 0);
	CHECK_INT(mkdir(file, 0700), 0);
	refused(place, "not a regular file");
	place_free(place);
}

TEST(what_somebody_else_owns_is_refused)
{
	struct place *place = fresh();
	struct place *again;
	auto_free char *file = file_of(place);

	if (geteuid() != 0)
		test_skip("needs root");
	CHECK_INT(put(place, "old"), 0);
	CHECK_INT(chown(file, 1, 1), 0);
	refused(place, "belongs to somebody else");
	CHECK_INT(chown(file, 0, 0), 0);
	CHECK_INT(chown(place_path(place), 1, 1), 0);
	again = place_new(place_path(place));
	CHECK_INT(get(again, NULL), -EPERM);
	CHECK_CONTAINS(err.msg, "belongs to uid 1");
	place_free(again);
	place_free(place);
}

TEST(a_directory_that_others_can_change_is_refused)
{
	static const mode_t modes[] = { 0720, 0702, 0777, 01777 };
	struct place *place = fresh();

	CHECK_INT(put(place, "old"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct place *again = place_new(place_path(place));

		CHECK_INT(chmod(place_path(place), modes[i]), 0);
		CHECK_INT(get(again, NULL), -EPERM);
		CHECK_CONTAINS(err.msg, "chmod 700");
		CHECK_INT(put(again, "new"), -EPERM);
		place_free(again);
	}
	place_free(place);
}

TEST(a_directory_that_is_a_link_is_refused)
{
	struct place *place = fresh();
	const char *path = test_path("link");
	struct place *through = place_new(path);

	CHECK_INT(put(place, "old"), 0);
	CHECK_INT(symlink(place_path(place), path), 0);
	CHECK_INT(get(through, NULL), -EPERM);
	CHECK_INT(put(through, "new"), -EPERM);
	CHECK_INT(get(place, "old"), 1);
	place_free(through);
	place_free(place);
}

TEST(too_large_is_refused_and_the_limit_is_not)
{
	struct place *place = fresh();
	auto_bytes struct bytes b = { 0 };

	CHECK_INT(put(place, "123456"), 0);
	CHECK_INT(place_read(place, "f", 6, &b, NULL), 1);
	CHECK_INT(place_read(place, "f", 5, &b, &err), -EFBIG);
	CHECK_CONTAINS(err.msg, "larger than 5 bytes");
	place_free(place);
}

TEST(what_a_killed_writer_left_is_replaced)
{
	struct place *place = fresh();
	auto_free char *left = NULL;

	CHECK_INT(put(place, "old"), 0);
	left = path_join(place_path(place), "f.new");
	test_write(left, "half a fi");
	CHECK_INT(get(place, "old"), 1);
	CHECK_INT(put(place, "new"), 0);
	CHECK_INT(get(place, "new"), 1);
	CHECK(access(left, F_OK) < 0);
	place_free(place);
}

/* The path is swapped while we hold the directory: what we do still goes to the
 * one that was checked
 */
TEST(a_swapped_directory_gets_nothing)
{
	struct place *place = fresh();
	const char *away = test_path("away");
	auto_free char *file = file_of(place);

	CHECK_INT(put(place, "old"), 0);
	CHECK_INT(rename(place_path(place), away), 0);
	CHECK_INT(mkdir(place_path(place), 0777), 0);
	CHECK_INT(put(place, "new"), 0);
	CHECK(access(file, F_OK) < 0);
	CHECK_INT(get(place, "new"), 1);
	place_free(place);
}
