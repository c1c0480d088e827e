/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan/tops.c - a rule that hides the root directory
 *
 * Nothing can be mounted on the root that all mounts stand on: where a rule hides
 * it, it hides what is in it, by name. Nobody but root can add to that.
 */

#include "plan/tops.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "plan/view.h"
#include "plan/walk-git.h"

/* The sandbox's own, the kernel's, or no name */
static bool is_left(const char *name)
{
	return !strcmp(name, "proc") || !strcmp(name, "dev") ||
	       !strcmp(name, "sys") || !strcmp(name, ".") || !strcmp(name, "..");
}

int tops_hide(struct view *view, struct err *err)
{
	const struct verdict root = view_verdict(view, VIEW_READ, "/");
	auto_closedir DIR *dir = root.allowed ? NULL : opendir("/");
	struct { char **v; size_t len, cap; } tops = { 0 };
	struct dirent *entry;
	bool hides_tmp = false;

	if (root.allowed)
		return 0;
	if (!dir)
		return fail_errno(err, "'%s' cannot be hidden",
				  root.rule->text);
	while ((entry = readdir(dir)) != NULL) {
		auto_free char *path = path_join("/", entry->d_name);
		struct stat st;

		/* What a link leads to is in one of the others */
		if (!is_left(entry->d_name) &&
		    !(view->private_tmp && !strcmp(path, "/tmp")) &&
		    walk_sees(view, AT_FDCWD, path, &st) &&
		    !S_ISLNK(st.st_mode) &&
		    !view_verdict(view, VIEW_READ, path).allowed)
			*vec_push(&tops) = take_ptr(path);
	}
	if (view->private_tmp)
		hides_tmp = view_verdict(view, VIEW_READ, "/tmp").rule ==
			    root.rule;
	/* Not while they are asked about: they must be sorted for that */
	for (size_t i = 0; i < tops.len; i++) {
		view_add(view, PATH_DENY_READ, tops.v[i], root.rule, false);
		free(tops.v[i]);
	}
	free(tops.v);
	if (hides_tmp)
		view_add(view, PATH_ALLOW_READ, "/tmp",
			 view_own_rule(view, "/tmp", "/tmp",
				       "the sandbox's own"), false);
	view_sort(view);
	return 0;
}
