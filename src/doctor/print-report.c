/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/print-report.c - the report; preflight's line; the AppArmor profile */

#include <jansson.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/buf.h"
#include "base/own.h"
#include "doctor/doctor.h"
#include "doctor/probe.h"
#include "installed.h"
#include "policy/firewall-mark.h"

static const struct {
	const char *sign, *name;
} marks[] = {
	[MARK_YES] = { "✓", "ok" },
	[MARK_FACT] = { "·", "fact" },
	[MARK_LESS] = { "!", "less" },
	[MARK_BAD] = { "✗", "bad" },
};

static const char *const holds_signs[] = {
	[HOLDS] = "✓", [PARTLY] = "!", [MISSING] = "✗",
};

static struct ground ground_of(const struct doctor *d)
{
	return (struct ground){
		.abi = d->results[PROBE_landlock].value,
		.observer = d->results[PROBE_notify].mark == MARK_YES,
	};
}

/* "    fix: " and a command that can be copied, with the remark in parentheses below it; or
 * "    advice: " and a sentence
 */
static void print_fix(const char *fix, struct buf *out)
{
	static const char *const programs[] = {
		"cloche ", "git ", "sudo ", "systemd-run ", "wsl ",
	};
	const char *remark = strstr(fix, " (");

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		if (strncmp(fix, programs[i], strlen(programs[i])) != 0)
			continue;
		buf_addf(out, "    fix: %.*s\n",
			 remark ? (int)(remark - fix) : (int)strlen(fix), fix);
		if (remark)
			buf_addf(out, "        %s\n", remark);
		return;
	}
	buf_addf(out, "    advice: %s\n", fix);
}

static void print_probe(const struct doctor *d, enum probe p, struct buf *out)
{
	const struct probe_result *r = &d->results[p];
	const struct probe_row *row = probe_row(p);
	const bool yes = r->mark == MARK_YES;

	buf_addf(out, "%s %-27s %s", marks[r->mark].sign, row->title,
		 yes ? row->yes : row->no);
	if (r->detail[0])
		buf_addf(out, " (%s)", r->detail);
	buf_addc(out, '\n');
	if (yes)
		return;
	if (r->cause != CAUSE_NONE)
		buf_addf(out, "    why: %s\n", cause_row(r->cause)->words);
	if (*probe_fix(p, r))
		print_fix(probe_fix(p, r), out);
}

void doctor_print(const struct doctor *d, struct buf *out)
{
	const struct ground ground = ground_of(d);

	for (enum probe p = 0; p < PROBE_COUNT; p++) {
		if (d->results[p].ran)
			print_probe(d, p, out);
	}
	buf_addf(out, "\ntier: %s (%s)\n", tier_name(d->tier),
		 tier_words(d->tier, ground));
	for (enum guarantee g = 0; g < GUARANTEE_COUNT; g++) {
		const struct guarantee_state s = guarantee_in(g, d->tier,
							      ground);

		buf_addf(out, "  %s %s: %s\n", holds_signs[s.holds], s.promise,
			 s.by);
	}
}

static json_t *probe_json(const struct doctor *d, enum probe p)
{
	const struct probe_result *r = &d->results[p];
	const struct probe_row *row = probe_row(p);
	const bool yes = r->mark == MARK_YES;

	return json_pack("{s:s, s:s, s:s, s:b, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:i}",
		"id", row->name, "title", row->title,
		"status", marks[r->mark].name, "ok", yes,
		"meaning", yes ? row->yes : row->no,
		"carries", row->carries, "detail", r->detail,
		"cause", cause_row(r->cause)->name,
		"why", cause_row(r->cause)->words,
		"fix", yes ? "" : probe_fix(p, r),
		"errno", r->error, "value", r->value);
}

static json_t *guarantees_json(const struct doctor *d)
{
	const struct ground ground = ground_of(d);
	json_t *list = json_array();

	for (enum guarantee g = 0; g < GUARANTEE_COUNT; g++) {
		const struct guarantee_state s = guarantee_in(g, d->tier,
							      ground);

		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}",
			"id", s.name, "promise", s.promise,
			"state", holds_name(s.holds), "by", s.by));
	}
	return list;
}

void doctor_print_json(const struct doctor *d, struct buf *out)
{
	json_t *probes = json_array(), *root;
	auto_free char *text = NULL;
	struct utsname uts = { 0 };

	(void)uname(&uts);
	for (enum probe p = 0; p < PROBE_COUNT; p++) {
		if (d->results[p].ran)
			json_array_append_new(probes, probe_json(d, p));
	}
	root = json_pack("{s:i, s:s, s:s, s:i, s:o, s:o}", "version", 1,
			 "tier", tier_name(d->tier), "kernel", uts.release,
			 "landlock", d->results[PROBE_landlock].value,
			 "probes", probes, "guarantees", guarantees_json(d));
	text = root ? json_dumps(root, JSON_INDENT(2)) : NULL;
	buf_adds(out, text ? text : "{\"version\": 1}");
	buf_addc(out, '\n');
	json_decref(root);
}

/* Configured on, but not enforced? One line if so */
void doctor_preflight(const struct preflight *want, struct buf *out)
{
	struct doctor d;
	const char *why;

	if (firewall_mark_is_missing())
		buf_adds(out, "cloche: the egress firewall of this container (/etc/cloche/firewall) is down, so its network is open; restart the container\n");
	/* An unknown state is not worth an alarm at every start */
	if (!want->enabled || doctor_run(&d, true, NULL) < 0 ||
	    d.tier == TIER_FULL)
		return;
	why = doctor_why_not(&d);
	if (d.tier <= want->minimum) {
		buf_addf(out, "cloche: only tier %s works here: %s; 'cloche doctor' says what to do\n",
			 tier_name(d.tier), why ? why : "user namespaces are missing");
		return;
	}
	buf_addf(out, "cloche: the sandbox is configured on, but not enforced: %s",
		 why ? why : "this machine cannot hold the boundary");
	if (d.tier != TIER_NONE)
		buf_addf(out, "; only the %s tier works here, and minimumTier asks for %s",
			 tier_name(d.tier), tier_name(want->minimum));
	buf_adds(out, "; 'cloche doctor' says what to do");
	if (want->firewall)
		buf_adds(out, "; the egress firewall is active and still limits the network");
	buf_addc(out, '\n');
}

/* The profile confines nothing: AppArmor restricts programs without a profile, and
 * what cloche runs is confined by cloche. `make install` puts the same text with
 * the path of the installed program.
 */

/* A path in a profile: quoted, with what is a pattern there escaped */
static void add_path(struct buf *out, const char *path)
{
	buf_addc(out, '"');
	for (; *path; path++) {
		if (strchr("\"\\*?[]{}^@,", *path))
			buf_addc(out, '\\');
		buf_addc(out, *path);
	}
	buf_addc(out, '"');
}

void doctor_print_apparmor(const char *path, struct buf *out)
{
	/* A program of its own, and AppArmor goes by the path */
	const char *const profiles[][2] = {
		{ "profile cloche ", path },
		{ "\nprofile cloche-bwrap ", CLOCHE_LIBEXECDIR "/drop-in/bwrap" },
	};

	buf_adds(out,
		 "# AppArmor profile of cloche: it may make user namespaces, in which it\n"
		 "# confines what it runs. Put it at /etc/apparmor.d/cloche and load it with\n"
		 "# \"apparmor_parser -r /etc/apparmor.d/cloche\".\n"
		 "abi <abi/4.0>,\n"
		 "include <tunables/global>\n"
		 "\n");
	for (size_t i = 0; i < ARRAY_SIZE(profiles); i++) {
		buf_adds(out, profiles[i][0]);
		add_path(out, profiles[i][1]);
		buf_adds(out, " flags=(unconfined) {\n"
			 "  userns,\n"
			 "  include if exists <local/cloche>\n"
			 "}\n");
	}
}
