/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch/late.c - protected names of the user's that come during a run
 *
 * Theory of operation: a mount comes a moment after the file, and goes for a
 * moment when another takes its place. Who wins a race against the observer in
 * that moment has the file open for writing, and can change it whenever he likes.
 * So nothing but the text itself says whose it is.
 */

#include "watch/late.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "watch/born.h"
#include "watch/gitrepo.h"
#include "watch/sealed.h"
#include "watch/trust.h"

static void free_late(struct late *late)
{
	free(late->path);
	free(late->text);
}

void lates_done(struct lates *l)
{
	for (size_t i = 0; i < l->len; i++)
		free_late(&l->v[i]);
	free(l->v);
}

struct late *late_find(const struct lates *l, const char *path)
{
	for (size_t i = 0; i < l->len; i++) {
		if (!strcmp(l->v[i].path, path))
			return &l->v[i];
	}
	return NULL;
}

struct late *late_push(struct lates *l, const char *path)
{
	struct late *late = vec_push(l);

	*late = (struct late){ .path = mem_strdup(path) };
	return late;
}

void late_drop(struct lates *l, struct late *late)
{
	free_late(late);
	*late = l->v[--l->len];
}

static bool is_own(const struct lates *l, const struct late *late,
		   const char *text, size_t n)
{
	const struct born_config *c = l->config;

	return (late->text && late->n == n && !memcmp(late->text, text, n)) ||
	       trust_holds(c->state, late->path, text, n) ||
	       (c->is_touched && !c->is_touched(c->arg, late->path));
}

static void put_back(struct lates *l, const struct late *late)
{
	const struct born_config *c = l->config;
	const struct gitrepo_config seal = { c->state, c->run, c->sink };
	auto_free char *parent = path_parent(late->path);
	auto_close int dir = sys_open_nofollow(AT_FDCWD, parent, O_PATH |
					       O_DIRECTORY | O_CLOEXEC, 0);
	struct stat st;

	if (lstat(late->path, &st) < 0 ||
	    !sealed_move(&seal, late->path,
			 "settings that the command may have changed") ||
	    !late->text || dir < 0 || l->put_back++ >= LATE_PUT_BACK_MAX)
		return;
	(void)trust_note(c->state, late->path, late->text, late->n);
	(void)fs_replace(dir, path_base(late->path), late->text, late->n,
			 st.st_mode & 0644, NULL);
}

bool late_takes(struct lates *l, struct late *late, const char *text, size_t n)
{
	if (!is_own(l, late, text, n)) {
		put_back(l, late);
		return false;
	}
	if (!late->text || late->n != n || memcmp(late->text, text, n) != 0) {
		free(late->text);
		late->text = mem_strndup(text, n);
		late->n = strlen(late->text);
	}
	return true;
}

void lates_check(struct lates *l)
{
	for (size_t i = 0; i < l->len; i++) {
		const struct late *late = &l->v[i];
		auto_buf struct buf now = { 0 };

		if ((late->text || late->noted) &&
		    (fs_read(AT_FDCWD, late->path, JSON_TEXT_MAX, &now, NULL) ||
		     !is_own(l, late, buf_str(&now), now.len)))
			put_back(l, late);
	}
}
