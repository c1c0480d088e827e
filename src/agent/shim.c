/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent/shim.c - make and remove wrappers, and check that they are used
 *
 * Theory of operation: the policy decides where a wrapper may lie: it must not be
 * writable for a command that starts here, nor for one that starts in the home
 * directory. A directory in a git work tree is part of a project and refused as well.
 * So in most homes wrappers lie in cloche's own directory, which no sandboxed command
 * can write to (policy/defaults.c).
 */

#include "agent/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
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
#include "base/proc.h"
#include "base/text.h"
#include "policy/policy.h"
#include "run/decision.h"
#include "run/exec-error.h"
#include "run/options.h"
#include "run/policy-why.h"

static const char LIST[] = "shims.json";
static const char SHIM_EXPORT[] = "export " SHIM_VARIABLE "=";

enum { SCRIPT_MAX = 64 << 10, WORDS_LOOKED_AT = 3 };

/* The script. @options are words for `cloche run`, NULL-ended; with @agent the
 * program itself is run.
 */
static void write_text(const char *cloche, const char *name, const char *real,
		       const char *const *options, const struct shim_agent *agent,
		       struct buf *out)
{
	buf_addf(out, "#!/bin/sh\n" SHIM_MARK "%s\n"
		 "# Runs %s of that name in the sandbox. 'cloche shim remove %s'\n"
		 "# removes it; the program itself is untouched.\n", name,
		 agent ? "the commands of the agent" : "the program", name);
	if (agent)
		buf_addf(out, "%s%s\n%s", SHIM_EXPORT, name, buf_str(&agent->before));
	buf_adds(out, "exec ");
	if (agent) {
		text_shell_quote(out, real);
		buf_adds(out, buf_str(&agent->args));
	} else {
		text_shell_quote(out, cloche);
		buf_addf(out, " run --env " SHIM_VARIABLE "=%s", name);
		text_shell_words(out, options, SIZE_MAX);
		buf_adds(out, " -- ");
		text_shell_quote(out, real);
	}
	buf_adds(out, " \"$@\"\n");
}

/* True if @text is a shim of ours */
static bool is_ours(const char *text)
{
	const char *second = strchr(text, '\n');

	return !strncmp(text, "#!", 2) && second &&
	       !strncmp(second + 1, SHIM_MARK, strlen(SHIM_MARK));
}

static int read_script(const char *path, struct buf *text)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW |
				 O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > SCRIPT_MAX)
		return -EINVAL;
	return fs_read_fd(fd, SCRIPT_MAX, text, NULL);
}

static bool is_program(const char *path)
{
	auto_buf struct buf text = { 0 };
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
	    access(path, X_OK) < 0)
		return false;
	return read_script(path, &text) < 0 ||
	       !is_ours(buf_str(&text));
}

char *shim_find_real(const char *name, const char *path)
{
	char *dir;

	while ((dir = path_next_dir(&path))) {
		auto_free char *owned = dir;
		char *file = *owned == '/' ? path_join(owned, name) : NULL;

		if (file && is_program(file))
			return file;
		free(file);
	}
	return NULL;
}

static char *own_dir(void)
{
	auto_free char *config = fs_xdg("XDG_CONFIG_HOME", ".config");

	return config ? path_join(config, "cloche") : NULL;
}

/* True if a command that starts in @cwd could write @file */
static bool is_writable_from(const char *cwd, const char *file)
{
	struct options options = { 0 };
	auto_policy struct policy *policy = NULL;
	auto_why struct policy_why why = { 0 };
	bool writable = true;	/* Unknown counts as writable */

	if (options_add(&options, OPTION_CWD, cwd, NULL) == 0 &&
	    decision_policy(&options, &policy, NULL) == 0 &&
	    policy_why_ask(policy, POLICY_WHY_WRITE, file, &why, NULL) == 0)
		writable = why.allowed;
	options_done(&options);
	return writable;
}

static bool is_in_work_tree(const char *dir)
{
	auto_free char *at = mem_strdup(dir);

	do {
		auto_free char *git = path_join(at, ".git");

		if (access(git, F_OK) == 0)
			return true;
	} while (path_up(at));
	return false;
}

/* Why a shim must not lie in @dir, which exists; NULL if it may */
static const char *objection(const char *dir, const char *name)
{
	auto_free char *file = path_join(dir, name);
	auto_free char *cwd = getcwd(NULL, 0);
	auto_free char *home = fs_home();
	struct stat st;

	if (stat(dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return "is not a directory";
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return "may be written by others";
	if (st.st_uid != geteuid())
		return "belongs to another user";
	if (is_in_work_tree(dir))
		return "lies in a git work tree, where sandboxed commands write";
	if ((cwd && is_writable_from(cwd, file)) ||
	    (home && is_writable_from(home, file)))
		return "can be written by sandboxed commands";
	return NULL;
}

/* A directory on @path before the real one that will do; NULL if none */
static char *place_on_path(const char *name, const char *real,
			   const char *path)
{
	auto_free char *last = path_parent(real);
	char *dir;

	while ((dir = path_next_dir(&path))) {
		auto_free char *owned = dir;

		if (!strcmp(owned, last))
			return NULL;
		if (*owned == '/' && access(owned, W_OK) == 0 &&
		    !objection(owned, name))
			return take_ptr(owned);
	}
	return NULL;
}

/* Where a shim for @real may lie: @dir if that is given, else a directory on
 * @path before that of @real that is ours and never writable inside, else
 * cloche's own below the configuration. NULL with a message; the caller frees.
 */
static char *find_place(const char *dir, const char *name, const char *real,
			const char *path, struct err *err)
{
	auto_free char *own = own_dir();
	auto_free char *shims = own ? path_join(own, "shims") : NULL;
	auto_free char *found = NULL;
	auto_close int fd = -1;
	const char *why;

	if (dir) {
		found = realpath(dir, NULL);
		why = found ? objection(found, name) : "is not a directory";
		if (!why)
			return take_ptr(found);
		fail(err, -EACCES, "'%s' %s; without --dir a safe place is found",
		     dir, why);
		return NULL;
	}
	found = place_on_path(name, real, path);
	if (found)
		return take_ptr(found);
	if (!shims) {
		fail(err, -ENOENT, "there is no home directory; set $HOME");
		return NULL;
	}
	fd = fs_open_dir_p(shims, 0700, err);
	if (fd < 0)
		return NULL;
	why = objection(shims, name);
	if (!why)
		return take_ptr(shims);
	fail(err, -EACCES, "'%s' %s; name a directory with --dir", shims, why);
	return NULL;
}

static int check_name(const char *name, struct err *err)
{
	static const char good[] = "abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+";
	const size_t n = strlen(name);

	if (!n || n > SHIM_NAME_MAX || strspn(name, good) != n ||
	    *name == '-' || *name == '.')
		return fail(err, -EINVAL, "'%s' is not the name of a program",
			    name);
	if (!strcmp(name, "cloche"))
		return fail(err, -EINVAL, "cloche itself needs no shim");
	return 0;
}

/* Nothing there, or a shim of ours */
static int check_free(const char *file, struct err *err)
{
	auto_buf struct buf text = { 0 };
	const int r = read_script(file, &text);

	if (r == -ENOENT || (r == 0 && is_ours(buf_str(&text))))
		return 0;
	return fail(err, -EEXIST, "'%s' is there already and is no shim of ours; it is left alone",
		    file);
}

static int write_shim(const char *file, const struct buf *text,
		      struct err *err)
{
	auto_free char *dir = path_parent(file);
	auto_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return fail_errno(err, "cannot open '%s'", dir);
	return fs_replace(fd, path_base(file), text->p, text->len, 0755, err);
}

const char *shim_state_name(enum shim_state state)
{
	static const char *const names[] = {
		[SHIM_OK] = "ok", [SHIM_BYPASSED] = "bypassed",
		[SHIM_CHANGED] = "changed", [SHIM_GONE] = "gone",
		[SHIM_NO_PROGRAM] = "no-program",
	};

	return names[state];
}

struct shim shim_of(const json_t *row)
{
	return (struct shim){
		.name = json_get_text(row, "name"),
		.path = json_get_text(row, "path"),
		.real = json_get_text(row, "real"),
	};
}

static bool is_list(const json_t *rows)
{
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const struct shim s = shim_of(json_array_get(rows, i));

		if (!s.name || !s.path || *s.path != '/' || !s.real ||
		    *s.real != '/')
			return false;
	}
	return json_is_array(rows) && json_array_size(rows) <= SHIMS_MAX;
}

json_t *shim_read_list(struct err *err)
{
	auto_free char *dir = own_dir();
	auto_free char *file = dir ? path_join(dir, LIST) : NULL;
	auto_json json_t *root = NULL;
	json_t *rows;

	if (!file) {
		fail(err, -ENOENT, "there is no home directory; set $HOME");
		return NULL;
	}
	if (access(file, F_OK) < 0 && errno == ENOENT)
		return json_array();
	root = json_read(AT_FDCWD, file, err);
	rows = json_object_get(root, "shims");
	if (root && !is_list(rows))
		fail(err, -EINVAL, "%s: not a list of shims; remove it, and the shims by hand",
		     file);
	return is_list(rows) ? json_incref(rows) : NULL;
}

static int write_list(json_t *rows, struct err *err)
{
	auto_free char *dir = own_dir();
	auto_close int fd = fs_open_dir_p(dir, 0700, err);
	auto_json json_t *root = json_pack("{s:i, s:O}", "version", 1, "shims", rows);
	auto_free char *text = json_dumps(root, JSON_INDENT(2));

	if (fd < 0)
		return fd;
	if (json_array_size(rows))
		return fs_replace(fd, LIST, text, strlen(text), 0644, err);
	(void)unlinkat(fd, "shims", AT_REMOVEDIR);	/* Leave nothing behind */
	return unlinkat(fd, LIST, 0) < 0 && errno != ENOENT ?
		fail_errno(err, "cannot remove the list of shims") : 0;
}

/* Replace the row of the same wrapper, or append one */
static int list_add(json_t *rows, json_t *row, struct err *err)
{
	size_t i = 0;

	while (i < json_array_size(rows) &&
	       strcmp(shim_of(json_array_get(rows, i)).path, shim_of(row).path) != 0)
		i++;
	if (i == SHIMS_MAX)
		return fail(err, -E2BIG, "there are %d shims already", SHIMS_MAX);
	return i < json_array_size(rows) ? json_array_set(rows, i, row) :
					   json_array_append(rows, row);
}

int shim_install(const char *cloche, const char *name, const char *dir,
		 const char *const *options, const struct shim_agent *agent,
		 json_t **ret, struct err *err)
{
	const char *path = getenv("PATH");
	auto_free char *real = NULL, *place = NULL, *file = NULL;
	auto_buf struct buf text = { 0 };
	auto_json json_t *rows = NULL, *row = NULL;
	int r = check_name(name, err);

	if (r < 0)
		return r;
	real = shim_find_real(name, path);
	if (!real)
		return fail(err, -ENOENT, "there is no program '%s' on $PATH",
			    name);
	place = find_place(dir, name, real, path, err);
	if (!place)
		return err->code;
	file = path_join(place, name);
	r = check_free(file, err);
	if (r < 0)
		return r;
	rows = shim_read_list(err);
	if (!rows)
		return err->code;
	row = json_pack("{s:s, s:s, s:s}", "name", name, "path", file, "real", real);
	if (!row)
		return fail(err, -EINVAL, "the path of a shim must be UTF-8");
	r = list_add(rows, row, err);
	if (r == 0) {
		write_text(cloche, name, real, options, agent, &text);
		r = write_shim(file, &text, err);
	}
	if (r == 0)
		r = write_list(rows, err);
	if (r == 0)
		*ret = take_ptr(row);
	return r;
}

int shim_remove(const char *name, struct err *err)
{
	auto_json json_t *rows = shim_read_list(err);
	bool found = false;
	int r = rows ? 0 : err->code;

	for (size_t i = json_array_size(rows); i-- > 0 && r == 0;) {
		const struct shim s = shim_of(json_array_get(rows, i));

		if (strcmp(s.name, name) != 0)
			continue;
		found = true;
		r = check_free(s.path, err);
		if (r == 0 && unlink(s.path) < 0 && errno != ENOENT)
			r = fail_errno(err, "cannot remove '%s'", s.path);
		if (r == 0)
			(void)json_array_remove(rows, i);
	}
	if (r == 0 && !found)
		r = fail(err, -ENOENT, "there is no shim '%s'; 'cloche shim list' shows them",
			 name);
	return r < 0 ? r : write_list(rows, err);
}

enum shim_state shim_state(const struct shim *shim, const char *path)
{
	auto_buf struct buf text = { 0 };
	auto_free char *cwd = getcwd(NULL, 0);
	auto_free char *first = exec_error_find(shim->name, path, cwd ? cwd : "/");
	const int r = read_script(shim->path, &text);

	if (r == -ENOENT)
		return SHIM_GONE;
	if (r < 0 || !is_ours(buf_str(&text)))
		return SHIM_CHANGED;
	if (access(shim->real, X_OK) < 0)
		return SHIM_NO_PROGRAM;
	return first && !strcmp(first, shim->path) ? SHIM_OK : SHIM_BYPASSED;
}

static bool is_same_file(const char *a, const char *real)
{
	auto_free char *x = realpath(a, NULL);
	auto_free char *y = realpath(real, NULL);

	return x && y && !strcmp(x, y);
}

bool shim_holds_commands(const char *name)
{
	auto_json json_t *rows = shim_read_list(NULL);
	bool found = false;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const struct shim s = shim_of(json_array_get(rows, i));
		auto_buf struct buf text = { 0 };

		found |= !strcmp(s.name, name) &&
			 shim_state(&s, getenv("PATH")) == SHIM_OK &&
			 read_script(s.path, &text) == 0 &&
			 strstr(buf_str(&text), SHIM_EXPORT);
	}
	return found;
}

/* True if the process runs @real: as its program, or as the script of an interpreter */
static bool runs(pid_t pid, const char *real)
{
	char path[64];
	auto_buf struct buf words = { 0 };
	auto_close int fd = -1;
	const char *p, *end;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (is_same_file(path, real))
		return true;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fs_read_fd(fd, JSON_TEXT_MAX, &words, NULL) < 0)
		return false;
	p = buf_str(&words);
	end = p + words.len;
	for (int i = 0; i < WORDS_LOOKED_AT && p < end; i++) {
		if (*p == '/' && is_same_file(p, real))
			return true;
		p += strlen(p) + 1;
	}
	return false;
}

void shim_tell_bypass(struct buf *out)
{
	auto_json json_t *rows = getenv(SHIM_VARIABLE) ? NULL : shim_read_list(NULL);
	pid_t pid = getppid();

	for (int depth = 0; pid > 1 && json_array_size(rows) &&
			    depth < SHIM_ANCESTORS_MAX;
	     depth++, pid = proc_parent(pid)) {
		for (size_t i = 0; i < json_array_size(rows); i++) {
			const struct shim s = shim_of(json_array_get(rows, i));

			if (!runs(pid, s.real))
				continue;
			buf_addf(out, "cloche: %s was started directly and runs outside the sandbox: its shim is ",
				 s.name);
			text_escape(out, s.path);
			buf_adds(out, "; put that directory first in $PATH\n");
			return;
		}
	}
}
