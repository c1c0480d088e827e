/* SPDX-License-Identifier: Apache-2.0 */
/* view/test-walk-cache.c - the cache of unchanged directories */

#include "view/walk-cache.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/policy.h"
#include "test.h"
#include "view/view.h"

enum { OLD = 1000 };	/* A change time long ago */

static struct stat directory(unsigned int ino, time_t changed)
{
	struct stat st = { .st_dev = 7, .st_ino = ino };

	st.st_ctim.tv_sec = changed;
	st.st_ctim.tv_nsec = 5;
	return st;
}

static void add(struct walk_cache *cache, struct stat st, const char *name)
{
	const struct dir_entry entry = { .name = name, .type = DT_DIR };
	auto_buf struct buf names = { 0 };

	if (name)
		walk_names_add(&names, &entry);
	walk_cache_add(cache, &st, WALK_CACHE_WORTH, &names);
}

/* What the next run knows after this one saw two directories */
static void two(struct buf *text)
{
	struct walk_cache *cache = walk_cache_new(NULL, 0);

	add(cache, directory(1, OLD), ".vscode");
	add(cache, directory(2, OLD), NULL);
	CHECK(walk_cache_text(cache, text));
	walk_cache_free(cache);
}

static bool knows(const struct buf *text, struct stat st, const char *name)
{
	struct walk_cache *cache = walk_cache_new(text->p, text->len);
	struct walk_names names;
	struct dir_entry entry;
	const bool known = walk_cache_find(cache, &st, &names);

	if (known && name)
		CHECK(walk_names_next(&names, &entry) &&
		      !strcmp(entry.name, name) && entry.type == DT_DIR);
	if (known)
		CHECK(!walk_names_next(&names, &entry));
	walk_cache_free(cache);
	return known;
}

TEST(a_stored_directory_is_found_in_the_cache)
{
	auto_buf struct buf text = { 0 };

	two(&text);
	CHECK(knows(&text, directory(1, OLD), ".vscode"));
	CHECK(knows(&text, directory(2, OLD), NULL));
	CHECK(!knows(&text, directory(3, OLD), NULL));
}

TEST(a_changed_directory_is_read_again)
{
	auto_buf struct buf text = { 0 };
	struct stat st = directory(1, OLD + 1);

	two(&text);
	CHECK(!knows(&text, st, NULL));
	st = directory(1, OLD);
	st.st_ctim.tv_nsec++;
	CHECK(!knows(&text, st, NULL));
	st = directory(1, OLD);
	st.st_dev++;
	CHECK(!knows(&text, st, NULL));
}

TEST(a_directory_changed_in_this_clock_tick_is_not_cached)
{
	struct walk_cache *cache = walk_cache_new(NULL, 0);
	auto_buf struct buf text = { 0 };

	add(cache, directory(1, OLD), ".vscode");
	add(cache, directory(2, time(NULL)), NULL);
	CHECK(walk_cache_text(cache, &text));
	walk_cache_free(cache);
	CHECK(knows(&text, directory(1, OLD), ".vscode"));
	CHECK(!knows(&text, directory(2, time(NULL)), NULL));
}

TEST(a_truncated_cache_file_is_ignored)
{
	auto_buf struct buf text = { 0 };

	two(&text);
	for (size_t n = 0; n < text.len; n++) {
		const struct buf part = { .p = text.p, .len = n };

		CHECK(!knows(&part, directory(1, OLD), NULL));
	}
	for (size_t i = 0; i < text.len; i++) {
		text.p[i] ^= 1;
		CHECK(!knows(&text, directory(1, OLD), NULL));
		text.p[i] ^= 1;
	}
	CHECK(knows(&text, directory(1, OLD), ".vscode"));
}

/* The checksum is no secret: a forged cache may have a valid one */
TEST(a_cache_record_with_a_wrong_length_is_ignored)
{
	struct {
		uint64_t dev, ino;
		int64_t sec;
		uint32_t nsec, len;
		char names[8];
	} r = { 1, 1, 1, 1, 8, "\010.envrc" };
	static const uint32_t lengths[] = { 9, 1 << 20, UINT32_MAX };
	auto_buf struct buf text = { 0 };
	struct walk_cache *cache;

	walk_cache_seal(NULL, 0, &r, sizeof(r), &text);
	cache = walk_cache_new(text.p, text.len);
	CHECK(!walk_cache_is_empty(cache));
	walk_cache_free(cache);

	buf_add(&text, "more", 4);	/* Than the header knows of */
	cache = walk_cache_new(text.p, text.len);
	CHECK(walk_cache_is_empty(cache));
	walk_cache_free(cache);

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		buf_done(&text);
		r.len = lengths[i];
		walk_cache_seal(NULL, 0, &r, sizeof(r), &text);
		cache = walk_cache_new(text.p, text.len);
		CHECK(walk_cache_is_empty(cache));
		walk_cache_free(cache);
	}
	r.len = 8;
	r.names[7] = 'x';		/* A name that goes on behind it */
	buf_done(&text);
	walk_cache_seal(NULL, 0, &r, sizeof(r), &text);
	cache = walk_cache_new(text.p, text.len);
	CHECK(walk_cache_is_empty(cache));
	walk_cache_free(cache);
}

static struct view *look(struct walk_cache *cache)
{
	struct policy *p = policy_new(test_dir(), test_dir());
	const struct source *source = policy_add_source(p, SCOPE_FLAG,
		"--option", NULL, 0, p->cwd);
	struct view *view = NULL;

	CHECK_INT(policy_add_path(p, PATH_ALLOW_WRITE, ".", RULE_USER,
				  origin_make(source, NULL, NULL), NULL), 0);
	CHECK_INT(policy_finish(p, NULL), 0);
	CHECK_INT(view_build_how(p, &(struct view_how){ .cache = cache }, &view, NULL), 0);
	policy_unref(p);
	return view;
}

static bool protects(struct walk_cache *cache, const char *name)
{
	auto_view struct view *view = look(cache);
	const char *path = test_path(name);

	return !view_verdict(view, VIEW_WRITE, path).allowed &&
	       view_verdict(view, VIEW_WRITE, test_dir()).allowed;
}

/* The record says that there is nothing in the test's directory */
TEST(only_a_cached_directory_is_not_read)
{
	struct walk_cache *cache;
	const char *sub = test_path("sub");
	auto_free char *path = path_join(sub, ".envrc");
	auto_buf struct buf text = { 0 };
	struct stat st;

	CHECK_INT(mkdir(sub, 0755), 0);
	test_write(path, "x");
	CHECK(protects(NULL, "sub/.envrc"));
	CHECK_INT(stat(sub, &st), 0);

	/* A lie that only a record can tell: change times are the kernel's */
	cache = walk_cache_new(NULL, 0);
	for (int older = 1; older >= 0; older--) {
		struct { uint64_t dev, ino; int64_t sec; uint32_t nsec, len; } r = {
			st.st_dev, st.st_ino, st.st_ctim.tv_sec - older,
			(uint32_t)st.st_ctim.tv_nsec, 0,
		};

		walk_cache_free(cache);
		buf_done(&text);
		walk_cache_seal(NULL, 0, &r, sizeof(r), &text);
		cache = walk_cache_new(text.p, text.len);
		CHECK_INT(protects(cache, "sub/.envrc"), older);
	}
	walk_cache_free(cache);
}

static bool hides(struct walk_cache *cache, const char *name)
{
	struct policy *p = policy_new(test_dir(), test_dir());
	const struct source *source = policy_add_source(p, SCOPE_FLAG,
		"--option", NULL, 0, p->cwd);
	auto_view struct view *view = NULL;

	CHECK_INT(policy_add_path(p, PATH_ALLOW_WRITE, ".", RULE_USER,
				  origin_make(source, NULL, NULL), NULL), 0);
	CHECK_INT(policy_add_path(p, PATH_DENY_READ, "secret", RULE_USER,
				  origin_make(source, NULL, NULL), NULL), 0);
	CHECK_INT(policy_finish(p, NULL), 0);
	CHECK_INT(view_build_how(p, &(struct view_how){ .cache = cache }, &view, NULL), 0);
	policy_unref(p);
	return !view_verdict(view, VIEW_READ, test_path(name)).allowed;
}

/* What a record leaves out shows whether it was used */
TEST(a_record_without_linked_names_is_not_used)
{
	const char *sub = test_path("sub");
	auto_free char *other = path_join(sub, "other");
	struct { uint64_t dev, ino; int64_t sec; uint32_t nsec, len; char names[8]; } r = {
		.names = "\010other",		/* DT_REG */
	};
	struct walk_inode linked[2] = { 0 };
	struct stat st;

	CHECK_INT(mkdir(sub, 0755), 0);
	test_write(test_path("secret"), "x");
	CHECK_INT(link(test_path("secret"), other), 0);
	CHECK(hides(NULL, "sub/other"));
	CHECK_INT(stat(other, &st), 0);
	linked[1] = (struct walk_inode){ st.st_dev, st.st_ino };
	CHECK_INT(stat(sub, &st), 0);
	r.dev = st.st_dev;
	r.ino = st.st_ino;
	r.sec = st.st_ctim.tv_sec;
	r.nsec = (uint32_t)st.st_ctim.tv_nsec;
	for (size_t n = 0; n < 3; n++) {
		for (int named = 0; named < 2; named++) {
			auto_buf struct buf text = { 0 };
			struct walk_cache *cache;

			r.len = named ? 7 : 0;
			walk_cache_seal(linked, n, &r, offsetof(__typeof__(r), names) +
					r.len, &text);
			cache = walk_cache_new(text.p, text.len);
			CHECK(!walk_cache_is_empty(cache));
			CHECK_INT(hides(cache, "sub/other"), n < 2 || named);
			CHECK_INT(walk_cache_is_empty(cache), n < 2);
			walk_cache_free(cache);
		}
	}
}

TEST(a_cache_of_too_many_linked_files_is_not_written)
{
	struct walk_inode linked[WALK_CACHE_LINKED_MAX + 1];
	struct stat st = { .st_dev = 1, .st_ino = 1 };

	for (size_t i = 0; i <= WALK_CACHE_LINKED_MAX; i++)
		linked[i] = (struct walk_inode){ 1, i + 1 };
	for (size_t n = WALK_CACHE_LINKED_MAX; n <= WALK_CACHE_LINKED_MAX + 1; n++) {
		struct walk_cache *cache = walk_cache_new(NULL, 0);
		auto_buf struct buf text = { 0 };

		walk_cache_look_for(cache, linked, n, false);
		add(cache, st, "x");
		CHECK_INT(walk_cache_text(cache, &text), n == WALK_CACHE_LINKED_MAX);
		walk_cache_free(cache);
		cache = walk_cache_new(text.p, text.len);
		CHECK_INT(walk_cache_has_inode(cache, 7), n == WALK_CACHE_LINKED_MAX);
		walk_cache_free(cache);
	}
}
