/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/verify-run.c - one verification from beginning to end */

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/own.h"
#include "base/path.h"
#include "doctor/verify-state.h"
#include "plan/plan.h"
#include "plan/view.h"
#include "policy/policy.h"
#include "policy/settings.h"

enum { SETTINGS_MAX = 16 << 20 };

static volatile sig_atomic_t over;

static void on_signal(int signal)
{
	over = signal;
}

bool verify_is_over(void)
{
	return over != 0;
}

/* No SA_RESTART: whatever we wait for ends */
static void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	const struct sigaction act = { .sa_handler = on_signal };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		(void)sigaction(signals[i], &act, NULL);
	(void)sigaction(SIGPIPE, &ignore, NULL);
}

const char *verify_project(const struct verify *v)
{
	static char path[PATH_MAX];

	world_path(&v->target.w, "P/", NULL, path, sizeof(path));
	path[strlen(path) - 1] = '\0';
	return path;
}

static const char *const moved[VERIFY_SAVED] = {
	"HOME", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME",
	"XDG_CACHE_HOME", "XDG_DATA_HOME", "TMPDIR",
};

static void set_home(const struct verify *v, const char *name,
		     const char *below)
{
	char path[PATH_MAX];

	world_path(&v->target.w, below, NULL, path, sizeof(path));
	(void)setenv(name, path, 1);
}

void verify_enter(const struct verify *v)
{
	for (size_t i = 0; i < ARRAY_SIZE(moved); i++)
		(void)unsetenv(moved[i]);
	set_home(v, "HOME", "H");
}

void verify_go_home(const struct verify *v)
{
	for (size_t i = 0; i < ARRAY_SIZE(moved); i++) {
		if (v->saved[i])
			(void)setenv(moved[i], v->saved[i], 1);
		else
			(void)unsetenv(moved[i]);
	}
	/* What is refused now is no news for the user's own records */
	set_home(v, "XDG_STATE_HOME", "H/.local/state");
	set_home(v, "XDG_CACHE_HOME", "H/.cache");
	(void)!chdir(v->request.plan->view->policy->cwd);
}

/* Where @path of the user's own is in the scratch place; false if nowhere */
static bool copied_to(const struct verify *v, const char *path, char *ret,
		      size_t size)
{
	const struct policy *p = v->request.plan->view->policy;
	const struct {
		const char *from, *to;
	} places[] = {
		{ p->dirs[DIR_CLAUDE], "H/.claude" },
		{ p->dirs[DIR_CONFIG], "H/.config" },
		{ p->cwd, "P" }, { p->home, "H" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		const char *from = places[i].from;
		const size_t n = from ? strlen(from) : 0;
		char text[PATH_MAX + 16];

		if (!n || strncmp(path, from, n) != 0 || path[n] != '/')
			continue;
		snprintf(text, sizeof(text), "%s%s", places[i].to, path + n);
		world_path(&v->target.w, text, NULL, ret, size);
		return true;
	}
	return false;
}

static int copy_file(const char *from, const char *to, struct err *err)
{
	auto_buf struct buf text = { 0 };
	auto_close int dir = -1;
	auto_free char *parent = mem_strdup(to);
	char *slash = strrchr(parent, '/');
	int r = fs_read(AT_FDCWD, from, SETTINGS_MAX, &text, err);

	if (r < 0)
		return r;
	*slash = '\0';
	dir = fs_open_dir_p(parent, 0700, err);
	if (dir < 0)
		return dir;
	return fs_replace(dir, slash + 1, text.p, text.len, 0600, err);
}

/* The policy must be the user's: the files it comes from move along */
static int copy_settings(const struct verify *v, struct err *err)
{
	const struct settings_report *report = v->request.settings;
	char to[PATH_MAX];
	int r = 0;

	for (size_t i = 0; i < report->files.len && r >= 0; i++) {
		const struct settings_file *file = &report->files.v[i];

		if (file->state != FILE_READ || file->scope == SCOPE_MANAGED ||
		    file->scope == SCOPE_FLAG)
			continue;
		if (copied_to(v, file->path, to, sizeof(to)))
			r = copy_file(file->path, to, err);
	}
	return r < 0 ? r : 0;
}

/* A directory to work in that the sandbox shows: not in /tmp, which it
 * replaces, unless nothing else is left
 */
static void choose_parent(struct verify *v)
{
	const struct policy *p = v->request.plan->view->policy;
	const char *const places[] = {
		getenv("TMPDIR"), "/var/tmp", p->cwd, p->home,
	};
	char real[PATH_MAX];

	snprintf(v->parent, sizeof(v->parent), "/tmp");
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (places[i] && access(places[i], W_OK | X_OK) == 0 &&
		    realpath(places[i], real) &&
		    !path_is_within("/tmp", real)) {
			snprintf(v->parent, sizeof(v->parent), "%s", real);
			return;
		}
	}
}

int verify_copy(const char *to, struct err *err)
{
	auto_close int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	auto_close int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
				  0755);
	struct stat st;
	off_t at = 0;

	if (in < 0 || out < 0 || fstat(in, &st) < 0)
		return fail_errno(err, "cannot copy this program");
	while (at < st.st_size) {
		if (sendfile(out, in, &at, (size_t)(st.st_size - at)) <= 0)
			return fail_errno(err, "cannot copy this program");
	}
	return 0;
}

/* This program by a path that can be executed inside; a copy if need be */
static int find_program(struct verify *v, struct err *err)
{
	const ssize_t n = readlink("/proc/self/exe", v->exe,
				   sizeof(v->exe) - 1);

	if (n <= 0)
		return fail_errno(err, "cannot tell where this program is");
	v->exe[n] = '\0';
	if (view_verdict(v->view, VIEW_READ, v->exe).allowed &&
	    !view_is_private(v->view, v->exe) && access(v->exe, X_OK) == 0)
		return 0;
	world_path(&v->target.w, "A/cloche", NULL, v->exe, sizeof(v->exe));
	return verify_copy(v->exe, err);
}

static void ask_rows(struct verify *v)
{
	const int when = v->request.full ? WHEN_QUICK | WHEN_FULL : WHEN_QUICK;
	size_t n;
	const struct verify_row *rows = verify_rows(&n);

	v->results = mem_zalloc(n * sizeof(*v->results));
	for (size_t i = 0; i < n; i++) {
		v->results[i].asked = rows[i].when & when;
		v->results[i].found.error = FOUND_NOTHING;
	}
}

int verify_new(const struct verify_request *request, struct verify **ret,
	       struct err *err)
{
	struct verify *v = mem_zalloc(sizeof(*v));
	int r;

	v->request = *request;
	for (size_t i = 0; i < ARRAY_SIZE(moved); i++) {
		if (getenv(moved[i]))
			v->saved[i] = mem_strdup(getenv(moved[i]));
	}
	catch_signals();
	choose_parent(v);
	ask_rows(v);
	r = target_make(&v->target, v->parent, err);
	v->target.w.inside = true;
	if (r == 0)
		r = copy_settings(v, err);
	if (r < 0) {
		verify_free(v);
		return r;
	}
	*ret = v;
	return 0;
}

static void progress(const struct verify *v, const char *words)
{
	if (v->request.progress)
		fprintf(stderr, "\r\033[K%s", words);
}

int verify_go(struct verify *v, const struct view *view, struct err *err)
{
	const int64_t start = now_ms(CLOCK_MONOTONIC);
	int r;

	v->view = view;
	r = find_program(v, err);
	progress(v, "verify: positive controls, outside the sandbox ...");
	if (r == 0)
		r = verify_controls(v, err);
	progress(v, "verify: attempts, in the sandbox ...");
	if (r == 0)
		r = verify_main_run(v, err);
	progress(v, "verify: files that change meanwhile ...");
	if (r == 0)
		r = verify_live_runs(v, err);
	progress(v, "verify: your own files, under your own rules ...");
	if (r == 0)
		r = verify_own(v, err);
	progress(v, "verify: command lines that must be refused ...");
	if (r == 0)
		r = verify_refusals(v, err);
	progress(v, "");
	if (r == 0)
		verify_judge(v);
	v->ms = (uint64_t)(now_ms(CLOCK_MONOTONIC) - start);
	return r;
}

int verify_status(const struct verify *v)
{
	if (v->counts[VERDICT_FAIL])
		return VERIFY_EXIT_FAIL;
	return v->counts[VERDICT_INCONCLUSIVE] ? VERIFY_EXIT_UNSURE
					       : VERIFY_EXIT_PASS;
}

void verify_free(struct verify *v)
{
	if (!v)
		return;
	target_done(&v->target);
	for (size_t i = 0; i < ARRAY_SIZE(v->saved); i++)
		free(v->saved[i]);
	free(v->results);
	free(v);
}
