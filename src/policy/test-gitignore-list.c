/* SPDX-License-Identifier: Apache-2.0 */
/* policy/test-gitignore-list.c - a whole .gitignore, for comparisons with git */

#include "policy/test-gitignore-list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/gitignore.h"
#include "policy/glob.h"

struct gitignore {
	struct gitignore_pattern *v;
	size_t len, cap;
	char *dir;
};

static int add_line(struct gitignore *list, char *line, struct err *err)
{
	const size_t n = strlen(line);
	struct gitignore_pattern p;

	if (n && line[n - 1] == '\r')
		line[n - 1] = '\0';
	if (!*line || *line == '#')
		return 0;
	if (gitignore_pattern_init(&p, list->dir, line, 0, err) < 0)
		return -EINVAL;
	*vec_push(list) = p;
	return 0;
}

struct gitignore *gitignore_new(const char *dir, const char *text,
				struct err *err)
{
	struct gitignore *list = mem_zalloc(sizeof(*list));
	unsigned int line = 0;

	list->dir = mem_strdup(dir);
	while (*text) {
		const size_t n = strcspn(text, "\n");
		auto_free char *copy = mem_strndup(text, n);

		line++;
		if (add_line(list, copy, err) < 0) {
			(void)fail_in(err, -EINVAL, "line %u", line);
			gitignore_free(list);
			return NULL;
		}
		text += n + (text[n] == '\n');
	}
	return list;
}

void gitignore_free(struct gitignore *list)
{
	if (!list)
		return;
	for (size_t i = 0; i < list->len; i++)
		gitignore_pattern_done(&list->v[i]);
	free(list->v);
	free(list->dir);
	free(list);
}

/* The last pattern that names @path decides */
static bool is_named(const struct gitignore *list, const char *path,
		     bool is_dir)
{
	for (size_t i = list->len; i-- > 0;) {
		const struct gitignore_pattern *p = &list->v[i];

		if ((is_dir || !p->dir_only) && glob_match(p->glob, path))
			return !p->negated;
	}
	return false;
}

bool gitignore_match(const struct gitignore *list, const char *path,
		     bool is_dir)
{
	auto_free char *up = mem_strdup(path);
	size_t at = list->dir[1] ? strlen(list->dir) : 0;

	/* Below an ignored directory git doesn't look: nothing is taken back */
	while (up[at]) {
		at += 1 + strcspn(up + at + 1, "/");
		if (!up[at])
			break;
		up[at] = '\0';
		if (is_named(list, up, true))
			return true;
		up[at] = '/';
	}
	return is_named(list, path, is_dir);
}
