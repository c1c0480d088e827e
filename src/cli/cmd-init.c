/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/cmd-init.c - cloche init: a first .cloche.json, from what the project's tools need
 *
 * A host that the user's own configuration names is approved as it is written. One that
 * only the project's files name is not the user's choice: it is written too, and counts
 * after a review (cloche trust), or with --yes.
 */

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/terminal.h"
#include "cli/command-line.h"
#include "learn/proposal.h"
#include "policy/policy.h"
#include "policy/settings.h"
#include "run/approval.h"
#include "run/decision.h"
#include "run/settings-edit.h"

/**
 * struct init - One use of the verb
 * @file:	What is written
 * @text:	Its content
 */
struct init {
	const struct call *call;
	struct proposal proposal;
	char *file, *text;
};

static char *make_text(const struct proposal *p)
{
	json_t *hosts = json_array();
	auto_json json_t *root = NULL;
	auto_free char *text = NULL;

	for (size_t i = 0; i < p->hosts.len; i++)
		json_array_append_new(hosts, json_string(p->hosts.v[i].entry));
	root = json_pack("{s:{s:o}}", "network", "allowedDomains", hosts);
	text = json_dumps(root, JSON_INDENT(2));
	return mem_printf("%s\n", text ? text : "{}");
}

static bool is_approved(const struct init *init, const struct proposed_host *host)
{
	return host->own || call_flag(init->call, "yes");
}

static int write_new(void *arg, const struct buf *text, bool exists,
		      struct buf *ret, struct err *err)
{
	const struct init *init = arg;

	(void)text;
	if (exists && !call_flag(init->call, "force"))
		return fail(err, -EEXIST, "'%s' exists; to replace it: cloche init --force",
			    init->file);
	buf_adds(ret, init->text);
	return SETTINGS_EDIT_WRITE;
}

/* A link that came with the project leads anywhere */
static int check_place(const struct init *init, struct err *err)
{
	struct stat st;

	if (lstat(init->file, &st) < 0 || S_ISREG(st.st_mode))
		return 0;
	return fail(err, -EPERM, "'%s' is not a regular file; remove it", init->file);
}

static int approve_hosts(const struct init *init, struct err *err)
{
	static const struct settings_report nothing = { 0 };
	auto_report struct settings_report after = { 0 };
	auto_policy struct policy *policy = NULL;
	int r = decision_policy_report(&init->call->options, true, &policy, &after,
				       err);

	for (size_t i = 0; r >= 0 && i < init->proposal.hosts.len; i++) {
		const struct proposed_host *host = &init->proposal.hosts.v[i];

		if (is_approved(init, host))
			r = approvals_keep_new(&nothing, &after, policy,
					       host->entry, err);
	}
	return r < 0 ? r : 0;
}

static void print_lines(const struct init *init, FILE *out, bool written)
{
	const struct proposal *p = &init->proposal;
	size_t waiting = 0;

	if (p->hosts.len)
		terminal_line(out, "%s %s", written ? "wrote" : "not written:", init->file);
	for (size_t i = 0; i < p->hosts.len; i++) {
		const struct proposed_host *host = &p->hosts.v[i];
		const bool approved = is_approved(init, host);

		waiting += !approved;
		terminal_line(out, "  %s  (%s)%s", host->entry, host->reason,
			approved ? "" : " waits for your approval");
	}
	if (!p->hosts.len)
		terminal_line(out, "no host was found: nothing was written");
	for (size_t i = 0; i < p->notes.len; i++)
		terminal_line(out, "%s", p->notes.v[i]);
	if (p->unsaid)
		terminal_line(out, "and %zu more of these", p->unsaid);
	if (waiting && written)
		terminal_line(out, "%zu host%s that only the project names; review: cloche trust",
			waiting, waiting == 1 ? "" : "s");
}

static void print_document(const struct init *init, bool written)
{
	const struct proposal *p = &init->proposal;
	json_t *hosts = json_array(), *notes = json_array();

	for (size_t i = 0; i < p->hosts.len; i++)
		json_array_append_new(hosts, json_pack("{s:s, s:o, s:b}",
			"host", p->hosts.v[i].entry,
			"reason", json_text(p->hosts.v[i].reason),
			"approved", written && is_approved(init, &p->hosts.v[i])));
	for (size_t i = 0; i < p->notes.len; i++)
		json_array_append_new(notes, json_text(p->notes.v[i]));
	print_json(json_pack("{s:i, s:o, s:b, s:o, s:o}", "version", 1,
		"file", json_text(init->file), "written", written,
		"hosts", hosts, "notes", notes), JSON_COMPACT);
}

/* Find the project's file, and what to write into it */
static int make_proposal(struct init *init, struct err *err)
{
	auto_policy struct policy *policy = NULL;
	auto_report struct settings_report report = { 0 };
	auto_free char *root = NULL, *home = fs_home();
	auto_request struct settings_request req = { 0 };
	int r = decision_policy_report(&init->call->options, true, &policy, &report,
				       err);

	if (r < 0)
		return r;
	if (!policy_has_project(policy))
		return fail(err, -ENOENT, "there is no project here");
	settings_request_init(&req, policy->cwd);
	init->file = settings_file_for(&req, SCOPE_PROJECT);
	if (!init->file)
		return fail(err, -ENOENT, "there is no project here");
	root = path_parent(init->file);
	r = proposal_read_tree(&init->proposal, root, err);
	if (r < 0)
		return r;
	proposal_ask_tools(&init->proposal, root, home);
	init->text = make_text(&init->proposal);
	return 0;
}

static int write_file(struct init *init, struct err *err)
{
	int r = check_place(init, err);

	if (r == 0)
		r = settings_edit_file(init->file, NULL, write_new, init, err);
	return r < 0 ? r : approve_hosts(init, err);
}

int cli_init(struct call *call, struct err *err)
{
	const bool print = call_flag(call, "print");
	struct init init = { .call = call };
	bool written;
	int r = call_expect(call, 0, 0, err);

	if (r == 0)
		r = make_proposal(&init, err);
	written = r == 0 && !print && init.proposal.hosts.len;
	if (written)
		r = write_file(&init, err);
	if (r == 0 && call_flag(call, "json"))
		print_document(&init, written);
	else if (r == 0)
		print_lines(&init, print ? stderr : stdout, written);
	if (r == 0 && print && !call_flag(call, "json"))
		(void)fputs(init.text, stdout);
	proposal_done(&init.proposal);
	free(init.file);
	free(init.text);
	return r;
}
