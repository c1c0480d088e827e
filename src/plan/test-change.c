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
	auto_free char *cwd = path_join(test_dir(), "project");
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
	m->empty = true;
	return m;
}

/* The steps from @now to @next, both freed, are @want: words, and the number of
 * those that were declined
 */
static void check_steps(struct mounted_list *now, struct mounted_list *next,
			const struct view *view, const char *want)
{
	static const char *const kinds[] = {
		[CHANGE_COVER] = "cover", [CHANGE_LIFT] = "lift",
		[CHANGE_SHOW] = "show", [CHANGE_HIDE] = "hide",
		[CHANGE_CLOSE] = "close", [CHANGE_OPEN] = "open",
	};
	struct changes changes = { 0 };
	auto_buf struct buf text = { 0 };

	mounted_sort(now);
	mounted_sort(next);
	changes_build(now, next, view, &changes);
	for (size_t i = 0; i < changes.len; i++) {
		const struct change *c = &changes.v[i];

		buf_addf(&text, "%s %s%s%s%s%s%s; ", kinds[c->kind],
			 c->mount->path, c->mask ? " in " : "",
			 c->mask ? c->mask->path : "",
			 c->shared ? " shared" : "",
			 c->read_only ? " read-only" : "",
			 c->writable ? " writable" : "");
	}
	if (changes.declined)
		buf_addf(&text, "%zu declined", changes.declined);
	CHECK_STR(buf_str(&text), want);
	free(changes.v);
	mounted_done(now);
	mounted_done(next);
}

TEST(a_mask_that_nothing_asks_for_comes_off)
{
	auto_view struct view *view = view_without(NULL);
	struct mounted_list now = { 0 }, next = { 0 };

	put(&now, MOUNT_MASK_FILE, "/h/key");
	put(&now, MOUNT_MASK_DIR, "/h/stays");
	put(&next, MOUNT_MASK_DIR, "/h/stays");
	put(&next, MOUNT_MASK_DIR, "/h/new");
	check_steps(&now, &next, view, "lift /h/key; cover /h/new; ");
}

TEST(a_mask_stays_where_the_policy_hides_or_it_is_ours)
{
	auto_view struct view *view = view_without("/h/denied");
	struct mounted_list now = { 0 }, next = { 0 };

	put(&now, MOUNT_MASK_DIR, "/h/denied");
	put(&now, MOUNT_MASK_DIR, "/h/store")->ours = true;
	check_steps(&now, &next, view, "");
}

TEST(what_stays_closed_behind_a_mask_goes_along)
{
	auto_view struct view *view = view_without("/h/aws/key");
	struct mounted_list now = { 0 }, next = { 0 };

	put(&now, MOUNT_MASK_DIR, "/h/aws");
	put(&now, MOUNT_MASK_DIR, "/h/git");
	put(&now, MOUNT_MASK_DIR, "/h/other");
	put(&next, MOUNT_MASK_FILE, "/h/aws/key");
	put(&next, MOUNT_BIND_RO, "/h/git");
	put(&next, MOUNT_BIND_RO, "/h/other-name");
	check_steps(&now, &next, view,
		    "cover /h/aws/key; cover /h/git; lift /h/other; "
		    "cover /h/other-name; show /h/aws in /h/aws; "
		    "show /h/git in /h/git read-only; ");
}

TEST(a_mask_with_something_writable_in_it_stays)
{
	auto_view struct view *view = view_without(NULL);
	struct mounted_list now = { 0 }, next = { 0 };

	put(&now, MOUNT_MASK_DIR, test_dir());
	put(&now, MOUNT_BIND_RW, view->policy->cwd);
	put(&next, MOUNT_BIND_RW, view->policy->cwd);
	check_steps(&now, &next, view, "1 declined");
}

TEST(a_mask_shows_something_and_hides_it_again)
{
	auto_view struct view *view = view_without("/h");
	struct mounted_list now = { 0 }, next = { 0 };

	put(&now, MOUNT_MASK_DIR, "/h");
	put(&now, MOUNT_MASK_DIR, "/own")->empty = false;
	put(&next, MOUNT_MASK_DIR, "/h");
	put(&next, MOUNT_MASK_DIR, "/own");
	put(&next, MOUNT_SHOW, "/h/a/config");
	put(&next, MOUNT_BIND_RW, "/own/work");
	check_steps(&now, &next, view,
		    "show /h/a/config in /h shared read-only; "
		    "show /own/work in /own writable; 1 declined");

	put(&now, MOUNT_MASK_DIR, "/h");
	put(&now, MOUNT_SHOW, "/h/a/config");
	put(&now, MOUNT_SHOW, "/h/ours")->ours = true;
	put(&next, MOUNT_MASK_DIR, "/h");
	check_steps(&now, &next, view, "hide /h/a/config; ");
}

TEST(what_no_mask_hides_waits_for_the_next_run)
{
	auto_view struct view *view = view_without(NULL);
	struct mounted_list now = { 0 }, next = { 0 };

	put(&next, MOUNT_SHOW, "/tmp/private");
	check_steps(&now, &next, view, "1 declined");
}

TEST(a_path_is_made_writable_and_read_only_again)
{
	auto_view struct view *view = view_without(NULL);
	struct mounted_list now = { 0 }, next = { 0 };

	put(&now, MOUNT_ASIDE, "/kept");
	put(&next, MOUNT_BIND_RW, "/kept");
	put(&next, MOUNT_BIND_RW, "/var/root")->is_dir = true;
	put(&next, MOUNT_BIND_RW, "/var/file");
	check_steps(&now, &next, view, "show /var/root writable; ");

	put(&now, MOUNT_BIND_RW, "/var/root");
	put(&now, MOUNT_PIN, "/var/root/pinned")->ours = true;
	put(&now, MOUNT_BIND_RW, view->policy->cwd)->ours = true;
	check_steps(&now, &next, view,
		    "close /var/root; close /var/root/pinned; ");
}

TEST(what_a_rule_kept_read_only_is_writable_without_it)
{
	auto_view struct view *view = view_without(NULL);
	auto_free char *file = path_join(view->policy->cwd, "file");
	auto_free char *new = path_join(view->policy->cwd, "new");
	struct mounted_list now = { 0 }, next = { 0 };
	auto_free char *want = mem_printf("open %s; ", file);

	put(&now, MOUNT_BIND_RO, file);
	put(&now, MOUNT_BIND_RO, new)->ours = true;
	put(&now, MOUNT_BIND_RO, "/h/outside");
	check_steps(&now, &next, view, want);
}

/* The steps of an edit, and after it what stands */
static void take(struct mounted_list *now, struct mounted_list *next,
		 const struct view *view, const char *want)
{
	struct mounted_list before = { 0 };
	struct changes changes = { 0 };

	mounted_sort(now);
	mounted_sort(next);
	for (size_t i = 0; i < now->len; i++) {
		struct mounted *m = vec_push(&before);

		*m = now->v[i];
		m->path = mem_strdup(m->path);
	}
	changes_build(now, next, view, &changes);
	changes_apply(&changes, now);
	free(changes.v);
	check_steps(&before, next, view, want);
}

TEST(what_stands_behind_a_mask_is_not_forgotten)
{
	auto_view struct view *view = view_without(NULL);
	struct mounted_list now = { 0 }, next = { 0 };

	put(&now, MOUNT_MASK_FILE, "/h/key");
	put(&now, MOUNT_BIND_RW, "/h/root");
	put(&now, MOUNT_MASK_FILE, "/other");
	put(&next, MOUNT_MASK_DIR, "/h");
	put(&next, MOUNT_MASK_FILE, "/other");
	take(&now, &next, view, "cover /h; close /h/root; ");
	take(&now, &next, view,
	     "lift /h; lift /h/key; close /h/root; lift /other; ");
	CHECK_INT((long long)now.len, 1);
	CHECK(now.v[0].closed);
	mounted_done(&now);
}

TEST(what_is_opened_and_closed_again_stands)
{
	auto_view struct view *view = view_without(NULL);
	auto_free char *root = path_join(view->policy->cwd, "d");
	auto_free char *open = mem_printf("open %s; ", root);
	auto_free char *cover = mem_printf("cover %s; ", root);
	struct mounted_list now = { 0 }, next = { 0 };

	put(&now, MOUNT_BIND_RO, root);
	take(&now, &next, view, open);
	CHECK_INT(now.v[0].kind, MOUNT_PIN);
	put(&next, MOUNT_BIND_RO, root);
	take(&now, &next, view, cover);
	mounted_done(&now);
}

TEST(one_edit_shows_so_many)
{
	auto_view struct view *view = view_without("/h");
	struct mounted_list now = { 0 }, next = { 0 };
	struct changes changes = { 0 };

	put(&now, MOUNT_MASK_DIR, "/h");
	put(&next, MOUNT_MASK_DIR, "/h");
	for (int i = 0; i < CHANGE_SHOWN_MAX + 3; i++) {
		auto_free char *path = mem_printf("/h/%d", i);

		put(&next, MOUNT_SHOW, path);
	}
	mounted_sort(&next);
	changes_build(&now, &next, view, &changes);
	CHECK_INT((long long)changes.len, CHANGE_SHOWN_MAX);
	CHECK_INT((long long)changes.declined, 3);
	free(changes.v);
	mounted_done(&now);
	mounted_done(&next);
}
