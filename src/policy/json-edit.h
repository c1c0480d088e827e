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

/* Set the value at @path ("sandbox.network.allowedDomains": plain keys) of the
 * object in @n bytes of @text to the JSON text @value; objects on the way are
 * made. An empty @text is an empty object. @name is for words. 0, or -EINVAL
 * with @out as it was.
 */
int json_edit_set(const char *text, size_t n, const char *name, const char *path,
	     const char *value, struct buf *out, struct err *err);

/* Add the string @value to the end of the list at @path, which is made if it
 * is not there. 1 if it was added, 0 if it is in the list already.
 */
int json_edit_append(const char *text, size_t n, const char *name,
		const char *path, const char *value, struct buf *out,
		struct err *err);

/* Take @value out of the list at @path: a string, a number written so, or an
 * object of that name. 1 if it was there, 0 if not.
 */
int json_edit_take(const char *text, size_t n, const char *name, const char *path,
	      const char *value, struct buf *out, struct err *err);

/* As json_edit_append() for any value, given as JSON text; it is added even if it
 * is there. 1, or a negative errno.
 */
int json_edit_append_value(const char *text, size_t n, const char *name,
		      const char *path, const char *value, struct buf *out,
		      struct err *err);

/* Take entry @index out of the list at @path, with the comma that goes with
 * it. 0, or -ENOENT with a message if there is none.
 */
int json_edit_remove(const char *text, size_t n, const char *path, size_t index,
		struct buf *out, struct err *err);

#endif /* POLICY_JSON_EDIT_H */
