/* SPDX-License-Identifier: Apache-2.0 */
/* lib/hook-trust.c - does the user trust this project, or a file of it? */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "lib/hook.h"
#include "watch/store.h"
#include "watch/trust.h"

enum { TRUST_FILE_MAX = 64 << 20 };	/* It holds a history and grows */

/* Claude Code keeps its state beside its settings, or in the home. 0 with the
 * state, which is NULL if it cannot be understood; or a negative errno.
 */
static int read_state(json_t **ret)
{
	const char *moved = getenv("CLAUDE_CONFIG_DIR");
	auto_free char *home = fs_home();
	const char *dir = moved && *moved == '/' ? moved : home;
	auto_free char *file = dir ? path_join(dir, ".claude.json") : NULL;
	auto_buf struct buf text = { 0 };
	int r;

	if (!file)
		return -ENOENT;
	r = fs_read(AT_FDCWD, file, TRUST_FILE_MAX, &text, NULL);
	if (r == 0)
		*ret = json_loadb(buf_str(&text), text.len, 0, NULL);
	return r;
}

/* Of @project, or a directory above it */
static bool is_accepted(const json_t *projects, const char *project)
{
	char *path = mem_strdup(project);
	bool trusted = false, top = false;

	while (!trusted && !top) {
		char *above = path_parent(path);

		trusted = json_is_true(json_object_get(
			json_object_get(projects, path),
			"hasTrustDialogAccepted"));
		top = !strcmp(above, path);
		free(path);
		path = above;
	}
	free(path);
	return trusted;
}

/* `cloche policy` wrote @file, and it has not changed since */
static bool is_written_by_us(const char *file)
{
	auto_free char *state = store_default_dir();

	return state && file && trust_has(state, file);
}

/* Claude Code has been at work here, and would have asked: it writes every
 * session down. That its state is missing then says nothing.
 */
static bool has_sessions(void)
{
	const char *moved = getenv("CLAUDE_CONFIG_DIR");
	auto_free char *home = fs_home();
	auto_free char *sessions = moved && *moved == '/' ?
		path_join(moved, "projects") :
		home ? path_join(home, ".claude/projects") : NULL;

	return sessions && access(sessions, F_OK) == 0;
}

static bool trusts(const char *project, const char *file, bool without_state)
{
	json_t *root = NULL;
	const int r = read_state(&root);
	bool trusted;

	if (r == -ENOENT && without_state && !has_sessions())
		return true;
	trusted = is_accepted(json_object_get(root, "projects"), project);
	json_decref(root);
	return trusted || is_written_by_us(file);
}

bool hook_trusts(const char *project, const char *file)
{
	return trusts(project, file, true);
}

bool hook_trusts_marked(const char *project, const char *file)
{
	return trusts(project, file, false);
}
