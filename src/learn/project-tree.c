/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learn/project-tree.c - read the marker files of a project
 *
 * The tree is untrusted: symbolic links to directories are not followed, those to
 * files only inside of the project, nothing but regular files is read, and everything
 * has a limit. A limit that was hit is a note.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "base/text.h"
#include "learn/proposal.h"
#include "policy/file-reader.h"
#include "policy/git.h"

/* What tools fetched or built; what belongs to other projects */
static const char PASSED_OVER[] = "node_modules vendor target dist build out venv "
	"site-packages __pycache__ bower_components third_party testdata";

/**
 * struct walk - One reading of a tree
 * @root:	The project
 */
struct walk {
	struct proposal *p;
	int root;
	unsigned int dirs, files, entries;
};

/* Open the regular file @path of the project; a link may lead to a file inside */
static int open_file(const struct walk *w, const char *path, bool *left)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	int fd = sys_openat2(w->root, path, &how);
	struct stat st;

	*left = fd < 0 && (errno == EXDEV || errno == ELOOP);
	if (fd < 0 && errno == ENOSYS)
		fd = openat(w->root, path, how.flags | O_NOFOLLOW);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)))
		close_fd(&fd);
	return fd;
}

/* @path is shown in one line, and may hold anything */
static void read_marker(struct walk *w, const char *path)
{
	const struct marker *m = marker_find(path, NULL);
	auto_buf struct buf text = { 0 }, shown = { 0 };
	auto_close int fd = -1;
	bool left = false;
	int r = 0;

	if (!m)
		return;
	text_escape(&shown, path);
	if (++w->files > PROPOSAL_FILES_MAX) {
		proposal_note(w->p, "more than %d files to read; the rest was left out",
			      PROPOSAL_FILES_MAX);
		return;
	}
	fd = open_file(w, path, &left);
	if (left)
		proposal_note(w->p, "%s: a symbolic link out of the project; not followed",
			      buf_str(&shown));
	if (fd < 0)
		return;
	if (m->max)
		r = fs_read_fd(fd, m->max, &text, NULL);
	if (r < 0)
		proposal_note(w->p, r == -EFBIG ? "%s: more than %zu bytes; not read" :
			      "%s: cannot be read", buf_str(&shown), m->max);
	for (; m && r >= 0; m = marker_find(path, m))
		proposal_read(w->p, m, buf_str(&shown), buf_str(&text), text.len,
			      false);
}

static bool is_passed_over(const char *name)
{
	return (*name == '.' && !marker_is_in(name)) ||
	       text_has_word(PASSED_OVER, name);
}

/* The names in @fd: files, and directories to look into */
static void list_names(struct walk *w, int fd, struct strings *files,
		       struct strings *dirs)
{
	auto_dir struct dir dir = dir_of(fd);
	struct dir_entry e;

	while (dir_next(&dir, &e) > 0) {
		unsigned char type = e.type;
		struct stat st;

		if (++w->entries > PROPOSAL_ENTRIES_MAX) {
			proposal_note(w->p, "more than %d names to look at; the rest was left out",
				      PROPOSAL_ENTRIES_MAX);
			break;
		}
		if (type == DT_UNKNOWN && !fstatat(fd, e.name, &st, AT_SYMLINK_NOFOLLOW))
			type = IFTODT(st.st_mode);
		if (type == DT_DIR && !is_passed_over(e.name))
			*vec_push(dirs) = mem_strdup(e.name);
		else if (type == DT_REG || type == DT_LNK)
			*vec_push(files) = mem_strdup(e.name);
	}
	if (files->len)
		qsort(files->v, files->len, sizeof(*files->v), path_compare_items);
	if (dirs->len)
		qsort(dirs->v, dirs->len, sizeof(*dirs->v), path_compare_items);
}

static char *join(const char *dir, const char *name)
{
	return *dir ? path_join(dir, name) : mem_strdup(name);
}

/* @path is relative to the project, "" for itself */
static void walk_dir(struct walk *w, int fd, const char *path, unsigned int depth)
{
	struct strings files = { 0 }, dirs = { 0 };

	list_names(w, fd, &files, &dirs);
	for (size_t i = 0; i < files.len; i++) {
		auto_free char *file = join(path, files.v[i]);

		read_marker(w, file);
	}
	for (size_t i = 0; depth < PROPOSAL_DEPTH_MAX && i < dirs.len; i++) {
		auto_free char *below = join(path, dirs.v[i]);
		auto_close int dir = -1;

		if (++w->dirs > PROPOSAL_DIRS_MAX) {
			proposal_note(w->p, "more than %d directories; the rest was left out",
				      PROPOSAL_DIRS_MAX);
			break;
		}
		dir = openat(fd, dirs.v[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
			     O_CLOEXEC);
		if (dir >= 0)
			walk_dir(w, dir, below, depth + 1);
	}
	strings_done(&files);
	strings_done(&dirs);
}

/* The remotes of the repository; a .git that names another directory must be trusted */
static void read_remotes(struct proposal *p, const char *root)
{
	static const struct marker marker = {
		"config", TOOL_GIT, MARKER_GIT_CONFIG, MARKER_FILE_MAX,
	};
	auto_buf struct buf text = { 0 };
	struct git_repo repo;

	if (!git_discover(&file_reader_files, root, &repo))
		return;
	if (repo.trusted) {
		auto_free char *file = path_join(repo.common, "config");
		struct stat st;

		if (lstat(file, &st) == 0 && S_ISREG(st.st_mode) &&
		    fs_read(AT_FDCWD, file, marker.max, &text, NULL) == 0)
			proposal_read(p, &marker, "remote in .git/config",
				      buf_str(&text), text.len, false);
	}
	git_repo_done(&repo);
}

int proposal_read_tree(struct proposal *p, const char *root, struct err *err)
{
	struct walk w = { .p = p };
	auto_close int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return fail_errno(err, "cannot read '%s'", root);
	w.root = fd;
	walk_dir(&w, fd, "", 0);
	read_remotes(p, root);
	return 0;
}
