/* SPDX-License-Identifier: Apache-2.0 */
/* report/run-record.c - one run: command, policy, tier, refusals */

#include "report/run-record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/proc.h"
#include "base/sha256.h"
#include "base/text.h"
#include "policy/policy.h"
#include "report/command-text.h"

/* The values of "record": a run that has ended, and one that may last */
static const char ENDED[] = "run", STARTED[] = "start";

static const struct {
	const char *key;
	size_t offset;
} texts[] = {
	{ "run", offsetof(struct run_record, run) },
	{ "command", offsetof(struct run_record, command) },
	{ "project", offsetof(struct run_record, project) },
	{ "policy", offsetof(struct run_record, policy) },
	{ "tier", offsetof(struct run_record, tier) },
	{ "secrets", offsetof(struct run_record, secrets) },
	{ "hosts", offsetof(struct run_record, hosts) },
	{ "limits", offsetof(struct run_record, limits) },
	{ "session", offsetof(struct run_record, session) },
};

static char **text_at(struct run_record *r, size_t i)
{
	return (char **)(void *)((char *)r + texts[i].offset);
}

void run_record_done(struct run_record *record)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		free(*text_at(record, i));
		*text_at(record, i) = NULL;
	}
}

/* Field 22 of /proc/PID/stat; 0 if there is no such process */
static uint64_t start_ticks(pid_t pid)
{
	enum { AFTER_NAME = 20 };
	char text[1024], *at = proc_stat(pid, text, sizeof(text));

	for (int i = 0; at && i < AFTER_NAME; i++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

void run_record_set_process(struct run_record *record)
{
	record->pid = getpid();
	record->ticks = start_ticks(record->pid);
}

bool run_record_is_running(const struct run_record *record)
{
	return !record->end_ms && record->pid > 0 && record->ticks &&
	       start_ticks(record->pid) == record->ticks;
}

static void add_end(struct buf *out, const struct run_record *r)
{
	const char *comma = "";

	buf_addf(out, ",\"status\":%d,\"refused\":{", r->status);
	for (enum violation_kind kind = 0; kind < VIOLATION_KINDS; kind++) {
		if (!r->refused[kind])
			continue;
		buf_addf(out, "%s\"%s\":%" PRIu64, comma, violation_kind_name(kind),
			 r->refused[kind]);
		comma = ",";
	}
	buf_adds(out, "}}\n");
}

void run_record_to_json(const struct run_record *record, struct buf *out)
{
	char time[VIOLATION_TIME_SIZE];
	struct run_record r = *record;

	violation_time(r.start_ms, time);
	buf_addf(out, "{\"v\":1,\"record\":\"%s\",\"start\":\"%s\"",
		 r.end_ms ? ENDED : STARTED, time);
	violation_time(r.end_ms, time);
	if (r.end_ms)
		buf_addf(out, ",\"end\":\"%s\"", time);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!*text_at(&r, i))
			continue;
		buf_addf(out, ",\"%s\":", texts[i].key);
		violation_add_text(out, *text_at(&r, i));
	}
	if (r.end_ms)
		add_end(out, &r);
	else
		buf_addf(out, ",\"pid\":%d,\"ticks\":%" PRIu64 "}\n", (int)r.pid,
			 r.ticks);
}

static int read_time(const json_t *root, const char *key, int64_t *ret)
{
	const char *text = json_string_value(json_object_get(root, key));

	return text ? violation_parse_time(text, ret) : -EINVAL;
}

static int read_texts(const json_t *root, struct run_record *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		json_t *at = json_object_get(root, texts[i].key);

		if (at && !json_is_null(at) && !json_is_string(at))
			return -EINVAL;
		if (json_is_string(at))
			*text_at(r, i) = mem_strndup(json_string_value(at),
						     VIOLATION_TEXT_MAX);
	}
	return r->run ? 0 : -EINVAL;
}

static int read_refused(json_t *refused, struct run_record *r)
{
	const char *key;
	json_t *value;

	json_object_foreach(refused, key, value) {
		enum violation_kind kind;

		if (!json_is_integer(value) || json_integer_value(value) < 0)
			return -EINVAL;
		if (violation_kind_parse(key, &kind) == 0)
			r->refused[kind] = (uint64_t)json_integer_value(value);
	}
	return 0;
}

static int read_end(json_t *root, struct run_record *r)
{
	const json_t *status = json_object_get(root, "status");

	if (!json_is_integer(status) || read_time(root, "end", &r->end_ms) < 0 ||
	    !r->end_ms)
		return -EINVAL;
	r->status = (int)json_integer_value(status);
	return read_refused(json_object_get(root, "refused"), r);
}

static int read_process(const json_t *root, struct run_record *r)
{
	const json_t *pid = json_object_get(root, "pid");
	const json_t *ticks = json_object_get(root, "ticks");

	if (!json_is_integer(pid) || json_integer_value(pid) < 0 ||
	    json_integer_value(pid) > INT32_MAX || !json_is_integer(ticks) ||
	    json_integer_value(ticks) < 0)
		return -EINVAL;
	r->pid = (pid_t)json_integer_value(pid);
	r->ticks = (uint64_t)json_integer_value(ticks);
	return 0;
}

static int read_record(json_t *root, struct run_record *r)
{
	const char *kind = json_string_value(json_object_get(root, "record"));

	if (!kind || json_integer_value(json_object_get(root, "v")) != 1 ||
	    read_time(root, "start", &r->start_ms) < 0 ||
	    (strcmp(kind, ENDED) ? strcmp(kind, STARTED) || read_process(root, r) < 0
				 : read_end(root, r) < 0))
		return -EINVAL;
	return read_texts(root, r);
}

int run_record_from_json(const char *line, size_t n, struct run_record *ret)
{
	struct run_record record = { 0 };
	json_t *root;
	int r;

	/* Most lines are refusals: those need no second parser */
	if (n > VIOLATION_LINE_MAX || !memmem(line, n, "\"record\"", 8))
		return -EINVAL;
	root = json_parse(line, n, "record", NULL);
	r = root ? read_record(root, &record) : -EINVAL;
	json_decref(root);
	if (r < 0)
		run_record_done(&record);
	else
		*ret = record;
	return r;
}

static void add_paths(struct buf *out, const struct path_rules *rules)
{
	for (size_t i = 0; i < rules->len; i++) {
		const struct path_rule *rule = &rules->v[i];

		if (rule->strength != RULE_USER)
			continue;	/* Ours: the version stands for them */
		buf_addf(out, "%s%c%s%c%d %d\n", rule->path, 0,
			 rule->glob ? rule->text : "", 0, (int)rule->strength,
			 (int)rule->place);
	}
}

/* A variable's value is not part of the policy's identity: a digest of a short secret
 * could be guessed
 */
static void add_list(struct buf *out, enum string_list list,
		     const struct list_rules *rules)
{
	for (size_t i = 0; i < rules->len; i++) {
		const char *text = rules->v[i].text;

		buf_add(out, text, list == LIST_ENV_SET ? strcspn(text, "=")
							: strlen(text));
		buf_addc(out, '\n');
	}
}

static void add_proxy(struct buf *out, const char *value)
{
	auto_free char *text = mem_strdup(value ? value : "");

	command_text_strip(text);
	buf_addf(out, "%s\n", text);
}

void policy_digest(const struct policy *policy, char ret[POLICY_DIGEST_SIZE])
{
	unsigned char sum[SHA256_BYTES];
	auto_buf struct buf text = { 0 };

	buf_addf(&text, "cloche " CLOCHE_VERSION "\nprofile %d\nnet %d\n",
		 (int)policy->profile, (int)policy->net);
	for (size_t i = 0; i < PATH_LISTS; i++) {
		buf_addf(&text, "paths %zu\n", i);
		add_paths(&text, &policy->paths[i]);
	}
	for (enum string_list i = 0; i < LIST_COUNT; i++) {
		buf_addf(&text, "list %d\n", (int)i);
		add_list(&text, i, &policy->lists[i]);
	}
	for (size_t i = 0; i < FLAG_COUNT; i++)
		buf_addf(&text, "flag %d %d\n", policy->flags[i].set,
			 policy->flags[i].value);
	for (size_t i = 0; i < NUMBER_COUNT; i++)
		buf_addf(&text, "number %d %" PRIu64 "\n", policy->numbers[i].set,
			 policy->numbers[i].value);
	for (size_t i = 0; i < TEXT_COUNT; i++)
		add_proxy(&text, policy->texts[i].value);
	sha256(text.p, text.len, sum);
	text_hex(sum, sizeof(sum), ret);
}
