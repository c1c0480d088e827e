/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run/approval.c - the user's approvals of what repositories' settings request
 *
 * {"version": 1, "approved": [{"id", "source", "digest", "asks": [...]}]}. Each
 * line counts by itself: a file that requests less than was approved needs no new
 * approval, one that requests more gets what was approved. The file is replaced
 * as a whole, so a sandbox that watches it sees one change.
 */

#include "run/approval.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/asks.h"
#include "policy/pathrule.h"
#include "policy/policy.h"
#include "report/violation-store.h"

enum { FILE_MAX = 8 << 20, LOCK_WAIT_MS = 5000,
       RECORDS_MAX = 1000 };	/* Then those of missing files go */

static const char NAME[] = "trust.json";

char *approvals_path(void)
{
	auto_free char *state = violation_store_default_dir();

	return state ? path_join(state, NAME) : NULL;
}

json_t *approvals_read(void)
{
	auto_free char *path = approvals_path();
	auto_buf struct buf text = { 0 };

	if (!path || fs_read(AT_FDCWD, path, FILE_MAX, &text, NULL) < 0)
		return NULL;
	return json_loadb(buf_str(&text), text.len, 0, NULL);
}

static bool is_text(const json_t *value, const char *text)
{
	auto_json json_t *wanted = json_text(text);

	return json_equal(value, wanted);
}

/* True if a record of @id has @text as its @key, or in the list that is its @key; or if
 * there is one at all, without @key
 */
static bool has_record(const json_t *root, const char *id, const char *key,
		       const char *text)
{
	const json_t *record, *entry;
	size_t i, k;

	json_array_foreach(json_object_get(root, "approved"), i, record) {
		const json_t *value = key ? json_object_get(record, key) : NULL;

		if (!is_text(json_object_get(record, "id"), id))
			continue;
		if (!key || is_text(value, text))
			return true;
		json_array_foreach(value, k, entry) {
			if (is_text(entry, text))
				return true;
		}
	}
	return false;
}

bool approvals_allow(void *arg, enum authority authority, const char *id,
		     const char *line)
{
	return has_record(arg, id, "asks", line) ||
	       (authority == AUTHORITY_RECORDED &&
		!has_record(arg, id, NULL, NULL));
}

/* The file, locked */
struct change {
	json_t *root, *list;
	int dir;
};

static int change_begin(struct change *c, struct err *err)
{
	auto_free char *state = violation_store_default_dir();
	int r;

	*c = (struct change){ .dir = -1 };
	if (!state)
		return fail(err, -ENOENT,
			    "there is no home directory; set $HOME");
	c->dir = fs_open_private_dir(state, err);
	if (c->dir < 0)
		return c->dir;
	r = fs_flock_within(c->dir, LOCK_EX, LOCK_WAIT_MS);
	if (r < 0)
		return fail(err, r, "cannot lock '%s': %s", state,
			    strerror(-r));
	c->root = approvals_read();
	if (!json_is_object(c->root)) {
		json_decref(c->root);
		c->root = json_pack("{s:i, s:[]}", "version", 1, "approved");
	}
	c->list = json_object_get(c->root, "approved");
	return 0;
}

static int change_end(struct change *c, int r, struct err *err)
{
	if (r >= 0) {
		auto_free char *text = json_dumps(c->root, JSON_INDENT(1));
		const int written = text ? fs_replace(c->dir, NAME, text,
			strlen(text), 0600, err) : -ENOMEM;

		r = written < 0 ? written : r;
	}
	json_decref(c->root);
	close_fd(&c->dir);
	return r;
}

static json_t *lines_of(const struct asks *asks)
{
	json_t *lines = json_array();

	for (size_t i = 0; i < asks->len; i++) {
		auto_free char *line = ask_line(&asks->v[i]);

		if (!asks->v[i].refused)	/* Not even when a lock goes */
			json_array_append_new(lines, json_text(line));
	}
	return lines;
}

static void put(json_t *list, const struct settings_source *source,
		const struct asks *added)
{
	json_t *lines = lines_of(added ? added : &source->asks);
	char digest[ASK_DIGEST_SIZE];
	json_t *record;
	size_t i;

	asks_digest(&source->asks, digest);
	json_array_foreach(list, i, record) {
		if (!is_text(json_object_get(record, "id"), source->id) ||
		    !is_text(json_object_get(record, "source"), source->name))
			continue;
		if (added)
			json_array_extend(lines,
					  json_object_get(record, "asks"));
		json_array_remove(list, i);
		break;
	}
	for (i = json_array_size(list); i-- > 0 &&
					json_array_size(list) >= RECORDS_MAX;) {
		const char *id = json_get_text(json_array_get(list, i), "id");

		if (!id || access(id, F_OK) < 0)
			json_array_remove(list, i);
	}
	json_array_append_new(list, json_pack("{s:o, s:o, s:s, s:o}",
		"id", json_text(source->id), "source", json_text(source->name),
		"digest", digest, "asks", lines));
}

int approvals_keep(const struct settings_source *source,
		   const struct asks *added, struct err *err)
{
	struct change c;
	const int r = change_begin(&c, err);

	if (r == 0)
		put(c.list, source, added);
	return change_end(&c, r, err);
}

static bool asks_have(const struct settings_report *report,
		      const struct ask *ask)
{
	for (size_t i = 0; i < report->sources.len; i++) {
		const struct asks *asks = &report->sources.v[i].asks;

		for (size_t k = 0; k < asks->len; k++) {
			if (asks->v[k].kind == ask->kind &&
			    !strcmp(asks->v[k].text, ask->text))
				return true;
		}
	}
	return false;
}

/* True if @ask is for @value, as the user wrote it */
static bool is_for(const struct ask *ask, const struct policy *policy,
		   const char *value)
{
	const char *const bases[] = { policy->cwd, policy->project };
	bool same = !strcasecmp(ask->text, value);

	for (size_t i = 0; !same && ask->path && i < ARRAY_SIZE(bases); i++) {
		struct path_rule rule = { 0 };
		const char *end;

		if (path_rule_parse(value, bases[i], policy->home, &rule, NULL) < 0)
			return false;
		end = rule.glob ? strrchr(ask->text, '\0') + strlen(rule.path) -
				  strlen(rule.literal) : NULL;
		same = !strcmp(ask->path, rule.path) &&
		       ask->glob == !!rule.glob &&
		       (!end || (end >= ask->text &&
				 !strcmp(end, rule.literal + strlen(rule.path))));
		path_rule_done(&rule);
	}
	return same;
}

int approvals_keep_new(const struct settings_report *before,
		       const struct settings_report *after,
		       const struct policy *policy, const char *value,
		       struct err *err)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < after->sources.len; i++) {
		const struct settings_source *s = &after->sources.v[i];
		struct asks added = { 0 };

		for (size_t k = 0; k < s->asks.len; k++) {
			if (!s->asks.v[k].refused &&
			    is_for(&s->asks.v[k], policy, value) &&
			    !asks_have(before, &s->asks.v[k]))
				*vec_push(&added) = s->asks.v[k];
		}
		if (added.len)
			r = approvals_keep(s, &added, err);
		free(added.v);
	}
	return r;
}

int approvals_keep_first(const struct settings_report *report,
			 struct err *err)
{
	auto_json json_t *now = approvals_read();
	int r = 0;

	for (size_t i = 0; r >= 0 && i < report->sources.len; i++) {
		const struct settings_source *s = &report->sources.v[i];

		if (s->authority == AUTHORITY_RECORDED &&
		    !has_record(now, s->id, NULL, NULL))
			r = approvals_keep(s, NULL, err);
		/* Nowhere to keep it: then every use is the first */
		if (r == -ENOENT || r == -EROFS || r == -EACCES)
			r = 0;
	}
	return r;
}

int approvals_remove(bool (*drop)(void *arg, const char *id), void *arg,
		     struct err *err)
{
	struct change c;
	int r = change_begin(&c, err), removed = 0;

	for (size_t i = json_array_size(c.list); r == 0 && i-- > 0;) {
		const char *id = json_get_text(json_array_get(c.list, i), "id");

		if (id && !drop(arg, id))
			continue;
		json_array_remove(c.list, i);
		removed++;
	}
	r = change_end(&c, r, err);
	return r < 0 ? r : removed;
}

/* True if the user has seen just these asks */
static bool is_reviewed(const struct settings_source *source)
{
	auto_json json_t *now = approvals_read();
	char digest[ASK_DIGEST_SIZE];

	asks_digest(&source->asks, digest);
	return has_record(now, source->id, "digest", digest);
}

/* What of @source waits for the user, and what never counts, until it was seen */
static size_t waiting(const struct settings_source *source, struct buf *out)
{
	struct asks pending = { 0 };
	size_t never = 0;

	for (size_t i = 0; i < source->asks.len; i++) {
		const struct ask *ask = &source->asks.v[i];

		if (ask->refused)
			never++;
		else if (!ask->approved)
			*vec_push(&pending) = *ask;
	}
	asks_summary(&pending, out);
	if (never && (out->len || !is_reviewed(source)))
		buf_addf(out, "%s%zu thing%s that %s refused",
			 out->len ? ", and " : "", never,
			 never == 1 ? "" : "s", never == 1 ? "is" : "are");
	free(pending.v);
	return out->len;
}

char *approvals_note(const struct settings_report *report)
{
	struct buf note = { 0 };
	const char *recorded = NULL;

	for (size_t i = 0; i < report->sources.len; i++) {
		const struct settings_source *s = &report->sources.v[i];
		auto_buf struct buf words = { 0 };

		if (!waiting(s, &words))
			continue;
		buf_addf(&note, "%s%s asks for %s", note.len ? "; " : "",
			 s->name, buf_str(&words));
		if (s->authority == AUTHORITY_RECORDED)
			recorded = s->name;
	}
	if (note.len)
		buf_addf(&note, "; review: cloche trust%s%s",
			 recorded ? " -s " : "", recorded ? recorded : "");
	return note.len ? buf_take(&note) : NULL;
}
