/* SPDX-License-Identifier: Apache-2.0 */
/* plan/test-fuse-mask.c - replies of the FUSE masks */

#include <errno.h>
#include <linux/fuse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "plan/fuse-mask.h"
#include "plan/plan.h"
#include "test.h"

static uint64_t request[FUSE_MASK_REQUEST_MAX / 8], reply[FUSE_MASK_REPLY_MAX / 8];
static struct fuse_mask_event event;

/* A file; a directory; one that shows files; one that shows a directory; one of
 * our own
 */
static void make_tree(struct fuse_mask_tree *ret, bool nested)
{
	static char paths[][8] = {
		"/h/file", "/h/dir", "/h/ssh", "/h/home", "/h/own",
	};
	static char known[] = "known", deep[] = "a/b", work[] = "work";
	struct plan plan = { .talk = true, .nested_userns = nested };
	struct plan_point *point;

	for (size_t i = 0; i < 5; i++) {
		struct plan_mount *m = vec_push(&plan.mounts);

		m->kind = i ? MOUNT_MASK_DIR : MOUNT_MASK_FILE;
		m->path = paths[i];
		m->refuses = i != 4;
		m->mask = i == 2 || i == 3 ? MASK_FIRST + (unsigned int)i : MASK_EMPTY;
	}
	point = vec_push(&plan.points);
	*point = (struct plan_point){ .mask = MASK_FIRST + 2, .path = known };
	point = vec_push(&plan.points);
	*point = (struct plan_point){ .mask = MASK_FIRST + 2, .path = deep };
	point = vec_push(&plan.points);
	*point = (struct plan_point){
		.mask = MASK_FIRST + 3, .path = work, .is_dir = true,
	};
	fuse_mask_tree_build(&plan, ret);
	free(plan.mounts.v);
	free(plan.points.v);
}

/* Ask, and return the error of the reply */
static int ask(const struct fuse_mask_tree *tree, uint32_t opcode, uint64_t node,
	       const void *body, size_t n)
{
	struct fuse_in_header head = {
		.len = (uint32_t)(sizeof(head) + n), .opcode = opcode,
		.unique = 7, .nodeid = node, .pid = 42,
	};
	struct fuse_out_header out;
	ssize_t len;

	memcpy(request, &head, sizeof(head));
	if (n)
		memcpy((char *)request + sizeof(head), body, n);
	len = fuse_mask_answer(tree, request, head.len, reply, &event);
	if (len <= 0)
		return (int)len;
	memcpy(&out, reply, sizeof(out));
	CHECK_INT(out.len, len);
	CHECK_INT(out.unique, 7);
	return out.error;
}

/* The node number of @name in @node, or a negative errno */
static long find(const struct fuse_mask_tree *tree, uint64_t node, const char *name)
{
	struct fuse_entry_out entry;
	const int r = ask(tree, FUSE_LOOKUP, node, name, strlen(name) + 1);

	if (r < 0)
		return r;
	memcpy(&entry, (char *)reply + sizeof(struct fuse_out_header),
	       sizeof(entry));
	return (long)entry.nodeid;
}

TEST(a_masked_file_does_not_open_and_reports_the_process)
{
	struct fuse_mask_tree tree;
	long file;

	make_tree(&tree, false);
	file = find(&tree, FUSE_ROOT_ID, "0");
	CHECK(file > 1);
	CHECK_INT(event.what, FUSE_MASK_NOTHING);
	CHECK_INT(ask(&tree, FUSE_OPEN, (uint64_t)file,
		      &(struct fuse_open_in){ 0 },
		      sizeof(struct fuse_open_in)), -EACCES);
	CHECK_INT(event.what, FUSE_MASK_OPENED);
	CHECK_INT(event.error, EACCES);
	CHECK_INT(event.tid, 42);
	CHECK_STR(tree.v[event.node].path, "/h/file");
	fuse_mask_tree_done(&tree);
}

TEST(lookups_of_any_name_are_refused_or_ENOENT)
{
	struct fuse_mask_tree tree;
	long dir, home, own, ssh;

	make_tree(&tree, false);
	dir = find(&tree, FUSE_ROOT_ID, "1");
	ssh = find(&tree, FUSE_ROOT_ID, "2");
	own = find(&tree, FUSE_ROOT_ID, "4");
	home = find(&tree, FUSE_ROOT_ID, "3");
	CHECK(dir > 1 && ssh > 1 && own > 1 && home > 1);
	/* A tracee works below this one */
	CHECK(find(&tree, (uint64_t)home, "work") > 1);
	CHECK_INT(tree.ways.len, 1);
	CHECK_STR(tree.ways.v[0], "/h/home/work");
	CHECK_INT(find(&tree, (uint64_t)dir, "x"), -EACCES);
	CHECK_INT(event.what, FUSE_MASK_SOUGHT);
	CHECK_STR(event.name, "x");
	CHECK_INT(find(&tree, (uint64_t)ssh, "id"), -EACCES);
	CHECK(find(&tree, (uint64_t)ssh, "known") > 1);
	CHECK_INT(event.what, FUSE_MASK_NOTHING);
	ssh = find(&tree, (uint64_t)ssh, "a");
	CHECK(ssh > 1);
	CHECK(find(&tree, (uint64_t)ssh, "b") > 1);
	CHECK_INT(find(&tree, (uint64_t)own, "x"), -ENOENT);
	CHECK_INT(event.what, FUSE_MASK_SOUGHT);
	CHECK_INT(event.error, ENOENT);
	fuse_mask_tree_done(&tree);
}

TEST(with_nested_namespaces_masks_follow_no_paths)
{
	struct fuse_mask_tree tree;

	make_tree(&tree, true);
	CHECK(find(&tree, FUSE_ROOT_ID, "2") > 1);
	CHECK_INT(find(&tree, FUSE_ROOT_ID, "3"), -ENOENT);
	CHECK_INT(tree.ways.len, 0);
	fuse_mask_tree_done(&tree);
}

TEST(masks_past_FUSE_MASK_WAYS_MAX_do_not_report)
{
	static char home[] = "/h", away[] = "/w", names[FUSE_MASK_WAYS_MAX][4], x[] = "x";
	struct plan plan = { .talk = true };
	struct fuse_mask_tree tree;

	*vec_push(&plan.mounts) = (struct plan_mount){
		.kind = MOUNT_MASK_DIR, .path = home, .mask = MASK_FIRST,
	};
	*vec_push(&plan.mounts) = (struct plan_mount){
		.kind = MOUNT_MASK_DIR, .path = away, .mask = MASK_FIRST + 1,
	};
	for (unsigned int i = 0; i < FUSE_MASK_WAYS_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "%u", i % 100);
		*vec_push(&plan.points) = (struct plan_point){
			.mask = MASK_FIRST, .path = names[i], .is_dir = true,
		};
	}
	*vec_push(&plan.points) = (struct plan_point){
		.mask = MASK_FIRST + 1, .path = x, .is_dir = true,
	};
	fuse_mask_tree_build(&plan, &tree);
	CHECK_INT(tree.ways.len, FUSE_MASK_WAYS_MAX);
	CHECK(find(&tree, FUSE_ROOT_ID, "0") > 1);
	CHECK_INT(find(&tree, FUSE_ROOT_ID, "1"), -ENOENT);
	CHECK_INT(tree.silent, 1);
	fuse_mask_tree_done(&tree);
	free(plan.mounts.v);
	free(plan.points.v);
}

TEST(masks_past_the_node_limit_are_counted_as_not_reporting)
{
	static char key[] = "/key";
	const struct plan_mount mask = { .kind = MOUNT_MASK_FILE, .path = key };
	struct plan plan = { .talk = true };
	struct fuse_mask_tree tree;

	for (int i = 0; i < FUSE_MASK_NODES_MAX; i++)
		*vec_push(&plan.mounts) = mask;
	fuse_mask_tree_build(&plan, &tree);
	CHECK_INT(tree.len, FUSE_MASK_NODES_MAX);
	CHECK_INT(tree.silent, 0);
	fuse_mask_tree_done(&tree);
	*vec_push(&plan.mounts) = mask;
	fuse_mask_tree_build(&plan, &tree);
	CHECK_INT(tree.len, FUSE_MASK_NODES_MAX);
	CHECK_INT(tree.silent, 1);
	fuse_mask_tree_done(&tree);
	free(plan.mounts.v);
}

TEST(a_path_belongs_to_the_nearest_mask)
{
	static char home[] = "/h", job[] = "/h/a/job", key[] = "/h/a/job/key";
	struct plan plan = { 0 };

	*vec_push(&plan.mounts) = (struct plan_mount){
		.kind = MOUNT_MASK_DIR, .path = home, .is_dir = true,
	};
	*vec_push(&plan.mounts) = (struct plan_mount){
		.kind = MOUNT_BIND_RW, .path = job, .is_dir = true,
	};
	*vec_push(&plan.mounts) = (struct plan_mount){
		.kind = MOUNT_MASK_FILE, .path = key,
	};
	CHECK_INT(fuse_mask_part(&plan, "/"), FUSE_MASK_NO_PART);
	CHECK_INT(fuse_mask_part(&plan, "/h"), FUSE_MASK_DIR);
	CHECK_INT(fuse_mask_part(&plan, "/h/b"), FUSE_MASK_INSIDE);
	CHECK_INT(fuse_mask_part(&plan, "/h/a"), FUSE_MASK_SHOWN_DIR);
	CHECK_INT(fuse_mask_part(&plan, "/h/a/b"), FUSE_MASK_INSIDE);
	CHECK_INT(fuse_mask_part(&plan, "/h/a/job"), FUSE_MASK_SHOWN_DIR);
	CHECK_INT(fuse_mask_part(&plan, "/h/a/job/x"), FUSE_MASK_NO_PART);
	CHECK_INT(fuse_mask_part(&plan, "/h/a/job/key"), FUSE_MASK_FILE);
	free(plan.mounts.v);
}

TEST(a_masked_directory_lists_its_shown_entries)
{
	const struct fuse_read_in in = { .size = 4096 };
	struct fuse_mask_tree tree;
	struct fuse_dirent entry;
	const char *body = (char *)reply + sizeof(struct fuse_out_header);
	long ssh;

	make_tree(&tree, false);
	ssh = find(&tree, FUSE_ROOT_ID, "2");
	CHECK_INT(ask(&tree, FUSE_OPENDIR, (uint64_t)ssh, NULL, 0), 0);
	CHECK_INT(event.what, FUSE_MASK_LISTED);
	CHECK_INT(event.error, 0);
	CHECK_INT(ask(&tree, FUSE_READDIR, (uint64_t)ssh, &in, sizeof(in)), 0);
	memcpy(&entry, body, FUSE_NAME_OFFSET);
	CHECK_INT(entry.namelen, 5);
	CHECK(!memcmp(body + FUSE_NAME_OFFSET, "known", 5));
	CHECK_INT(ask(&tree, FUSE_READDIR, FUSE_ROOT_ID + 2, &in,
		      sizeof(in)), 0);
	CHECK_INT(((struct fuse_out_header *)reply)->len,
		  sizeof(struct fuse_out_header));
	fuse_mask_tree_done(&tree);
}

TEST(malformed_fuse_requests_get_no_reply)
{
	struct fuse_mask_tree tree;
	struct fuse_in_header head = { .len = sizeof(head) + 1 };

	make_tree(&tree, false);
	CHECK_INT(fuse_mask_answer(&tree, &head, sizeof(head), reply, &event),
		  -EPROTO);
	CHECK_INT(ask(&tree, FUSE_LOOKUP, 1, "abc", 3), -EPROTO);
	CHECK_INT(ask(&tree, FUSE_LOOKUP, 1, NULL, 0), -EPROTO);
	CHECK_INT(ask(&tree, FUSE_READDIR, 1, "abc", 3), -EPROTO);
	CHECK_INT(ask(&tree, FUSE_FORGET, 1, NULL, 0), 0);
	CHECK_INT(ask(&tree, FUSE_GETATTR, tree.len + 2, NULL, 0), -ESTALE);
	CHECK_INT(ask(&tree, FUSE_GETATTR, 0, NULL, 0), -ESTALE);
	CHECK_INT(ask(&tree, FUSE_GETATTR, tree.len + 1, NULL, 0), 0);
	CHECK_INT(ask(&tree, 9999, 1, NULL, 0), -ENOSYS);
	fuse_mask_tree_done(&tree);
}
