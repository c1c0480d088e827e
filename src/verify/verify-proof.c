/* SPDX-License-Identifier: Apache-2.0 */
/* verify/verify-proof.c - whether an attempt worked, checked on the host afterwards */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "verify/verify.h"
#include "view/view.h"

/* True if @error says that something refused the call */
static bool is_refusal(int error)
{
	switch (error) {
	case EPERM:
	case EACCES:
	case ENOSYS:
	case EAFNOSUPPORT:
	case EPROTONOSUPPORT:
	case ESOCKTNOSUPPORT:
	case ESRCH:
	case EROFS:
	case ENOENT:
	case ATTACK_SIGNAL | SIGSYS:
		return true;
	}
	return false;
}

/* The file is the one that was planted, in every respect */
static bool is_intact(const struct target *t, const char *path)
{
	char text[CANARY_LINE + 1], want[CANARY_LINE];
	auto_close int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	n = read(fd, text, sizeof(text));
	canary_line(t, path, want);
	return n == (ssize_t)strlen(want) && !memcmp(text, want, (size_t)n) &&
	       (st.st_mode & 07777) == 0600 &&
	       st.st_mtim.tv_sec == PLANTED_TIME;
}

void link_end(const char *path, char *ret, size_t size)
{
	snprintf(ret, size, "%s.real", path);
}

static bool is_link_intact(const struct target *t, const char *path)
{
	char real[PATH_MAX + 8], to[NAME_MAX + 1];
	const ssize_t n = readlink(path, to, sizeof(to) - 1);

	link_end(path, real, sizeof(real));
	if (n <= 0)
		return false;
	to[n] = '\0';
	return !strcmp(to, strrchr(real, '/') + 1) && is_intact(t, real);
}

static bool is_there(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

/* What was left in mounts is removed; true if it was there on the host, in a
 * place that is neither the scratch place nor one that @view lets be written
 */
static bool left_in_mounts(const struct target *t, const struct view *view,
			   const struct found *f)
{
	bool found = false;
	char list[ATTACK_FOUND_MAX + 1];

	memcpy(list, f->bytes, f->len);
	list[f->len] = '\0';
	for (const char *path = list; path < list + f->len;
	     path += strlen(path) + 1) {
		const char *slash = strrchr(path, '/');

		if (!slash || strcmp(slash + 1, t->w.name) != 0 ||
		    unlink(path) < 0)
			continue;
		if (strncmp(path, t->w.root, strlen(t->w.root)) != 0 &&
		    !(view && view_verdict(view, VIEW_WRITE, path).allowed))
			found = true;
	}
	return found;
}

static bool is_same_outside(const struct verify_row *row,
			    const struct found *f)
{
	char path[64], target[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", row->target);
	n = readlink(path, target, sizeof(target));
	return n > 0 && (size_t)n == f->len && !memcmp(target, f->bytes, f->len);
}

/* A connection that names no row may be any row's: it counts against all of them,
 * unless the user's rules allow connections here
 */
static bool was_heard(struct target *t, size_t number)
{
	target_listen(t);
	return (t->nameless && !t->open) || (number < ROWS_MAX && t->heard[number]);
}

bool proof_hit(struct target *t, const struct view *view, size_t number,
	       const struct verify_row *row, const struct found *f)
{
	auto_free char *path = target_path(t, row->target);

	switch (row->proof) {
	case PROOF_INTACT:
		return !is_intact(t, path);
	case PROOF_LINK:
		return !is_link_intact(t, path);
	case PROOF_ABSENT:
		return is_there(path);
	case PROOF_MOUNTS:
		return left_in_mounts(t, view, f) || is_there(path);
	case PROOF_BYTES:
		return memmem(f->bytes, f->len, t->canary, NEEDLE);
	case PROOF_READS:
		return !f->error && f->len;
	case PROOF_CALL:
		return f->error != ATTACK_NOTHING &&
		       !is_refusal(f->error);
	case PROOF_HIT:
		return was_heard(t, number);
	case PROOF_SENT:
		target_listen(t);
		return number < ROWS_MAX && t->sent[number];
	case PROOF_ALIVE:
		return !target_stays_alive(t);
	case PROOF_SAME:
		return is_same_outside(row, f);
	case PROOF_EITHER:
		return !f->error;
	case PROOF_GONE:
	case PROOF_SEEN:
	case PROOF_OWN:
		break;	/* Known from the run */
	}
	return false;
}
