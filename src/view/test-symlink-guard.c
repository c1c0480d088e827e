/* SPDX-License-Identifier: Apache-2.0 */
/* view/test-symlink-guard.c - symlinks that a command could have planted */

#include "view/symlink-guard.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/policy.h"
#include "view/view.h"
#include "test.h"

/* What the test's own directory lies in is for temporary files, where every link
 * is planted. This one is for nothing in particular.
 */
static char *make_elsewhere(void)
{
	char *dir = mem_strdup("/dev/shm/cloche-test-XXXXXX");

	if (!mkdtemp(dir))
		test_skip("/dev/shm cannot be written");
	return dir;
}

static void make_dir(const char *dir, const char *name)
{
	auto_free char *path = path_join(dir, name);
	auto_close int fd = fs_open_dir_p(path, 0755, NULL);

	CHECK(fd >= 0);
}

static void make_link(const char *dir, const char *name, const char *target)
{
	auto_free char *path = path_join(dir, name);

	CHECK_INT(symlink(target, path), 0);
}

static void remove_all(const char *dir, const char *const *names)
{
	for (; *names; names++) {
		auto_free char *path = path_join(dir, *names);

		if (unlink(path) < 0)
			(void)rmdir(path);
	}
	(void)rmdir(dir);
}

/* "link NAME" or "NAME", below @dir */
static char *follow(const struct policy *p, const char *dir, const char *name)
{
	auto_free char *path = path_join(dir, name), *end = NULL;
	const int r = symlink_guard_follow(p, path, &end);

	if (r < 0)
		return mem_printf("error %d", -r);
	return mem_printf("%s%s", r ? "link " : "",
			  path_is_below(dir, end) ? end + strlen(dir) + 1 : end);
}

TEST(symlinks_in_the_real_home_count_as_planted)
{
	static const char *const names[] = {
		"real/u/p/build", "real/u/p", "real/u/bin", "real/u", "real",
		"system", "elsewhere", "round", "about", NULL,
	};
	static const char *const asked[] = {
		"system/u/bin", "system/u/p/build", "real/u/p/build",
		"elsewhere/bin", "real/u/p/../bin/./none/x", "round/x",
	};
	auto_free char *dir = make_elsewhere();
	auto_free char *home = path_join(dir, "system/u");
	auto_policy struct policy *p = policy_new("/", home);
	char *got[ARRAY_SIZE(asked)];

	make_dir(dir, "real/u/p");
	make_dir(dir, "real/u/bin");
	make_link(dir, "system", "real");
	make_link(dir, "elsewhere", "./system//u");
	make_link(dir, "real/u/p/build", "../bin");
	make_link(dir, "round", "about");
	make_link(dir, "about", "round");
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		got[i] = follow(p, dir, asked[i]);
	remove_all(dir, names);
	CHECK_STR(got[0], "real/u/bin");
	CHECK_STR(got[1], "link real/u/p/build");
	CHECK_STR(got[2], "link real/u/p/build");
	CHECK_STR(got[3], "real/u/bin");
	CHECK_STR(got[4], "real/u/bin/none/x");
	CHECK_STR(got[5], "error 40");		/* ELOOP */
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		free(got[i]);
}

TEST(symlinks_in_writable_roots_and_tmp_count_as_planted)
{
	static const char *const names[] = { "root/link", "root", NULL };
	auto_free char *dir = make_elsewhere();
	auto_free char *root = path_join(dir, "root");
	auto_policy struct policy *p = policy_new("/", NULL);
	auto_policy struct policy *in = policy_new(root, NULL);
	auto_free char *before = NULL, *after = NULL, *tmp = NULL;

	CHECK_INT(policy_finish(in, NULL), 0);
	make_dir(dir, "root");
	make_link(dir, "root/link", "..");
	make_link(test_dir(), "link", "/");
	before = follow(p, dir, "root/link");
	after = follow(in, dir, "root/link");
	tmp = follow(p, test_dir(), "link/etc");
	remove_all(dir, names);
	CHECK_STR(before, dir);
	CHECK_STR(after, "link root/link");
	CHECK_STR(tmp, "link link");
}

/* Rules for @name below @dir, as a settings file or a profile brings them */
static struct policy *allow_write(const char *dir, const char *name,
				  enum rule_strength strength)
{
	auto_free char *path = path_join(dir, name);
	struct policy *p = policy_new("/", NULL);
	const struct source *s = policy_add_source(p, SCOPE_FLAG, "settings",
						   NULL, 0, dir);

	CHECK_INT(policy_add_path(p, PATH_ALLOW_WRITE, path, strength,
				  origin_make(s, NULL, NULL), NULL), 0);
	return p;
}

TEST(a_missing_root_below_a_writable_directory_can_be_a_link)
{
	static const char *const names[] = { "link", "system", "new", "real",
					     NULL };
	auto_free char *dir = make_elsewhere();
	auto_policy struct policy *settings = allow_write(dir, "new", RULE_USER);
	auto_policy struct policy *by_link = allow_write(dir, "system/new",
							 RULE_USER);
	auto_policy struct policy *profile = allow_write(dir, "new",
							 RULE_BASELINE);
	auto_policy struct policy *other = allow_write(dir, "newer", RULE_USER);
	auto_free char *made = NULL, *made_by_link = NULL, *below = NULL;
	auto_free char *told = NULL, *control = NULL;

	make_dir(dir, "real");
	make_link(dir, "new", "real");
	make_link(dir, "system", ".");
	made = follow(settings, dir, "new");
	below = follow(settings, dir, "new/x");
	made_by_link = follow(by_link, dir, "system/new");
	told = follow(profile, dir, "new");
	control = follow(other, dir, "new");
	remove_all(dir, names);
	CHECK_STR(made, "link new");
	CHECK_STR(below, "link new");
	CHECK_STR(made_by_link, "link new");
	CHECK_STR(told, "real");		/* The kernel makes those */
	CHECK_STR(control, "real");
}

static bool may_read(const struct view *view, const char *name)
{
	auto_free char *path = path_join(test_dir(), name);

	return view_verdict(view, VIEW_READ, path).allowed;
}

TEST(a_denial_also_covers_the_names_of_symlinks_in_its_path)
{
	auto_free char *path = path_join(test_dir(), "d/key");
	auto_policy struct policy *p = policy_new("/", NULL);
	const struct source *s = policy_add_source(p, SCOPE_FLAG, "settings",
						   NULL, 0, "/");
	auto_view struct view *view = NULL;

	CHECK_INT(policy_add_path(p, PATH_DENY_READ, path, RULE_USER,
				  origin_make(s, NULL, NULL), NULL), 0);
	make_dir(test_dir(), "real/key");
	make_link(test_dir(), "e", "./real");
	make_link(test_dir(), "d", "e");
	CHECK_INT(view_build(p, &view, NULL), 0);
	CHECK(!may_read(view, "real/key"));
	CHECK(may_read(view, "d/key") && may_read(view, "e/key"));
	symlink_guard_deny(view);
	CHECK(!may_read(view, "real/key"));
	CHECK(!may_read(view, "d/key") && !may_read(view, "e/key"));
	CHECK(may_read(view, "d") && may_read(view, "e") &&
	      may_read(view, "real/other"));
}

/* Another sandbox of the same project: a directory, a link, a directory... */
static void __attribute__((noreturn)) swap(const char *path, const char *beside,
					   const char *target)
{
	for (;;) {
		(void)rename(path, beside);
		(void)!symlink(target, path);
		(void)unlink(path);
		(void)rename(beside, path);
	}
}

/* Whether @dir, and what it may be a link to, can be written */
static void look(const char *dir, const char *outside, bool *there, bool *opened)
{
	const char *cwd = test_path("cwd");
	const char *home = test_path("home");
	auto_policy struct policy *p = policy_new(cwd, home);
	auto_view struct view *view = NULL;
	auto_free char *root = NULL, *other = NULL;
	const struct source *s = policy_add_source(p, SCOPE_FLAG, "--write",
						   NULL, 0, cwd);

	CHECK_INT(policy_add_path(p, PATH_ALLOW_WRITE, dir, RULE_USER,
				  origin_make(s, NULL, NULL), NULL), 0);
	CHECK_INT(policy_finish(p, NULL), 0);
	*there = *opened = false;
	if (view_build(p, &view, NULL) < 0)
		return;
	root = view_root_of(view, dir);
	other = view_root_of(view, outside);
	*there = root;
	*opened = other;
}

TEST(a_directory_swapped_with_a_symlink_grants_nothing)
{
	enum { ROUNDS = 1000 };
	const char *dir = test_path("home/project/sub");
	auto_free char *beside = mem_printf("%s2", dir);
	const char *outside = test_path("outside");
	bool there, opened;
	pid_t pid;

	make_dir(test_dir(), "cwd");
	make_dir(test_dir(), "outside");
	make_dir(test_dir(), "home/project/sub");
	look(dir, outside, &there, &opened);
	CHECK(there && !opened);		/* The control */
	pid = fork();
	if (!pid)
		swap(dir, beside, outside);
	for (int i = 0; i < ROUNDS && !opened; i++)
		look(dir, outside, &there, &opened);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	CHECK(!opened);
}
