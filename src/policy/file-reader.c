/* SPDX-License-Identifier: Apache-2.0 */
/* policy/file-reader.c - the machine's own file system, as settings see it */

#include "policy/file-reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"

static int files_read(void *arg, const char *path, size_t max,
		      struct buf *out, struct err *err)
{
	int r;

	(void)arg;
	r = fs_read(AT_FDCWD, path, max, out, err);
	/* A file where a directory should be: what we look for is not there */
	return r == -ENOTDIR ? -ENOENT : r;
}

static enum file_reader_kind files_kind(void *arg, const char *path, bool *owned)
{
	struct stat st;

	(void)arg;
	if (owned)
		*owned = false;
	if (stat(path, &st) < 0)
		return FILE_READER_NONE;
	if (owned)
		*owned = (st.st_uid == geteuid() || st.st_uid == 0) &&
			 !(S_ISDIR(st.st_mode) && st.st_mode & S_IWOTH);
	if (S_ISDIR(st.st_mode))
		return FILE_READER_DIR;
	return S_ISREG(st.st_mode) ? FILE_READER_FILE : FILE_READER_OTHER;
}

static char *files_real(void *arg, const char *path)
{
	(void)arg;
	return realpath(path, NULL);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int files_list(void *arg, const char *dir, struct strings *ret,
		      struct err *err)
{
	auto_closedir DIR *d = opendir(dir);
	struct strings names = { 0 };
	const struct dirent *entry;

	(void)arg;
	if (!d)
		return fail_errno(err, "cannot list '%s'", dir);
	while ((errno = 0, entry = readdir(d))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (names.len == FILE_READER_NAMES_MAX) {
			strings_done(&names);
			return fail(err, -E2BIG, "more than %d names in '%s'",
				    FILE_READER_NAMES_MAX, dir);
		}
		*vec_push(&names) = mem_strdup(entry->d_name);
	}
	if (errno) {
		const int r = fail_errno(err, "cannot list '%s'", dir);

		strings_done(&names);
		return r;
	}
	if (names.len)
		qsort(names.v, names.len, sizeof(*names.v), by_name);
	*ret = names;
	return 0;
}

const struct file_reader file_reader_files = {
	.read = files_read, .kind = files_kind, .real = files_real,
	.list = files_list,
};
