/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch/judge.c - from a call and where its paths lead to an answer
 *
 * Theory of operation: a program must see the errors that it would see without
 * us, unless the policy refuses. So what fails anyway is given the kernel's error
 * here (a directory that exists is EEXIST): if it went on, what stands in the way
 * could be gone by then, and the policy would not have been asked. Where the kernel
 * would name the read-only mount before it looks (removing what is not there), the
 * honest error is given. Only then is the policy asked.
 */

#include "watch/judge.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>

#include "base/dir.h"
#include "base/own.h"
#include "base/path.h"
#include "watch/place.h"

/* A mask that talks does not let us in: what there is to see, we know */
static bool see_mask(const struct observer_policy *policy, struct place *p)
{
	const enum mask_part mask = policy->mask && p->path[0] ?
		policy->mask(policy->arg, p->path) : MASK_NO_PART;

	if (mask == MASK_NO_PART)
		return false;
	p->name = path_base(p->path);
	p->exists = p->mount_root = mask != MASK_INSIDE;
	p->mode = mask == MASK_DIR || mask == MASK_SHOWN_DIR ? S_IFDIR
							     : S_IFREG;
	p->closed = mask == MASK_SHOWN_DIR || mask == MASK_SHOWN_FILE;
	p->read_only = true;
	return true;
}

int judge_found(const struct judge *j, int found, struct place *p)
{
	if (found == -EACCES && see_mask(j->policy, p))
		found = 0;
	if (!found && j->policy->is_fixed &&
	    j->policy->is_fixed(j->policy->arg, p->path))
		p->mount_root = true;
	return found;
}

static const struct judgement GO_ON = { 0 };

static struct judgement fails(int error)
{
	return (struct judgement) { .error = error };
}

/* Does the policy refuse a change of @p? */
static struct judgement refuse(const struct judge *j, const struct place *p,
			       enum violation_kind kind)
{
	struct judgement g = { .place = p, .kind = kind };

	j->policy->verdict(j->policy->arg, OBSERVER_WRITE, p->path, &g.verdict);
	switch (g.verdict.answer) {
	case OBSERVER_ALLOWED:
		break;
	case OBSERVER_OUTSIDE:
		/* A mount of the sandbox's own may be writable: /dev/shm */
		if (p->read_only)
			g.error = EROFS;
		else if (j->no_mounts)
			g.error = EACCES;
		break;
	case OBSERVER_DENIED:
		g.error = p->read_only ? EROFS : EACCES;
		if (!p->exists && !p->read_only)
			g.kind = VIOLATION_FS_CREATE;
		break;
	}
	g.report = g.error;
	g.look = g.verdict.look;
	return g;
}

/* @g allows it; but a directory or a link brings names along. @what: where it
 * stands, or NULL.
 */
static struct judgement placed(const struct judge *j, struct judgement g,
			       const char *what, const struct place *p)
{
	struct observer_verdict v = { 0 };

	if (g.error || !j->policy->place)
		return g;
	j->policy->place(j->policy->arg, what, p->path, &v);
	g.look |= v.look;
	if (v.answer == OBSERVER_ALLOWED)
		return g;
	return (struct judgement) {
		.error = EACCES, .report = true, .place = p, .verdict = v,
		.kind = what ? VIOLATION_FS_RENAME : VIOLATION_FS_CREATE,
	};
}

static bool brings_names(const struct place *p)
{
	return p->exists && (S_ISDIR(p->mode) || S_ISLNK(p->mode));
}

static struct judgement judge_make(const struct judge *j,
				   const struct attempt *a)
{
	const struct place *p = a->from;
	struct judgement g;

	if (p->exists)
		return fails(a->what == CALL_BIND ? EADDRINUSE : EEXIST);
	if (p->slash && !a->dir)
		return fails(ENOENT);
	g = refuse(j, p, VIOLATION_FS_WRITE);
	return a->link ? placed(j, g, NULL, p) : g;
}

static bool is_special(mode_t mode)
{
	return !S_ISREG(mode) && !S_ISDIR(mode) && !S_ISLNK(mode);
}

/* A mask hides what the host has; this is nowhere */
static bool is_on_host(const struct place *p)
{
	struct stat st;

	return lstat(p->path, &st) == 0 || errno != ENOENT;
}

/* A read that is denied finds nothing: that is no refusal, and as without us
 * unless the directory is hidden, in which nothing can be guessed
 */
static struct judgement read_missing(const struct judge *j,
				     const struct place *p)
{
	auto_free char *parent = path_parent(p->path);
	struct observer_verdict v;

	j->policy->verdict(j->policy->arg, OBSERVER_READ, parent, &v);
	return fails(v.answer == OBSERVER_ALLOWED ? ENOENT : EACCES);
}

static struct judgement judge_read(const struct judge *j,
				   const struct place *p)
{
	struct judgement g = { .place = p, .kind = VIOLATION_FS_READ };

	if (!j->reads)
		return GO_ON;
	/* What a mask hides is not there: the policy knows it, not the mounts */
	j->policy->verdict(j->policy->arg, OBSERVER_READ, p->path, &g.verdict);
	g.error = g.verdict.answer == OBSERVER_ALLOWED ? 0 : EACCES;
	g.report = g.error;
	return g.error && !p->exists && !is_on_host(p) ? read_missing(j, p) : g;
}

/* The errno with which an open fails for what stands there and how it is
 * written, or 0
 */
static int open_fails(const struct place *p, uint64_t flags)
{
	if ((flags & O_CREAT) && p->slash)
		return EISDIR;
	if (!p->exists || S_ISDIR(p->mode))
		return 0;
	if (p->slash || (flags & O_DIRECTORY))
		return ENOTDIR;
	return S_ISLNK(p->mode) && !(flags & O_EXCL) ? ELOOP : 0;
}

/* Permissions come before the read-only mount */
static struct judgement modes_first(struct judgement g, const struct place *p)
{
	if (g.error == EROFS && place_writable(p) == -EACCES)
		g.error = EACCES;
	return g;
}

static struct judgement judge_open(const struct judge *j,
				   const struct attempt *a)
{
	const struct place *p = a->from;
	const uint64_t access = a->flags & O_ACCMODE;
	const bool writes = access == O_WRONLY || access == O_RDWR ||
			    (a->flags & O_TRUNC);
	struct judgement g;
	int error;

	if (a->flags & O_PATH)
		return GO_ON;
	error = open_fails(p, a->flags);
	if (error)
		return fails(error);
	if ((a->flags & O_TMPFILE) == O_TMPFILE)
		return p->exists ? refuse(j, p, VIOLATION_FS_WRITE)
				 : fails(ENOENT);
	if (!p->exists && !(a->flags & O_CREAT))
		return writes ? fails(ENOENT) : judge_read(j, p);
	if (!p->exists)
		return judge_make(j, a);
	if ((a->flags & O_CREAT) && (a->flags & O_EXCL))
		return fails(EEXIST);
	if (!writes)
		return judge_read(j, p);
	if (S_ISDIR(p->mode))
		return fails(EISDIR);
	if (is_special(p->mode))
		return GO_ON;

	g = refuse(j, p, VIOLATION_FS_WRITE);
	return a->flags & O_TRUNC ? g : modes_first(g, p);
}

static struct judgement judge_change(const struct judge *j,
				     const struct attempt *a)
{
	const struct place *p = a->from;
	struct judgement g;

	if (!p->exists)
		return fails(ENOENT);
	if (!j->no_mounts && (S_ISCHR(p->mode) || S_ISBLK(p->mode)))
		return GO_ON;
	if (a->what == CALL_CUT && !S_ISREG(p->mode))
		return GO_ON;
	g = refuse(j, p, VIOLATION_FS_WRITE);
	return a->what == CALL_CUT ? modes_first(g, p) : g;
}

/* A mount stands on @p, so it stays where it is, whatever the rules allow */
static struct judgement held(struct judgement g, const struct place *p,
			     enum violation_kind kind)
{
	if (!g.error) {
		g.place = p;
		g.kind = kind;
		g.report = true;
		g.verdict.reason = p->closed ?
			"its directory is outside the writable paths" :
			"holds protected names";
		g.verdict.rule_key = p->closed ?
			"sandbox.filesystem.allowWrite" : NULL;
		g.verdict.final = !p->closed;
	}
	g.error = p->closed ? EROFS : EBUSY;
	return g;
}

/* We do it ourselves, outside, and the mount goes with it */
static bool is_late(const struct judge *j, const struct place *p)
{
	return !j->no_mounts && j->policy->is_late &&
	       j->policy->is_late(j->policy->arg, p->path, false);
}

/* Something is in the directory @p: then nobody can remove it */
static bool is_filled(const struct place *p)
{
	uint64_t room[64];
	auto_close int fd = openat(p->parent, p->name, O_RDONLY | O_DIRECTORY |
				   O_NOFOLLOW | O_CLOEXEC);
	struct dir dir = {
		.fd = fd, .room = (char *)room, .size = sizeof(room),
	};
	struct dir_entry entry;

	return fd >= 0 && dir_next(&dir, &entry) > 0;
}

static struct judgement judge_remove(const struct judge *j,
				     const struct attempt *a)
{
	const struct place *p = a->from;
	const bool dir = a->what == CALL_RMDIR || (a->flags & AT_REMOVEDIR);
	struct judgement g;
	bool busy;

	if (!*p->name)
		return GO_ON;
	if (!p->exists)
		return fails(ENOENT);
	if (dir && !S_ISDIR(p->mode))
		return fails(ENOTDIR);
	if (!dir && S_ISDIR(p->mode))
		return fails(EISDIR);
	g = refuse(j, p, VIOLATION_FS_WRITE);
	busy = p->mount_root && !is_late(j, p);
	if (busy)
		g = held(g, p, VIOLATION_FS_WRITE);
	if (!g.error || !dir || !is_filled(p))
		return g;
	return fails(busy ? g.error : ENOTEMPTY);	/* As the kernel asks */
}

/* What the rules say of both names, and of what moves */
static struct judgement judge_names(const struct judge *j,
				    const struct attempt *a)
{
	const struct place *from = a->from, *to = a->to;
	struct judgement g = refuse(j, from, VIOLATION_FS_RENAME);
	bool look = g.look;

	if (!g.error)
		g = refuse(j, to, VIOLATION_FS_RENAME);
	if (brings_names(from))
		g = placed(j, g, from->path, to);
	if ((a->flags & RENAME_EXCHANGE) && brings_names(to))
		g = placed(j, g, to->path, from);
	g.look |= look;
	return g;
}

/* To another mount, which the kernel takes for another disk. If it is not one,
 * the sandbox is why: a copy instead, as is usual, would fail for the same
 * reason, or leave the first where it is.
 */
static struct judgement judge_across(const struct judge *j,
				     const struct attempt *a)
{
	struct judgement g;

	if (a->from->dev != a->to->dev ||
	    ((a->flags & RENAME_NOREPLACE) && a->to->exists))
		return fails(EXDEV);
	g = refuse(j, a->from, VIOLATION_FS_RENAME);
	if (!g.error)
		g = refuse(j, a->to, VIOLATION_FS_RENAME);
	return g.error ? g : fails(EXDEV);
}

static struct judgement judge_rename(const struct judge *j,
				     const struct attempt *a)
{
	const struct place *from = a->from, *to = a->to;
	struct judgement g;

	if (!*from->name || !*to->name)
		return fails(from->mount == to->mount ? EBUSY : EXDEV);
	if (!from->exists ||
	    ((a->flags & RENAME_EXCHANGE) && !to->exists))
		return fails(ENOENT);
	if (to->slash && !S_ISDIR(from->mode))
		return fails(ENOTDIR);
	if (from->mount != to->mount)
		return judge_across(j, a);
	if ((a->flags & RENAME_NOREPLACE) && to->exists)
		return fails(EEXIST);

	g = judge_names(j, a);
	if (from->mount_root)
		return held(g, from, VIOLATION_FS_RENAME);
	return to->exists && to->mount_root ?
	       held(g, to, VIOLATION_FS_RENAME) : g;
}

static struct judgement judge_link(const struct judge *j,
				   const struct attempt *a)
{
	const bool here = a->from->mount == a->to->mount;
	/* The kernel asks where it was opened, not where its name is now */
	const bool open = a->open || (a->flags & AT_SYMLINK_FOLLOW);
	struct judgement g = GO_ON;

	if (!a->from->exists && !a->open)
		return fails(ENOENT);
	if (a->to->exists)
		return fails(EEXIST);
	if (a->to->slash)
		return fails(ENOENT);
	/* EROFS comes before EXDEV, which would be left if it were allowed */
	if (!here && !open) {
		g = refuse(j, a->to, VIOLATION_FS_WRITE);
		g.verdict.final = true;
		return g.error == EROFS ? g : fails(EXDEV);
	}
	/* A second name would be a way around the rule on the first */
	if (a->from->exists)
		g = refuse(j, a->from, VIOLATION_FS_WRITE);
	if (g.verdict.answer == OBSERVER_DENIED)
		return g;
	/* Also to another mount: what is open may have been opened on this one */
	g = refuse(j, a->to, VIOLATION_FS_WRITE);
	return S_ISLNK(a->from->mode) ? placed(j, g, a->from->path, a->to) : g;
}

/* A slash behind a name says that it is a directory; what makes a name has more
 * to say about that
 */
static bool is_misnamed(const struct attempt *a)
{
	const struct place *p = a->from;

	return a->what != CALL_OPEN && a->what != CALL_MAKE &&
	       a->what != CALL_BIND && p->slash && p->exists &&
	       !S_ISDIR(p->mode);
}

struct judgement judge(const struct judge *j, const struct attempt *a)
{
	if (is_misnamed(a))
		return fails(ENOTDIR);
	switch (a->what) {
	case CALL_OPEN:
	case CALL_OPEN_HOW:
	case CALL_CREAT:
		return judge_open(j, a);
	case CALL_MAKE:
	case CALL_BIND:
		return judge_make(j, a);
	case CALL_UNLINK:
	case CALL_RMDIR:
		return judge_remove(j, a);
	case CALL_RENAME:
		return judge_rename(j, a);
	case CALL_LINK:
		return judge_link(j, a);
	case CALL_CUT:
	case CALL_CHANGE:
	case CALL_CHANGE_LINK:
		return judge_change(j, a);
	case CALL_LOOK:
	case CALL_TURN:
	case CALL_SPLIT:
	case CALL_GROUP:
	case CALL_CONNECT:
	case CALL_LISTEN:
	case CALL_SOCKET:
	case CALL_PAIR:
		break;
	}
	return GO_ON;
}
