/* SPDX-License-Identifier: Apache-2.0 */
/* run/settings-edit.c - edits of the user's settings files */

#include "run/settings-edit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "guard/settings-receipt.h"
#include "policy/json-edit.h"
#include "policy/settings.h"
#include "report/violation-store.h"

enum { LOCK_WAIT_MS = 5000 };	/* Much longer than an edit takes */

/**
 * struct change - A file that is being edited
 * @req:	Whose settings they are; zero for a file that is not ours
 * @file:	Its real path: a link is followed, so that it stays a link
 * @dir:	Its directory, locked against another edit
 * @mode:	Permissions to keep
 * @exists:	It was there
 */
struct change {
	struct settings_request req;
	enum scope scope;
	char *file;
	int dir;
	mode_t mode;
	bool exists;
	struct buf text;
};

static void change_done(struct change *c)
{
	settings_request_done(&c->req);
	free(c->file);
	close_fd(&c->dir);
	buf_done(&c->text);
}

/* The mode of a new file */
static mode_t new_mode(void)
{
	const mode_t mask = umask(0);

	(void)umask(mask);
	return 0644 & ~mask;
}

static int change_open(struct change *c, const char *path, struct err *err)
{
	auto_free char *dir = NULL;
	struct stat st;
	int r;

	c->file = realpath(path, NULL);
	if (!c->file)
		c->file = mem_strdup(path);
	dir = path_parent(c->file);
	c->dir = fs_open_dir_p(dir, 0755, err);
	if (c->dir < 0)
		return c->dir;
	r = fs_flock_within(c->dir, LOCK_EX, LOCK_WAIT_MS);
	if (r == -EWOULDBLOCK)
		return fail(err, r, "another program has locked '%s', perhaps a command in a sandbox; end that first",
			    dir);
	if (r < 0)
		return fail(err, r, "cannot lock '%s': %s", dir, strerror(-r));
	if (fstatat(c->dir, path_base(c->file), &st, AT_SYMLINK_NOFOLLOW) < 0)
		c->mode = new_mode();
	else if (S_ISLNK(st.st_mode))
		return fail(err, -ENOENT, "'%s' is a symbolic link to what is not there; make that, or remove the link",
			    c->file);
	else
		c->mode = st.st_mode & 0777;
	r = fs_read(c->dir, path_base(c->file), JSON_TEXT_MAX, &c->text, err);
	c->exists = r == 0;
	return r == -ENOENT ? 0 : r;
}

/* A clone may bring links: what is meant for the project must not become what
 * counts everywhere
 */
static int check_within(const struct change *c, const char *project, const char *asked,
			struct err *err)
{
	auto_free char *real = realpath(project, NULL);
	auto_free char *there = fs_fd_path(c->dir);

	if (real && there && path_is_within(real, there))
		return 0;
	return fail(err, -EPERM, "'%s' is a symbolic link out of the project, to '%s'; remove it, or name the scope (--scope user)",
		    asked, there ? there : c->file);
}

/* Open the file of @scope for one in @cwd; @create: also if there is none, else that is
 * -ENOENT with no file in @c
 */
static int change_init(struct change *c, const char *cwd, enum scope scope,
		       bool create, struct err *err)
{
	auto_free char *asked = NULL, *above = NULL, *project = NULL;
	int r;

	*c = (struct change){ .dir = -1, .scope = scope };
	settings_request_init(&c->req, cwd);
	asked = settings_file_for(&c->req, scope);
	if (!asked)
		return fail(err, -ENOENT,
			    "there is no home directory; set $HOME");
	if (!create && access(asked, F_OK) < 0)
		return -ENOENT;
	above = path_parent(asked);
	project = scope == SCOPE_LOCAL ? path_parent(above) : mem_strdup(above);
	r = change_open(c, asked, err);
	return r == 0 && scope != SCOPE_USER ? check_within(c, project, asked, err) : r;
}

/* Nothing is written that could not be read again */
static int check(const struct change *c, const struct buf *text,
		 struct err *err)
{
	auto_report struct settings_report report = { 0 };
	int r;

	r = settings_check_text(&c->req, c->scope, c->file, buf_str(text),
				text->len, &report, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < report.notes.len; i++) {
		if (report.notes.v[i].level == NOTE_ERROR)
			return fail(err, -EINVAL, "not changed: %s",
				    report.notes.v[i].text);
	}
	return 0;
}

static int put(struct change *c, const struct buf *text, struct err *err)
{
	auto_free char *state = violation_store_default_dir();
	int r;

	/* A sandbox that runs meanwhile must know that it was not its command */
	if (state)
		(void)settings_receipt_note(state, c->file, buf_str(text), text->len);
	r = fs_replace(c->dir, path_base(c->file), buf_str(text), text->len,
		       c->mode, err);
	return r < 0 ? fail_in(err, r, "%s", c->file) : 0;
}

static int save(struct change *c, const struct buf *text, struct err *err)
{
	const int r = check(c, text, err);

	return r < 0 ? r : put(c, text, err);
}

/* cloche's own files have no "sandbox" around the keys */
static const char *key_in(enum scope scope, const char *path)
{
	static const char above[] = "sandbox.";

	return scope != SCOPE_LOCAL && !strncmp(path, above, strlen(above)) ?
	       path + strlen(above) : path;
}

int settings_edit_list(const char *cwd, enum scope scope, bool add,
		       const char *path, const char *value, char **ret_file,
		       struct err *err)
{
	const bool variable = add && !strcmp(path, "sandbox.credentials.envVars");
	/* A variable that is denied is an object */
	auto_free char *literal = variable ?
		mem_printf("{\"name\": \"%s\", \"mode\": \"deny\"}", value) : NULL;
	const enum json_edit_op op = !add ? JSON_EDIT_TAKE : variable ?
				     JSON_EDIT_APPEND_VALUE : JSON_EDIT_APPEND;
	auto_buf struct buf text = { 0 }, without = { 0 };
	const char *key = key_in(scope, path);
	struct change c;
	int r, changed = 0;

	if (variable && value[strcspn(value, "\"\\=")])
		return fail(err, -EINVAL, "'%s' is not the name of a variable",
			    value);
	r = change_init(&c, cwd, scope, add, err);
	if (r == -ENOENT && !add)
		r = 1;	/* No file, nothing to take out */
	if (r == 0 && variable)
		r = json_edit(buf_str(&c.text), c.text.len, c.file,
			      JSON_EDIT_TAKE, key, value, &without, err);
	if (r == 0)
		r = changed = json_edit(buf_str(&c.text), c.text.len, c.file, op,
					key, literal ? literal : value, &text,
					err);
	if (changed > 0)
		r = save(&c, &text, err);
	if (r >= 0)
		*ret_file = take_ptr(c.file);
	change_done(&c);
	return r < 0 ? r : changed;
}

int settings_edit_flags(const char *cwd, enum scope scope,
			const struct settings_edit_flag *flags, size_t n,
			char **ret_file, struct err *err)
{
	struct change c;
	int r = change_init(&c, cwd, scope, true, err);
	bool changed = false;

	for (size_t i = 0; r >= 0 && i < n; i++) {
		struct buf text = { 0 };

		r = json_edit(buf_str(&c.text), c.text.len, c.file, JSON_EDIT_SET,
			      key_in(scope, flags[i].path),
			      flags[i].value ? "true" : "false", &text, err);
		if (r > 0) {
			buf_done(&c.text);
			c.text = text;
			changed = true;
		}
	}
	if (r >= 0 && changed)
		r = save(&c, &c.text, err);
	if (r >= 0)
		*ret_file = take_ptr(c.file);
	change_done(&c);
	return r < 0 ? r : 0;
}

int settings_edit_file(const char *path, const char *project, change_fn fn, void *arg,
		       struct err *err)
{
	auto_buf struct buf text = { 0 };
	struct change c = { .dir = -1 };
	int want = 0, r;

	r = change_open(&c, path, err);
	if (r == 0 && project)
		r = check_within(&c, project, path, err);
	if (r == 0)
		r = want = fn(arg, &c.text, c.exists, &text, err);
	if (r == SETTINGS_EDIT_WRITE && text.len) {
		auto_json json_t *root = json_parse(buf_str(&text), text.len,
						    c.file, err);

		r = root ? 0 : -EINVAL;
	}
	if (r >= 0 && (want == SETTINGS_EDIT_WRITE ||
		       want == SETTINGS_EDIT_WRITE_TEXT))
		r = put(&c, &text, err);
	if (r >= 0 && want == SETTINGS_EDIT_REMOVE &&
	    unlinkat(c.dir, path_base(c.file), 0) < 0 && errno != ENOENT)
		r = fail_errno(err, "cannot remove '%s'", c.file);
	change_done(&c);
	return r < 0 ? r : want;
}
