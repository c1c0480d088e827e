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

struct pattern {
	struct glob *glob;
	bool negated, dir_only;
};

struct gitignore {
	struct pattern *v;
	size_t len, cap;
	char *dir;
};

static int add_line(struct gitignore *list, char *line, struct err *err)
{
	size_t n = strlen(line), end = 0;
	struct pattern p = { .negated = *line == '!' };
	struct err why = { 0 };

	if (n && line[n - 1] == '\r')
		line[--n] = '\0';
	if (!*line || *line == '#')
		return 0;
	if (p.negated && line[1] == '!')
		*line = '\\';	/* A name that begins with "!" */
	p.glob = gitignore_glob(list->dir, line + (*line == '!'), &why);
	if (!p.glob)	/* In a list, a pattern that can never match is no error */
		return why.code == -ENODATA ? 0 : fail(err, -EINVAL, "%s", why.msg);
	for (size_t i = 0; i < n; i++) {	/* Without blanks that are not escaped */
		i += line[i] == '\\' && line[i + 1];
		end = line[i] != ' ' || (i && line[i - 1] == '\\') ? i + 1 : end;
	}
	p.dir_only = end && line[end - 1] == '/';
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
		glob_free(list->v[i].glob);
	free(list->v);
	free(list->dir);
	free(list);
}

/* The last pattern that names @path decides */
static bool is_named(const struct gitignore *list, const char *path,
		     bool is_dir)
{
	for (size_t i = list->len; i-- > 0;) {
		const struct pattern *p = &list->v[i];

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
