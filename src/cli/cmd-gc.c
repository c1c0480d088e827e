/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd-gc.c - cloche gc: the /tmp of each project, kept between its runs */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/sys.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "cli/command-line.h"
#include "ephemeral/ephemeral.h"
#include "guard/tree-copy.h"
#include "policy/policy.h"
#include "run/decision.h"
#include "run/tmpdir.h"

enum {
	AGE_DAYS = 30,		/* Without a run: then it goes */
	DEPTH_MAX = 128,	/* Directories in each other whose size counts */
};

static const int64_t day_ms = INT64_C(24) * 3600 * 1000;

/**
 * struct gc - One use of the verb
 * @age_ms:	What was not used for so long goes
 * @list:	Nothing goes
 * @json:	The rows, or NULL for text
 */
struct gc {
	int64_t now_ms, age_ms;
	bool list, failed;
	json_t *json;
};

/* The space that @name takes, as far as we may look; a command made what is in it */
static uint64_t space_of(int at, const char *name, unsigned int depth)
{
	auto_close int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
				   O_NONBLOCK | O_CLOEXEC);
	auto_dir struct dir dir = dir_of(depth > DEPTH_MAX ? -1 : fd);
	struct dir_entry entry;
	uint64_t sum = 0;
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		sum = (uint64_t)st.st_blocks * 512;
	while (dir_next(&dir, &entry) > 0)
		sum += space_of(fd, entry.name, depth + 1);
	return sum;
}

static void print_row(struct gc *gc, const char *project, uint64_t bytes,
		      int64_t days, const char *state)
{
	auto_buf struct buf safe = { 0 };

	text_escape(&safe, project);
	if (gc->json)
		json_array_append_new(gc->json, json_pack(
			"{s:s, s:I, s:I, s:s}", "project", buf_str(&safe),
			"bytes", (json_int_t)bytes, "days", (json_int_t)days,
			"state", state));
	else
		printf("%-8s %7.1f MB  %4" PRId64 " d  %s\n", state,
		       (double)bytes / 1e6, days, buf_str(&safe));
}

/* @name in @at is the directory of one project; the lock keeps runs away from it */
static void collect_one(struct gc *gc, int at, const char *name)
{
	auto_close int dir = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
				    O_CLOEXEC);
	auto_buf struct buf project = { 0 };
	struct stat st, there;
	const char *state = "kept";
	uint64_t bytes;
	int64_t age;
	int r;

	if (dir < 0 || fstatat(dir, TMPDIR_PROJECT, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    fs_read(dir, TMPDIR_PROJECT, PATH_MAX, &project, NULL) < 0)
		return;
	age = gc->now_ms - (int64_t)st.st_mtim.tv_sec * 1000;
	bytes = space_of(at, name, 0);
	if (flock(dir, LOCK_EX | LOCK_NB) < 0) {
		state = "in use";
	} else if (age >= gc->age_ms || lstat(buf_str(&project), &there) < 0) {
		r = gc->list ? 0 : tree_copy_remove(at, name, EPHEMERAL_DEPTH_MAX + 1, dir);
		state = gc->list ? "old" : r < 0 ? "failed" : "removed";
		gc->failed |= r < 0;
	}
	print_row(gc, buf_str(&project), bytes, age / day_ms, state);
}

static void collect_all(struct gc *gc, const char *state, const char *below)
{
	auto_free char *path = path_join(state, below);
	auto_close int fd = sys_open_nofollow(AT_FDCWD, path, O_RDONLY |
					      O_DIRECTORY | O_CLOEXEC, 0);
	auto_dir struct dir dir = dir_of(fd);
	struct dir_entry entry;

	while (dir_next(&dir, &entry) > 0) {
		if (entry.name[0] != '.')
			collect_one(gc, fd, entry.name);
	}
}

int cli_gc(struct call *call, struct err *err)
{
	auto_policy struct policy *policy = NULL;
	const char *older = call_flag(call, "older-than");
	struct gc gc = { .now_ms = now_ms(CLOCK_REALTIME),
			 .age_ms = AGE_DAYS * day_ms,
			 .list = call_flag(call, "list") };
	uint64_t ms;
	int r = call_expect(call, 0, 0, err);

	if (r == 0)
		r = decision_policy(&call->options, &policy, err);
	if (r < 0)
		return r;
	if (older && text_to_duration_ms(older, &ms) < 0)
		return fail(err, -EINVAL, "--older-than: '%s' is not a time like 12h or 7d",
			    older);
	if (older)
		gc.age_ms = (int64_t)ms;
	if (call_flag(call, "all"))
		gc.age_ms = INT64_MIN;
	if (call_flag(call, "json"))
		gc.json = json_array();
	if (policy->dirs[DIR_STATE]) {
		collect_all(&gc, policy->dirs[DIR_STATE], TMPDIR_HIDDEN);
		collect_all(&gc, policy->dirs[DIR_STATE], TMPDIR_SHOWN);
	}
	if (gc.json)
		print_json(json_pack("{s:i, s:o}", "version", 1, "directories",
				     gc.json), JSON_INDENT(2));
	return gc.failed;
}
