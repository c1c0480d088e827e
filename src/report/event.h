/* SPDX-License-Identifier: Apache-2.0 */
/* report/event.h - one record in the formats of collectors: journald, OTLP, OCSF, Prometheus
 *
 * A record becomes one event: an id, a time, a message and a flat list of named values,
 * from which every format is written. Nothing is exported that is not in the record.
 */

#ifndef REPORT_EVENT_H
#define REPORT_EVENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

enum { EVENT_ID_SIZE = 33 };	/* 128 bits in hexadecimal, and their end */

/**
 * struct event - Everything is the event's own; release with event_done()
 * @id:		The same for a record that is sent twice, another for every other record
 * @refusal:	A refusal; else a run
 * @message:	One line for people, without control characters
 * @values:	{"rule.file": "policy.json:3", "count": 2, ...}: strings and integers
 */
struct event {
	char id[EVENT_ID_SIZE];
	int64_t time_ms;
	bool refusal;
	char *message;
	json_t *values;
};

/* Read the line of a record, which is at @offset of its file: 0, or -EINVAL for anything
 * else, with *@ret untouched
 */
int event_from_line(const char *line, size_t n, uint64_t offset, struct event *ret);
void event_done(struct event *event);

/* One datagram of journald's native protocol */
void event_to_journal(const struct event *event, struct buf *out);

/* A logRecord of OTLP; and the request around an array of them, which is taken over */
json_t *event_to_otlp(const struct event *event);
json_t *otlp_request(json_t *records, const char *host);

/* One event of OCSF: file system, network, DNS or process activity, else a base event */
json_t *event_to_ocsf(const struct event *event, const char *host);

/* Add @event to the counters in @counts: {"cloche_runs_total{...}": 3, ...} */
void event_count(const struct event *event, json_t *counts);
/* @counts in the text format of Prometheus */
void counts_to_prometheus(json_t *counts, struct buf *out);

#endif /* REPORT_EVENT_H */
