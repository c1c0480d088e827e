/* SPDX-License-Identifier: Apache-2.0 */
/* lib/aside-tree.h - the trees of a store of changes: walked, copied, removed */

#ifndef LIB_ASIDE_TREE_H
#define LIB_ASIDE_TREE_H

struct aside;
struct err;

/* Fill in the changes. 0, or a negative errno with words. */
int aside_walk(struct aside *aside, struct err *err);

#endif /* LIB_ASIDE_TREE_H */
