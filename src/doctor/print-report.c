/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/print.c - the report, for people and for programs */

#include <jansson.h>
#include <sys/utsname.h>

#include "base/buf.h"
#include "base/own.h"
#include "doctor/doctor.h"
#include "doctor/table.h"

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
		buf_addf(out, "    fix: %s\n", probe_fix(p, r));
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
