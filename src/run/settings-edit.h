/* SPDX-License-Identifier: Apache-2.0 */
/* run/settings-edit.h - edits of the user's settings files */

#ifndef RUN_SETTINGS_EDIT_H
#define RUN_SETTINGS_EDIT_H

#include <stdbool.h>

#include "policy/mode.h"
#include "policy/origin.h"

struct buf;
struct err;

/* Add @value to the list at @path ("sandbox.network.allowedDomains") of the file of
 * @scope, or take it out, seen from @cwd: SCOPE_PROJECT and SCOPE_USER are
 * cloche's own, SCOPE_LOCAL is Claude Code's for this project. In the list
 * sandbox.credentials.envVars, @value is a variable that no command shall have. The
 * file is replaced at once or not at all, and only if what came of it is valid; the
 * rest of it stays as it was. 1 if it was changed, 0 if that was not needed; *@ret_file
 * names the file, or is NULL where there is none, and is the caller's to free.
 */
int settings_edit_list(const char *cwd, enum scope scope, bool add,
		       const char *path, const char *value, char **ret_file,
		       struct err *err);

/**
 * struct settings_edit_flag - A flag to set
 * @path:	"sandbox.allowUnsandboxedCommands"
 */
struct settings_edit_flag {
	const char *path;
	bool value;
};

/* Set @n flags in the file of @scope, likewise. 0 and the file's name for the caller to
 * free, or a negative errno.
 */
int settings_edit_flags(const char *cwd, enum scope scope,
			const struct settings_edit_flag *flags, size_t n,
			char **ret_file, struct err *err);

/* What an edit of any file wants */
enum settings_edit_want {
	SETTINGS_EDIT_KEEP,	/* Leave it alone */
	SETTINGS_EDIT_WRITE,	/* Write @ret, if it is JSON */
	SETTINGS_EDIT_WRITE_TEXT,	/* Write @ret, which @fn has checked */
	SETTINGS_EDIT_REMOVE,	/* There shall be no such file */
};

/* An edit: @text is what is there; there is no file yet unless @exists. One of
 * enum settings_edit_want, or a negative errno with a message.
 */
typedef int (*change_fn)(void *arg, const struct buf *text, bool exists,
			 struct buf *ret, struct err *err);

/* Let @fn edit the JSON file @path, which is made with its directory if need
 * be; at once or not at all, and under a lock. @project: where it must lie with all links
 * followed, or NULL. What @fn returned, or a negative errno with a message.
 */
int settings_edit_file(const char *path, const char *project, change_fn fn, void *arg,
		       struct err *err);

#endif /* RUN_SETTINGS_EDIT_H */
