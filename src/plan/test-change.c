/* SPDX-License-Identifier: Apache-2.0 */
/* plan/test-change.c - the steps from what stands to what edited settings say */

#include "plan/change.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "plan/view.h"
#include "policy/policy.h"
#include "test.h"

/* What may be read but for @denied, which is for the caller to free */
static struct view *view_without(const char *denied)
{
	const char *cwd = test_path("project");
	struct policy *p = policy_new(cwd, test_dir());
	const struct source *source = policy_add_source(p, SCOPE_FLAG,
		"--option", NULL, 0, cwd);
	struct view *view = NULL;
	struct err err = { 0 };

	CHECK_INT(mkdir(cwd, 0755), 0);
	if (denied)
		CHECK_INT(policy_add_path(p, PATH_DENY_READ, denied, RULE_USER,
			origin_make(source, NULL, NULL), NULL), 0);
	CHECK_INT(policy_finish(p, &err), 0);
	CHECK_INT(view_build(p, &view, &err), 0);
	policy_unref(p);
	return view;
}

static struct mounted *put(struct mounted_list *list, enum mount_kind kind,
			   const char *path)
{
	struct mounted *m = vec_push(list);

	m->kind = kind;
	m->path = mem_strdup(path);
	return m;
}

/* What is to be seen to when there was @known, and should be @next, both freed, is
 * @want
 */
static void check_steps(struct mounted_list *known, struct mounted_list *next,
			const struct view *view, const char *want)
{
	static const char *const kinds[] = {
		[CHANGE_SHOW] = "show", [CHANGE_HIDE] = "hide",
		[CHANGE_CLOSE] = "close", [CHANGE_OPEN] = "open",
	};
	struct changes changes = { 0 };
	auto_buf struct buf text = { 0 };

	mounted_sort(next);
	mounted_sort(known);
	changes_build(known, next, view, &changes);
	for (size_t i = 0; i < changes.len; i++) {
		const struct change *c = &changes.v[i];

		buf_addf(&text, "%s %s%s%s%s%s%s; ", kinds[c->kind],
			 c->mount->path, c->mask ? " in " : "",
			 c->mask ? c->mask->path : "",
			 c->plain ? " plain" : "",
			 c->read_only ? " read-only" : "",
			 c->writable ? " writable" : "");
	}
	free(changes.v);
	mounted_done(known);
	mounted_done(next);
	CHECK_STR(buf_str(&text), want);
}

TEST(a_mask_that_nothing_asks_for_comes_off)
{
	auto_view struct view *view = view_without(NULL);
	struct mounted_list known = { 0 }, next = { 0 };

	put(&known, MOUNT_MASK_FILE, "/h/key");
	put(&known, MOUNT_MASK_DIR, "/h/stays");
	put(&next, MOUNT_MASK_DIR, "/h/stays");
	put(&next, MOUNT_MASK_DIR, "/h/new");
	check_steps(&known, &next, view,
		    "show /h/key plain read-only; close /h/key; ");
}

TEST(a_mask_stays_where_the_policy_hides_or_it_is_ours)
{
	auto_view struct view *view = view_without("/h/denied");
	struct mounted_list known = { 0 }, next = { 0 };

	put(&known, MOUNT_MASK_DIR, "/h/denied");
	put(&known, MOUNT_MASK_DIR, "/h/store")->ours = true;
	check_steps(&known, &next, view, "close /h/denied; close /h/store; ");
}

TEST(what_stays_closed_behind_a_mask_makes_it_less_than_plain)
{
	auto_view struct view *view = view_without("/h/aws/key");
	struct mounted_list known = { 0 }, next = { 0 };

	put(&known, MOUNT_MASK_DIR, "/h/aws");
	put(&known, MOUNT_MASK_DIR, "/h/git");
	put(&known, MOUNT_MASK_DIR, "/h/other");
	put(&known, MOUNT_MASK_DIR, "/h/was");
	put(&known, MOUNT_BIND_RW, "/h/was/writable");
	put(&next, MOUNT_MASK_FILE, "/h/aws/key");
	put(&next, MOUNT_BIND_RO, "/h/git");
	put(&next, MOUNT_BIND_RO, "/h/other-name");
	check_steps(&known, &next, view,
		    "show /h/aws read-only; close /h/aws; "
		    "show /h/git read-only; close /h/git; "
		    "show /h/other plain read-only; close /h/other; "
		    "show /h/was read-only; close /h/was; "
		    "close /h/was/writable; ");
}

TEST(a_mask_shows_something_and_hides_it_again)
{
	auto_view struct view *view = view_without("/h");
	struct mounted_list known = { 0 }, next = { 0 };

	put(&known, MOUNT_MASK_DIR, "/h");
	put(&next, MOUNT_MASK_DIR, "/h");
	put(&next, MOUNT_MASK_DIR, "/own");
	put(&next, MOUNT_SHOW, "/h/a/config");
	put(&next, MOUNT_BIND_RW, "/own/work");
	check_steps(&known, &next, view,
		    "show /h/a/config in /h read-only; "
		    "show /own/work in /own writable; ");

	put(&known, MOUNT_MASK_DIR, "/h");
	put(&known, MOUNT_SHOW, "/h/a/config");
	put(&known, MOUNT_SHOW, "/h/ours")->ours = true;
	put(&next, MOUNT_MASK_DIR, "/h");
	check_steps(&known, &next, view, "hide /h/a/config; "
		    "close /h/a/config; close /h/ours; ");
}

TEST(a_path_is_made_writable_and_read_only_again)
{
	auto_view struct view *view = view_without(NULL);
	auto_free char *cwd = mem_printf("open %s; ", view->policy->cwd);
	auto_free char *want = mem_printf("%sclose /zz/root; "
		"close /zz/root/pinned; ", cwd);
	struct mounted_list known = { 0 }, next = { 0 };

	put(&known, MOUNT_ASIDE, "/kept");
	put(&next, MOUNT_BIND_RW, "/zz/root")->is_dir = true;
	put(&next, MOUNT_BIND_RW, "/zz/file");
	check_steps(&known, &next, view, "show /zz/root plain writable; ");

	put(&known, MOUNT_BIND_RW, "/zz/root");
	put(&known, MOUNT_PIN, "/zz/root/pinned")->ours = true;
	put(&known, MOUNT_BIND_RW, view->policy->cwd)->ours = true;
	check_steps(&known, &next, view, want);
}

TEST(what_a_rule_kept_read_only_is_writable_without_it)
{
	auto_view struct view *view = view_without(NULL);
	auto_free char *file = path_join(view->policy->cwd, "file");
	auto_free char *new = path_join(view->policy->cwd, "new");
	struct mounted_list known = { 0 }, next = { 0 };
	auto_free char *want = mem_printf("close /h/outside; "
						 "open %s; ", file);

	put(&known, MOUNT_BIND_RO, file);
	put(&known, MOUNT_BIND_RO, new)->ours = true;
	put(&known, MOUNT_BIND_RO, "/h/outside");
	check_steps(&known, &next, view, want);
}

TEST(what_was_ever_mounted_is_not_forgotten)
{
	struct mounted_list known = { 0 }, next = { 0 };

	put(&known, MOUNT_MASK_DIR, "/h");
	put(&known, MOUNT_BIND_RW, "/h/root");
	put(&next, MOUNT_MASK_DIR, "/h")->ours = true;
	put(&next, MOUNT_MASK_DIR, "/h/root");
	put(&next, MOUNT_MASK_DIR, "/a");
	mounted_merge(&known, &next);
	CHECK_INT((long long)known.len, 4);
	CHECK_STR(known.v[0].path, "/a");
	CHECK(known.v[1].ours && !known.v[2].ours);
	CHECK_STR(known.v[3].path, "/h/root");
	mounted_done(&known);
	mounted_done(&next);
}
