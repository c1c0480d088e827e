/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/decide.c - decide about a call whose paths are resolved, and report it
 *
 * Theory of operation: a program must see the errors that it would see without the
 * observer, unless the policy refuses. A call that fails anyway gets the kernel's error
 * here (EEXIST for a directory that exists): if it went on, the obstacle could be gone
 * by then, and the policy would not have been consulted. Where the kernel reports the
 * read-only mount before it looks for the name (removing a missing name), the error is
 * ENOENT, as without a sandbox. Only then is the policy consulted.
 */

#include "observe/decide.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "observe/observer-policy.h"
#include "observe/resolved-path.h"
#include "observe/tracee.h"
#include "plan/plan.h"
#include "report/suggestion.h"
#include "view/walk-git.h"

/* The kernel refuses the observer at a FUSE mask: the plan says what is there */
static bool see_mask(const struct observer_rules *rules, struct resolved_path *p)
{
	const enum fuse_mask_part mask = p->path[0] ?
		observer_rules_mask(rules, p->path) : FUSE_MASK_NO_PART;

	if (mask == FUSE_MASK_NO_PART)
		return false;
	p->name = path_base(p->path);
	p->exists = p->mount_root = mask != FUSE_MASK_INSIDE;
	p->mode = mask == FUSE_MASK_DIR || mask == FUSE_MASK_SHOWN_DIR ? S_IFDIR
							     : S_IFREG;
	p->closed = mask == FUSE_MASK_SHOWN_DIR || mask == FUSE_MASK_SHOWN_FILE;
	p->read_only = true;
	return true;
}

int decide_found(const struct observer_config *config, int found,
		 struct resolved_path *p)
{
	if (found == -EACCES && see_mask(config->rules, p))
		found = 0;
	if (!found && observer_rules_is_fixed(config->rules, p->path))
		p->mount_root = true;
	return found;
}

enum {
	RANDOM_LEN = 6,		/* What mkstemp() chooses */
	RANDOM_CHANGES = 3,	/* Between capital, small and digit; words have fewer */
};

static const struct decision GO_ON = { 0 };

static struct decision fails(int error)
{
	return (struct decision) { .error = error };
}

/* The policy's decision about a change of @p */
static struct decision check_write(const struct observer_config *config,
				   const struct resolved_path *p,
				   enum violation_kind kind)
{
	struct decision g = { .path = p, .kind = kind };

	observer_rules_verdict(config->rules, OBSERVER_WRITE, p->path, &g.verdict);
	switch (g.verdict.answer) {
	case OBSERVER_ALLOWED:
		break;
	case OBSERVER_OUTSIDE:
		/* A mount of the sandbox's own may be writable: /dev/shm */
		if (p->read_only)
			g.error = EROFS;
		else if (config->no_mounts)
			g.error = EACCES;
		break;
	case OBSERVER_DENIED:
		g.error = p->read_only ? EROFS : EACCES;
		if (!p->exists && !p->read_only)
			g.kind = VIOLATION_FS_CREATE;
		break;
	}
	g.report = g.error;
	g.scan = g.verdict.scan;
	return g;
}

/* @g allows it; but a directory or a link carries other names. @what: where it is now,
 * or NULL.
 */
static struct decision check_carried(const struct observer_config *config,
				     struct decision g, const char *what,
				     const struct resolved_path *p)
{
	struct observer_verdict v = { 0 };

	if (g.error)
		return g;
	observer_rules_check_move(config->rules, what, p->path, &v);
	g.scan |= v.scan;
	if (v.answer == OBSERVER_ALLOWED)
		return g;
	return (struct decision) {
		.error = EACCES, .report = true, .path = p, .verdict = v,
		.kind = what ? VIOLATION_FS_RENAME : VIOLATION_FS_CREATE,
	};
}

static bool brings_names(const struct resolved_path *p)
{
	return p->exists && (S_ISDIR(p->mode) || S_ISLNK(p->mode));
}

/* A directory that exists on the host so that its changes can be staged: the first mkdir()
 * finds it missing, and marks what is staged (plan/overlay-path.h)
 */
static bool take_placeholder(const struct resolved_path *p)
{
	auto_close int fd = -1;

	if (lgetxattr(p->path, PLACEHOLDER_ATTRIBUTE, NULL, 0) < 0)
		return false;
	fd = openat(p->parent, p->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		    O_CLOEXEC);
	return fd >= 0 && fsetxattr(fd, PLACEHOLDER_ATTRIBUTE, "", 0,
				    XATTR_CREATE) == 0;
}

static struct decision decide_make(const struct observer_config *config,
				   const struct notification *q)
{
	const struct resolved_path *p = q->from;
	struct decision g;

	if (p->exists && q->dir && p->mount_root && take_placeholder(p))
		return (struct decision){ .answer = DECISION_DONE };
	if (p->exists)
		return fails(q->what == CALL_BIND ? EADDRINUSE : EEXIST);
	if (p->slash && !q->dir)
		return fails(ENOENT);
	g = check_write(config, p, VIOLATION_FS_WRITE);
	return q->link ? check_carried(config, g, NULL, p) : g;
}

/* A denied read of a missing file: ENOENT as without a sandbox, unless the directory is
 * hidden, where the answer must not depend on what exists
 */
static struct decision read_missing(const struct observer_config *config,
				     const struct resolved_path *p)
{
	auto_free char *parent = path_parent(p->path);
	struct observer_verdict v;

	observer_rules_verdict(config->rules, OBSERVER_READ, parent, &v);
	return fails(v.answer == OBSERVER_ALLOWED ? ENOENT : EACCES);
}

static struct decision decide_read(const struct observer_config *config,
				   const struct resolved_path *p)
{
	struct decision g = { .path = p, .kind = VIOLATION_FS_READ };
	struct stat st;

	if (!config->reads)
		return GO_ON;
	/* A masked file does not exist inside: the policy decides, not the mounts */
	observer_rules_verdict(config->rules, OBSERVER_READ, p->path, &g.verdict);
	g.error = g.verdict.answer == OBSERVER_ALLOWED ? 0 : EACCES;
	g.report = g.error;
	if (g.error && config->files && ((p->exists && S_ISDIR(p->mode)) ||
				    read_missing(config, p).error == EACCES))
		return GO_ON;
	/* A file that a mask hides may exist on the host */
	return g.error && !p->exists && lstat(p->path, &st) < 0 && errno == ENOENT ?
	       read_missing(config, p) : g;
}

/* The errno with which an open fails for what stands there and how it is
 * written, or 0
 */
static int open_fails(const struct resolved_path *p, uint64_t flags)
{
	if ((flags & O_CREAT) && p->slash)
		return EISDIR;
	if (!p->exists || S_ISDIR(p->mode))
		return 0;
	if (p->slash || (flags & O_DIRECTORY))
		return ENOTDIR;
	return S_ISLNK(p->mode) && !(flags & O_EXCL) ? ELOOP : 0;
}

/* The kernel checks permissions before the read-only mount */
static struct decision modes_first(struct decision g, const struct resolved_path *p)
{
	if (g.error == EROFS && resolved_path_writable(p) == -EACCES)
		g.error = EACCES;
	return g;
}

/* A device that the host has, and the sandbox's own /dev has not */
static struct decision miss_device(const struct observer_config *config,
				   const struct resolved_path *p)
{
	struct decision g = fails(ENOENT);
	struct stat st;

	if (!config->no_mounts && path_is_below("/dev", p->path) &&
	    lstat(p->path, &st) == 0 && (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))) {
		g.path = p;
		g.kind = VIOLATION_FS_WRITE;
		g.report = true;
		g.verdict.final = true;
		g.verdict.reason = "not a device of the sandbox, and no rule adds one";
	}
	return g;
}

static struct decision decide_open(const struct observer_config *config,
				   const struct notification *q)
{
	const struct resolved_path *p = q->from;
	const uint64_t access = q->flags & O_ACCMODE;
	const bool writes = access == O_WRONLY || access == O_RDWR ||
			    (q->flags & O_TRUNC);
	struct decision g;
	int error;

	/* Of a file it opens again by its number, whatever it is called by then */
	if (q->flags & O_PATH)
		return p->exists && S_ISDIR(p->mode) ? GO_ON :
		       decide_read(config, p);
	error = open_fails(p, q->flags);
	if (error)
		return fails(error);
	if ((q->flags & O_TMPFILE) == O_TMPFILE)
		return p->exists ? check_write(config, p, VIOLATION_FS_WRITE)
				 : fails(ENOENT);
	if (!p->exists && !(q->flags & O_CREAT))
		return writes ? miss_device(config, p) : decide_read(config, p);
	if (!p->exists)
		return decide_make(config, q);
	if ((q->flags & O_CREAT) && (q->flags & O_EXCL))
		return fails(EEXIST);
	if (!writes)
		return decide_read(config, p);
	if (S_ISDIR(p->mode))
		return fails(EISDIR);
	/* Special files; a read-only mount does not prevent writing to a pipe */
	if (!S_ISREG(p->mode) && !S_ISLNK(p->mode) &&
	    !(S_ISFIFO(p->mode) && p->read_only))
		return GO_ON;
	g = check_write(config, p, VIOLATION_FS_WRITE);
	return q->flags & O_TRUNC ? g : modes_first(g, p);
}

static struct decision decide_change(const struct observer_config *config,
				     const struct notification *q)
{
	const struct resolved_path *p = q->from;
	struct decision g;

	if (!p->exists)
		return fails(ENOENT);
	if (!config->no_mounts && (S_ISCHR(p->mode) || S_ISBLK(p->mode)))
		return GO_ON;
	if (q->what == CALL_TRUNCATE && !S_ISREG(p->mode))
		return GO_ON;
	g = check_write(config, p, VIOLATION_FS_WRITE);
	return q->what == CALL_TRUNCATE ? modes_first(g, p) : g;
}

/* @p is a mount point, which cannot be moved or removed, whatever the rules allow */
static struct decision refuse_mount_point(struct decision g, const struct resolved_path *p,
			     enum violation_kind kind)
{
	if (!g.error) {
		g.path = p;
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

static struct decision decide_remove(const struct observer_config *config,
				     const struct notification *q)
{
	const struct resolved_path *p = q->from;
	const bool dir = q->what == CALL_RMDIR || (q->flags & AT_REMOVEDIR);
	struct decision g;

	if (!*p->name)
		return GO_ON;
	if (!p->exists)
		return fails(ENOENT);
	if (dir && !S_ISDIR(p->mode))
		return fails(ENOTDIR);
	if (!dir && S_ISDIR(p->mode))
		return fails(EISDIR);
	g = check_write(config, p, VIOLATION_FS_WRITE);
	/* Unless the observer makes the call on the host, and the mount goes with it */
	if (p->mount_root && (config->no_mounts ||
	    !observer_rules_needs_emulation(config->rules, p->path, false)))
		g = refuse_mount_point(g, p, VIOLATION_FS_WRITE);
	/* As without the sandbox: npm empties a directory then, and gives up at EBUSY */
	return g.error && dir && dir_has_names(p->parent, p->name) > 0 ?
	       fails(ENOTEMPTY) : g;
}

/* What the rules say of both names, and of what moves */
static struct decision decide_names(const struct observer_config *config,
				    const struct notification *q)
{
	const struct resolved_path *from = q->from, *to = q->to;
	struct decision g = check_write(config, from, VIOLATION_FS_RENAME);
	bool scan = g.scan;

	if (!g.error)
		g = check_write(config, to, VIOLATION_FS_RENAME);
	if (brings_names(from))
		g = check_carried(config, g, from->path, to);
	if ((q->flags & RENAME_EXCHANGE) && brings_names(to))
		g = check_carried(config, g, to->path, from);
	g.scan |= scan;
	return g;
}

/* A rename to another mount is EXDEV. Within one file system that is because of the
 * sandbox's mounts: the copy that programs make instead would fail for the same reason, or
 * leave the original.
 */
static struct decision decide_across(const struct observer_config *config,
				     const struct notification *q)
{
	struct decision g;

	if (q->from->dev != q->to->dev ||
	    ((q->flags & RENAME_NOREPLACE) && q->to->exists))
		return fails(EXDEV);
	g = check_write(config, q->from, VIOLATION_FS_RENAME);
	if (!g.error)
		g = check_write(config, q->to, VIOLATION_FS_RENAME);
	return g.error ? g : fails(EXDEV);
}

static struct decision decide_rename(const struct observer_config *config,
				     const struct notification *q)
{
	const struct resolved_path *from = q->from, *to = q->to;
	struct decision g;

	if (!*from->name || !*to->name)
		return fails(from->mount == to->mount ? EBUSY : EXDEV);
	if (!from->exists ||
	    ((q->flags & RENAME_EXCHANGE) && !to->exists))
		return fails(ENOENT);
	if (to->slash && !S_ISDIR(from->mode))
		return fails(ENOTDIR);
	if (from->mount != to->mount)
		return decide_across(config, q);
	if ((q->flags & RENAME_NOREPLACE) && to->exists)
		return fails(EEXIST);

	g = decide_names(config, q);
	if (from->mount_root)
		return refuse_mount_point(g, from, VIOLATION_FS_RENAME);
	return to->exists && to->mount_root ?
	       refuse_mount_point(g, to, VIOLATION_FS_RENAME) : g;
}

static struct decision decide_link(const struct observer_config *config,
				   const struct notification *q)
{
	const bool here = q->from->mount == q->to->mount;
	/* The kernel checks the mount it was opened on, not where its name is now */
	const bool open = q->open || (q->flags & AT_SYMLINK_FOLLOW);
	struct decision g = GO_ON;

	if (!q->from->exists && !q->open)
		return fails(ENOENT);
	if (q->to->exists)
		return fails(EEXIST);
	if (q->to->slash)
		return fails(ENOENT);
	/* EROFS comes before EXDEV, which would be left if it were allowed */
	if (!here && !open) {
		g = check_write(config, q->to, VIOLATION_FS_WRITE);
		g.verdict.final = true;
		return g.error == EROFS ? g : fails(EXDEV);
	}
	/* A second name would evade the rule on the first */
	if (q->from->exists)
		g = check_write(config, q->from, VIOLATION_FS_WRITE);
	if (g.verdict.answer == OBSERVER_DENIED)
		return g;
	/* Also to another mount: what is open may have been opened on this one */
	g = check_write(config, q->to, VIOLATION_FS_WRITE);
	return S_ISLNK(q->from->mode) ? check_carried(config, g, q->from->path, q->to) : g;
}

struct decision decide_call(const struct observer_config *config,
			    const struct notification *q)
{
	/* A slash after the name of a file; calls that create a name check that themselves */
	if (q->what != CALL_OPEN && q->what != CALL_MAKE && q->what != CALL_BIND &&
	    q->from->slash && q->from->exists && !S_ISDIR(q->from->mode))
		return fails(ENOTDIR);
	switch (q->what) {
	case CALL_OPEN:
		return decide_open(config, q);
	case CALL_MAKE:
	case CALL_BIND:
		return decide_make(config, q);
	case CALL_UNLINK:
	case CALL_RMDIR:
		return decide_remove(config, q);
	case CALL_RENAME:
		return decide_rename(config, q);
	case CALL_LINK:
		return decide_link(config, q);
	case CALL_TRUNCATE:
	case CALL_SETATTR:
		return decide_change(config, q);
	default:
		return GO_ON;
	}
}

static bool ends_with(const char *s, const char *end)
{
	const size_t n = strlen(s), m = strlen(end);

	return n > m && !strcmp(s + n - m, end);
}

static int class_of(char c)
{
	return isupper((unsigned char)c) ? 1 : islower((unsigned char)c) ? 2 :
	       isdigit((unsigned char)c) ? 3 : 0;
}

/* True if @name is probably used once: mkdtemp() puts six random letters and digits at the
 * end, other programs mark such names
 */
static bool is_temporary(const char *name)
{
	static const char *const marks[] = { ".tmp", "tmp_", "tmp-", "_tmp", "temp-" };
	const size_t n = strlen(name);
	int changes = 0;

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		if (strstr(name, marks[i]))
			return true;
	}
	if (ends_with(name, ".swp") || ends_with(name, ".part") || ends_with(name, "~") ||
	    !strncmp(name, ".#", 2) || !strncmp(name, "tmp", 3))
		return true;
	if (n <= RANDOM_LEN)
		return false;
	for (size_t i = n - RANDOM_LEN; i < n; i++) {
		if (!class_of(name[i]))
			return false;
		changes += class_of(name[i]) != class_of(name[i - 1]);
	}
	/* The first one is that behind a separator */
	return changes >= (class_of(name[n - RANDOM_LEN - 1]) ? RANDOM_CHANGES : 2);
}

/* True if @p is to be renamed to a file that exists, as git does it: a rule for @p does not
 * allow that
 */
static bool is_lock(const struct resolved_path *p)
{
	const size_t n = strlen(p->name), suffix = strlen(".lock");
	auto_free char *other = NULL;
	struct stat st;

	if (!ends_with(p->name, ".lock"))
		return false;
	other = mem_strndup(p->name, n - suffix);
	return fstatat(p->parent, other, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* True if the user could not write @path, or make it, without a sandbox either */
static bool is_foreign(const char *path)
{
	auto_free char *at = mem_strdup(path);

	while (faccessat(AT_FDCWD, at, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
	       errno == ENOENT && at[1]) {
		char *above = path_parent(at);

		free(at);
		at = above;
	}
	return faccessat(AT_FDCWD, at, W_OK, AT_EACCESS) < 0 &&
	       (errno == EACCES || errno == EPERM);
}

/* The git directory that @path lies in, or NULL: git writes in several places of it
 */
static char *git_of(const char *path)
{
	auto_free char *at = path_parent(path);

	while (path_depth(at) >= 2) {
		char *above = path_parent(at);

		if (walk_git_is_dir(at)) {
			free(above);
			return take_ptr(at);
		}
		free(at);
		at = above;
	}
	return NULL;
}

/* What to allow so that the call succeeds: @p itself, or its directory where a rule
 * about the name does not help or would not fit the next one. NULL and *@why if
 * there is nothing to suggest.
 */
static char *grant_for(const char *home, const struct notification *q,
		       const struct resolved_path *p, const char **why)
{
	auto_free char *parent = path_parent(p->path), *git = NULL;
	/* A rule for the path would be a mount on it, which neither a removal nor a link
	 * gets past. Of calls that create a file, hardly any but mkstemp() has O_EXCL.
	 */
	const bool needs = p->exists ?
		S_ISLNK(p->mode) || q->what == CALL_UNLINK || q->what == CALL_RMDIR ||
			q->what == CALL_RENAME :
		(q->what == CALL_OPEN && (q->flags & O_CREAT) && (q->flags & O_EXCL)) ||
			is_temporary(p->name) || is_lock(p);
	const bool wide = home && path_is_within(parent, home);

	if (is_foreign(p->path)) {
		*why = "not yours to write";
		return NULL;
	}
	if (needs && (wide || path_depth(parent) < 2)) {
		*why = wide ? "only with the whole home writable"
			    : "only with its whole directory writable";
		return NULL;
	}
	git = git_of(p->path);
	if (git)
		return take_ptr(git);
	if (needs || (!p->exists && !q->dir && !wide && path_depth(parent) >= 3))
		return take_ptr(parent);
	return mem_strdup(p->path);
}

char *decide_grant(const struct observer_config *config, const struct notification *q,
		   const struct decision *g)
{
	const char *why;

	return g->path && g->verdict.answer == OBSERVER_OUTSIDE && !g->verdict.final &&
	       (g->kind == VIOLATION_FS_WRITE || g->kind == VIOLATION_FS_RENAME) ?
	       grant_for(config->home, q, g->path, &why) : NULL;
}

static void suggest(struct violation *v, const char *home,
		    const struct notification *q, const struct decision *g)
{
	const struct observer_verdict *verdict = &g->verdict;
	const struct resolved_path *p = g->path;
	const bool reads = g->kind == VIOLATION_FS_READ ||
			   g->kind == VIOLATION_UNIX_SOCKET;
	const char *why = "cannot be allowed";
	auto_free char *grant = p && !reads ? grant_for(home, q, p, &why)
					    : NULL;

	if (!p)
		return;
	if (verdict->rule_key && strstr(verdict->rule_key, "allowAll")) {
		v->suggest_edit = mem_printf("%s = true", verdict->rule_key);
		v->suggest_command = mem_strdup("cloche policy allow socket all");
	} else if (verdict->unprotect)
		suggestion_unprotect(v, verdict->unprotect);
	else if (reads && verdict->yields)
		suggestion_allow(v, NULL);
	else if (!verdict->final && (grant || reads) &&
		 (verdict->answer != OBSERVER_DENIED || v->rule_file ||
		  verdict->yields || reads))
		suggestion_fill(v, grant);
	if (!v->suggest_edit && !v->suggest_command &&
	    !strstr(v->reason, "no rule"))
		suggestion_nothing(v, verdict->final ? "cannot be allowed" : why);
}

void decide_report(const struct observer_config *config, const struct notification *q,
		   const struct name *name, const struct decision *g)
{
	const struct resolved_path *p = g->path;
	auto_free char *given = path_resolve("/", name->full);
	auto_violation struct violation v = {
		.kind = g->kind, .error = g->error,
		.pid = tracee_process(q->tracee, NULL), .count = 1,
		.op = mem_strdup(q->call->name),
		.target = p ? mem_strdup(p->path) : NULL,
		.rule_file = g->verdict.rule_file ?
			     mem_strdup(g->verdict.rule_file) : NULL,
		.rule_key = g->verdict.rule_key ?
			    mem_strdup(g->verdict.rule_key) : NULL,
	};

	if (p && q->what < CALL_CONNECT && strcmp(given, p->path))
		v.reason = mem_printf("%s; given as %s", g->verdict.reason,
				      name->text);
	else
		v.reason = mem_strdup(g->verdict.reason);
	suggest(&v, config->home, q, g);
	violation_report(config->sink, &v);
}

int decide_send(const struct observer_config *config, const struct notification *q,
		struct decision *g)
{
	const bool goes_on = g->answer == DECISION_ERROR && !g->error;
	struct seccomp_notif_resp resp = {
		.id = q->notif->id, .error = -g->error,
		.flags = goes_on ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0,
	};
	auto_close int fd = g->answer == DECISION_FD ? g->fd : -1;
	const struct seccomp_notif_addfd add = {
		.id = q->notif->id, .flags = SECCOMP_ADDFD_FLAG_SEND,
		.srcfd = (uint32_t)fd,
		.newfd_flags = q->flags & O_CLOEXEC ? O_CLOEXEC : 0,
	};

	if (fd >= 0 && (ioctl(config->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) >= 0 ||
			errno == ENOENT))	/* It does not wait any more */
		return 0;
	if (fd >= 0)
		resp.error = -errno;
	return sys_notif_send(config->listener, &resp);
}
