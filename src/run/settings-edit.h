/* SPDX-License-Identifier: Apache-2.0 */
/* lib/change.h - edits of the user's settings files */

#ifndef LIB_CHANGE_H
#define LIB_CHANGE_H

#include <stdbool.h>

#include "policy/mode.h"
#include "policy/origin.h"

struct buf;
struct err;
struct settings_request;

/* Add @value to the list at @path ("sandbox.network.allowedDomains") of the file of
 * @scope: SCOPE_PROJECT and SCOPE_USER are cloche's own, SCOPE_LOCAL is Claude
 * Code's for this project. The file is replaced at once or not at
 * all, and only if what came of it is valid; the rest of it stays as it was. 1
 * if it was added, 0 if it was there; *@ret_file names the file and is the
 * caller's to free.
 */
int change_append(const struct settings_request *req, enum scope scope,
		  const char *path, const char *value, char **ret_file,
		  struct err *err);

/* The same for a variable that no command shall have */
int change_deny_variable(const struct settings_request *req, enum scope scope,
			 const char *value, char **ret_file, struct err *err);

/* Take @value out of such a list: 1 if it was there */
int change_remove(const struct settings_request *req, enum scope scope,
		  const char *path, const char *value, char **ret_file,
		  struct err *err);

/* Write @mode into the local file, likewise */
int change_mode(const struct settings_request *req, enum scope scope,
		enum mode mode,
		char **ret_file, struct err *err);

/* What an edit of any file wants */
enum change_want {
	CHANGE_KEEP,	/* Leave it alone */
	CHANGE_WRITE,	/* Write @ret */
	CHANGE_REMOVE,	/* There shall be no such file */
};

/* An edit: @text is what is there; there is no file yet unless @exists. One of
 * enum change_want, or a negative errno with words.
 */
typedef int (*change_fn)(void *arg, const struct buf *text, bool exists,
			 struct buf *ret, struct err *err);

/* Let @fn edit the JSON file @path, which is made with its directory if need
 * be; at once or not at all, and under a lock. What @fn returned, or a negative
 * errno with words.
 */
int change_file(const char *path, change_fn fn, void *arg, struct err *err);

#endif /* LIB_CHANGE_H */
