/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch/quarantine.c - what was planted is moved away, and can come back
 *
 * Theory of operation: the command may still run while we move, so paths are
 * opened once, from the root, without following any link, and what happens
 * then happens in that directory. The record is written before the move: after
 * a crash there is a record of something that is still there, never something
 * gone without a record.
 */

#include "watch/quarantine.h"

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
#include "policy/violation.h"
#include "watch/copy.h"
#include "watch/encode.h"
#include "watch/trust.h"

static const char ITEM[] = "item";
static const char META[] = "meta.json";

static void make_id(char ret[QUARANTINE_ID_SIZE])
{
	static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
	unsigned char random[QUARANTINE_ID_SIZE - 1];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		abort();
	for (size_t i = 0; i < sizeof(random); i++)
		ret[i] = digits[random[i] & 31];
	ret[sizeof(random)] = 0;
}

static bool is_id(const char *id)
{
	return strlen(id) == QUARANTINE_ID_SIZE - 1 &&
	       strspn(id, "0123456789abcdefghjkmnpqrstvwxyz") == strlen(id);
}

static int open_store(const char *state, struct err *err)
{
	auto_free char *path = path_join(state, "quarantine");
	auto_close int above = fs_open_private_dir(state, err);

	return above < 0 ? above : fs_open_private_dir(path, err);
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
	struct timespec now;
	char when[VIOLATION_TIME_SIZE];
	json_t *meta;
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
	clock_gettime(CLOCK_REALTIME, &now);
	violation_time((int64_t)now.tv_sec * 1000, when);
	meta = json_pack("{s:i, s:s, s:s, s:s, s:s, s:b}", "v", 1, "path",
			 encoded, "time", when, "run", run ? run : "",
			 "reason", reason, "copy", copy);
	text = meta ? json_dumps(meta, JSON_INDENT(1)) : NULL;
	json_decref(meta);
	r = text ? fs_replace(dir, META, text, strlen(text), 0600, err)
		 : fail(err, -ENOMEM, "cannot describe '%s'", path);
	return r < 0 ? r : take_fd(&dir);
}

static int open_parent(const char *path, struct err *err)
{
	auto_free char *parent = path_parent(path);
	const int fd = sys_open_nofollow(AT_FDCWD, parent, O_PATH | O_DIRECTORY |
					 O_CLOEXEC, 0);

	return fd < 0 ? fail_errno(err, "cannot open '%s'", parent) : fd;
}

static const struct copy limits = {
	.entries = QUARANTINE_ENTRIES_MAX, .bytes = QUARANTINE_BYTES_MAX,
	.depth = QUARANTINE_DEPTH_MAX,
};

/* Not the directory itself: who has it open would have a way into our store,
 * where that lies in a place that can be written
 */
static int move(int parent, const char *name, int dir)
{
	struct copy copy = limits;
	struct stat st;
	int r;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return copy_move(parent, name, dir, ITEM, limits);
	r = copy_tree(&copy, parent, name, dir, ITEM);
	copy_done(&copy);
	/* It is all there from the time before, when it could not be removed */
	if (r == -EEXIST)
		r = 0;
	return r < 0 ? r : copy_remove(parent, name, limits.depth + 1);
}

/* Whoever planted it may have taken the modes away that moving it needs */
static int move_held(int parent, const char *name, int dir)
{
	auto_close int item = openat(parent, name, O_PATH | O_DIRECTORY |
				     O_NOFOLLOW | O_CLOEXEC);
	struct stat st, own;
	int r;

	if (fstat(parent, &st) < 0 ||
	    fs_chmod(parent, st.st_mode | S_IRWXU) < 0)
		return -EACCES;
	if (item >= 0 && fstat(item, &own) == 0)
		(void)fs_chmod(item, own.st_mode | S_IRWXU);
	r = move(parent, name, dir);
	(void)fs_chmod(parent, st.st_mode);
	return r;
}

/* As renameat(), whatever mode the directory was given to prevent it */
static int rename_in(int parent, const char *from, const char *to)
{
	struct stat st;
	int r;

	if (renameat(parent, from, parent, to) == 0)
		return 0;
	if (errno != EACCES || fstat(parent, &st) < 0 ||
	    fs_chmod(parent, st.st_mode | S_IRWXU) < 0)
		return -1;
	r = renameat(parent, from, parent, to);
	(void)fs_chmod(parent, st.st_mode);
	return r;
}

/* It is too large for another disk, or the disk is full: whoever planted it may
 * have seen to that. Then it stays, but under a name that nobody obeys.
 */
static int rename_here(const char *state, int parent, const char *path,
		       int why, const char *id, struct err *err)
{
	auto_free char *name = mem_printf("%.200s.quarantine-%s",
					  path_base(path), id);
	auto_free char *item = mem_printf("%s/%s", id, ITEM);
	auto_close int store = open_store(state, NULL);

	/* A copy that is there is whole: what stays here may be half of it */
	if (store >= 0 && faccessat(store, item, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		(void)copy_remove(store, id, QUARANTINE_DEPTH_MAX);
	if (rename_in(parent, path_base(path), name) < 0)
		return fail(err, why, "cannot move '%s' to quarantine: %s",
			    path, strerror(-why));
	(void)fail(err, why, "it cannot be moved to quarantine (%s), so it is called %s now",
		   strerror(-why), name);
	return 1;
}

int quarantine_move(const char *state, const char *path, const char *run,
		    const char *reason, char ret_id[QUARANTINE_ID_SIZE],
		    struct err *err)
{
	auto_close int parent = open_parent(path, err);
	auto_close int dir = -1;
	struct stat st;
	int r;

	if (parent < 0)
		return parent;
	if (fstatat(parent, path_base(path), &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail_errno(err, "cannot look at '%s'", path);
	make_id(ret_id);
	dir = make_entry(state, path, run, reason, false, ret_id, err);
	if (dir < 0)
		return rename_here(state, parent, path, dir, ret_id, err);
	r = move(parent, path_base(path), dir);
	if (r == -EACCES)
		r = move_held(parent, path_base(path), dir);
	return r < 0 ? rename_here(state, parent, path, r, ret_id, err) : 0;
}

int quarantine_drop(const char *path, struct err *err)
{
	auto_close int parent = open_parent(path, err);
	char id[QUARANTINE_ID_SIZE];
	auto_free char *name = NULL;

	if (parent < 0)
		return parent;
	if (unlinkat(parent, path_base(path), 0) == 0) {
		(void)fail(err, -EDQUOT, "so many were planted that it is removed, not kept");
		return 1;
	}
	if (errno == ENOENT)
		return -ENOENT;
	make_id(id);
	name = mem_printf("%.200s.quarantine-%s", path_base(path), id);
	if (rename_in(parent, path_base(path), name) < 0)
		return fail_errno(err, "cannot rename '%s'", path);
	(void)fail(err, -EDQUOT, "so many were planted that it is called %s now, not kept",
		   name);
	return 1;
}

int quarantine_keep(const char *state, const char *path, const void *data,
		    size_t n, const char *run, const char *reason,
		    char ret_id[QUARANTINE_ID_SIZE], struct err *err)
{
	auto_close int dir = -1;

	make_id(ret_id);
	dir = make_entry(state, path, run, reason, true, ret_id, err);
	return dir < 0 ? dir : fs_replace(dir, ITEM, data, n, 0600, err);
}

/* Where entry @dir belongs, and whether it is a copy */
static char *read_meta(int dir, bool *copy, struct err *err)
{
	auto_buf struct buf text = { 0 };
	const char *path = NULL;
	char *decoded = NULL;
	int is_copy = 0;
	json_t *meta;

	if (fs_read(dir, META, JSON_TEXT_MAX, &text, err) < 0)
		return NULL;
	meta = json_parse(buf_str(&text), text.len, META, err);
	if (!meta)
		return NULL;
	if (!json_unpack(meta, "{s:s, s:b}", "path", &path, "copy", &is_copy) &&
	    path[0] == '/')
		decoded = decode_bytes(path);
	else
		(void)fail(err, -EINVAL, "%s does not say where it was", META);
	json_decref(meta);
	*copy = is_copy;
	return decoded;
}

int quarantine_restore(const char *state, const char *id, struct err *err)
{
	auto_close int store = -1, dir = -1, parent = -1;
	auto_free char *path = NULL, *kept = path_join(state, "quarantine");
	auto_buf struct buf text = { 0 };
	bool copy = false;
	int r;

	if (!is_id(id))
		return fail(err, -EINVAL, "'%s' is not an id of quarantine",
			    id);
	/* Who asks for what is not there makes no place for it */
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
	parent = path ? open_parent(path, err) : -1;
	if (parent < 0)
		return err ? err->code : -EINVAL;
	if (copy)
		(void)unlinkat(parent, path_base(path), 0);
	/* A run that is under way must not take it for a plant again */
	if (fs_read(dir, ITEM, JSON_TEXT_MAX, &text, NULL) == 0)
		(void)trust_note(state, path, buf_str(&text), text.len);
	r = copy_move(dir, ITEM, parent, path_base(path), limits);
	if (r == -EEXIST)
		return fail(err, r, "'%s' is there again; move it away first",
			    path);
	if (r < 0)
		return fail(err, r, "cannot restore '%s': %s", path,
			    strerror(-r));
	return copy_remove(store, id, QUARANTINE_DEPTH_MAX);
}
