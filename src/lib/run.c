/* SPDX-License-Identifier: Apache-2.0 */
/* lib/run.c - a command from its options to its end, in this process */

#include "lib/run.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "cage/cage.h"
#include "lib/approval.h"
#include "lib/bare.h"
#include "lib/events.h"
#include "lib/frozen.h"
#include "lib/hooks.h"
#include "lib/killed.h"
#include "lib/options.h"
#include "lib/session.h"
#include "lib/stdfds.h"
#include "lib/supervisor.h"
#include "lib/tier.h"
#include "lib/tmpdir.h"
#include "lib/words.h"
#include "plan/plan.h"
#include "plan/resolve.h"
#include "plan/view.h"
#include "policy/policy.h"
#include "watch/store.h"

enum { PLANS_MAX = 3 };		/* Made in a row, while the tree changes */

static void tell_notes(const struct session *session,
		       const struct options *options)
{
	for (size_t i = 0; i < session->view->notes.len; i++) {
		const struct view_note *note = &session->view->notes.v[i];
		auto_buf struct buf text = { 0 };

		/* `policy check` tells it; here it would be said with every
		 * command of an agent
		 */
		if (note->unmade && session->plan->observe)
			continue;
		text_escape(&text, note->text);
		hooks_say(options, "note: %s", buf_str(&text));
	}
}

/* Started in a repository that a command made, the user takes it for a project */
static void accept_made(const struct policy *policy)
{
	if (policy->made_top && !strcmp(policy->made_top, policy->cwd))
		(void)unlink(policy->made_record);
}

static int run_session(const struct session *session,
		       const struct options *options, struct err *err)
{
	accept_made(session->policy);
	if (!options_has(options, OPTION_QUIET))
		tell_notes(session, options);
	if (options_has(options, OPTION_DEBUG)) {
		auto_buf struct buf text = { 0 };

		plan_print(session->plan, &text);
		hooks_print(options, buf_str(&text), text.len);
	}
	return supervisor_run(session, options, err);
}

/* All over again, for the same caller */
static int reopen(const struct options *options, char *const *command,
		  struct session *session, struct err *err)
{
	struct killed *killed = session->killed;
	int r;

	session_done(session);
	r = session_open(options, command, session, err);
	session->killed = killed;
	return r;
}

/* True if what the plan saw was gone when it was acted on: removed from outside
 */
static bool is_stale(int r)
{
	return r == -ENOENT || r == -ENOTDIR || r == -ESTALE;
}

static int run_anew(struct options *options, char *const *command,
		    struct session *session, int r, struct err *err)
{
	for (int plans = 1; is_stale(r) && plans < PLANS_MAX; plans++) {
		r = reopen(options, command, session, err);
		if (r < 0)
			return r;
		r = supervisor_run(session, options, err);
	}
	return r;
}

/* Once more in the landlock tier, if that will do; always said */
static int run_weaker(struct options *options, char *const *command,
		      struct session *session, int r, struct err *err)
{
	if (!tier_falls_back(options, session, err))
		return r;
	hooks_say(options, "%s", err->msg);
	r = options_add(options, OPTION_TIER, tier_name(TIER_LANDLOCK), err);
	if (r == 0)
		r = reopen(options, command, session, err);
	return r < 0 ? r : run_session(session, options, err);
}

/* Without a sandbox: in our place, so what we hold is let go first */
static int run_bare(const struct session *session,
		    const struct options *options, char *const *command,
		    const char *why, struct err *err)
{
	cage_stop(session->ahead);
	killed_done(session->killed);
	return bare_exec(session->policy, options, command, why, err);
}

/* What is written there would be in the sandbox's own, and lost in the end */
static int check_place(const struct policy *policy, struct err *err)
{
	static const char *const own[] = { "/dev", "/proc" };

	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		if (path_is_below(own[i], policy->cwd))
			return fail(err, -EINVAL, "the start directory '%s' is in %s, of which the sandbox has its own; start elsewhere, or use --cwd",
				    policy->cwd, own[i]);
	}
	return 0;
}

static int run_opened(struct session *session, struct options *options,
		      char *const *command, struct killed *killed, struct cage *ahead,
		      struct err *err)
{
	auto_free char *why = NULL;
	int r = bare_decide(session->policy, options, command, &why, err);

	session->ahead = ahead;
	session->killed = killed;
	if (r < 0)
		return r;
	if (r > 0)
		return run_bare(session, options, command, why, err);
	r = check_place(session->policy, err);
	if (r < 0)
		return r;
	if (why && !options_has(options, OPTION_QUIET))
		hooks_say(options, "note: %s", why);
	r = run_session(session, options, err);
	r = run_anew(options, command, session, r, err);
	if (r < 0 && session->plan)
		r = run_weaker(options, command, session, r, err);
	if (r < 0 && session->policy &&
	    bare_instead(session->policy, options, err))
		return run_bare(session, options, command, err->msg, err);
	return r;
}

/* Our state directory is there before the plan, which hides it, and stays. Where it
 * cannot be made there is nothing to keep or to hide.
 */
static void make_state(void)
{
	auto_free char *dir = store_default_dir();
	auto_close int fd = dir ? fs_open_private_dir(dir, NULL) : -1;

	(void)fd;
}

/* A command that may write ~/.config must not make the user's policy there. The
 * mount that keeps it from that needs something to lie on: true if that was made.
 */
static bool make_config(const struct session *session)
{
	const char *config = session->policy->dirs[DIR_CONFIG];
	auto_free char *path = config ? path_join(config, "cloche") : NULL;
	auto_free char *ours = path && access(path, F_OK) < 0 ?
			       resolve_path(path) : NULL;
	const struct view_rules *rules = &session->view->rules;

	if (session->policy->profile == PROFILE_HOME)
		return false;	/* Its home is another one */
	for (size_t i = 0; ours && i < rules->len; i++) {
		if (rules->v[i].list == PATH_ALLOW_WRITE &&
		    path_is_within(rules->v[i].path, ours)) {
			auto_close int fd = fs_open_private_dir(path, NULL);

			return fd >= 0;
		}
	}
	return false;
}

/* A plan that hides our directories and holds the record, even where they have to
 * be made for it
 */
static int open_session(const struct options *options, char *const *command,
			struct session *session, struct err *err)
{
	int r = session_open(options, command, session, err);
	const bool ours = r == 0 && make_config(session);
	const bool made = r == 0 && events_make(session->view,
					options_get(options, OPTION_EVENTS));

	if (!ours && !made)
		return r;
	session_done(session);
	return session_open(options, command, session, err);
}

/* Most sandboxes are alike at first: begin one while its plan is made. What a
 * setting decides otherwise starts another, later.
 */
static void begin(const struct options *options, struct cage *ahead)
{
	const char *tier = options_get(options, OPTION_TIER);
	const char *net = options_get(options, OPTION_NET);
	struct cage_birth birth = {
		.tier = TIER_FULL, .net = NET_FILTERED, .jail = { -1, -1 },
	};

	if ((tier && tier_parse(tier, &birth.tier) < 0) ||
	    (net && net_mode_parse(net, &birth.net) < 0) ||
	    birth.tier != TIER_FULL ||
	    (birth.net != NET_FILTERED && birth.net != NET_NONE))
		return;
	(void)cage_begin(&birth, ahead, NULL);	/* If it matters, we will hear */
}

int run_command(struct options *options, char **argv, struct err *err)
{
	static struct session session;	/* Left to the end of the process */
	auto_free char **command = NULL;
	struct cage ahead = CAGE_NONE;
	struct killed killed = { 0 };
	int r = words_command(options, argv, 0, &command, err);

	if (r < 0)
		return r;
	stdfds_reserve();
	begin(options, &ahead);
	session_done(&session);
	make_state();
	killed_clean(&killed);	/* The plan obeys settings that are there */
	r = tmpdir_srt(options, err);
	if (r == 0)
		r = open_session(options, command, &session, err);
	if (r == 0)
		r = approvals_keep_first(session.report, err);
	if (r == 0)
		frozen_remember(options, session.policy);
	if (r == 0)
		r = run_opened(&session, options, command, &killed, &ahead,
			       err);
	cage_stop(&ahead);
	killed_done(&killed);
	return r;
}
