/* SPDX-License-Identifier: Apache-2.0 */
/* report/event.c - one record in the formats of collectors: journald, OTLP, OCSF, Prometheus */

#include "report/event.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/sha256.h"
#include "base/text.h"
#include "report/run-record.h"
#include "report/violation.h"

enum { OTLP_INFO = 9, OTLP_WARN = 13, SYSLOG_WARNING = 4, SYSLOG_INFO = 6, PORT_MAX = 65535 };

void event_done(struct event *event)
{
	free(event->message);
	json_decref(event->values);
	*event = (struct event){ 0 };
}

static void set_id(struct event *event, const char *line, size_t n, uint64_t offset)
{
	unsigned char sum[SHA256_BYTES];
	auto_buf struct buf text = { 0 };

	buf_addf(&text, "%" PRIu64 "\n", offset);
	buf_add(&text, line, n);
	sha256(text.p, text.len, sum);
	text_hex(sum, (EVENT_ID_SIZE - 1) / 2, event->id);
}

/* {"rule": {"file": "x"}} as {"rule.file": "x"}; what is null or false is left out */
static void flatten(json_t *from, const char *prefix, json_t *to)
{
	const char *key;
	json_t *value;

	json_object_foreach(from, key, value) {
		auto_free char *name = mem_printf("%s%s", prefix, key);

		if (json_is_object(value)) {
			auto_free char *deeper = mem_printf("%s.", name);

			flatten(value, deeper, to);
		} else if (json_is_string(value) || json_is_integer(value)) {
			json_object_set_nocheck(to, name, value);
		}
	}
}

static const char *get(const struct event *event, const char *key)
{
	const char *text = json_string_value(json_object_get(event->values, key));

	return text ? text : "";
}

static json_int_t get_number(const struct event *event, const char *key)
{
	return json_integer_value(json_object_get(event->values, key));
}

static void set_message(struct event *event)
{
	auto_buf struct buf text = { 0 }, safe = { 0 };

	if (event->refusal)
		buf_addf(&text, "refused %s %s: %s", get(event, "kind"), get(event, "target"),
			 get(event, "reason"));
	else if (*get(event, "end"))
		buf_addf(&text, "run ended with status %" JSON_INTEGER_FORMAT ": %s",
			 get_number(event, "status"), get(event, "command"));
	else
		buf_addf(&text, "run started: %s", get(event, "command"));
	text_escape(&safe, buf_str(&text));
	event->message = buf_take(&safe);
}

/* Fails for lines that are neither a record of a run nor of a refusal */
static int read_kind(const char *line, size_t n, struct event *event)
{
	struct run_record run;
	struct violation v;

	if (run_record_from_json(line, n, &run) == 0) {
		event->time_ms = run.end_ms ? run.end_ms : run.start_ms;
		run_record_done(&run);
		return 0;
	}
	if (violation_from_json(line, n, &v, NULL) < 0)
		return -EINVAL;
	event->refusal = true;
	event->time_ms = v.time_ms;
	violation_done(&v);
	return 0;
}

int event_from_line(const char *line, size_t n, uint64_t offset, struct event *ret)
{
	struct event event = { 0 };
	json_t *root;

	if (read_kind(line, n, &event) < 0)
		return -EINVAL;
	root = json_parse(line, n, "record", NULL);
	event.values = json_object();
	flatten(root, "", event.values);
	json_decref(root);
	json_object_del(event.values, "v");
	set_id(&event, line, n, offset);
	set_message(&event);
	*ret = event;
	return 0;
}

/* A value with a line end has its length before it instead of "=" */
static void add_journal(struct buf *out, const char *name, const char *value)
{
	const uint64_t n = strlen(value);

	if (!strchr(value, '\n')) {
		buf_addf(out, "%s=%s\n", name, value);
		return;
	}
	buf_addf(out, "%s\n", name);
	for (unsigned int i = 0; i < 64; i += 8)	/* Little-endian */
		buf_addc(out, (char)(n >> i & 0xff));
	buf_add(out, value, n);
	buf_addc(out, '\n');
}

/* "rule.file" as CLOCHE_RULE_FILE */
static void journal_name(const char *key, struct buf *out)
{
	buf_adds(out, "CLOCHE_");
	for (; *key; key++)
		buf_addc(out, isalnum((unsigned char)*key) ? (char)toupper((unsigned char)*key)
							   : '_');
}

static char *value_text(const json_t *value)
{
	return json_is_string(value) ? mem_strdup(json_string_value(value)) :
	       mem_printf("%" JSON_INTEGER_FORMAT, json_integer_value(value));
}

void event_to_journal(const struct event *event, struct buf *out)
{
	const char *key;
	json_t *value;

	add_journal(out, "MESSAGE", event->message);
	buf_addf(out, "PRIORITY=%d\nSYSLOG_IDENTIFIER=cloche\nCLOCHE_ID=%s\n",
		 event->refusal ? SYSLOG_WARNING : SYSLOG_INFO, event->id);
	json_object_foreach(event->values, key, value) {
		auto_buf struct buf name = { 0 };
		auto_free char *text = value_text(value);

		journal_name(key, &name);
		add_journal(out, buf_str(&name), text);
	}
}

static void add_attribute(json_t *list, const char *key, json_t *value)
{
	/* 64-bit integers are strings in the JSON of Protocol Buffers */
	json_t *any = json_is_string(value) ?
		json_pack("{s:O}", "stringValue", value) :
		json_pack("{s:o}", "intValue",
			  json_sprintf("%" JSON_INTEGER_FORMAT, json_integer_value(value)));

	json_array_append_new(list, json_pack("{s:s, s:o}", "key", key, "value", any));
}

static void add_text_attribute(json_t *list, const char *key, const char *text)
{
	json_t *value = json_text(text);

	add_attribute(list, key, value);
	json_decref(value);
}

/* Names that the semantic conventions of OpenTelemetry have */
static char *attribute_name(const char *key)
{
	static const struct {
		const char *key, *name;
	} known[] = {
		{ "command", "process.command_line" },
		{ "exe", "process.executable.path" },
		{ "pid", "process.pid" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (!strcmp(key, known[i].key))
			return mem_strdup(known[i].name);
	}
	return mem_printf("cloche.%s", key);
}

json_t *event_to_otlp(const struct event *event)
{
	json_t *list = json_array(), *value;
	const char *key;

	add_text_attribute(list, "cloche.id", event->id);
	json_object_foreach(event->values, key, value) {
		auto_free char *name = attribute_name(key);

		add_attribute(list, name, value);
	}
	return json_pack("{s:o, s:i, s:s, s:{s:s}, s:o}", "timeUnixNano",
			 json_sprintf("%" PRId64 "000000", event->time_ms),
			 "severityNumber", event->refusal ? OTLP_WARN : OTLP_INFO,
			 "severityText", event->refusal ? "WARN" : "INFO",
			 "body", "stringValue", event->message, "attributes", list);
}

json_t *otlp_request(json_t *records, const char *host)
{
	json_t *resource = json_array();

	add_text_attribute(resource, "service.name", "cloche");
	add_text_attribute(resource, "service.version", CLOCHE_VERSION);
	add_text_attribute(resource, "host.name", host);
	return json_pack("{s:[{s:{s:o}, s:[{s:{s:s, s:s}, s:o}]}]}", "resourceLogs",
			 "resource", "attributes", resource, "scopeLogs", "scope",
			 "name", "cloche", "version", CLOCHE_VERSION, "logRecords", records);
}

/* Which class of OCSF 1.3 a record is, and the activity there */
static const struct ocsf {
	const char *prefix;	/* Of the kind; NULL: a run */
	int class, activity;
} ocsf_classes[] = {
	{ "fs-create", 1001, 1 },
	{ "fs-read", 1001, 2 },
	{ "fs-write", 1001, 3 },
	{ "fs-rename", 1001, 5 },
	{ "quarantine", 1001, 99 },
	{ "net-dns", 4003, 1 },
	{ "net-", 4001, 5 },
	{ "", 0, 99 },
};

enum { OCSF_PROCESS = 1007, OCSF_LAUNCH = 1, OCSF_TERMINATE = 2 };

static struct ocsf ocsf_class(const struct event *event)
{
	const struct ocsf *row = ocsf_classes;

	if (!event->refusal)
		return (struct ocsf){ NULL, OCSF_PROCESS,
				      *get(event, "end") ? OCSF_TERMINATE : OCSF_LAUNCH };
	while (strncmp(get(event, "kind"), row->prefix, strlen(row->prefix)) != 0)
		row++;
	return *row;
}

static json_t *ocsf_file(const char *path)
{
	const char *slash = strrchr(path, '/');

	return json_pack("{s:o, s:o, s:i}", "path", json_text(path), "name",
			 json_text(slash && slash[1] ? slash + 1 : path), "type_id", 0);
}

/* "host:port", "[address]:port" or a name alone */
static json_t *ocsf_endpoint(const char *target)
{
	const char *colon = strrchr(target, ':');
	char *end = NULL;
	const unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;
	auto_free char *host = NULL;

	if (!port || port > PORT_MAX || *end)
		return json_pack("{s:o}", "hostname", json_text(target));
	host = mem_strndup(target, (size_t)(colon - target));
	return json_pack("{s:o, s:i}", "hostname", json_text(host), "port", (int)port);
}

static void add_ocsf_object(const struct event *event, int class, json_t *to)
{
	const char *target = get(event, "target");

	if (class / 1000 == 1 && event->refusal)
		json_object_set_new(to, "file", ocsf_file(target));
	else if (class == 4003)
		json_object_set_new(to, "query", json_pack("{s:o}", "hostname", json_text(target)));
	else if (class == 4001)
		json_object_set_new(to, "dst_endpoint", ocsf_endpoint(target));
	if (*get(event, "end"))
		json_object_set_new(to, "exit_code", json_integer(get_number(event, "status")));
	if (event->refusal)
		json_object_set_new(to, "count", json_integer(get_number(event, "count")));
}

json_t *event_to_ocsf(const struct event *event, const char *host)
{
	const struct ocsf row = ocsf_class(event);
	json_t *process = json_pack("{s:o}", "cmd_line", json_text(get(event, "command")));
	json_t *ocsf = json_pack(
		"{s:i, s:i, s:i, s:i, s:i, s:I, s:i, s:i, s:s, s:{s:s, s:s, s:o, s:{s:s, s:s, s:s}}, s:{s:o, s:i}, s:O}",
		"class_uid", row.class, "category_uid", row.class / 1000,
		"activity_id", row.activity, "type_uid", row.class * 100 + row.activity,
		"severity_id", event->refusal ? 2 : 1, "time", (json_int_t)event->time_ms,
		"action_id", event->refusal ? 2 : 1, "status_id", event->refusal ? 2 : 1,
		"message", event->message, "metadata", "version", "1.3.0", "uid", event->id,
		"correlation_uid", json_text(get(event, "run")), "product", "name", "cloche",
		"vendor_name", "cloche", "version", CLOCHE_VERSION, "device", "hostname",
		json_text(host), "type_id", 0, "unmapped", event->values);

	if (get_number(event, "pid"))
		json_object_set_new(process, "pid", json_integer(get_number(event, "pid")));
	if (*get(event, "exe"))
		json_object_set_new(process, "file", ocsf_file(get(event, "exe")));
	if (!event->refusal)
		json_object_set(ocsf, "process", process);
	json_object_set_new(ocsf, "actor", json_pack("{s:o}", "process", process));
	add_ocsf_object(event, row.class, ocsf);
	return ocsf;
}

/* Time is counted in milliseconds and written in seconds */
static const struct {
	const char *name, *help;
	bool time;
} metrics[] = {
	{ "cloche_runs_total", "Runs that have ended", false },
	{ "cloche_runs_failed_total", "Runs that have ended with another status than 0", false },
	{ "cloche_run_seconds_total", "How long runs took, in all", true },
	{ "cloche_refusals_total", "What was refused in runs that have ended", false },
};

static void count_for(json_t *counts, const char *metric, const char *label,
		      const char *value, json_int_t more)
{
	auto_free char *series = mem_printf("%s{%s=\"%s\"}", metric, label, value);
	const json_t *now = json_object_get(counts, series);

	json_object_set_new(counts, series, json_integer(json_integer_value(now) + more));
}

/* A label is one of three fixed words, whatever the record has */
static const char *tier_label(const char *tier)
{
	return !strcmp(tier, "full") ? "full" : !strcmp(tier, "landlock") ? "landlock" : "other";
}

void event_count(const struct event *event, json_t *counts)
{
	const char *tier = tier_label(get(event, "tier"));
	int64_t start;

	if (event->refusal || !*get(event, "end"))
		return;
	count_for(counts, "cloche_runs_total", "tier", tier, 1);
	count_for(counts, "cloche_runs_failed_total", "tier", tier,
		  get_number(event, "status") != 0);
	if (violation_parse_time(get(event, "start"), &start) == 0 && start < event->time_ms)
		count_for(counts, "cloche_run_seconds_total", "tier", tier,
			  (json_int_t)(event->time_ms - start));
	for (enum violation_kind kind = 0; kind < VIOLATION_KINDS; kind++) {
		auto_free char *key = mem_printf("refused.%s", violation_kind_name(kind));

		if (get_number(event, key))
			count_for(counts, "cloche_refusals_total", "kind",
				  violation_kind_name(kind), get_number(event, key));
	}
}

void counts_to_prometheus(json_t *counts, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
		const size_t n = strlen(metrics[i].name);
		const char *series;
		json_t *value;

		buf_addf(out, "# HELP %s %s\n# TYPE %s counter\n", metrics[i].name,
			 metrics[i].help, metrics[i].name);
		json_object_foreach(counts, series, value) {
			const json_int_t number = json_integer_value(value);

			if (strncmp(series, metrics[i].name, n) != 0 || series[n] != '{')
				continue;
			if (metrics[i].time)
				buf_addf(out, "%s %" JSON_INTEGER_FORMAT ".%03d\n", series,
					 number / 1000, (int)(number % 1000));
			else
				buf_addf(out, "%s %" JSON_INTEGER_FORMAT "\n", series, number);
		}
	}
}
