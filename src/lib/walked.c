/* SPDX-License-Identifier: Apache-2.0 */
/* lib/walked.c - what is known of a project's directories, kept between runs */

#include "lib/walked.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "plan/walk-cache.h"
#include "policy/policy.h"

static char *directory(const struct policy *policy)
{
	const char *state = policy->dirs[DIR_STATE];

	return state ? path_join(state, "cloche/walk") : NULL;
}

struct walk_cache *walked_open(const struct policy *policy)
{
	auto_free char *dir = directory(policy);
	auto_free char *name = path_id(policy->project);
	auto_free char *file = dir ? path_join(dir, name) : NULL;
	auto_buf struct buf text = { 0 };

	if (!file)
		return NULL;
	(void)fs_read(AT_FDCWD, file, WALK_CACHE_MAX, &text, NULL);
	return walk_cache_new(text.p, text.len);
}

/* Not durable: a file that is not whole is not used */
static void replace(int dir, const char *name, const struct buf *text)
{
	auto_free char *new = mem_printf("%s.%d", name, (int)getpid());
	auto_close int fd = openat(dir, new, O_WRONLY | O_CREAT | O_EXCL |
				   O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd >= 0 && (fs_write_all(fd, text->p, text->len) < 0 ||
			renameat(dir, new, dir, name) < 0))
		(void)unlinkat(dir, new, 0);
}

void walked_keep(const struct policy *policy, struct walk_cache *cache)
{
	auto_free char *path = directory(policy);
	auto_free char *name = path_id(policy->project);
	auto_buf struct buf text = { 0 };
	auto_close int dir = -1;

	if (!cache || !path || !walk_cache_text(cache, &text))
		return;
	dir = fs_open_private_dir(path, NULL);
	if (dir >= 0)
		replace(dir, name, &text);
}
