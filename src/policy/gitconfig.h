/* SPDX-License-Identifier: Apache-2.0 */
/* policy/gitconfig.h - a git configuration, and which settings are harmless
 *
 * The parser follows git's own: sections and names without case, subsections
 * with; a value may go on after a backslash at the end of a line; a name may
 * stand on the line of its section.
 */

#ifndef POLICY_GITCONFIG_H
#define POLICY_GITCONFIG_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

enum { GITCONFIG_MAX = 1 << 20 };	/* Bytes of one file */

/* True if gitconfig.c lists @key, in lower case but for the subsection, with that
 * @value
 */
bool gitconfig_is_harmless(const char *key, const char *value);
/* The same for the rows that go into profile home */
bool gitconfig_is_for_home(const char *key, const char *value);

/* Called for each setting that is not harmless; true to keep it all the same */
typedef bool (*gitconfig_fn)(void *arg, const char *key, const char *value);

/* Copy @n bytes of @text to @out without the settings that are not harmless.
 * Returns how many were taken out, or -EINVAL if git would not read it either
 * (what was copied is then to be thrown away). @fn may be NULL.
 */
int gitconfig_clean(const char *text, size_t n, struct buf *out,
		    gitconfig_fn fn, void *arg);

/* Called for each setting: "core.fsmonitor" in lower case (but for the
 * subsection), and its value, "" if it has none
 */
typedef void (*gitconfig_each_fn)(void *arg, const char *key,
				  const char *value);

/* All settings of @n bytes of @text, in order. 0, or -EINVAL if git would not
 * read it either.
 */
int gitconfig_each(const char *text, size_t n, gitconfig_each_fn fn,
		   void *arg);

/* May a command change a user's own settings from @old to @new, both of which are
 * texts? Only harmless ones may differ, and not where what is there leads: the
 * addresses of remotes may come, but not change or go; those of submodules and the
 * remotes of branches may come and go, but not change. An address that comes is reported, so
 * that no branch leads to a new one unnoticed. 0 and what came in words to @added;
 * -EACCES, or -EINVAL if git would not read one of them.
 */
int gitconfig_may_become(const struct buf *old, const struct buf *new,
			 struct buf *added);

/* True of the text of a .gitmodules that names submodules, all by harmless settings */
bool gitconfig_is_modules(const struct buf *text);

#endif /* POLICY_GITCONFIG_H */
