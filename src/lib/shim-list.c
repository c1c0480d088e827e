/* SPDX-License-Identifier: Apache-2.0 */
/* lib/shim-list.c - which wrappers there are, and whether they are used */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "lib/shim.h"

static const char LIST[] = "shims.json";

enum { STAT_MAX = 4096, WORDS_LOOKED_AT = 3 };

const char *shim_state_name(enum shim_state state)
{
	static const char *const names[] = {
		[SHIM_OK] = "ok", [SHIM_BYPASSED] = "bypassed",
		[SHIM_CHANGED] = "changed", [SHIM_GONE] = "gone",
		[SHIM_NO_PROGRAM] = "no-program",
	};

	return names[state];
}

void shim_done(struct shim *shim)
{
	free(shim->name);
	free(shim->path);
	free(shim->real);
	*shim = (struct shim){ 0 };
}

void shim_list_done(struct shim_list *list)
{
	for (size_t i = 0; i < list->len; i++)
		shim_done(&list->v[i]);
	free(list->v);
	*list = (struct shim_list){ 0 };
}

static int add_row(const json_t *row, struct shim_list *list)
{
	const char *name = json_string_value(json_object_get(row, "name"));
	const char *path = json_string_value(json_object_get(row, "path"));
	const char *real = json_string_value(json_object_get(row, "real"));
	struct shim *shim;

	if (!name || !path || !real || *path != '/' || *real != '/' ||
	    list->len == SHIMS_MAX)
		return -EINVAL;
	shim = vec_push(list);
	shim->name = mem_strdup(name);
	shim->path = mem_strdup(path);
	shim->real = mem_strdup(real);
	return 0;
}

static int parse(const struct buf *text, const char *file,
		 struct shim_list *ret, struct err *err)
{
	json_t *root = json_parse(buf_str(text), text->len, file, err);
	json_t *rows = json_object_get(root, "shims"), *row;
	int r = json_is_array(rows) ? 0 : -EINVAL;
	size_t i;

	json_array_foreach(rows, i, row) {
		if (r == 0)
			r = add_row(row, ret);
	}
	if (root && r < 0)
		r = fail(err, r, "%s: not a list of shims; remove it, and the shims by hand",
			 file);
	json_decref(root);
	return r;
}

int shim_read_list(struct shim_list *ret, struct err *err)
{
	auto_free char *dir = shim_own_dir();
	auto_free char *file = dir ? path_join(dir, LIST) : NULL;
	auto_buf struct buf text = { 0 };
	int r;

	*ret = (struct shim_list){ 0 };
	if (!file)
		return fail(err, -ENOENT, "there is no home directory; set $HOME");
	r = fs_read(AT_FDCWD, file, JSON_TEXT_MAX, &text, err);
	if (r == -ENOENT)
		return 0;
	return r < 0 ? r : parse(&text, file, ret, err);
}

int shim_write_list(const struct shim_list *list, struct err *err)
{
	auto_free char *dir = shim_own_dir();
	auto_close int fd = fs_open_dir_p(dir, 0700, err);
	auto_free char *text = NULL;
	json_t *rows, *root;

	if (fd >= 0 && !list->len) {	/* Leave nothing behind */
		(void)unlinkat(fd, "shims", AT_REMOVEDIR);
		return unlinkat(fd, LIST, 0) < 0 && errno != ENOENT ?
			fail_errno(err, "cannot remove the list of shims") : 0;
	}
	rows = json_array();
	for (size_t i = 0; i < list->len; i++)
		(void)json_array_append_new(rows, json_pack("{s:s, s:s, s:s}",
			"name", list->v[i].name, "path", list->v[i].path,
			"real", list->v[i].real));
	root = json_pack("{s:i, s:o}", "version", 1, "shims", rows);
	text = json_dumps(root, JSON_INDENT(2));
	json_decref(root);
	if (fd < 0)
		return fd;
	if (!text)
		return fail(err, -EINVAL, "the list of shims holds a name that is not UTF-8");
	return fs_replace(fd, LIST, text, strlen(text), 0644, err);
}

/* What a shell would start */
static char *first_on_path(const char *name, const char *path)
{
	while (path && *path) {
		const size_t n = strcspn(path, ":");
		auto_free char *dir = mem_strndup(path, n);
		char *file = path_join(*dir ? dir : ".", name);

		if (access(file, X_OK) == 0)
			return file;
		free(file);
		path = path[n] ? path + n + 1 : NULL;
	}
	return NULL;
}

enum shim_state shim_state(const struct shim *shim, const char *path)
{
	auto_buf struct buf text = { 0 };
	auto_free char *first = first_on_path(shim->name, path);
	const int r = shim_read_script(shim->path, &text);

	if (r == -ENOENT)
		return SHIM_GONE;
	if (r < 0 || !shim_is_ours(buf_str(&text)))
		return SHIM_CHANGED;
	if (access(shim->real, X_OK) < 0)
		return SHIM_NO_PROGRAM;
	return first && !strcmp(first, shim->path) ? SHIM_OK : SHIM_BYPASSED;
}

/* The parent of @pid, and its first words; 0 if that cannot be told. Behind
 * the name, which may hold anything, stand the state and the parent.
 */
static pid_t parent_of(pid_t pid)
{
	char path[64];
	auto_buf struct buf text = { 0 };
	auto_close int fd = -1;
	const char *p;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fs_read_fd(fd, STAT_MAX, &text, NULL) < 0)
		return 0;
	p = strrchr(buf_str(&text), ')');
	return p && strlen(p) > 4 ? (pid_t)strtol(p + 4, NULL, 10) : 0;
}

static bool is_same_file(const char *a, const char *real)
{
	auto_free char *x = realpath(a, NULL);
	auto_free char *y = realpath(real, NULL);

	return x && y && !strcmp(x, y);
}

/* By its program, or by the script that an interpreter was given */
static bool runs(pid_t pid, const char *real)
{
	char path[64];
	auto_buf struct buf words = { 0 };
	auto_close int fd = -1;
	const char *p, *end;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (is_same_file(path, real))
		return true;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fs_read_fd(fd, JSON_TEXT_MAX, &words, NULL) < 0)
		return false;
	p = buf_str(&words);
	end = p + words.len;
	for (int i = 0; i < WORDS_LOOKED_AT && p < end; i++) {
		if (*p == '/' && is_same_file(p, real))
			return true;
		p += strlen(p) + 1;
	}
	return false;
}

void shim_tell_bypass(struct buf *out)
{
	struct shim_list list = { 0 };
	pid_t pid = getppid();

	if (getenv(SHIM_VARIABLE) || shim_read_list(&list, NULL) < 0)
		return;
	for (int depth = 0; pid > 1 && list.len && depth < SHIM_ANCESTORS_MAX;
	     depth++, pid = parent_of(pid)) {
		for (size_t i = 0; i < list.len; i++) {
			if (!runs(pid, list.v[i].real))
				continue;
			buf_addf(out, "cloche: %s was started directly and runs outside the sandbox: its shim is ",
				 list.v[i].name);
			text_escape(out, list.v[i].path);
			buf_adds(out, "; put that directory first in $PATH\n");
			shim_list_done(&list);
			return;
		}
	}
	shim_list_done(&list);
}
