/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view/realpath.c - many paths to their real ones, each directory looked at once
 *
 * A policy names a hundred paths in a handful of directories, most of which do
 * not exist. realpath() would look at each component each time; here a
 * directory's answer is kept, and below a missing one nothing is looked up.
 */

#include "view/realpath.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"

enum {
	BUCKETS = 256,
	LINKS_MAX = 40,	/* The kernel's */
};

/**
 * struct known - A directory that was resolved
 * @fd:		Opened (O_PATH) once a second name in it is looked up, which takes half
 *		the time then; or -1
 */
struct known {
	char *path, *real;
	bool missing, used;
	int fd;
	struct known *next;
};

/**
 * struct realpath - All directories that were resolved
 * @refused:	A look into one of them was
 * @error:	Why another one failed, or 0; nothing being there is no failure
 * @links:	Links that are being followed
 */
struct realpath {
	struct known *buckets[BUCKETS];
	bool refused;
	int error;
	unsigned int links;
};

/* Of the first @n bytes */
static size_t bucket_of(const char *path, size_t n)
{
	const uint64_t h = text_hash_bytes(path, n);

	return (h ^ h >> 32) % BUCKETS;
}

struct realpath *realpath_new(void)
{
	return mem_zalloc(sizeof(struct realpath));
}

void realpath_free(struct realpath *r)
{
	for (size_t i = 0; r && i < BUCKETS; i++) {
		struct known *k = r->buckets[i];

		while (k) {
			struct known *next = k->next;

			close_fd(&k->fd);
			free(k->path);
			free(k->real);
			free(k);
			k = next;
		}
	}
	free(r);
}

/* The one that the first @n bytes of @path name */
static struct known *directory(struct realpath *r, const char *path, size_t n)
{
	struct known **bucket = &r->buckets[bucket_of(path, n)];
	struct known *k;
	struct stat st;

	for (k = *bucket; k; k = k->next) {
		if (!strncmp(k->path, path, n) && !k->path[n])
			return k;
	}
	k = mem_zalloc(sizeof(*k));
	k->path = mem_strndup(path, n);
	k->fd = -1;
	if (n == 1) {	/* "/" */
		k->real = mem_strdup("/");
	} else {
		k->real = realpath_follow(r, k->path, &st);
		k->missing = !S_ISDIR(st.st_mode);
	}
	k->next = *bucket;
	*bucket = k;
	return k;
}

static void note_error(struct realpath *r)
{
	r->refused = r->refused || errno == EACCES;
	if (errno != EACCES && errno != ENOENT && errno != ENOTDIR)
		r->error = errno;
}

/* lstat() of @name in @dir, whose whole path is @path */
static int look_in(struct known *dir, const char *name, const char *path,
		   struct stat *st)
{
	if (dir->used && dir->fd < 0)
		dir->fd = open(dir->real, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dir->used = true;
	return dir->fd < 0 ? lstat(path, st) :
	       fstatat(dir->fd, name, st, AT_SYMLINK_NOFOLLOW);
}

/* The path with all but its last component followed */
static char *spell(struct realpath *r, const char *path, struct stat *st)
{
	const char *name = path_base(path);
	const size_t above = (size_t)(name - path);	/* And its slash */
	struct known *dir;
	char *real;

	if (!strcmp(path, "/")) {
		(void)lstat("/", st);
		return mem_strdup("/");
	}
	dir = directory(r, path, above > 1 ? above - 1 : 1);
	real = path_join(dir->real, name);
	if (!dir->missing && look_in(dir, name, real, st) == 0)
		return real;
	if (!dir->missing)
		note_error(r);
	*st = (struct stat){ 0 };
	return real;
}

/* Where the link at @path leads, as far as we may look: its target may be in a
 * directory that is closed, and open again for the command
 */
static char *chase_closed(struct realpath *r, const char *path,
			  struct stat *st)
{
	auto_free char *target = fs_link("%s", path);
	auto_free char *parent = path_parent(path);
	auto_free char *next = NULL;
	char *real = NULL;

	if (target && r->links < LINKS_MAX) {
		next = path_resolve(parent, target);
		r->links++;
		real = realpath_follow(r, next, st);
		r->links--;
	}
	return real;
}

/* Where the link at @path ends; NULL if it dangles */
static char *chase(struct realpath *r, const char *path, struct stat *st)
{
	char *real = realpath(path, NULL);

	if (real && stat(real, st) == 0)
		return real;
	*st = (struct stat){ 0 };
	note_error(r);
	if (!real && errno == EACCES)
		return chase_closed(r, path, st);
	free(real);
	return NULL;
}

char *realpath_follow_both(struct realpath *r, const char *path,
			   struct stat *st, char **ret_link,
			   struct stat *link)
{
	char *spelled = spell(r, path, st), *real;

	*ret_link = NULL;
	if (!S_ISLNK(st->st_mode))
		return spelled;
	*link = *st;
	real = chase(r, spelled, st);
	if (!real)
		real = mem_strdup(spelled);
	*ret_link = spelled;
	return real;
}

char *realpath_follow(struct realpath *r, const char *path, struct stat *st)
{
	auto_free char *link = NULL;
	struct stat ignored;

	return realpath_follow_both(r, path, st, &link, &ignored);
}

char *realpath_closed(const struct realpath *r, const char *path)
{
	return r->refused ? realpath_is_closed(path) : NULL;
}

int realpath_error(const struct realpath *r)
{
	return r->error;
}

char *realpath_find(const char *path)
{
	struct realpath *resolver = realpath_new();
	struct stat st;
	char *real = realpath_follow(resolver, path, &st);

	realpath_free(resolver);
	return real;
}

char *realpath_is_closed(const char *path)
{
	char *p = mem_strdup(path);
	struct stat st = { 0 };

	while (lstat(p, &st) < 0 && strcmp(p, "/") != 0) {
		char *above = path_parent(p);

		free(p);
		p = above;
	}
	/* Only its owner can chmod() it open */
	if (S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	    faccessat(AT_FDCWD, p, R_OK | X_OK, AT_EACCESS) < 0 &&
	    errno == EACCES)
		return p;
	free(p);
	return NULL;
}
