/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view/mount-alias.c - other mounts of what is hidden
 *
 * Theory of operation: a line of mountinfo says which directory of which file
 * system is mounted where. The path of a file in its file system is that of its
 * mount's directory and the rest; each other mount of the same file system that
 * holds that path shows the file again. Most machines mount nothing twice, and
 * are done after one look at the list.
 */

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "view/view.h"

enum { MOUNTS_TEXT_MAX = 16 << 20 };

/**
 * struct mount - A line of mountinfo, in its own text
 * @dev:	The file system, "major:minor"
 * @root:	Which of its directories is mounted
 * @point:	Where
 * @mask:	A FUSE mask of a sandbox around this one
 */
struct mount {
	const char *dev, *root, *point;
	bool mask;
};

struct mounts {
	struct mount *v;
	size_t len, cap;
};

/* A space is "\040" */
static void unescape(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++) {
		if (*p == '\\' && strspn(p + 1, "01234567") >= 3) {
			*to++ = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 |
				       (p[3] - '0'));
			p += 3;
		} else {
			*to++ = *p;
		}
	}
	*to = '\0';
}

/* @text becomes the strings that *@ret points to */
static void read_mounts(char *text, struct mounts *ret)
{
	char *line, *lines = text;

	while ((line = strsep(&lines, "\n")) != NULL) {
		char *fields[5] = { NULL };

		for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
			fields[i] = strsep(&line, " ");
		if (!fields[4])
			continue;
		unescape(fields[3]);
		unescape(fields[4]);
		*vec_push(ret) = (struct mount){
			fields[2], fields[3], fields[4],
			line && strstr(line, " - fuse cloche "),
		};
	}
}

static bool is_twice(const struct mounts *m)
{
	for (size_t i = 0; i < m->len; i++) {
		for (size_t k = i + 1; k < m->len; k++) {
			if (!strcmp(m->v[i].dev, m->v[k].dev))
				return true;
		}
	}
	return false;
}

/* The mount that @path is in: of several at one place, the last */
static const struct mount *mount_of(const struct mounts *m, const char *path)
{
	const struct mount *best = NULL;

	for (size_t i = 0; i < m->len; i++) {
		if (path_is_within(m->v[i].point, path) &&
		    (!best || strlen(m->v[i].point) >= strlen(best->point)))
			best = &m->v[i];
	}
	return best;
}

/* @path, which lies within @from, in @to instead. The caller frees. */
static char *moved(const char *path, const char *from, const char *to)
{
	const char *rest = path + (from[1] ? strlen(from) : 0);

	rest += strspn(rest, "/");
	return *rest ? path_join(to, rest) : mem_strdup(to);
}

/* What @rule hides is @inside the file system; @m is another mount of that */
static void hide_in(struct view *view, const struct view_rule *rule,
		    const char *inside, const struct mount *m)
{
	const bool whole = path_is_within(m->root, inside);
	auto_free char *alias = NULL;
	struct stat st;

	if (whole)
		alias = moved(inside, m->root, m->point);
	else if (path_is_within(inside, m->root))
		alias = mem_strdup(m->point);	/* A part of it */
	if (!alias || !strcmp(alias, rule->path) ||
	    !view_sees(view, AT_FDCWD, alias, &st) ||
	    (whole && (st.st_dev != rule->dev || st.st_ino != rule->ino)))
		return;
	view_add_seen(view, rule->list, alias, rule->rule, &st)->found = true;
}

/* True if @rule's path is where @own is mounted and has nothing in it: the mask of a
 * sandbox around this one. All masks there are mounts of one directory or file, and
 * the path of each would be taken for an alias of the others.
 */
static bool is_outer_mask(const struct view_rule *rule, const struct mount *own)
{
	struct stat st;

	if (strcmp(rule->path, own->point) != 0)
		return false;
	if (own->mask)		/* It would report that it was opened */
		return true;
	if (!S_ISDIR(rule->mode))
		return stat(rule->path, &st) == 0 && !st.st_size;
	return dir_has_names(AT_FDCWD, rule->path) == 0;
}

int mount_alias_hide(struct view *view, struct err *err)
{
	size_t n;
	auto_buf struct buf text = { 0 };
	struct mounts m = { 0 };
	const int r = fs_read(AT_FDCWD, "/proc/self/mountinfo", MOUNTS_TEXT_MAX,
			      &text, err);

	if (r < 0)
		return r;
	read_mounts(text.p, &m);
	n = is_twice(&m) ? view->rules.len : 0;	/* It grows meanwhile */
	for (size_t i = 0; i < n; i++) {
		/* The array may move */
		const struct view_rule rule = view->rules.v[i];
		const struct mount *own = rule.list == PATH_DENY_READ &&
			rule.mode ? mount_of(&m, rule.path) : NULL;
		auto_free char *inside = own && !is_outer_mask(&rule, own) ?
			moved(rule.path, own->point, own->root) : NULL;

		for (size_t k = 0; inside && k < m.len; k++) {
			if (&m.v[k] != own && !strcmp(m.v[k].dev, own->dev))
				hide_in(view, &rule, inside, &m.v[k]);
		}
	}
	free(m.v);
	return 0;
}
