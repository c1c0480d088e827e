/* SPDX-License-Identifier: Apache-2.0 */
/* base/path.c - paths as text: nothing here touches the file system */

#include "base/path.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/text.h"

static void drop_last(struct buf *b)
{
	const char *slash = b->len ? memrchr(b->p, '/', b->len) : NULL;

	if (b->len)
		b->p[b->len = slash ? (size_t)(slash - b->p) : 0] = '\0';
}

static void add_components(struct buf *b, const char *path)
{
	while (*path) {
		const size_t n = strcspn(path, "/");

		if (n == 2 && !memcmp(path, "..", 2)) {
			drop_last(b);
		} else if (n && !(n == 1 && *path == '.')) {
			buf_addc(b, '/');
			buf_add(b, path, n);
		}
		path += n;
		path += strspn(path, "/");
	}
}

/* True if nothing in @path would change: most paths are written that way */
static bool is_plain(const char *path)
{
	if (*path != '/')
		return false;
	do {
		const char *name = path + 1;

		path = strchrnul(name, '/');
		if (path == name || (*name == '.' && path - name <= 2 &&
				     (path - name == 1 || name[1] == '.')))
			return false;
	} while (*path);
	return true;
}

char *path_resolve(const char *base, const char *path)
{
	struct buf b = { 0 };

	if (is_plain(path))
		return mem_strdup(path);
	if (*path != '/')
		add_components(&b, base);
	add_components(&b, path);
	if (!b.len)
		buf_addc(&b, '/');
	return buf_take(&b);
}

char *path_join(const char *dir, const char *name)
{
	const size_t n = strlen(dir), m = strlen(name);
	const size_t slash = n && dir[n - 1] == '/' ? 0 : 1;
	char *path = mem_alloc(n + slash + m + 1);

	memcpy(path, dir, n);
	memcpy(path + n, "/", slash);
	memcpy(path + n + slash, name, m + 1);
	return path;
}

bool path_is_within(const char *dir, const char *path)
{
	const size_t n = strlen(dir);

	if (n == 1)	/* "/" */
		return true;
	return !strncmp(dir, path, n) && (!path[n] || path[n] == '/');
}

bool path_is_below(const char *dir, const char *path)
{
	return path_is_within(dir, path) && strcmp(dir, path) != 0;
}

bool path_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (!path[1])
		return false;
	slash[slash == path] = '\0';
	return true;
}

char *path_parent(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return mem_strdup("/");
	return mem_strndup(path, (size_t)(slash - path));
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool path_has(const char *path, const char *name)
{
	const size_t n = strlen(name);

	for (const char *p = path; (p = strstr(p, name)) != NULL; p++) {
		if (p > path && p[-1] == '/' && (p[n] == '/' || !p[n]))
			return true;
	}
	return false;
}

unsigned int path_depth(const char *path)
{
	unsigned int n = 0;

	for (; *path; path++) {
		if (*path == '/' && path[1])
			n++;
	}
	return n;
}

char *path_next_dir(const char **list)
{
	const char *start = *list;
	const size_t n = start ? strcspn(start, ":") : 0;

	if (!start || !*start)
		return NULL;
	*list = start[n] ? start + n + 1 : NULL;
	return mem_strndup(start, n);
}

/* A repository chooses the names of its directories, and two projects must not share a
 * private /tmp: a hash for which collisions can be computed would not do.
 */
char *path_id(const char *path)
{
	unsigned char digest[SHA256_BYTES];
	char *id = mem_zalloc(SHA256_BYTES + 1);

	sha256(path, strlen(path), digest);
	text_hex(digest, SHA256_BYTES / 2, id);
	return id;
}

int path_compare(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	if (*a == *b)
		return 0;
	if (!*a || !*b)
		return *a ? 1 : -1;
	if (*a == '/' || *b == '/')
		return *a == '/' ? -1 : 1;
	return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
}

int path_compare_items(const void *a, const void *b)
{
	return path_compare(*(const char *const *)a,
				    *(const char *const *)b);
}
