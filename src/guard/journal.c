/* SPDX-License-Identifier: Apache-2.0 */
/* guard/journal.c - a record on disk of what a run may write */

#include "guard/journal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"

void journal_done(struct journal *j)
{
	strings_done(&j->roots);
	strings_done(&j->existing);
	strings_done(&j->sentinels);
	strings_done(&j->obeyed);
	free(j->run);
	free(j->cwd);
	*j = (struct journal) { 0 };
}

bool journal_existed(const struct journal *j, const char *path)
{
	for (size_t i = 0; i < j->existing.len; i++) {
		if (path_is_within(j->existing.v[i], path))
			return true;
	}
	return strings_have(&j->sentinels, path);
}

static json_t *encode_list(const struct strings *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->len; i++) {
		auto_free char *text = encode_bytes(s->v[i]);

		json_array_append_new(list, json_string(text));
	}
	return list;
}

static char *to_text(const struct journal *j)
{
	auto_free char *cwd = encode_bytes(j->cwd);
	auto_json json_t *root =
		       json_pack("{s:i, s:s, s:s, s:s, s:[I, I], s:o, s:o, s:o, s:o}",
				 "v", 1, "run", j->run, "cwd", cwd, "profile",
				 profile_name(j->profile), "since",
				 (json_int_t)j->since.tv_sec,
				 (json_int_t)j->since.tv_nsec,
				 "roots", encode_list(&j->roots),
				 "existing", encode_list(&j->existing),
				 "sentinels", encode_list(&j->sentinels),
				 "obeyed", encode_list(&j->obeyed));

	return root ? json_dumps(root, JSON_COMPACT) : NULL;
}

const char *journal_root(const struct journal *j, const char *path)
{
	const char *best = NULL;

	for (size_t i = 0; i < j->roots.len; i++) {
		if (path_is_within(j->roots.v[i], path) &&
		    (!best || strlen(j->roots.v[i]) < strlen(best)))
			best = j->roots.v[i];
	}
	return best;
}

/* The lock is the process's: not that of the gate and the keeper, which may live
 * for a moment longer than the process that forked them, and hold all it had open
 */
static int lock(int fd, int how)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, how, &whole);
}

/* True if the file @fd has a name */
static bool is_there(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

/* With its name first. Until it is locked another run that starts may take it for
 * a dead one's, and removes what it could lock.
 */
static int make_named(int dir, const char *name)
{
	auto_close int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL |
				   O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || lock(fd, F_SETLKW) < 0)
		return -errno;
	return is_there(fd) ? take_fd(&fd) : -ENOENT;
}

/* A new journal, locked before it has a name, where the file system can do that
 */
static int make(int dir, const char *name)
{
	auto_close int fd = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC,
				   0600);
	char self[40];

	if (fd < 0)
		return make_named(dir, name);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	if (lock(fd, F_SETLKW) < 0 ||
	    linkat(AT_FDCWD, self, dir, name, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	return take_fd(&fd);
}

/* Another run that ends may remove the directory between our steps */
static int create(const char *state, const char *name, struct err *err)
{
	int r = -ENOENT;

	for (int tries = 0; r == -ENOENT && tries < JOURNAL_TRIES; tries++) {
		auto_close int dir = fs_open_private_below(state, "journal", err);

		if (dir < 0)
			return dir;
		r = make(dir, name);
	}
	return r < 0 ? fail(err, r, "cannot write the run's journal: %s",
			    strerror(-r)) : r;
}

int journal_write(const char *state, const struct journal *j, struct err *err)
{
	auto_free char *name = mem_printf("%s.json", j->run);
	auto_free char *text = to_text(j);
	auto_close int fd = -1;

	if (!text)
		return fail(err, -EINVAL, "cannot describe the run");
	fd = create(state, name, err);
	if (fd < 0)
		return fd;
	if (fs_write_all(fd, text, strlen(text)) < 0)
		return fail_errno(err, "cannot write the run's journal");
	return take_fd(&fd);
}

void journal_rewrite(int fd, const struct journal *j)
{
	auto_free char *text = to_text(j);

	/* In one call, so that no reader finds half of it. The end of a longer
	 * old text stays behind it: parse() stops before that.
	 */
	if (text)
		(void)!pwrite(fd, text, strlen(text), 0);
}

void journal_remove(const char *state, const struct journal *j)
{
	auto_close int dir = fs_open_private_below(state, "journal", NULL);
	auto_free char *name = mem_printf("%s.json", j->run);

	if (dir >= 0)
		(void)unlinkat(dir, name, 0);
}

static void decode_list(json_t *list, struct strings *ret)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item) {
		if (json_is_string(item))
			*vec_push(ret) = decode_bytes(json_string_value(item));
	}
}

static int parse(const char *text, size_t n, struct journal *ret)
{
	/* Ours, and as long as the project has protected names */
	auto_json json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES |
					    JSON_DISABLE_EOF_CHECK, NULL);
	json_t *roots = NULL, *existing = NULL, *sentinels = NULL;
	json_t *obeyed = NULL;
	json_int_t seconds = 0, nanoseconds = 0;
	const char *run = NULL, *cwd = NULL, *profile = "default";
	int version = 0;
	const int r = !root ? -1 :
		json_unpack(root, "{s:i, s:s, s:s, s?s, s:[I, I], s:o, s:o, s?o, s?o}",
			    "v", &version, "run", &run, "cwd", &cwd, "profile",
			    &profile, "since", &seconds, &nanoseconds, "roots",
			    &roots, "existing", &existing, "sentinels",
			    &sentinels, "obeyed", &obeyed);

	if (!r && version == 1) {
		ret->run = mem_strdup(run);
		ret->cwd = decode_bytes(cwd);
		ret->profile = PROFILE_DEFAULT;	/* Unless it is another */
		(void)profile_parse(profile, &ret->profile);
		ret->since.tv_sec = (time_t)seconds;
		ret->since.tv_nsec = (long)nanoseconds;
		decode_list(roots, &ret->roots);
		decode_list(existing, &ret->existing);
		decode_list(sentinels, &ret->sentinels);
		decode_list(obeyed, &ret->obeyed);
	}
	return r || version != 1 ? -EINVAL : 0;
}

/* True if a run other than @own may write @path; with @own NULL, if any run may and
 * nothing stood there when it began. A journal that cannot be read is being written: the
 * command of that run can have made nothing yet.
 */
static bool any_journal(const char *state, const char *own, const char *path)
{
	auto_free char *where = path_join(state, "journal");
	auto_closedir DIR *dir = opendir(where);
	struct dirent *entry;
	bool found = false;

	while (dir && !found && (entry = readdir(dir)) != NULL) {
		auto_buf struct buf text = { 0 };
		struct journal j = { 0 };

		if (entry->d_name[0] == '.' ||
		    fs_read(dirfd(dir), entry->d_name, JOURNAL_TEXT_MAX, &text,
			    NULL) < 0)
			continue;
		if (parse(buf_str(&text), text.len, &j) < 0)
			found = own;
		else if (journal_root(&j, path))
			found = own ? strcmp(j.run, own) != 0
				    : !journal_existed(&j, path);
		journal_done(&j);
	}
	return found;
}

bool journal_others(const char *state, const struct journal *j,
		    const char *path)
{
	return any_journal(state, j->run, path);
}

bool journal_may_have_made(const char *state, const char *path)
{
	return any_journal(state, NULL, path);
}

/* If no run has locked the journal @name: call @fn, and remove the journal if that returns
 * true. False if another process has locked it.
 */
static bool replay_one(int dir, const char *name,
		       bool (*fn)(void *, const struct journal *), void *arg)
{
	auto_close int fd = openat(dir, name, O_RDWR | O_NOFOLLOW |
				   O_NONBLOCK | O_CLOEXEC);
	auto_buf struct buf text = { 0 };
	struct journal j = { 0 };
	bool done = true;

	/* Another may have done it while we opened it */
	if (fd < 0 || lock(fd, F_SETLK) < 0 || !is_there(fd))
		return false;
	/* Half written: the command had not started */
	if (!fs_read_fd(fd, JOURNAL_TEXT_MAX, &text, NULL) &&
	    !parse(buf_str(&text), text.len, &j))
		done = fn(arg, &j);
	journal_done(&j);
	if (done)
		(void)unlinkat(dir, name, 0);
	return true;
}

void journal_replay(const char *state,
		    bool (*fn)(void *arg, const struct journal *j), void *arg)
{
	auto_free char *path = path_join(state, "journal");
	auto_closedir DIR *dir = opendir(path);
	unsigned int left = JOURNAL_REPLAY_MAX;
	struct dirent *entry;

	while (dir && left && (entry = readdir(dir)) != NULL) {
		/* Journals of live runs do not count: there may be many */
		if (entry->d_name[0] != '.' &&
		    replay_one(dirfd(dir), entry->d_name, fn, arg))
			left--;
	}
}
