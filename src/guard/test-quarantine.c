/* SPDX-License-Identifier: Apache-2.0 */
/* watch/test-quarantine.c - moved away whole, brought back whole */

#include "watch/quarantine.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/violation.h"
#include "test.h"
#include "watch/gitrepo.h"

static void move(const char *name, char id[QUARANTINE_ID_SIZE])
{
	struct err err = { 0 };

	if (quarantine_move(test_path("state"), test_path(name), "01J", "why",
			    id, &err) < 0)
		test_fail(__FILE__, __LINE__, "%s", err.msg);
	CHECK(access(test_path(name), F_OK) < 0);
}

TEST(a_tree_goes_and_comes_back)
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

TEST(hostile_names_come_back_too)
{
	char id[QUARANTINE_ID_SIZE];

	test_write(test_path("work/a\n%41\xff\"\\b"), "x");
	move("work/a\n%41\xff\"\\b", id);
	CHECK_INT(quarantine_restore(test_path("state"), id, NULL), 0);
	CHECK_STR(test_read(test_path("work/a\n%41\xff\"\\b")), "x");
}

TEST(what_is_there_again_is_not_overwritten)
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

TEST(links_on_the_way_are_not_followed)
{
	char id[QUARANTINE_ID_SIZE];
	struct err err = { 0 };

	test_write(test_path("host/.mcp.json"), "the user's own");
	CHECK_INT(mkdir(test_path("work"), 0755), 0);
	CHECK_INT(symlink(test_path("host"), test_path("work/sub")), 0);
	CHECK_INT(quarantine_move(test_path("state"),
				  test_path("work/sub/.mcp.json"), NULL, "why",
				  id, &err),
		  -ELOOP);
	CHECK_STR(test_read(test_path("host/.mcp.json")), "the user's own");
	/* The link itself may go: what it leads to stays */
	move("work/sub", id);
	CHECK_STR(test_read(test_path("host/.mcp.json")), "the user's own");
}

TEST(ids_are_no_paths)
{
	static const char *const bad[] = {
		"", "..", "../../etc", "0123456789ab/", "0123456789ab0",
		"012345678UPP",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK_INT(quarantine_restore(test_path("state"), bad[i], NULL),
			  -EINVAL);
}

/* Full, or broken: what was planted must not go on under its name */
TEST(without_a_store_it_has_another_name)
{
	char id[QUARANTINE_ID_SIZE];
	auto_free char *name = NULL;
	struct err err = { 0 };

	test_write(test_path("state"), "no directory");
	test_write(test_path("work/.mcp.json"), "x");
	CHECK_INT(chmod(test_path("work"), 0500), 0);
	CHECK_INT(quarantine_move(test_path("state"),
				  test_path("work/.mcp.json"), NULL, "why", id,
				  &err),
		  1);
	CHECK_CONTAINS(err.msg, "it is called .mcp.json.quarantine-");
	CHECK(access(test_path("work/.mcp.json"), F_OK) < 0);
	name = mem_printf("work/.mcp.json.quarantine-%s", id);
	CHECK_STR(test_read(test_path(name)), "x");
	CHECK_INT(chmod(test_path("work"), 0700), 0);
}

static void ignore(void *arg, const struct violation *v)
{
	(void)arg;
	(void)v;
}

TEST(settings_that_cannot_be_cleaned_go)
{
	const struct violation_sink sink = { ignore, NULL };
	const char *state = test_path("state");
	const struct gitrepo_config config = { state, "01J", &sink };

	test_write(state, "no directory");
	test_write(test_path("n/.git/HEAD"), "ref: refs/heads/main\n");
	test_write(test_path("n/.git/config"), "[core]\n\tfsmonitor = ./x\n");
	gitrepo_disarm(&config, test_path("n/.git"));
	CHECK(access(test_path("n/.git/config"), F_OK) < 0);
}

static void keep(void *arg, const struct violation *v)
{
	struct buf *b = arg;

	CHECK_INT(v->kind, VIOLATION_QUARANTINE);
	CHECK_CONTAINS(v->suggest_command, "cloche violations restore ");
	buf_addf(b, "%s: %s\n", v->target + strlen(test_dir()), v->reason);
}

TEST(a_repository_is_disarmed_and_told)
{
	auto_buf struct buf said = { 0 };
	const struct violation_sink sink = { keep, &said };
	const char *state = test_path("state");
	const struct gitrepo_config config = { state, "01J", &sink };

	test_write(test_path("n/.git/HEAD"), "ref: refs/heads/main\n");
	test_write(test_path("n/.git/config"),
		   "[core]\n\tbare = false\n\tfsmonitor = ./x\n");
	test_write(test_path("n/.git/hooks/pre-commit"), "#!/bin/sh\n");
	test_write(test_path("n/.git/hooks/pre-commit.sample"), "#!/bin/sh\n");
	test_write(test_path("n/.git/modules/a/b/HEAD"), "x");
	test_write(test_path("n/.git/modules/a/b/config"),
		   "[core]\npager = x\n");
	test_write(test_path("n/.git/modules/a/b/hooks/update"), "x");
	gitrepo_disarm(&config, test_path("n/.git"));

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
