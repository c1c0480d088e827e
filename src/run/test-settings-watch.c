/* SPDX-License-Identifier: Apache-2.0 */
/* run/test-settings-watch.c - every way to save, replace or remove a settings file */

#include "run/settings-watch.h"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/loop.h"
#include "ns.h"
#include "test.h"

static void count(void *arg)
{
	++*(int *)arg;
}

static struct loop *loop;

static struct settings_watch *start(const char *name, int *changes)
{
	const char *file = test_path(name);
	struct settings_watch *live = NULL;

	CHECK_INT(loop_new(&loop, NULL), 0);
	CHECK_INT(settings_watch_new(loop, &file, 1, count, changes, &live), 0);
	return live;
}

TEST(writes_in_place_and_renames_are_reported)
{
	int changes = 0;
	struct settings_watch *live;

	test_write(test_path("settings.json"), "1");
	live = start("settings.json", &changes);
	CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(changes, 0);
	test_write(test_path("settings.json"), "2");
	CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(changes, 1);
	test_write(test_path("other.json"), "x");
	CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(changes, 1);
	CHECK_INT(rename(test_path("other.json"), test_path("settings.json")),
		  0);
	CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(changes, 2);
	CHECK_INT(chmod(test_path("settings.json"), 0), 0);
	CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(changes, 3);
	settings_watch_free(live);
	loop_free(loop);
}

/* Until it has something to say */
static void wait_for(void)
{
	struct pollfd p = { .fd = loop_fd(loop), .events = POLLIN };

	CHECK_INT(poll(&p, 1, 60000), 1);
	CHECK_INT(loop_turn(loop), 0);
}

/* Another process makes files beside it, faster than we read events */
TEST(an_edit_is_reported_despite_an_overflowing_queue)
{
	struct pollfd p = { .events = POLLIN };
	int changes = 0;
	struct settings_watch *live;

	test_write(test_path("settings.json"), "1");
	live = start("settings.json", &changes);
	test_write(test_path("settings.json"), "2");
	for (int i = 0; i < 4000; i++) {
		CHECK_INT(mkdir(test_path("flood"), 0755), 0);
		CHECK_INT(rmdir(test_path("flood")), 0);
	}
	p.fd = loop_fd(loop);
	CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(changes, 1);
	CHECK_INT(poll(&p, 1, 0), 1);
	test_write(test_path("settings.json"), "3");
	while (poll(&p, 1, 0) == 1)
		CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(changes, 2);
	settings_watch_free(live);
	loop_free(loop);
}

/* One that is there, in a directory that can be moved */
static struct settings_watch *start_there(int *changes)
{
	CHECK_INT(mkdir(test_path("d"), 0755), 0);
	test_write(test_path("d/settings.json"), "1");
	return start("d/settings.json", changes);
}

TEST(a_removed_file_is_reported_after_a_delay)
{
	int changes = 0;
	struct settings_watch *live = start_there(&changes);

	CHECK_INT(unlink(test_path("d/settings.json")), 0);
	wait_for();
	CHECK_INT(changes, 0);
	wait_for();
	CHECK_INT(changes, 1);
	test_write(test_path("d/settings.json"), "2");
	CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(changes, 2);
	settings_watch_free(live);
	loop_free(loop);
}

TEST(a_file_moved_away_and_rewritten_is_one_change)
{
	int changes = 0;
	struct settings_watch *live = start_there(&changes);

	CHECK_INT(rename(test_path("d/settings.json"),
			 test_path("d/settings.json~")),
		  0);
	wait_for();
	test_write(test_path("d/settings.json"), "3");
	wait_for();
	CHECK_INT(changes, 1);
	wait_for();		/* The moment is over */
	CHECK_INT(changes, 1);

	/* One that is slow, but not too slow, in the same breath as a write */
	test_write(test_path("d/settings.json"), "4");
	CHECK_INT(rename(test_path("d/settings.json"),
			 test_path("d/settings.json~")),
		  0);
	wait_for();
	CHECK_INT(changes, 1);
	test_write(test_path("d/settings.json"), "5");
	wait_for();
	CHECK_INT(changes, 2);
	wait_for();
	CHECK_INT(changes, 2);
	settings_watch_free(live);
	loop_free(loop);
}

TEST(a_directory_in_place_of_the_file_is_a_removal)
{
	int changes = 0;
	struct settings_watch *live = start_there(&changes);

	CHECK_INT(unlink(test_path("d/settings.json")), 0);
	CHECK_INT(mkdir(test_path("d/settings.json"), 0755), 0);
	wait_for();
	wait_for();
	CHECK_INT(changes, 1);
	settings_watch_free(live);
	loop_free(loop);
}

TEST(a_recreated_parent_directory_is_watched_again)
{
	int changes = 0;
	struct settings_watch *live = start_there(&changes);

	for (int i = 0; i < 2; i++) {
		if (i) {
			CHECK_INT(unlink(test_path("d/settings.json")), 0);
			CHECK_INT(rmdir(test_path("d")), 0);
		} else {
			CHECK_INT(rename(test_path("d"), test_path("e")), 0);
		}
		wait_for();
		wait_for();
		CHECK_INT(changes, 2 * i + 1);
		CHECK_INT(mkdir(test_path("d"), 0755), 0);
		wait_for();
		test_write(test_path("d/settings.json"), "4");
		wait_for();
		CHECK_INT(changes, 2 * i + 2);
	}
	settings_watch_free(live);
	loop_free(loop);
}

TEST(a_file_in_a_missing_directory_is_reported_when_it_appears)
{
	int changes = 0;
	struct settings_watch *live = start("a/b/settings.json", &changes);

	CHECK_INT(mkdir(test_path("a"), 0755), 0);
	CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(mkdir(test_path("a/b"), 0755), 0);
	CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(changes, 0);
	test_write(test_path("a/b/settings.json"), "1");
	CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(changes, 1);
	settings_watch_free(live);
	loop_free(loop);
}

TEST(a_file_created_together_with_its_directories_is_reported)
{
	int changes = 0;
	struct settings_watch *live = start("a/b/settings.json", &changes);

	test_write(test_path("a/b/settings.json"), "1");
	CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(changes, 1);
	test_write(test_path("a/b/settings.json"), "2");
	CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(changes, 2);
	settings_watch_free(live);
	loop_free(loop);
}

TEST(changes_of_a_symlinks_target_are_reported)
{
	int changes = 0;
	struct settings_watch *live;

	test_write(test_path("dots/real.json"), "1");
	test_write(test_path("dots/other.json"), "1");
	CHECK_INT(symlink("dots/real.json", test_path("settings.json")), 0);
	live = start("settings.json", &changes);
	test_write(test_path("dots/real.json"), "2");
	CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(changes, 1);
	CHECK_INT(symlink("dots/other.json", test_path("new")), 0);
	CHECK_INT(rename(test_path("new"), test_path("settings.json")), 0);
	CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(changes, 2);
	test_write(test_path("dots/other.json"), "2");
	CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(changes, 3);
	settings_watch_free(live);
	loop_free(loop);
}

/* In a user namespace of its own, so that no other program loses its watches */
static void allow_watches(const char *number)
{
	test_enter(0);
	CHECK_INT(ns_put("/proc/sys/user/max_inotify_watches", number), 0);
}

TEST(files_without_an_inotify_watch_are_polled)
{
	int changes = 0;
	const char *const files[] = { test_path("one.json"),
				      test_path("a/two.json") };
	struct settings_watch *live = NULL;

	test_write(files[0], "1");
	test_write(files[1], "1");
	allow_watches("1");
	CHECK_INT(loop_new(&loop, NULL), 0);
	CHECK_INT(settings_watch_new(loop, files, 2, count, &changes, &live), 0);
	test_write(files[1], "22");
	while (!changes)
		wait_for();
	settings_watch_free(live);
	loop_free(loop);
}

TEST(a_new_directory_without_an_inotify_watch_is_polled)
{
	int changes = 0, before;
	struct settings_watch *live;

	allow_watches("1");
	live = start("a/settings.json", &changes);
	CHECK_INT(mkdir(test_path("a"), 0755), 0);
	wait_for();
	before = changes;
	test_write(test_path("a/settings.json"), "1");
	while (changes == before)
		wait_for();
	settings_watch_free(live);
	loop_free(loop);
}
