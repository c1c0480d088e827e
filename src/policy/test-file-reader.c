/* SPDX-License-Identifier: Apache-2.0 */
/* policy/test-file-reader.c - settings files, symlinks and directories on disk */

#include "policy/file-reader.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/dedup.h"
#include "policy/policy.h"
#include "policy/settings.h"
#include "test.h"

static const struct file_reader *const files = &file_reader_files;

TEST(only_regular_files_are_read_as_settings)
{
	const char *file = test_path("a/file");
	const char *fifo = test_path("fifo");
	const char *none = test_path("a/file/none");
	auto_buf struct buf text = { 0 };
	struct err err = { 0 };
	bool owned = false;

	test_write(file, "text");
	CHECK_INT(mkfifo(fifo, 0600), 0);
	CHECK_INT(files->kind(NULL, test_dir(), &owned), FILE_READER_DIR);
	CHECK(owned);
	CHECK_INT(files->kind(NULL, file, NULL), FILE_READER_FILE);
	CHECK_INT(files->kind(NULL, fifo, NULL), FILE_READER_OTHER);
	CHECK_INT(files->kind(NULL, none, &owned), FILE_READER_NONE);
	CHECK(!owned);

	CHECK_INT(files->read(NULL, file, 4, &text, &err), 0);
	CHECK_STR(buf_str(&text), "text");
	CHECK_INT(files->read(NULL, file, 3, &text, &err), -EFBIG);
	/* A file in the way of a directory is not there either */
	CHECK_INT(files->read(NULL, none, 9, &text, &err), -ENOENT);
	/* And a FIFO does not hold us up */
	CHECK_INT(files->read(NULL, fifo, 9, &text, &err), -EINVAL);
	CHECK_INT(files->read(NULL, test_dir(), 9, &text, &err), -EISDIR);
}

TEST(names_of_a_directory_are_sorted)
{
	static const char *const names[] = { "b", "a", ".c", "B" };
	struct strings got = { 0 };
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *path = test_path(names[i]);

		test_write(path, "");
	}
	CHECK_INT(files->list(NULL, test_dir(), &got, &err), 0);
	CHECK_INT(got.len, 4);
	CHECK_STR(got.v[0], ".c");
	CHECK_STR(got.v[1], "B");
	CHECK_STR(got.v[3], "b");
	strings_done(&got);
	CHECK_INT(files->list(NULL, "/none/such", &got, &err), -ENOENT);
}

TEST(symlinks_to_settings_files_are_followed)
{
	const char *file = test_path("file");
	const char *link = test_path("link");
	auto_free char *real = NULL;
	auto_free char *got = NULL;

	test_write(file, "");
	CHECK_INT(symlink("file", link), 0);
	real = files->real(NULL, file);
	got = files->real(NULL, link);
	CHECK_STR(got, real);
	CHECK(!files->real(NULL, "/none/such"));
}

TEST(a_settings_file_that_cannot_be_read_stops_the_load)
{
	const char *cwd = test_path("p");
	auto_free char *file = path_join(cwd, ".claude/settings.json");
	auto_policy struct policy *policy = NULL;
	struct settings_request req = { .cwd = cwd, .home = test_dir() };
	struct err err = { 0 };

	test_write(file, "{}");
	CHECK_INT(settings_load(&req, &policy, NULL, &err), 0);
	CHECK_INT(unlink(file), 0);
	CHECK_INT(mkdir(file, 0700), 0);
	policy_unref(take_ptr(policy));
	CHECK_INT(settings_load(&req, &policy, NULL, &err), -EISDIR);
	CHECK_CONTAINS(err.msg, "settings.json' is a directory");
	CHECK(!policy);
}

TEST(edits_go_to_the_file_of_their_scope)
{
	const struct settings_request req = { .cwd = "/x/y", .home = "/h" };
	const struct settings_request homeless = { .cwd = "/x/y" };
	auto_free char *local = settings_file_for(&req, SCOPE_LOCAL);
	auto_free char *project = settings_file_for(&req, SCOPE_PROJECT);
	auto_free char *user = settings_file_for(&req, SCOPE_USER);

	CHECK_STR(local, "/x/y/.claude/settings.local.json");
	CHECK_STR(project, "/x/y/.cloche.json");
	CHECK_STR(user, "/h/.config/cloche/policy.json");
	CHECK(!settings_file_for(&homeless, SCOPE_USER));
}

TEST(dedup_finds_every_earlier_text)
{
	enum { MANY = 5000 };
	struct policy_dedup *seen = dedup_new();
	char *texts[MANY];
	size_t at = 0;

	for (size_t i = 0; i < MANY; i++) {
		texts[i] = mem_printf("%zu", i);
		CHECK(dedup_add(seen, 1, texts[i], i));
	}
	for (size_t i = 0; i < MANY; i++) {
		CHECK(!dedup_add(seen, 1, texts[i], 7));
		CHECK(dedup_find(seen, 1, texts[i], &at));
		CHECK_INT(at, i);
		CHECK(!dedup_find(seen, 2, texts[i], &at));
	}
	CHECK(dedup_add(seen, 2, "0", 9));
	CHECK(!dedup_add(seen, 2, "0", 10));
	CHECK(dedup_find(seen, 2, "0", &at));
	CHECK_INT(at, 9);
	dedup_free(seen);
	for (size_t i = 0; i < MANY; i++)
		free(texts[i]);
}
