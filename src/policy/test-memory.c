/* SPDX-License-Identifier: Apache-2.0 */
/* policy/test-memory.c - a file system made of texts */

#include "policy/test-memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"

void memory_add(struct memory *m, const char *path, const char *text)
{
	*vec_push(m) = (struct memory_file){
		.path = mem_strdup(path),
		.text = text ? mem_strdup(text) : NULL,
	};
}

void memory_add_link(struct memory *m, const char *path, const char *target)
{
	*vec_push(m) = (struct memory_file){
		.path = mem_strdup(path), .link = mem_strdup(target),
	};
}

void memory_add_foreign(struct memory *m, const char *path)
{
	*vec_push(m) = (struct memory_file){
		.path = mem_strdup(path), .foreign = true,
	};
}

void memory_done(struct memory *m)
{
	for (size_t i = 0; i < m->len; i++) {
		free(m->v[i].path);
		free(m->v[i].text);
		free(m->v[i].link);
	}
	free(m->v);
	*m = (struct memory){ 0 };
}

static const struct memory_file *find(const struct memory *m,
				      const char *path)
{
	for (size_t i = 0; i < m->len; i++) {
		if (!strcmp(m->v[i].path, path))
			return &m->v[i];
	}
	return NULL;
}

/* One link, at the deepest place of @path where there is one, followed */
static char *follow(const struct memory *m, const char *path)
{
	for (size_t i = 0; i < m->len; i++) {
		const struct memory_file *f = &m->v[i];

		if (f->link && path_is_within(f->path, path))
			return mem_printf("%s%s", f->link,
					  path + strlen(f->path));
	}
	return NULL;
}

static char *resolve(const struct memory *m, const char *path)
{
	char *at = mem_strdup(path);

	for (int links = 0; links < 16; links++) {
		char *next = follow(m, at);

		if (!next)
			return at;
		free(at);
		at = next;
	}
	return at;
}

static enum file_reader_kind kind_at(const struct memory *m, const char *path)
{
	const struct memory_file *f = find(m, path);

	if (f)
		return f->text ? FILE_READER_FILE : FILE_READER_DIR;
	for (size_t i = 0; i < m->len; i++) {
		if (path_is_below(path, m->v[i].path))
			return FILE_READER_DIR;
	}
	return FILE_READER_NONE;
}

static int memory_read(void *arg, const char *path, size_t max,
		       struct buf *out, struct err *err)
{
	auto_free char *real = resolve(arg, path);
	const struct memory_file *f = find(arg, real);

	if (!f)
		return fail(err, -ENOENT, "cannot open '%s'", path);
	if (!f->text)
		return fail(err, -EISDIR, "'%s' is a directory", path);
	if (strlen(f->text) > max)
		return fail(err, -EFBIG, "%s: larger than %zu bytes", path,
			    max);
	buf_adds(out, f->text);
	return 0;
}

static enum file_reader_kind memory_kind(void *arg, const char *path, bool *owned)
{
	auto_free char *real = resolve(arg, path);
	const struct memory_file *f = find(arg, real);
	const enum file_reader_kind kind = kind_at(arg, real);

	if (owned)
		*owned = kind != FILE_READER_NONE && !(f && f->foreign);
	return kind;
}

static char *memory_real(void *arg, const char *path)
{
	char *real = resolve(arg, path);

	if (kind_at(arg, real) != FILE_READER_NONE)
		return real;
	free(real);
	return NULL;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool has_name(const struct strings *names, const char *name)
{
	for (size_t i = 0; i < names->len; i++) {
		if (!strcmp(names->v[i], name))
			return true;
	}
	return false;
}

static int memory_list(void *arg, const char *dir, struct strings *ret,
		       struct err *err)
{
	const struct memory *m = arg;
	struct strings names = { 0 };
	const size_t n = strlen(dir) + (dir[1] != '\0');

	for (size_t i = 0; i < m->len; i++) {
		const char *path = m->v[i].path;
		char *name;

		if (!path_is_below(dir, path))
			continue;
		name = mem_strndup(path + n, strcspn(path + n, "/"));
		if (has_name(&names, name))
			free(name);
		else
			*vec_push(&names) = name;
	}
	if (!names.len)
		return fail(err, -ENOENT, "cannot list '%s'", dir);
	qsort(names.v, names.len, sizeof(*names.v), by_name);
	*ret = names;
	return 0;
}

struct file_reader memory_reader(struct memory *m)
{
	return (struct file_reader){
		.read = memory_read, .kind = memory_kind,
		.real = memory_real, .list = memory_list, .arg = m,
	};
}
