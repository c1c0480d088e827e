/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firewall/firewall.c - up, down, verify, watch
 *
 * Theory of operation: everything that can fail is done before anything is
 * changed: arguments, files, names, the program, the capability, a foreign
 * table. Then one transaction replaces our table, and the result is
 * verified. If that fails, another transaction replaces the table by one
 * that lets nothing out. At no moment is more open than before or than asked.
 *
 * Where such a failure left everything closed, names cannot be resolved for
 * the next attempt: DNS alone is opened for it, and closed again if it fails.
 *
 * --watch: every round looks each name up again. New addresses are
 * let in, those not seen for some rounds go: a name with many addresses shows
 * a few at a time, and a program may hold on to one that it got before. A name
 * that cannot be resolved keeps what it had. The transaction names the mark of
 * our table, so it fails when the table was taken down or replaced; a
 * watcher never brings a firewall back. Nothing needs to be tidied up: killed
 * at any moment, it leaves the firewall as it is.
 */

#include "firewall/firewall.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/sys.h"
#include "policy/firewall-mark.h"

static int load(const struct ruleset *r, struct err *err)
{
	auto_buf struct buf text = { 0 };

	ruleset_write(r, &text);
	return nft_load(&text, err);
}

/* In place if that can be done; a table of another shape is replaced */
static int load_over(struct ruleset *r, const struct state *before,
		     struct err *err)
{
	auto_buf struct buf text = { 0 };

	if (before->mode != FIREWALL_UP)
		return load(r, err);
	firewall_mark(r, before->since);
	ruleset_write_over(r, before->ruleset.id, &text);
	return nft_load(&text, NULL) < 0 ? load(r, err) : 0;
}

/* Load it, and verify that the kernel has it */
static int load_and_look(struct ruleset *r, const struct state *before,
			 struct err *err)
{
	struct state state;
	int result = load_over(r, before, err);

	if (result < 0)
		return result;
	result = state_read(&state, err);
	if (result == 0 && strcmp(state.ruleset.id, r->id) != 0)
		result = fail(err, -EIO, "nft took the ruleset, but the kernel does not have it");
	state_done(&state);
	return result;
}

static int refuse_foreign(struct err *err)
{
	return fail(err, -EEXIST, "there is a table '" RULESET_FAMILY " " RULESET_TABLE "' that is not ours; look at it ('nft list table " RULESET_FAMILY " " RULESET_TABLE "') and remove it");
}

/* A failure in here leaves the table as it was, and is reported */
static int deny_all(const char *id, struct err *err)
{
	struct ruleset r = { .deny_all = true };

	snprintf(r.id, sizeof(r.id), "%s", id);
	return load(&r, err);
}

static int open_dns(const struct firewall *f, const char *id, struct err *err)
{
	struct ruleset r = { 0 };
	int result;

	snprintf(r.id, sizeof(r.id), "%s", id);
	firewall_resolvers(f, &r);
	result = load(&r, err);
	ruleset_done(&r);
	return result;
}

/* Names that will be verified are resolved as well: a wrong one must fail now */
static int plan(const struct firewall *f, struct ruleset *ret, struct err *err)
{
	struct name_addresses answer;
	int r = firewall_plan(f, ret, err);

	for (size_t i = 0; r == 0 && !f->no_verify && i < f->must.len + f->must_not.len; i++) {
		const struct firewall_target *t = i < f->must.len ? &f->must.v[i] :
						  &f->must_not.v[i - f->must.len];

		if (t->host.kind == HOST_NAME)
			r = names_resolve(t->host.name, &f->resolvers, &answer, err);
	}
	return r;
}

static json_t *texts_of(const struct target_list *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->len; i++)
		(void)json_array_append_new(array,
					    json_string(list->v[i].text));
	return array;
}

/* A hint only: that it cannot be written is reported, and is no failure */
static void leave(const struct firewall *f, const char *mode,
		  json_t *report)
{
	struct err err = { 0 };
	json_t *document = json_pack("{s:i, s:s, s:o, s:o}", "version", 1,
				     "state", mode,
				     "verifyAllowed", texts_of(&f->must),
				     "verifyDenied", texts_of(&f->must_not));

	if (state_leave(document, &err) < 0)
		(void)json_array_append_new(report, json_sprintf(
			"note: 'cloche preflight' will not know of this: %s",
			err.msg));
}

static int verify_or_close(const struct firewall *f, const struct ruleset *r,
			   json_t *report, struct err *err)
{
	struct err why = { 0 };
	int result = firewall_check_targets(f, r, report, &why);

	if (result == 0)
		return 0;
	if (result < 0)
		(void)json_array_append_new(report, json_sprintf("FAILED: %s",
								 why.msg));
	result = deny_all(r->id, err);
	return result < 0 ? fail_in(err, result, "the verification failed, and closing everything too") : 1;
}

/* The rules are active: fetch what they allow to fetch, and allow that too. On a failure
 * they stay as they are.
 */
static int add_fetched(const struct firewall *f, struct ruleset *r, json_t *report,
		       struct err *err)
{
	struct state before;
	int result;

	if (!fetch_ranges(f->fetch, &r->sets[SET_RANGES], report))
		return 0;
	range_list_tidy(&r->sets[SET_RANGES]);
	result = state_read(&before, err);
	if (result == 0)
		result = load_and_look(r, &before, err);
	state_done(&before);
	return result;
}

int firewall_up(const struct firewall *f, struct ruleset *ret,
		json_t *report, struct err *err)
{
	struct state before;
	bool closed;
	int r = state_read(&before, err);

	closed = before.mode == FIREWALL_DENY_ALL && f->names.len;
	if (r == 0 && before.mode == FIREWALL_FOREIGN)
		r = refuse_foreign(err);
	if (r == 0 && closed)
		r = open_dns(f, before.ruleset.id, err);
	if (r == 0)
		r = plan(f, ret, err);
	if (r == 0)
		r = load_and_look(ret, &before, err);
	if (r == 0 && f->fetch)
		r = add_fetched(f, ret, report, err);
	if (r < 0 && closed)
		(void)deny_all(before.ruleset.id, NULL);
	state_done(&before);
	if (r < 0)
		return r;
	if (!ret->sets[SET_RESOLVERS].len)
		(void)json_array_append_new(report, json_string("note: the only resolver is on loopback, and the servers that it queries are refused; name them with --resolver IP"));
	if (!f->no_verify)
		r = verify_or_close(f, ret, report, err);
	leave(f, r ? "deny-all" : "up", report);
	return r;
}

int firewall_down(struct err *err)
{
	struct state before;
	int r = state_read(&before, err);

	state_done(&before);
	if (r < 0)
		return r;
	if (before.mode == FIREWALL_FOREIGN)
		return refuse_foreign(err);
	if (before.mode != FIREWALL_DOWN)
		r = load(NULL, err);
	if (r == 0)
		r = state_leave(NULL, err);
	return r < 0 ? r : before.mode == FIREWALL_DOWN;
}

static void recall(struct target_list *list, const json_t *texts)
{
	size_t i;
	json_t *value;

	json_array_foreach(texts, i, value) {
		if (json_is_string(value))
			(void)firewall_target(list, json_string_value(value),
					      NULL);
	}
}

int firewall_verify(struct firewall *f, json_t *report, struct err *err)
{
	auto_json json_t *left = firewall_mark_read();
	struct state state;
	int r = state_read(&state, err);

	if (!f->must.len)
		recall(&f->must, json_object_get(left, "verifyAllowed"));
	if (!f->must_not.len)
		recall(&f->must_not, json_object_get(left, "verifyDenied"));
	if (r == 0 && state.mode != FIREWALL_UP) {
		(void)json_array_append_new(report, json_sprintf(
			"FAILED: the firewall is %s", state_mode_name(state.mode)));
		r = 1;
	} else if (r == 0) {
		r = firewall_check_targets(f, &state.ruleset, report, err);
	}
	state_done(&state);
	return r;
}

/* One round of look-ups. @failing: names that were complained about. */
static void look_up_all(const struct firewall *f, struct ruleset *r, bool *failing,
		 void (*warn)(const char *line))
{
	const int64_t now = now_ms(CLOCK_MONOTONIC);
	struct range_list *list = &r->sets[SET_NAMES];

	for (size_t i = 0; i < f->names.len; i++) {
		struct err err = { 0 };
		const bool bad = firewall_look_up(f, f->names.v[i], r, now,
						  &err) < 0;

		for (size_t k = 0; bad && k < list->len; k++) {
			if (!strcmp(list->v[k].name, f->names.v[i]))
				list->v[k].seen_ms = now;
		}
		if (bad && !failing[i])
			warn(err.msg);
		failing[i] = bad;
	}
}

/* Whether the kernel still has the table that we look after */
static bool is_ours(const struct ruleset *r)
{
	struct err err = { 0 };
	struct state state;
	const bool known = state_read(&state, &err) == 0;
	const bool ours = known && !strcmp(state.ruleset.id, r->id);

	state_done(&state);
	return ours || !known;
}

int firewall_watch(const struct firewall *f, struct ruleset *r,
		   void (*warn)(const char *line), struct err *err)
{
	auto_free bool *failing = mem_zalloc(f->names.len + 1);
	const int64_t keep_ms = (int64_t)f->watch_ms * FIREWALL_KEEP_ROUNDS;

	for (;;) {
		auto_buf struct buf before = { 0 };
		auto_buf struct buf after = { 0 };
		int result;

		(void)poll(NULL, 0, (int)f->watch_ms);
		if (!is_ours(r))
			return 0;
		ruleset_write_names(r, &before);
		look_up_all(f, r, failing, warn);
		range_list_expire(&r->sets[SET_NAMES],
				  now_ms(CLOCK_MONOTONIC) - keep_ms);
		ruleset_write_names(r, &after);
		if (!strcmp(buf_str(&before), buf_str(&after)))
			continue;
		result = nft_load(&after, err);
		if (result < 0)
			return is_ours(r) ? result : 0;
	}
}
