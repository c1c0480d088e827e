/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd-trust.c - cloche trust: approve what a repository's settings request */

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/terminal.h"
#include "cli/command-line.h"
#include "policy/asks.h"
#include "policy/policy.h"
#include "policy/settings.h"
#include "run/approval.h"
#include "run/decision.h"
#include "run/options.h"

enum { SIBLINGS_SHOWN = 5 };

static void print_source(const struct settings_source *source, const char *cwd)
{
	char digest[ASK_DIGEST_SIZE];

	asks_digest(&source->asks, digest);
	terminal_line(stdout, "%s  (%s)", source->name, digest);
	for (size_t i = 0; i < source->asks.len; i++) {
		const struct ask *ask = &source->asks.v[i];
		auto_buf struct buf words = { 0 }, siblings = { 0 };

		ask_describe(ask, &words);
		if (!ask->refused && ask->path && !ask->glob)
			add_names(ask->path, cwd, SIBLINGS_SHOWN, &siblings);
		if (siblings.len)
			buf_addf(&words, ": %s", buf_str(&siblings));
		terminal_line(stdout, "  %s%s", ask->refused ? "refused: " :
			ask->approved ? "approved: " : "", buf_str(&words));
	}
}

static json_t *source_json(const struct settings_source *source)
{
	json_t *asks = json_array();
	char digest[ASK_DIGEST_SIZE];

	asks_digest(&source->asks, digest);
	for (size_t i = 0; i < source->asks.len; i++) {
		const struct ask *ask = &source->asks.v[i];
		auto_free char *line = ask_line(ask);

		json_array_append_new(asks, json_pack("{s:o, s:b, s:b}",
			"ask", json_text(line),
			"approved", ask->approved && !ask->refused,
			"refused", ask->refused != NULL));
	}
	return json_pack("{s:o, s:o, s:s, s:o}", "source",
			 json_text(source->name), "id", json_text(source->id),
			 "digest", digest, "asks", asks);
}

/* True if the user is there and says yes */
static bool ask_user(const char *id)
{
	char line[16] = "";

	terminal_line(stdout, "Approve this for %s, in every sandbox of it? [y/N]",
		id);
	fflush(stdout);
	return fgets(line, sizeof(line), stdin) &&
	       (!strcmp(line, "y\n") || !strcmp(line, "yes\n"));
}

static size_t count_waiting(const struct settings_source *source)
{
	size_t n = 0;

	for (size_t i = 0; i < source->asks.len; i++)
		n += !source->asks.v[i].refused && !source->asks.v[i].approved;
	return n;
}

static int review(const struct call *call, const char *cwd,
		  const struct settings_source *source, size_t *waiting,
		  struct err *err)
{
	const size_t n = count_waiting(source);
	int r;

	if (!call_flag(call, "json"))
		print_source(source, cwd);
	*waiting += n;
	if (call_flag(call, "show"))
		return 0;
	if (!call_flag(call, "yes") && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))) {
		if (n)
			terminal_line(stderr, "cloche: not approved: there is no terminal to ask on; to approve: cloche trust --yes");
		return 0;
	}
	if (!call_flag(call, "yes") && n && !ask_user(source->id))
		return 0;
	r = approvals_keep(source, NULL, err);
	if (r < 0)
		return r;
	*waiting -= n;
	if (!call_flag(call, "json") && n)
		terminal_line(stdout, "approved; sandboxes that run have it now");
	return 0;
}

static int review_all(const struct call *call, struct err *err)
{
	const bool flag = options_has(&call->options, OPTION_SETTINGS);
	auto_report struct settings_report report = { 0 };
	auto_policy struct policy *policy = NULL;
	auto_json json_t *sources = json_array();
	size_t waiting = 0, shown = 0;
	int r = decision_policy_report(&call->options, true, &policy, &report,
				      err);

	for (size_t i = 0; r == 0 && i < report.sources.len; i++) {
		const struct settings_source *s = &report.sources.v[i];

		if (!s->asks.len || flag != (s->authority == AUTHORITY_RECORDED))
			continue;
		shown++;
		json_array_append_new(sources, source_json(s));
		r = review(call, policy->cwd, s, &waiting, err);
	}
	if (r == 0 && call_flag(call, "json"))
		print_json(json_pack("{s:i, s:b, s:O}", "version", 1,
			"ok", !waiting, "sources", sources), JSON_COMPACT);
	else if (r == 0 && !shown)
		terminal_line(stdout, flag ? "this file needs no approval: no command can write it, or it requests nothing beyond the defaults" :
			"nothing here asks for more than the defaults");
	return r < 0 ? r : waiting ? 1 : 0;
}

static int list_approvals(const struct call *call)
{
	auto_json json_t *now = approvals_read();
	json_t *all = json_object_get(now, "approved");
	const json_t *record, *line;
	size_t i, n;

	if (call_flag(call, "json"))
		print_json(json_pack("{s:i, s:o}", "version", 1,
			"approved", all ? json_incref(all) : json_array()),
			JSON_COMPACT);
	json_array_foreach(all, i, record) {
		if (call_flag(call, "json"))
			break;
		terminal_line(stdout, "%s  %s",
			json_get_text(record, "id"),
			json_get_text(record, "source"));
		json_array_foreach(json_object_get(record, "asks"), n, line)
			terminal_line(stdout, "  %s", json_string_value(line));
	}
	return 0;
}

static bool is_same(void *arg, const char *id)
{
	return !strcmp(arg, id);
}

static bool is_gone(void *arg, const char *id)
{
	(void)arg;
	return access(id, F_OK) < 0 && errno == ENOENT;
}

/* What approvals are kept with: of the file of -s, or of where we are */
static char *identity(const struct options *options, struct err *err)
{
	const char *file = options_get(options, OPTION_SETTINGS);
	const char *cwd = options_get(options, OPTION_CWD);
	char real[PATH_MAX];
	auto_request struct settings_request req = { 0 };

	if (!realpath(file ? file : cwd ? cwd : ".", real)) {
		fail_errno(err, "'%s'", file ? file : cwd ? cwd : ".");
		return NULL;
	}
	if (file)
		return mem_strdup(real);
	settings_request_init(&req, real);
	return settings_identity(&req);
}

static int forget_approvals(const struct call *call, struct err *err)
{
	auto_free char *id = call_flag(call, "prune") ? NULL : identity(&call->options, err);
	int r;

	if (!id && !call_flag(call, "prune"))
		return err->code;
	r = approvals_remove(call_flag(call, "prune") ? is_gone : is_same, id, err);
	if (r >= 0)
		terminal_line(stdout, "%d approval%s forgotten", r, r == 1 ? "" : "s");
	return r < 0 ? r : 0;
}

int cli_trust(struct call *call, struct err *err)
{
	static const char *const modes[] = {
		"show", "yes", "forget", "list", "prune",
	};
	int given = 0;

	if (call_expect(call, 0, 0, err) < 0)
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
		given += call_flag(call, modes[i]) != NULL;
	if (given > 1)
		return fail(err, -EINVAL, "trust: only one of --show, --yes, --forget, --list, --prune");
	if (call_flag(call, "list"))
		return list_approvals(call);
	if (call_flag(call, "forget") || call_flag(call, "prune"))
		return forget_approvals(call, err);
	return review_all(call, err);
}
