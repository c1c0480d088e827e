/* SPDX-License-Identifier: Apache-2.0 */
/* view/view.h - a policy's path rules, looked up on this file system
 *
 * The policy is text. The view is that text with symbolic links followed,
 * existing protected names and glob matches found by a bounded walk, and each
 * path's identity (device, inode) recorded. Verdicts depend on nothing else:
 * `policy why`, the plan and the observer ask the same function.
 */

#ifndef VIEW_VIEW_H
#define VIEW_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "base/mem.h"
#include "policy/policy.h"

struct err;
struct fast_check;
struct glob;
struct stat;
struct walk_cache;

/**
 * struct view_rule - One rule on one real path
 * @path:	Absolute; no component but the last is a symbolic link
 * @list:	What the rule says
 * @rule:	The policy's rule behind it
 * @mode:	st_mode of the file there, 0 if there is none
 * @dev, @ino:	Its identity
 * @found:	The walk found it (a protected name or a glob's match)
 * @target:	A link that was found leads there: it is no protected name itself
 * @closed:	A directory that cannot be read: the rule is for something that may
 *		be below it
 */
struct view_rule {
	char *path;
	enum path_list list;
	const struct path_rule *rule;
	mode_t mode;
	dev_t dev;
	ino_t ino;
	bool found, target, closed;
};

struct view_rules {
	struct view_rule *v;
	size_t len, cap;
};

/**
 * struct glob_rule - A rule that is a pattern, and its list
 * @glob:	The pattern: the rule's, or @own
 * @own:	The same elsewhere: where links in its prefix lead, or in a
 *		directory that is called as it is spelled; the view's own
 */
struct glob_rule {
	const struct path_rule *rule;
	enum path_list list;
	const struct glob *glob;
	struct glob *own;
};

/**
 * struct view_note - A message for the user, printed once
 * @unmade:	About a missing path that the observer will let the command create
 */
struct view_note {
	char *text;
	bool unmade;
};

/**
 * struct view_link - A symbolic link that a private directory gets, too
 * @home:	It leads to the home, and is shown where it stands in a hidden
 *		directory as well
 */
struct view_link {
	char *path, *target;
	bool home;
};

/* A denied file that has other names */
struct view_linked {
	dev_t dev;
	ino_t ino;
	enum path_list list;
	const struct path_rule *rule;
};

/**
 * struct view_repo - A git directory that the walk has met
 * @todo:	What a rebase in it is still to do, or NULL
 */
struct view_repo {
	char *path, *todo;
};

#define VAR_TMP "/var/tmp"

/**
 * struct view - All of it; immutable once built
 * @policy:	Referenced
 * @rules:	Sorted by path, then by list
 * @globs:	Rules that are patterns
 * @notes:	Rules that had no effect, and why
 * @owned:	Rules that the view itself made (protected names)
 * @links:	Of programs (PLACE_BIN)
 * @tops:	Working trees of git's that the walk has met
 * @home:	Where the home really is, or NULL
 * @private_tmp, @private_var_tmp: /tmp and /var/tmp are the sandbox's own
 * @own_dir:	A hidden directory that is the sandbox's own inside (OWN in
 *		policy/hidden-paths.def), or NULL; of @rules
 * @repos:	Git directories
 * @linked:	Denied files that have other names
 * @after:	Made after a run: its walk has no limit
 * @deep:	The walk leaves out what is older than @since
 * @cache:	What was known of the directories, or NULL; not the view's own
 * @missed:	Why something could not be looked at (view_missed()), or 0
 */
struct view {
	struct policy *policy;
	struct view_rules rules;
	struct { struct glob_rule *v; size_t len, cap; } globs;
	struct { struct view_note *v; size_t len, cap; } notes;
	struct { struct view_link *v; size_t len, cap; } links;
	struct { struct path_rule **v; size_t len, cap; } owned;
	struct strings tops;
	char *home;
	const char *own_dir;
	struct { struct view_repo *v; size_t len, cap; } repos;
	struct { struct view_linked *v; size_t len, cap; } linked;
	bool private_var_tmp, private_tmp, deep, after;
	time_t since;
	struct walk_cache *cache;
	int missed;
};

/* 0, or a negative errno with a message, also if descriptors or memory run out: a
 * directory that was not read would not be protected
 */
int view_build(struct policy *policy, struct view **ret, struct err *err);

/**
 * struct view_how - How a view is built, other than by default
 * @cache:	What is known of the directories (view/walk-cache.h), or NULL
 * @unwalked:	Without the protected names that exist: no sandbox may be built from it
 * @after:	After a run, however many names it made
 * @since:	Leave out what has surely been there before; or NULL
 */
struct view_how {
	struct walk_cache *cache;
	bool unwalked, after;
	const time_t *since;
};

int view_build_how(struct policy *policy, const struct view_how *how,
		   struct view **ret, struct err *err);
void view_free(struct view *view);

static inline void view_freep_(struct view **view)
{
	view_free(*view);
}

#define auto_view	__attribute__((cleanup(view_freep_)))

enum view_op { VIEW_READ, VIEW_WRITE };

/**
 * struct verdict - Whether a path may be read or written, and which rule decides
 * @allowed:	The answer
 * @rule:	The rule that decided, or NULL if none did
 * @reason:	For the user; never NULL
 * @final:	No rule could change it
 */
struct verdict {
	bool allowed;
	const struct path_rule *rule;
	const char *reason;
	bool final;
};

/* What the policy says about @path, absolute and real. Pure. */
struct verdict view_verdict(const struct view *view, enum view_op op,
			    const char *path);

/* True if a rule of the user's that allows @path itself would lift @v, a denial. Built-in
 * rules yield, and a user's rule yields for a part of the directory that it denies. Rules of
 * options and of the administrator do not.
 */
bool verdict_yields(const struct verdict *v, enum view_op op, const char *path);

/* The writable root that @path lies in, by its real name; or NULL. The caller
 * frees.
 */
char *view_root_of(const struct view *view, const char *path);

/* Add a literal rule, as a grant that comes later or what the walk finds.
 * @path is looked up; a missing one is kept. The result is valid until the next one
 * is added.
 */
struct view_rule *view_add(struct view *view, enum path_list list, const char *path,
			   const struct path_rule *rule, bool found);

/* The same, with the lstat() of @path */
struct view_rule *view_add_seen(struct view *view, enum path_list list,
				const char *path, const struct path_rule *rule,
				const struct stat *st);
/* The same; the view frees @path */
struct view_rule *view_take_seen(struct view *view, enum path_list list,
				 char *path, const struct path_rule *rule,
				 const struct stat *st);

/* The link at @path is denied: so is what it leads to, unless that holds the
 * link, which would close the whole project
 */
void view_add_target(struct view *view, enum path_list list, const char *path,
		     const struct path_rule *rule);

/* Forget all but the first @n rules */
void view_drop(struct view *view, size_t n);

/* A private directory gets the symbolic link at @path, too */
void view_add_link(struct view *view, const char *path);

/* A rule of the view's own, for view_add(); @reason is a literal */
const struct path_rule *view_own_rule(struct view *view, const char *path,
				      const char *name, const char *reason);

enum { VIEW_DEVICES = 6 };

/* What every sandbox has in /dev; the terminal is the last */
extern const char *const view_devices[VIEW_DEVICES];

/* Whose files a path leads to */
enum view_place {
	VIEW_HOST,		/* The host's, if it may be read at all */
	VIEW_TMP,		/* The sandbox's own /tmp */
	VIEW_PRIVATE,		/* The sandbox's own home, empty at first */
	VIEW_LAYER,		/* The host's; what is written is staged */
};

enum view_place view_place(const struct view *view, const char *path);
/* The same, where the verdict on reading @path is known already */
enum view_place view_place_of(const struct view *view, const char *path,
			      const struct verdict *readable);

/* True if what allows writing to @path did not exist when @view was made: no
 * mount allows it then
 */
bool view_is_unmade(const struct view *view, const char *path);

/* True if there may be such paths */
bool view_has_unmade(const struct view *view);

/* Take over @text, a note that is printed when a command is run */
void view_note(struct view *view, char *text);

/* True if @r hides a store of our own: no rule for what is in it counts */
bool view_is_store(const struct view_rule *r);

/* True if what is written at @path does not get to the host */
bool view_is_private(const struct view *view, const char *path);

/* Sort after view_add(); view_build() does it for its own */
void view_sort(struct view *view);

/* Of the sorted rules from @lo up to @hi, the first whose path is not before the @n
 * bytes of @path and then @next
 */
size_t view_find(const struct view *view, size_t lo, size_t hi, const char *path,
		 size_t n, char next);

/* Add to @view that @path, which is @st, must not be written. A link is held in
 * its place, and what it leads to stays as it is.
 */
void view_protect(struct view *view, const char *path, const struct stat *st,
		  const char *name, const char *reason);

/* The directory @closed cannot be looked into. A command may have seen to that, so
 * that this run finds nothing in it, and open it again: all of it must not be
 * written.
 */
void view_close_dir(struct view *view, const char *closed);

/* Something could not be looked at because of @error: without descriptors or
 * memory @view is not built. After any other error the command cannot look there either.
 */
void view_missed(struct view *view, int error);

/* 0 if all that was looked for could be looked at, else a negative errno and a message */
int view_check(const struct view *view, struct err *err);

/* What @name in @dir is, links not followed; false if nothing is there */
bool view_sees(struct view *view, int dir, const char *name, struct stat *st);

/* True if @path is below a writable root of @view */
bool view_is_writable(const struct view *view, const char *path);

/* A stage of view_build(): deny reading what @view hides by each other name that a
 * mount gives it. The home, bound to a second place, shows the same files. 0, or a
 * negative errno with a message.
 */
int mount_alias_hide(struct view *view, struct err *err);

/* rename-guard.c */

enum {
	RENAME_GUARD_NAMES_MAX = 1 << 16,	/* Looked at; more may hold anything */
	RENAME_GUARD_DEPTH_MAX = 64,
};

/**
 * rename_guard_find - Find a rule that stops applying when a directory is renamed
 * @view:	The policy on this file system
 * @from:	Current path of the directory
 * @at:		Where its content lies; differs from @from with --ephemeral
 *		(plan/overlay-path.h)
 * @to:		New path
 *
 * Mounts already pin names that existed at the start, so only names created since then
 * matter.
 *
 * Return: a rule that denies something below @from but not below @to, or NULL. A
 * directory too large to search counts as containing one.
 */
const struct path_rule *rename_guard_find(const struct view *view, const char *from,
				    const char *at, const char *to);

/* fast-check.c - paths that may be written, decided by their text alone */

/* For @view, in a sandbox that was built from @initial: the same, or older.
 * Both outlive the result, which does not change: any thread may use it.
 */
struct fast_check *fast_check_new(const struct view *view, const struct view *initial);
void fast_check_free(struct fast_check *plain);

/* True only if @path, absolute and real, may be written under both, no rule
 * stands at it, above it in its writable root, or below it, and no name in it
 * is protected or could match a pattern. False means that the path must be resolved.
 */
bool fast_check_covers(const struct fast_check *plain, const char *path);

#endif /* VIEW_VIEW_H */
