/* SPDX-License-Identifier: Apache-2.0 */
/* policy/json-edit.h - change one value of a JSON text and nothing else
 *
 * Pure: text in, text out. Other keys, their order, indentation and line ends
 * stay as they are.
 */

#ifndef POLICY_JSON_EDIT_H
#define POLICY_JSON_EDIT_H

#include <stddef.h>

struct buf;
struct err;

enum json_edit_op {
	JSON_EDIT_SET,		/* The value becomes the JSON text @value */
	JSON_EDIT_APPEND,	/* The string @value comes last in the list */
	JSON_EDIT_APPEND_VALUE,	/* The JSON text @value does, even if it is there */
	JSON_EDIT_TAKE,		/* @value leaves the list: a string, a number written
				 * so, or an object of that name
				 */
};

/* Change the value at @path ("sandbox.network.allowedDomains": plain keys) of the
 * object in @n bytes of @text; objects on the way, and lists to append to, are made. An
 * empty @text is an empty object. @name is for words. 1 and the new text in @out; 0 if
 * nothing is to be done; or -EINVAL with @out as it was.
 */
int json_edit(const char *text, size_t n, const char *name,
	      enum json_edit_op op, const char *path, const char *value,
	      struct buf *out, struct err *err);

/* Take entry @index out of the list at @path, with the comma that goes with
 * it. 0, or -ENOENT with a message if there is none.
 */
int json_edit_remove(const char *text, size_t n, const char *path, size_t index,
		struct buf *out, struct err *err);

#endif /* POLICY_JSON_EDIT_H */
