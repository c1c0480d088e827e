/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/verify-row.c - the table of attempts, and how one is made */

#include "doctor/verify-row.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"

static const struct verify_row rows[] = {
#define QUICK	WHEN_QUICK
#define FULL	WHEN_FULL
#define MAYBE	WHEN_MAYBE
#define ALONE	WHEN_ALONE
#define VERIFY(id, severity, group, guarantee, when, attempt, argument, \
	       proof, target, title) \
	{ id, severity, VERIFY_GROUP_##group, GUARANTEE_##guarantee, when, \
	  attempt_##attempt, argument, PROOF_##proof, target, title },
#include "doctor/verify.def"
#undef QUICK
#undef FULL
#undef MAYBE
#undef ALONE
};

static const struct {
	const char *name, *words;
} groups[VERIFY_GROUPS] = {
#define GROUP(id, name, words) { name, words },
#include "doctor/verify.def"
};

const struct verify_row *verify_rows(size_t *ret_len)
{
	*ret_len = ARRAY_SIZE(rows);
	return rows;
}

const char *verify_group_name(enum verify_group group)
{
	return groups[group].name;
}

const char *verify_group_words(enum verify_group group)
{
	return groups[group].words;
}

bool verify_has_act(const struct verify_row *row)
{
	return row->attempt == attempt_replaced_read ||
	       row->attempt == attempt_replaced_write ||
	       row->attempt == attempt_reload ||
	       row->attempt == attempt_passed;
}

bool verify_is_live(const struct verify_row *row)
{
	return row->when & WHEN_ALONE;
}

static const char *place_of(char letter)
{
	return letter == 'H' ? "home" : letter == 'P' ? "project" :
	       letter == 'A' ? "away" : NULL;
}

void world_path(const struct world *w, const char *text, const char *canary,
		char *ret, size_t size)
{
	const char *plus = strchr(text, '+');
	const char *place = place_of(text[0]);
	char rest[PATH_MAX];

	if (plus && plus[1] == 'N') {
		snprintf(ret, size, "%.*s%s", (int)(plus - text), text,
			 w->name);
		return;
	}
	if (plus && plus[1] == 'C') {
		snprintf(rest, sizeof(rest), "%.*s%s", (int)(plus - text),
			 text, canary ? canary : "");
		world_path(w, rest, NULL, ret, size);
		return;
	}
	if (plus) {
		world_path(w, plus + 1, NULL, rest, sizeof(rest));
		snprintf(ret, size, "%.*s%s", (int)(plus - text), text, rest);
		return;
	}
	if (place && (text[1] == '/' || !text[1]))
		snprintf(ret, size, "%s/%s%s", w->root, place, text + 1);
	else
		snprintf(ret, size, "%s", text);
}

void found_result(struct found *f, long r)
{
	f->error = r < 0 ? errno : 0;
}

void found_bytes(struct found *f, const void *bytes, size_t n)
{
	const size_t room = sizeof(f->bytes) - f->len;

	if (n > room)
		n = room;
	memcpy(f->bytes + f->len, bytes, n);
	f->len += n;
}

void found_fd(struct found *f, int fd)
{
	char room[FOUND_MAX];
	const ssize_t n = fd < 0 ? -1 : read(fd, room, sizeof(room));

	found_result(f, n);
	if (n > 0)
		found_bytes(f, room, (size_t)n);
	if (fd >= 0)
		(void)close(fd);
}

void found_word(const struct found *f, char *ret, size_t size)
{
	snprintf(ret, size, "row-%zu;", f->row);
}

static void attempt_child(const struct world *w, const struct verify_row *row,
			  struct found *shared)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)alarm(ATTEMPT_SECONDS);
	row->attempt(w, row->argument, shared);
	_exit(0);
}

void verify_try(const struct world *w, const struct verify_row *row,
		size_t number, struct found *ret)
{
	struct found *shared = mmap(NULL, sizeof(*shared),
				    PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0;
	pid_t pid;

	*ret = (struct found){ .row = number, .error = FOUND_NOTHING };
	if (shared == MAP_FAILED)
		return;
	*shared = *ret;
	pid = fork();
	if (pid == 0)
		attempt_child(w, row, shared);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	*ret = *shared;
	if (pid > 0 && WIFSIGNALED(status) && WTERMSIG(status) != SIGALRM)
		ret->error = FOUND_SIGNAL | WTERMSIG(status);
	if (ret->len > sizeof(ret->bytes))
		ret->len = sizeof(ret->bytes);
	(void)munmap(shared, sizeof(*shared));
}
