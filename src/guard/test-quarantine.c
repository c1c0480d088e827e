/* SPDX-License-Identifier: Apache-2.0 */
/* guard/test-quarantine.c - planted files are quarantined and restored */

#include "guard/quarantine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "report/violation.h"
#include "test.h"
#include "guard/git-sanitize.h"

static void move(const char *name, char id[QUARANTINE_ID_SIZE])
{
	struct err err = { 0 };

	if (quarantine_move(test_path("state"), test_path(name), "01J", "why",
			    NULL, id, &err) < 0)
		test_fail(__FILE__, __LINE__, "%s", err.msg);
	CHECK(access(test_path(name), F_OK) < 0);
}

TEST(a_tree_is_quarantined_and_restored)
{
	char id[QUARANTINE_ID_SIZE];
	struct stat st;

	test_write(test_path("work/.vscode/tasks.json"), "x");
	CHECK_INT(chmod(test_path("work/.vscode/tasks.json"), 0751), 0);
	CHECK_INT(symlink("/etc/passwd", test_path("work/.vscode/link")), 0);
	move("work/.vscode", id);
	CHECK_INT(quarantine_restore(test_path("state"), id, NULL), 0);
	CHECK_STR(test_read(test_path("work/.vscode/tasks.json")), "x");
	CHECK_INT(stat(test_path("work/.vscode/tasks.json"), &st), 0);
	CHECK_INT(st.st_mode & 07777, 0751);
	CHECK_INT(lstat(test_path("work/.vscode/link"), &st), 0);
	CHECK(S_ISLNK(st.st_mode));
	CHECK_INT(quarantine_restore(test_path("state"), id, NULL), -ENOENT);
}

TEST(names_of_any_bytes_are_restored)
{
	char id[QUARANTINE_ID_SIZE];

	test_write(test_path("work/a\n%41\xff\"\\b"), "x");
	move("work/a\n%41\xff\"\\b", id);
	CHECK_INT(quarantine_restore(test_path("state"), id, NULL), 0);
	CHECK_STR(test_read(test_path("work/a\n%41\xff\"\\b")), "x");
}

TEST(restoring_does_not_overwrite_a_new_file)
{
	char id[QUARANTINE_ID_SIZE];
	struct err err = { 0 };

	test_write(test_path("work/.mcp.json"), "planted");
	move("work/.mcp.json", id);
	test_write(test_path("work/.mcp.json"), "mine");
	CHECK_INT(quarantine_restore(test_path("state"), id, &err), -EEXIST);
	CHECK_CONTAINS(err.msg, "move it away first");
	CHECK_STR(test_read(test_path("work/.mcp.json")), "mine");
}

TEST(restoring_does_not_follow_symlinks_in_parents)
{
	char id[QUARANTINE_ID_SIZE];
	struct err err = { 0 };

	test_write(test_path("host/.mcp.json"), "the user's own");
	CHECK_INT(mkdir(test_path("work"), 0755), 0);
	CHECK_INT(symlink(test_path("host"), test_path("work/sub")), 0);
	CHECK_INT(quarantine_move(test_path("state"),
				  test_path("work/sub/.mcp.json"), NULL, "why",
				  NULL, id, &err),
		  -ELOOP);
	CHECK_STR(test_read(test_path("host/.mcp.json")), "the user's own");
	/* The link itself may go: what it leads to stays */
	move("work/sub", id);
	CHECK_STR(test_read(test_path("host/.mcp.json")), "the user's own");
}

TEST(an_id_that_is_a_path_is_refused)
{
	static const char *const bad[] = {
		"", "..", "../../etc", "0123456789ab/", "0123456789ab0",
		"012345678UPP",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK_INT(quarantine_restore(test_path("state"), bad[i], NULL),
			  -EINVAL);
}

/* A copy takes long: while the command runs, a directory only loses its name */
TEST(a_directory_is_renamed_and_collected)
{
	char id[QUARANTINE_ID_SIZE];
	auto_free char *aside = NULL, *item = NULL;
	ino_t ino = 0;

	for (int collected = 0; collected < 2; collected++) {
		free(aside);
		free(item);
		test_write(test_path("work/.vscode/tasks.json"), "x");
		CHECK_INT(quarantine_move(test_path("state"),
					  test_path("work/.vscode"), NULL,
					  "why", &ino, id, NULL), 0);
		aside = mem_printf("work/.vscode.quarantine-%s", id);
		item = mem_printf("state/quarantine/%s/item/tasks.json", id);
		CHECK(access(test_path("work/.vscode"), F_OK) < 0);
		CHECK(!access(test_path(aside), F_OK));
		CHECK(access(test_path(item), F_OK) < 0);
		if (collected) {
			CHECK_INT(quarantine_collect(test_path("state"),
						     test_path("work/.vscode"),
						     ino, id, NULL), 0);
			CHECK(access(test_path(aside), F_OK) < 0);
			CHECK(!access(test_path(item), F_OK));
		}
		CHECK_INT(quarantine_restore(test_path("state"), id, NULL), 0);
		CHECK_STR(test_read(test_path("work/.vscode/tasks.json")), "x");
	}
}

/* The command knows the name, and may have given it to a directory of the user's */
TEST(another_directory_is_not_collected)
{
	char id[QUARANTINE_ID_SIZE];
	auto_free char *aside = NULL, *file = NULL;
	ino_t ino = 0;

	test_write(test_path("work/src/main.c"), "the user's own");
	test_write(test_path("work/.vscode/tasks.json"), "x");
	CHECK_INT(quarantine_move(test_path("state"), test_path("work/.vscode"),
				  NULL, "why", &ino, id, NULL), 0);
	aside = mem_printf("work/.vscode.quarantine-%s", id);
	file = mem_printf("%s/main.c", aside);
	CHECK_INT(rename(test_path(aside), test_path("work/plant")), 0);
	CHECK_INT(rename(test_path("work/src"), test_path(aside)), 0);
	CHECK_INT(quarantine_collect(test_path("state"),
				     test_path("work/.vscode"), ino, id, NULL),
		  0);
	CHECK_STR(test_read(test_path(file)), "the user's own");
}

/* Full, or broken: what was planted must not go on under its name */
TEST(a_planted_file_is_renamed_when_the_store_cannot_take_it)
{
	char id[QUARANTINE_ID_SIZE];
	auto_free char *name = NULL;
	struct err err = { 0 };

	test_write(test_path("state"), "no directory");
	test_write(test_path("work/.mcp.json"), "x");
	CHECK_INT(chmod(test_path("work"), 0500), 0);
	CHECK_INT(quarantine_move(test_path("state"),
				  test_path("work/.mcp.json"), NULL, "why",
				  NULL, id, &err),
		  1);
	CHECK_CONTAINS(err.msg, "it is called .mcp.json.quarantine-");
	CHECK(access(test_path("work/.mcp.json"), F_OK) < 0);
	name = mem_printf("work/.mcp.json.quarantine-%s", id);
	CHECK_STR(test_read(test_path(name)), "x");
	CHECK_INT(chmod(test_path("work"), 0700), 0);
}

static void write_large(const char *name)
{
	const size_t n = QUARANTINE_BYTES_MAX / 8 * 5;
	auto_free char *data = mem_zalloc(n + 1);

	memset(data, 'x', n);
	test_write(test_path(name), data);
}

TEST(copies_to_quarantine_share_one_size_limit)
{
	char id[QUARANTINE_ID_SIZE];
	struct err err = { 0 };

	write_large("work/.vscode/a");
	write_large("work/.idea/a");
	move("work/.vscode", id);
	CHECK_INT(quarantine_move(test_path("state"), test_path("work/.idea"),
				  NULL, "why", NULL, id, &err), 1);
	CHECK_CONTAINS(err.msg, "it is called .idea.quarantine-");
	CHECK_INT(quarantine_restore(test_path("state"), id, NULL), 0);
	CHECK(!access(test_path("work/.idea/a"), F_OK));
}

static void ignore(void *arg, const struct violation *v)
{
	(void)arg;
	(void)v;
}

TEST(git_settings_that_cannot_be_rewritten_are_removed)
{
	const struct violation_sink sink = { ignore, NULL };
	const char *state = test_path("state");
	const struct quarantine_config config = { state, "01J", &sink };

	test_write(state, "no directory");
	test_write(test_path("n/.git/HEAD"), "ref: refs/heads/main\n");
	test_write(test_path("n/.git/config"), "[core]\n\tfsmonitor = ./x\n");
	git_sanitize_disarm(&config, test_path("n/.git"));
	CHECK(access(test_path("n/.git/config"), F_OK) < 0);
}

static void keep(void *arg, const struct violation *v)
{
	struct buf *b = arg;

	CHECK_INT(v->kind, VIOLATION_QUARANTINE);
	CHECK_CONTAINS(v->suggest_command, "cloche violations restore ");
	buf_addf(b, "%s: %s\n", v->target + strlen(test_dir()), v->reason);
}

TEST(a_repository_is_disarmed_and_reported)
{
	auto_buf struct buf said = { 0 };
	const struct violation_sink sink = { keep, &said };
	const char *state = test_path("state");
	const struct quarantine_config config = { state, "01J", &sink };

	test_write(test_path("n/.git/HEAD"), "ref: refs/heads/main\n");
	test_write(test_path("n/.git/config"),
		   "[core]\n\tbare = false\n\tfsmonitor = ./x\n");
	test_write(test_path("n/.git/hooks/pre-commit"), "#!/bin/sh\n");
	test_write(test_path("n/.git/hooks/pre-commit.sample"), "#!/bin/sh\n");
	test_write(test_path("n/.git/modules/a/b/HEAD"), "x");
	test_write(test_path("n/.git/modules/a/b/config"),
		   "[core]\npager = x\n");
	test_write(test_path("n/.git/modules/a/b/hooks/update"), "x");
	git_sanitize_disarm(&config, test_path("n/.git"));

	CHECK(access(test_path("n/.git/hooks/pre-commit"), F_OK) < 0);
	CHECK(!access(test_path("n/.git/hooks/pre-commit.sample"), F_OK));
	CHECK(access(test_path("n/.git/modules/a/b/hooks/update"), F_OK) < 0);
	CHECK_STR(test_read(test_path("n/.git/config")),
		  "[core]\n\tbare = false\n\t\n");
	CHECK_STR(test_read(test_path("n/.git/modules/a/b/config")),
		  "[core]\n");
	CHECK_CONTAINS(buf_str(&said), "/n/.git/hooks/pre-commit: ");
	CHECK_CONTAINS(buf_str(&said), "/n/.git/config: core.fsmonitor");
	CHECK_CONTAINS(buf_str(&said), "/n/.git/modules/a/b/config: ");
}
