/* SPDX-License-Identifier: Apache-2.0 */
/* lib/gitfile.h - git's settings for profile home: the user's, safe ones only */

#ifndef LIB_GITFILE_H
#define LIB_GITFILE_H

struct policy;

/* The content of ~/.gitconfig inside. The caller frees. */
char *gitfile_make(const struct policy *policy);

#endif /* LIB_GITFILE_H */
