/* SPDX-License-Identifier: Apache-2.0 */
/* observe/test-cwd-cache.c - the cache of working directories */

#include <string.h>
#include <unistd.h>

#include "test.h"
#include "observe/cwd-cache.h"
#include "observe/tracee.h"

enum { OTHER = 1, THIRD = 2 };	/* Threads that are not us */

static struct tracees tracees;
static struct cwds cwds;

static void set_up(void)
{
	tracees_init(&tracees, NULL);
	CHECK_INT(chdir("/"), 0);
}

/* Where we are said to stand at @now, having moved to @dir unheard */
static const char *after_move(const char *dir, int64_t now)
{
	static char path[64];
	struct tracee *t = tracee_get(&tracees, getpid());

	CHECK(t);
	CHECK_INT(chdir(dir), 0);
	CHECK_INT(cwd_read(&cwds, t, now, path, sizeof(path)),
		  (ssize_t)strlen(path));
	return path;
}

TEST(a_working_directory_is_cached_for_CWD_LIFE_MS)
{
	set_up();
	CHECK_STR(after_move("/", 1000), "/");
	CHECK_STR(after_move("/usr", 1000 + CWD_LIFE_MS - 1), "/");
	CHECK_STR(after_move("/usr", 1000 + CWD_LIFE_MS), "/usr");
}

TEST(a_pending_chdir_disables_the_cache)
{
	set_up();
	CHECK_STR(after_move("/", 1000), "/");
	cwd_note_chdir(&cwds, getpid(), 1001);
	CHECK_STR(after_move("/usr", 1002), "/usr");
	CHECK_STR(after_move("/etc", 1003), "/etc");
	cwd_note_call(&cwds, getpid());
	CHECK_STR(after_move("/etc", 1004), "/etc");
	CHECK_STR(after_move("/usr", 1005), "/etc");
}

TEST(a_chdir_of_another_thread_invalidates_the_cache)
{
	set_up();
	CHECK_STR(after_move("/", 1000), "/");
	cwd_note_chdir(&cwds, OTHER, 1001);
	cwd_note_call(&cwds, getpid());
	CHECK_STR(after_move("/usr", 1002), "/usr");
	CHECK_STR(after_move("/etc", 1003), "/etc");
	cwd_note_call(&cwds, OTHER);
	CHECK_STR(after_move("/etc", 1004), "/etc");
	CHECK_STR(after_move("/usr", 1005), "/etc");
}

TEST(several_pending_chdir_calls_disable_the_cache)
{
	set_up();
	cwd_note_chdir(&cwds, OTHER, 1000);
	cwd_note_chdir(&cwds, THIRD, 1001);
	cwd_note_call(&cwds, OTHER);
	cwd_note_call(&cwds, THIRD);
	CHECK_STR(after_move("/", 1002), "/");
	CHECK_STR(after_move("/usr", 1003), "/usr");
	CHECK_STR(after_move("/etc", 1001 + CWD_CHDIR_MS), "/etc");
	CHECK_STR(after_move("/usr", 1002 + CWD_CHDIR_MS), "/etc");
}
