/* SPDX-License-Identifier: Apache-2.0 */
/* run/secret-binding.h - which secrets a run has, and where they may go */

#ifndef RUN_SECRET_BINDING_H
#define RUN_SECRET_BINDING_H

struct err;
struct policy;

/* Check the entries of @policy, "NAME[@HOST,...]", one for each name in the end, and
 * allow their hosts. 0, or a negative errno with a message.
 */
int secret_bindings_expand(struct policy *policy, struct err *err);

#endif /* RUN_SECRET_BINDING_H */
