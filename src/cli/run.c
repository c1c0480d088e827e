/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run.c - cloche run: a command in the sandbox */

#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/words.h"
#include "lib/bare.h"
#include "lib/held.h"
#include "lib/options.h"
#include "lib/session.h"
#include "lib/supervisor.h"
#include "lib/tidy.h"
#include "lib/tier.h"
#include "plan/plan.h"
#include "plan/view.h"

static void print_notes(const struct session *session)
{
	for (size_t i = 0; i < session->view->notes.len; i++) {
		auto_buf struct buf text = { 0 };

		text_escape(&text, session->view->notes.v[i].text);
		fprintf(stderr, "cloche: note: %s\n", buf_str(&text));
	}
}

static int run_session(const struct session *session,
		       const struct options *options, struct err *err)
{
	if (!options_has(options, OPTION_QUIET))
		print_notes(session);
	if (options_has(options, OPTION_DEBUG)) {
		auto_buf struct buf text = { 0 };

		plan_print(session->plan, &text);
		fputs(buf_str(&text), stderr);
	}
	return supervisor_run(session, options, err);
}

/* Once more in the landlock tier, if that will do; always said */
static int run_weaker(struct options *options, char *const *command,
		      struct session *session, int r, struct err *err)
{
	if (!tier_falls_back(options, session, err))
		return r;
	fprintf(stderr, "cloche: %s\n", err->msg);
	session_done(session);
	r = options_add(options, OPTION_TIER, tier_name(TIER_LANDLOCK), err);
	if (r == 0)
		r = session_open(options, command, session, err);
	return r < 0 ? r : run_session(session, options, err);
}

/* Without a sandbox: in our place, so what we hold is let go first */
static int run_bare(const struct session *session, char *const *command,
		    const char *why, struct held *held, struct err *err)
{
	held_close(held);
	return bare_exec(session->policy, command, why, err);
}

static int run_opened(struct session *session, struct options *options,
		      char *const *command, struct held *held,
		      struct err *err)
{
	auto_free char *why = NULL;
	int r = bare_decide(session->policy, options, command, &why, err);

	if (r < 0)
		return r;
	if (r > 0)
		return run_bare(session, command, why, held, err);
	if (why && !options_has(options, OPTION_QUIET))
		fprintf(stderr, "cloche: note: %s\n", why);
	r = run_session(session, options, err);
	if (r < 0)
		r = run_weaker(options, command, session, r, err);
	if (r < 0 && session->policy &&
	    bare_instead(session->policy, options, err))
		return run_bare(session, command, err->msg, held, err);
	return r;
}

static int run(struct options *options, char **words, struct err *err)
{
	auto_free char **command = NULL;
	struct session session = { 0 };
	struct held held = { 0 };
	struct tidy tidy;
	int r = words_command(options, words, 0, &command, err);

	if (r < 0)
		return r;
	tidy_open(&tidy);
	held_open(&held);	/* First: the plan hides what is there */
	r = session_open(options, command, &session, err);
	if (r == 0)
		r = run_opened(&session, options, command, &held, err);
	session_done(&session);
	held_close(&held);
	tidy_close(&tidy);
	return r;
}

int cli_run(int argc, char **argv, struct err *err)
{
	struct options options = { 0 };
	const int first = cli_parse_options(argc, argv, &options, err);
	const int r = first < 0 ? first : run(&options, argv + first, err);

	options_done(&options);
	return r;
}
