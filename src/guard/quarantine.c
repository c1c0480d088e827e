/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard/quarantine.c - move planted files away, restore them on request
 *
 * Theory of operation: the command may still run while we move, so paths are
 * opened once, from the root, without following any link, and everything is done
 * by that descriptor. The record is written before the move: a crash can leave a
 * record of a file that was not moved, never a moved file without a record.
 *
 * That holds after a loss of power too, because each file is synced before the next
 * step. A sync takes milliseconds and a command can plant thousands of files, so the
 * entries after the first QUARANTINE_SYNCED_MAX are synced together. The run's journal
 * is on the disk before the first of them is made and is removed after the sync:
 * a loss of power in between leaves it, and the next run looks for planted files again.
 */

#include "guard/quarantine.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "base/text.h"
#include "guard/settings-receipt.h"
#include "guard/tree-copy.h"
#include "report/violation.h"

static const char ITEM[] = "item";
static const char META[] = "meta.json";

static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";

static void make_id(char ret[QUARANTINE_ID_SIZE])
{
	unsigned char random[QUARANTINE_ID_SIZE - 1];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		abort();
	for (size_t i = 0; i < sizeof(random); i++)
		ret[i] = digits[random[i] & 31];
	ret[sizeof(random)] = 0;
}

/* Of this process since the last quarantine_sync(): entries made, and what of them is not
 * on the disk
 */
static unsigned int entries_made;
static struct fs_batch unsynced;

static int write_kept(int dir, const char *name, const char *text, size_t n,
		      mode_t mode, struct err *err)
{
	return fs_replace_later(dir, name, text, n, mode,
				entries_made > QUARANTINE_SYNCED_MAX ?
				&unsynced : NULL, err);
}

int quarantine_sync(struct err *err)
{
	const int r = fs_batch_sync(&unsynced);

	entries_made = 0;
	return r < 0 ? fail(err, r, "cannot write planted files to the disk: %s",
			    strerror(-r)) : 0;
}

static int open_store(const char *state, struct err *err)
{
	return fs_open_private_below(state, "quarantine", err);
}

/* A new directory with its record; the descriptor, or a negative errno */
static int make_entry(const char *state, const char *path, const char *run,
		      const char *reason, bool copy, const char *id,
		      struct err *err)
{
	auto_close int store = open_store(state, err);
	auto_close int dir = -1;
	auto_free char *encoded = encode_bytes(path);
	auto_free char *text = NULL;
	char when[VIOLATION_TIME_SIZE];
	auto_json json_t *meta = NULL;
	int r;

	if (store < 0)
		return store;
	if (mkdirat(store, id, 0700) < 0)
		return fail_errno(err, "cannot make a place in quarantine");
	dir = openat(store, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
		     O_CLOEXEC);
	if (dir < 0)
		return fail_errno(err, "cannot open '%s' in quarantine",
				  id);
	if (entries_made++ >= QUARANTINE_SYNCED_MAX && !unsynced.n && syncfs(dir) < 0)
		return fail_errno(err, "cannot write the journal to the disk");
	violation_time(now_ms(CLOCK_REALTIME), when);
	meta = json_pack("{s:i, s:s, s:s, s:s, s:s, s:b}", "v", 1, "path",
			 encoded, "time", when, "run", run ? run : "",
			 "reason", reason, "copy", copy);
	text = meta ? json_dumps(meta, JSON_INDENT(1)) : NULL;
	r = text ? write_kept(dir, META, text, strlen(text), 0600, err)
		 : fail(err, -ENOMEM, "cannot describe '%s'", path);
	return r < 0 ? r : take_fd(&dir);
}

/**
 * struct parent - The directory of what is moved
 * @mode:	Restored at the end, or 0: the command may have removed the
 *		permissions that moving takes
 */
struct parent {
	int fd;
	mode_t mode;
};

static struct parent open_parent(const char *path, struct err *err)
{
	auto_free char *dir = path_parent(path);
	struct parent p = {
		sys_open_nofollow(AT_FDCWD, dir, O_PATH | O_DIRECTORY |
				  O_CLOEXEC, 0), 0 };
	struct stat st;

	if (p.fd < 0)
		p.fd = fail_errno(err, "cannot open '%s'", dir);
	else if (fstat(p.fd, &st) == 0 && (~st.st_mode & S_IRWXU) &&
		 fs_chmod(p.fd, st.st_mode | S_IRWXU) == 0)
		p.mode = st.st_mode;
	return p;
}

static void parent_donep_(struct parent *p)
{
	if (p->mode)
		(void)fs_chmod(p->fd, p->mode);
	close_fd(&p->fd);
}

#define auto_parent	__attribute__((cleanup(parent_donep_)))

/* Of all that one run planted: copying takes time and space */
static struct tree_copy limits = {
	.entries = QUARANTINE_ENTRIES_MAX, .bytes = QUARANTINE_BYTES_MAX,
	.depth = QUARANTINE_DEPTH_MAX,
};

/* Not the directory itself: a process that has it open could reach our store
 * through it, where that lies in a writable place
 */
static int move(int parent, const char *name, int dir)
{
	struct stat st;
	int r;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return tree_copy_move(parent, name, dir, ITEM, limits);
	r = tree_copy_tree(&limits, parent, name, dir, ITEM);
	/* It is all there from the time before, when it could not be removed */
	if (r == -EEXIST)
		r = 0;
	return r < 0 ? r : tree_copy_remove(parent, name, limits.depth + 1, -1);
}

/* The new name in its own directory, which no program obeys */
static char *renamed_name(const char *path, const char *id)
{
	return mem_printf("%.200s.quarantine-%s", path_base(path), id);
}

/* It is too large, or the disk is full, which the command may have caused: rename it */
static int rename_here(int parent, const char *path, int why, const char *id,
		       struct err *err)
{
	auto_free char *name = renamed_name(path, id);

	if (renameat(parent, path_base(path), parent, name) < 0)
		return fail(err, why, "cannot move '%s' to quarantine: %s",
			    path, strerror(-why));
	(void)fail(err, why, "it cannot be moved to quarantine (%s), so it is called %s now",
		   strerror(-why), name);
	return 1;
}

int quarantine_move(const char *state, const char *path, const char *run,
		    const char *reason, ino_t *ret_renamed,
		    char ret_id[QUARANTINE_ID_SIZE], struct err *err)
{
	auto_parent struct parent parent = open_parent(path, err);
	auto_close int dir = -1;
	struct stat st;
	int r;

	if (parent.fd < 0)
		return parent.fd;
	if (fstatat(parent.fd, path_base(path), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail_errno(err, "cannot look at '%s'", path);
	make_id(ret_id);
	dir = make_entry(state, path, run, reason, false, ret_id, err);
	if (dir >= 0 && ret_renamed && S_ISDIR(st.st_mode) &&
	    rename_here(parent.fd, path, 0, ret_id, NULL) > 0) {
		*ret_renamed = st.st_ino;
		return 0;
	}
	r = dir < 0 ? dir : move(parent.fd, path_base(path), dir);
	return r < 0 ? rename_here(parent.fd, path, r, ret_id, err) : 0;
}

int quarantine_collect(const char *state, const char *path, ino_t ino,
		       const char *id, struct err *err)
{
	auto_free char *name = renamed_name(path, id);
	auto_close int store = open_store(state, err);
	auto_parent struct parent parent = open_parent(path, err);
	auto_close int dir = -1;
	struct stat st;
	int r;

	/* The command may have moved it, and another to its name */
	if (fstatat(parent.fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    st.st_ino != ino)
		return 0;
	dir = openat(store, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = dir < 0 ? -errno : move(parent.fd, name, dir);
	return r < 0 ? fail(err, r, "it cannot be moved to quarantine: %s",
			    strerror(-r)) : 0;
}

/* The limit of the run is reached: remove a file, and rename a directory, which may hold
 * any number of others. 1 with a message, -ENOENT, or a negative errno with one.
 */
static int drop_plant(const char *path, struct err *err)
{
	auto_parent struct parent parent = open_parent(path, err);
	char id[QUARANTINE_ID_SIZE];
	auto_free char *name = NULL;

	if (parent.fd < 0)
		return parent.fd;
	if (unlinkat(parent.fd, path_base(path), 0) == 0) {
		(void)fail(err, -EDQUOT, "removed instead of kept, because too many files were planted");
		return 1;
	}
	if (errno == ENOENT)
		return -ENOENT;
	make_id(id);
	name = renamed_name(path, id);
	if (renameat(parent.fd, path_base(path), parent.fd, name) < 0)
		return fail_errno(err, "cannot rename '%s'", path);
	(void)fail(err, -EDQUOT, "renamed to %s instead of kept, because too many files were planted",
		   name);
	return 1;
}

/* Where entry @dir belongs, and whether it is a copy */
static char *read_meta(int dir, bool *copy, struct err *err)
{
	auto_json json_t *meta = json_read(dir, META, err);
	const char *path = NULL;
	int is_copy = 0;

	if (!meta)
		return NULL;
	if (json_unpack(meta, "{s:s, s:b}", "path", &path, "copy", &is_copy) < 0 ||
	    path[0] != '/') {
		(void)fail(err, -EINVAL, "the record of '%s' does not name its original path", META);
		return NULL;
	}
	*copy = is_copy;
	return decode_bytes(path);
}

int quarantine_restore(const char *state, const char *id, struct err *err)
{
	auto_close int store = -1, dir = -1;
	auto_parent struct parent parent = { -1, 0 };
	auto_free char *path = NULL, *kept = path_join(state, "quarantine");
	auto_free char *name = NULL;
	auto_buf struct buf text = { 0 };
	bool copy = false;
	int r;

	if (strlen(id) != QUARANTINE_ID_SIZE - 1 || strspn(id, digits) != strlen(id))
		return fail(err, -EINVAL, "'%s' is not an id of quarantine",
			    id);
	/* Without a quarantine directory there is nothing to restore, and none is made */
	if (access(kept, F_OK) == 0 || errno != ENOENT) {
		store = open_store(state, err);
		if (store < 0)
			return store;
		dir = openat(store, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
			     O_CLOEXEC);
	}
	if (dir < 0)
		return fail(err, -ENOENT, "nothing called '%s' is in quarantine",
			    id);
	path = read_meta(dir, &copy, err);
	if (path)
		parent = open_parent(path, err);
	if (parent.fd < 0)
		return err ? err->code : -EINVAL;
	if (copy)
		(void)unlinkat(parent.fd, path_base(path), 0);
	/* A run that is under way must not take it for a plant again */
	if (fs_read(dir, ITEM, JSON_TEXT_MAX, &text, NULL) == 0)
		(void)settings_receipt_note(state, path, buf_str(&text), text.len);
	r = tree_copy_move(dir, ITEM, parent.fd, path_base(path), limits);
	name = renamed_name(path, id);
	if (r == -ENOENT)
		r = tree_copy_move(parent.fd, name, parent.fd, path_base(path), limits);
	if (r == -EEXIST)
		return fail(err, r, "'%s' is there again; move it away first",
			    path);
	if (r < 0)
		return fail(err, r, "cannot restore '%s': %s", path,
			    strerror(-r));
	return tree_copy_remove(store, id, QUARANTINE_DEPTH_MAX, -1);
}

/* @err is why it is not in quarantine; it may be @gone all the same */
static void report_entry(const struct quarantine_config *c, const char *path, bool gone,
		 const char *reason, const char *id, const struct err *err)
{
	auto_violation struct violation v = {
		.kind = VIOLATION_QUARANTINE, .count = 1,
		.op = mem_strdup("quarantine"), .target = mem_strdup(path),
	};

	if (err) {
		v.error = -err->code;
		v.reason = mem_printf("%s; %s%s", reason,
				      gone ? "" : "it is still there: ",
				      err->msg);
	} else {
		v.reason = mem_strdup(reason);
		v.suggest_command = mem_printf("cloche violations restore %s",
					       id);
	}
	violation_report(c->sink, &v);
}

char *quarantine_target(const char *root, const char *path)
{
	struct stat st;

	for (const char *end = path + strlen(root);
	     *end && (end = strchr(end + 1, '/')) != NULL;) {
		char *above = mem_strndup(path, (size_t)(end - path));

		if (lstat(above, &st) == 0 && S_ISLNK(st.st_mode))
			return above;
		free(above);
	}
	return mem_strdup(path);
}

bool quarantine_and_report(const struct quarantine_config *c, const char *path,
		 const char *reason)
{
	char id[QUARANTINE_ID_SIZE];
	struct err err = { 0 };
	ino_t renamed = 0;
	const int r = c->full ? drop_plant(path, &err) :
		      quarantine_move(c->state, path, c->run, reason,
				      c->pending ? &renamed : NULL, id, &err);

	if (r == -ENOENT)
		return true;
	if (renamed)
		*vec_push(c->pending) = (struct quarantine_renamed){
			mem_strdup(id), mem_strdup(path), renamed };
	report_entry(c, path, r >= 0, reason, id, r ? &err : NULL);
	return r >= 0;
}

void quarantine_collect_pending(const struct quarantine_config *c,
		    const struct quarantine_pending *pending)
{
	for (size_t i = 0; i < pending->len; i++) {
		const struct quarantine_renamed *a = &pending->v[i];
		auto_free char *now = mem_printf("%s.quarantine-%s", a->path,
						 a->id);
		struct err err = { 0 };

		if (quarantine_collect(c->state, a->path, a->ino, a->id,
				       &err) < 0)
			report_entry(c, now, true, "planted", a->id, &err);
	}
}

bool quarantine_rewrite(const struct quarantine_config *c, int dir, const char *path,
		    const struct buf *old, const struct buf *text,
		    const char *reason)
{
	char id[QUARANTINE_ID_SIZE];
	struct err err = { 0 };
	struct stat st = { .st_mode = 0644 };
	auto_close int entry = -1;
	int r;

	make_id(id);
	entry = make_entry(c->state, path, c->run, reason, true, id, &err);
	r = entry < 0 ? entry : write_kept(entry, ITEM, buf_str(old), old->len, 0600,
					   &err);
	(void)fstatat(dir, path_base(path), &st, AT_SYMLINK_NOFOLLOW);
	if (r == 0)
		r = write_kept(dir, path_base(path), buf_str(text), text->len,
			       st.st_mode & 0777, &err);
	report_entry(c, path, r == 0, reason, id, r < 0 ? &err : NULL);
	return r == 0;
}
