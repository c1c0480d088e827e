/* SPDX-License-Identifier: Apache-2.0 */
/* run/secret-binding.h - which secrets a run has, and where they may go */

#ifndef RUN_SECRET_BINDING_H
#define RUN_SECRET_BINDING_H

#include <limits.h>
#include <stdbool.h>

struct err;
struct policy;

/* Check the entries of @policy, "NAME[@HOST,...]", one for each name in the end, and
 * allow their hosts. The variables and files that their values come from are denied.
 * 0, or a negative errno with a message.
 */
int secret_bindings_expand(struct policy *policy, struct err *err);

/* True if @policy binds the variable @name to some host */
bool secret_is_bound(const struct policy *policy, const char *name);

/* The file that the source "file:@text" names: "~/" is $HOME. False if there is none. */
bool secret_source_path(const char *text, char ret[static PATH_MAX]);

#endif /* RUN_SECRET_BINDING_H */
