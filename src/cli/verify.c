/* SPDX-License-Identifier: Apache-2.0 */
/* cli/verify.c - cloche verify: attempts to get out, under the user's policy */

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "cli/command.h"
#include "doctor/doctor.h"
#include "doctor/verify.h"
#include "lib/options.h"
#include "lib/session.h"
#include "policy/policy.h"
#include "policy/settings.h"

enum { EXIT_INTERRUPTED = 130 };	/* As a shell has it */

/**
 * struct verify_call - One use of the verb
 * @words:	The user's options for `cloche run`
 */
struct verify_call {
	struct options options;
	struct { char **v; size_t len, cap; } words;
	bool full;
	int json;
};

/* Options that are about one command, not about the policy */
static bool is_dropped(enum option_id id)
{
	return id == OPTION_CWD || id == OPTION_COMMAND || id == OPTION_SHELL ||
	       id == OPTION_ASK || id == OPTION_ANNOTATE ||
	       id == OPTION_EVENTS || id == OPTION_CONTROL_FD ||
	       id == OPTION_QUIET || id == OPTION_VERBOSE || id == OPTION_DEBUG ||
	       id == OPTION_ALLOW_UNSANDBOXED;
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

static void collect_words(struct verify_call *call)
{
	for (size_t i = 0; i < call->options.len; i++) {
		if (!is_dropped(call->options.v[i].id))
			*vec_push(&call->words) =
				word_of(&call->options.v[i]);
	}
	*vec_push(&call->words) = NULL;
}

static int parse(int argc, char **argv, struct verify_call *call,
		 struct err *err)
{
	int kept = 1, first;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--full") || !strcmp(argv[i], "--quick"))
			call->full = argv[i][2] == 'f';
		else
			argv[kept++] = argv[i];
	}
	first = cli_parse_query(kept, argv, &call->options, &call->json, err);
	if (first >= 0 && first < kept)
		return fail(err, -EINVAL, "verify: '%s' is not an option; verify makes its own attempts",
			    argv[first]);
	return first;
}

/* The same policy, as it is in the scratch project */
static int open_scratch(const struct verify_call *call,
			const struct verify *v, struct session *ret,
			struct err *err)
{
	static char *const none[] = { NULL };
	struct options options = { 0 };
	int r = 0;

	verify_enter(v);
	for (size_t i = 0; i < call->words.len - 1 && r == 0; i++) {
		const char *word = call->words.v[i] + 2;
		const size_t n = strcspn(word, "=");

		r = options_add(&options, option_find(word, n),
				word[n] ? word + n + 1 : NULL, err);
	}
	if (r == 0)
		r = options_add(&options, OPTION_CWD, verify_project(v), err);
	if (r == 0)
		r = session_open(&options, none, ret, err);
	options_done(&options);
	return r;
}

static int go(struct verify_call *call, const struct verify_request *request,
	      struct err *err)
{
	auto_buf struct buf out = { 0 };
	struct session scratch = { 0 };
	struct verify *v = NULL;
	int r = verify_new(request, &v, err);

	if (r == 0)
		r = open_scratch(call, v, &scratch, err);
	if (r == 0)
		r = verify_go(v, scratch.view, err);
	if (r == 0 && call->json)
		verify_print_json(v, &out);
	else if (r == 0)
		verify_print(v, &out);
	if (r == 0)
		r = verify_status(v);
	verify_free(v);
	session_done(&scratch);
	fputs(buf_str(&out), stdout);
	return r;
}

/* What `run` would find out by failing: this machine has the weaker tier */
static int choose_tier(struct verify_call *call, struct err *err)
{
	struct doctor doctor;
	int r = 0;

	if (options_has(&call->options, OPTION_TIER) ||
	    doctor_run(&doctor, true, NULL) < 0 ||
	    doctor.tier != TIER_LANDLOCK)
		return 0;
	r = options_add(&call->options, OPTION_TIER, tier_name(TIER_LANDLOCK),
			err);
	if (!call->json)
		fprintf(stderr, "cloche: tier landlock: %s\n",
			doctor_why_not(&doctor));
	return r;
}

/* Progress is written over itself */
static bool can_erase(int fd)
{
	const char *term = getenv("TERM");

	return isatty(fd) && term && strcmp(term, "dumb") != 0;
}

static int verify(struct verify_call *call, struct err *err)
{
	static char *const none[] = { NULL };
	auto_report struct settings_report report = { 0 };
	struct policy *policy = NULL;
	struct session session = { 0 };
	int r = session_policy_report(&call->options, false, &policy, &report,
				      err);

	policy_unref(policy);
	if (r >= 0)
		r = session_open(&call->options, none, &session, err);
	if (r >= 0)
		r = go(call, &(struct verify_request){
			.plan = session.plan, .settings = &report,
			.options = call->words.v, .full = call->full,
			.progress = !call->json && can_erase(STDERR_FILENO),
		}, err);
	session_done(&session);
	return r;
}

int cli_verify(int argc, char **argv, struct err *err)
{
	struct verify_call call = { 0 };
	int r;

	if (argc > 1 && !strcmp(argv[1], "--attempt"))
		return verify_attempt(argc - 2, argv + 2);
	r = parse(argc, argv, &call, err);
	if (r >= 0)
		r = choose_tier(&call, err);
	if (r >= 0) {
		collect_words(&call);
		r = verify(&call, err);
	}
	for (size_t i = 0; i < call.words.len; i++)
		free(call.words.v[i]);
	free(call.words.v);
	options_done(&call.options);
	return r < 0 && verify_is_over() ? EXIT_INTERRUPTED : r;
}
