/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify/cloche-verify.c - prove the boundary under the user's own policy
 *
 * Every row of rows.c is tried twice: outside, where it must succeed (the positive
 * control), and in a sandbox that `cloche run` makes with the user's options and
 * settings, in a scratch home and project. The verdict is taken outside afterwards,
 * from a fresh random canary, never from what the attempt reports. Nothing
 * of the user's own is changed.
 */

#include <errno.h>
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
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "doctor/doctor.h"
#include "ipc/helper-program.h"
#include "plan/plan.h"
#include "policy/policy.h"
#include "policy/settings.h"
#include "run/decision.h"
#include "run/options.h"
#include "verify/verify.h"
#include "view/view.h"

/* Exit statuses; wrong usage is 2 as everywhere */
enum {
	EXIT_FAIL = 1,
	EXIT_INCONCLUSIVE = 3,
	EXIT_INTERRUPTED = 130,		/* As a shell has it */
	SETTINGS_MAX = 16 << 20,
};

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

static const char *const moved[VERIFY_SAVED] = {
	"HOME", "CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME",
	"XDG_CACHE_HOME", "XDG_DATA_HOME", "TMPDIR",
};

static void set_home(const struct verify *v, const char *name,
		     const char *below)
{
	auto_free char *path = target_path(&v->target, below);

	(void)setenv(name, path, 1);
}

void verify_go_home(const struct verify *v)
{
	for (size_t i = 0; i < ARRAY_SIZE(moved); i++) {
		if (v->saved[i])
			(void)setenv(moved[i], v->saved[i], 1);
		else
			(void)unsetenv(moved[i]);
	}
	/* Refusals must not enter the user's own records */
	set_home(v, "XDG_STATE_HOME", "H/.local/state");
	set_home(v, "XDG_CACHE_HOME", "H/.cache");
	(void)!chdir(v->plan->view->policy->cwd);
}

/* Where @path of the user's own is in the scratch directory; NULL if nowhere */
static char *copied_to(const struct verify *v, const char *path)
{
	const struct policy *p = v->plan->view->policy;
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
		auto_free char *to = target_path(&v->target, places[i].to);

		if (n && !strncmp(path, from, n) && path[n] == '/')
			return path_join(to, path + n + 1);
	}
	return NULL;
}

static int copy_file(const char *from, const char *to, struct err *err)
{
	auto_buf struct buf text = { 0 };
	auto_close int dir = -1;
	auto_free char *parent = path_parent(to);
	int r = fs_read(AT_FDCWD, from, SETTINGS_MAX, &text, err);

	if (r < 0)
		return r;
	dir = fs_open_dir_p(parent, 0700, err);
	return dir < 0 ? dir : fs_replace(dir, path_base(to), text.p, text.len,
					  0600, err);
}

/* The policy must be the user's: the files it comes from move along */
static int copy_settings(const struct verify *v, struct err *err)
{
	const struct settings_report *report = v->settings;
	int r = 0;

	for (size_t i = 0; i < report->files.len && r >= 0; i++) {
		const struct settings_file *file = &report->files.v[i];
		auto_free char *to = file->path ? copied_to(v, file->path) : NULL;

		if (to && file->state == FILE_READ &&
		    file->scope != SCOPE_MANAGED && file->scope != SCOPE_FLAG)
			r = copy_file(file->path, to, err);
	}
	return r < 0 ? r : 0;
}

/* A directory to work in that the sandbox shows: not in /tmp, which it
 * replaces, unless nothing else is left
 */
static void choose_parent(struct verify *v)
{
	const struct policy *p = v->plan->view->policy;
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

int verify_copy(const char *from, const char *to, struct err *err)
{
	auto_close int in = open(from, O_RDONLY | O_CLOEXEC);
	auto_close int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
				  0755);
	struct stat st;
	off_t at = 0;

	if (in < 0 || out < 0 || fstat(in, &st) < 0)
		return fail_errno(err, "cannot copy '%s'", from);
	while (at < st.st_size) {
		if (sendfile(out, in, &at, (size_t)(st.st_size - at)) <= 0)
			return fail_errno(err, "cannot copy '%s'", from);
	}
	return 0;
}

/* This program by a path that can be executed inside; a copy if need be */
static int find_program(struct verify *v, struct err *err)
{
	const ssize_t n = readlink("/proc/self/exe", v->exe,
				   sizeof(v->exe) - 1);
	auto_free char *copy = target_path(&v->target, "A/cloche-verify");

	if (n <= 0)
		return fail_errno(err, "cannot tell where this program is");
	v->exe[n] = '\0';
	if (view_verdict(v->view, VIEW_READ, v->exe).allowed &&
	    !view_is_private(v->view, v->exe) && access(v->exe, X_OK) == 0)
		return 0;
	snprintf(v->exe, sizeof(v->exe), "%s", copy);
	return verify_copy("/proc/self/exe", copy, err);
}

/* Options that are about one command, not about the policy */
static bool is_dropped(enum option_id id)
{
	return id == OPTION_CWD || id == OPTION_COMMAND || id == OPTION_SHELL ||
	       id == OPTION_ASK || id == OPTION_ANNOTATE ||
	       id == OPTION_EVENTS || id == OPTION_CONTROL_FD ||
	       id == OPTION_QUIET || id == OPTION_VERBOSE || id == OPTION_DEBUG ||
	       id == OPTION_ALLOW_UNSANDBOXED || id == OPTION_SECRET_FROM;
}

static bool is_path(enum option_id id)
{
	return id == OPTION_WRITE || id == OPTION_READ ||
	       id == OPTION_DENY_WRITE || id == OPTION_DENY_READ ||
	       id == OPTION_UNIX_SOCKET || id == OPTION_SETTINGS;
}

/* The sandbox starts elsewhere: a relative path must mean the same there */
static char *word_of(const struct option_value *o)
{
	const char *name = option_row(o->id)->name;
	char real[PATH_MAX];

	if (!o->value)
		return mem_printf("--%s", name);
	if (is_path(o->id) && o->value[0] != '{' && o->value[0] != '~' &&
	    o->value[0] != '/' && realpath(o->value, real))
		return mem_printf("--%s=%s", name, real);
	return mem_printf("--%s=%s", name, o->value);
}

static void collect_words(struct verify *v, const struct policy *policy)
{
	const struct list_rules *secrets = &policy->lists[LIST_SECRETS];

	for (size_t i = 0; i < v->own.len; i++) {
		if (!is_dropped(v->own.v[i].id))
			*vec_push(&v->words) =
				word_of(&v->own.v[i]);
	}
	/* The user's own bindings, with a canary for each value: none is read */
	for (size_t i = 0; i < secrets->len; i++)
		*vec_push(&v->words) =
			mem_printf("--secret-from=%.*s=env:" BOUND_VARIABLE,
				   (int)strcspn(secrets->v[i].text, "@"),
				   secrets->v[i].text);
	*vec_push(&v->words) = NULL;
}

static int parse(int argc, char **argv, struct verify *v, struct err *err)
{
	int kept = 1, first;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--full") || !strcmp(argv[i], "--quick"))
			v->full = argv[i][2] == 'f';
		else if (!strcmp(argv[i], "--json"))
			v->json = 1;
		else
			argv[kept++] = argv[i];
	}
	argv[kept] = NULL;
	first = options_parse(kept, argv, &v->own, err);
	if (first >= 0 && first < kept)
		return fail(err, -EINVAL, "verify: '%s' is not an option; verify makes its own attempts",
			    argv[first]);
	return first < 0 ? first : options_expand(&v->own, err);
}

/* The same policy, as it is read in the scratch project */
static int open_scratch(const struct verify *v, struct decision *ret,
			struct err *err)
{
	static char *const none[] = { NULL };
	auto_free char *project = target_path(&v->target, "P");
	struct options options = { .reads_no_secrets = true };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(moved); i++)
		(void)unsetenv(moved[i]);
	set_home(v, "HOME", "H");
	for (size_t i = 0; i < v->words.len - 1 && r == 0; i++) {
		const char *word = v->words.v[i] + 2;
		const size_t n = strcspn(word, "=");

		r = options_add(&options, option_find(word, n),
				word[n] ? word + n + 1 : NULL, err);
	}
	if (r == 0)
		r = options_add(&options, OPTION_CWD, project, err);
	if (r == 0)
		r = decision_make(&options, none, ret, err);
	options_done(&options);
	return r;
}

/* What `run` would find out by failing: this machine has the weaker tier */
static int choose_tier(struct verify *v, struct err *err)
{
	struct doctor doctor;
	int r = 0;

	if (options_has(&v->own, OPTION_TIER) ||
	    doctor_run(&doctor, true, NULL) < 0 ||
	    doctor.tier != TIER_LANDLOCK)
		return 0;
	r = options_add(&v->own, OPTION_TIER, tier_name(TIER_LANDLOCK),
			err);
	if (!v->json)
		fprintf(stderr, "cloche: tier landlock: %s\n",
			doctor_why_not(&doctor));
	return r;
}

/* Progress is written over itself */
static void progress(const struct verify *v, const char *text)
{
	const char *term = getenv("TERM");

	if (!v->json && isatty(STDERR_FILENO) && term &&
	    strcmp(term, "dumb") != 0)
		fprintf(stderr, "\r\033[K%s%s%s", *text ? "verify: " : "", text,
			*text ? " ..." : "");
}

static int try_all(struct verify *v, struct err *err)
{
	static const struct {
		const char *text;
		int (*step)(struct verify *v, struct err *err);
	} steps[] = {
		{ "positive controls, outside the sandbox", verify_controls },
		{ "attempts, in the sandbox", verify_main_run },
		{ "attempts that need a sandbox each", verify_row_runs },
	};
	const int64_t start = now_ms(CLOCK_MONOTONIC);
	int r = find_program(v, err);

	for (size_t i = 0; i < ARRAY_SIZE(steps) && r == 0; i++) {
		progress(v, steps[i].text);
		r = steps[i].step(v, err);
	}
	progress(v, "");
	if (r == 0)
		verify_decide(v);
	v->ms = (uint64_t)(now_ms(CLOCK_MONOTONIC) - start);
	return r;
}

/* In scratch directories: a home with secrets, a project, copies of the settings */
static int verify_policy(struct verify *v, struct err *err)
{
	auto_buf struct buf out = { 0 };
	struct decision scratch = { 0 };
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(moved); i++) {
		if (getenv(moved[i]))
			v->saved[i] = mem_strdup(getenv(moved[i]));
	}
	catch_signals();
	choose_parent(v);
	v->results = mem_zalloc(verify_rows_len * sizeof(*v->results));
	for (size_t i = 0; i < verify_rows_len; i++) {
		v->results[i].asked = verify_rows[i].when &
			(v->full ? WHEN_QUICK | WHEN_FULL : WHEN_QUICK);
		v->results[i].found.error = ATTACK_NOTHING;
	}
	r = target_make(&v->target, v->parent, err);
	v->target.w.inside = true;
	if (r == 0 && (r = copy_settings(v, err)) == 0)
		r = open_scratch(v, &scratch, err);
	v->view = scratch.view;
	if (r == 0)
		r = try_all(v, err);
	if (r == 0 && v->json)
		verify_print_json(v, &out);
	else if (r == 0)
		verify_print(v, &out);
	if (r == 0)
		r = v->counts[VERDICT_FAIL] ? EXIT_FAIL :
		    v->counts[VERDICT_INCONCLUSIVE] ? EXIT_INCONCLUSIVE : 0;
	target_done(&v->target);
	decision_done(&scratch);
	fputs(buf_str(&out), stdout);
	return r;
}

static int verify(struct verify *v, struct err *err)
{
	static char *const none[] = { NULL };
	struct decision decision = { 0 };
	int r = decision_make(&v->own, none, &decision, err);

	if (r == 0) {
		collect_words(v, decision.policy);
		v->plan = decision.plan;
		v->settings = decision.report;
		r = verify_policy(v, err);
	}
	decision_done(&decision);
	return r;
}

static void verify_done(struct verify *v)
{
	for (size_t i = 0; i < ARRAY_SIZE(v->saved); i++)
		free(v->saved[i]);
	strings_done(&v->words);
	free(v->results);
	options_done(&v->own);
}

/* "--program PATH [OPTIONS]" from cloche, or "--attempt ..." from ourselves */
static int start(int argc, char **argv, struct err *err)
{
	static struct verify v;
	int r;

	if (argc > 1 && !strcmp(argv[1], "--attempt"))
		return verify_attempt(argc - 2, argv + 2);
	if (argc < 3 || strcmp(argv[1], "--program") != 0)
		return fail(err, -EINVAL, "start it as 'cloche verify'");
	v.program = argv[2];
	v.own.reads_no_secrets = true;
	options_verb = "verify";
	decision_set_program(v.program);
	if ((r = parse(argc - 2, argv + 2, &v, err)) >= 0 &&
	    (r = choose_tier(&v, err)) >= 0)
		r = verify(&v, err);
	verify_done(&v);
	return r < 0 && verify_is_over() ? EXIT_INTERRUPTED : r;
}

int main(int argc, char **argv)
{
	/* Ignored, no child could be waited for */
	(void)signal(SIGCHLD, SIG_DFL);
	return helper_program_main(argc, argv, start);
}
