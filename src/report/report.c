/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report/report.c - one run's refusals on their way to ring, stream and store
 *
 * Theory of operation: a new refusal is written at once, unless the rate limit
 * is reached; repeats are only counted. Records that the limit held back, and the
 * final counts, are written when an entry leaves the ring or at the end. So a reader
 * gets each refusal live, then at most once more with its count; the store's reader
 * keeps the last line of each. Records that could not be written are counted, and
 * the closing record has that number.
 */

#include "report/report.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/proc.h"
#include "base/sys.h"
#include "report/command-text.h"
#include "report/ring.h"
#include "report/run-record.h"
#include "report/violation-store.h"

enum { STAT_MAX = 256, PARENTS_MAX = 16 };

/**
 * struct report - The configuration, copies of its strings, and the state of the report
 * @rest:	Of the last line, which the stream did not take
 * @last_pid, @parents: The process of the last record, and its ancestors
 */
struct report {
	struct report_config config;
	char *run, *command, *missing, *store_dir, *parents;
	pid_t last_pid;
	struct buf rest;
	struct violation_store *store;
	struct ring ring;
	struct rate rate;
	uint64_t dropped, refused[VIOLATION_KINDS];
	struct violation_sink sink;
};

void report_run_id(char ret[REPORT_RUN_SIZE])
{
	static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
	uint64_t time = (uint64_t)now_ms(CLOCK_REALTIME);
	unsigned char random[16];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		abort();
	for (int i = 9; i >= 0; i--, time >>= 5)
		ret[i] = digits[time & 31];
	for (size_t i = 0; i < sizeof(random); i++)
		ret[10 + i] = digits[random[i] & 31];
	ret[REPORT_RUN_SIZE - 1] = 0;
}

static void write_rest(struct report *report)
{
	struct buf *rest = &report->rest;
	const ssize_t done = rest->len ? fs_write_now(report->config.stream, rest->p,
						      rest->len) : 0;

	if (done <= 0)
		return;
	rest->len -= (size_t)done;
	memmove(rest->p, rest->p + done, rest->len);
}

/* 0 if the line was written, or its beginning. Lines are dropped if the reader is gone
 * or does not read: it must not delay the run.
 */
static int write_stream(struct report *report, const struct violation *v)
{
	auto_buf struct buf line = { 0 };
	ssize_t done;

	write_rest(report);
	if (report->rest.len)
		return -EAGAIN;
	violation_to_json(v, &line);
	done = fs_write_now(report->config.stream, line.p, line.len);
	if (done < 0)
		return (int)done;
	buf_add(&report->rest, line.p + done, line.len - (size_t)done);
	return 0;
}

/* The store is opened when it is needed */
static int open_store(struct report *report)
{
	if (report->store)
		return 0;
	return violation_store_new(report->store_dir, VIOLATION_STORE_FILE_MAX,
				   &report->store, NULL);
}

static int store(struct report *report, const struct violation *v)
{
	int r = open_store(report);

	if (r == 0)
		r = violation_store_append(report->store, v);
	if (r < 0) {
		report_missing(report, "refusals could not be stored");
		free(report->store_dir);
		report->store_dir = NULL;
	}
	return r;
}

/* Write it to stream, callback and store; false if the rate held it back */
static bool write_record(struct report *report, const struct violation *v, bool always)
{
	if (!rate_take(&report->rate, now_ms(CLOCK_MONOTONIC)) && !always)
		return false;
	if (report->config.stream >= 0 && write_stream(report, v) < 0)
		report->dropped++;
	if (report->config.take && report->config.take(report->config.arg, v) < 0)
		report->dropped++;
	if (report->store_dir && store(report, v) < 0)
		report->dropped++;
	return true;
}

static void write_entry(struct report *report, struct ring_entry *entry,
			bool always)
{
	if (entry->written != entry->v.count &&
	    write_record(report, &entry->v, always))
		entry->written = entry->v.count;
}

static char *exe_of(pid_t pid)
{
	char link[64], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	n = readlink(link, path, sizeof(path));
	return n > 0 ? mem_strndup(path, (size_t)n) : NULL;
}

/* Put the ancestor @pid before those in *@text. A "/" in its name is replaced, because it
 * separates two. The sandbox's init, which is our child, is left out. Return: the parent
 * of @pid, or 0.
 */
static pid_t add_parent(pid_t pid, char **text)
{
	char stat[STAT_MAX], *end = proc_stat(pid, stat, sizeof(stat));
	const pid_t parent = end ? (pid_t)strtol(end + strlen(") S "), NULL, 10) : 0;
	char *name = end ? strchr(stat, '(') : NULL, *below = *text;

	if (!name || parent == getpid())
		return 0;
	*end = '\0';
	for (char *slash = name; (slash = strchr(slash, '/'));)
		*slash = '?';
	*text = mem_printf("%d %s%s%s", (int)pid, name + 1, below ? "/" : "",
			   below ? below : "");
	free(below);
	return parent;
}

/* The processes between the sandbox's init and @pid. A flood of refusals is mostly one
 * process's: they are looked up once.
 */
static const char *parents_of(struct report *report, pid_t pid)
{
	pid_t at = pid != report->last_pid ? proc_parent(pid) : 0;

	if (pid == report->last_pid)
		return report->parents;
	free(report->parents);
	report->parents = NULL;
	report->last_pid = pid;
	for (int i = 0; i < PARENTS_MAX && at > 1; i++)
		at = add_parent(at, &report->parents);
	return report->parents;
}

/* A copy of @v with what every record of this run has */
static void complete(struct report *report, const struct violation *v,
		     struct violation *ret)
{
	violation_copy(ret, v);
	if (report->config.assign)
		report->config.assign(report->config.arg, ret);
	if (!ret->run)
		ret->run = mem_strdup(report->run);
	if (!ret->command && report->command)
		ret->command = mem_strdup(report->command);
	if (!ret->exe && ret->pid > 0)
		ret->exe = exe_of(ret->pid);
	if (!ret->parents && ret->pid > 0 && parents_of(report, ret->pid))
		ret->parents = mem_strdup(report->parents);
	if (!ret->time_ms)
		ret->time_ms = now_ms(CLOCK_REALTIME);
	/* The observer has filled in the suggestions for files and sockets */
	if (ret->kind != VIOLATION_FS_WRITE && ret->kind != VIOLATION_FS_CREATE &&
	    ret->kind != VIOLATION_FS_RENAME && ret->kind != VIOLATION_FS_READ &&
	    ret->kind != VIOLATION_UNIX_SOCKET)
		suggestion_fill(ret, NULL);
	suggestion_finish(ret, &report->config.rerun);
}

static void take_record(void *arg, const struct violation *v)
{
	struct report *report = arg;
	struct ring_entry *entry, *evicted;
	struct violation full;

	complete(report, v, &full);
	if (ignore_find(report->config.ignores, &full)) {
		violation_done(&full);
		return;
	}
	report->refused[full.kind] += full.count ? full.count : 1;
	if (report->config.seen)
		report->config.seen(report->config.seen_arg, &full);
	entry = ring_add(&report->ring, &full, &evicted);
	violation_done(&full);
	if (!entry->written)
		write_entry(report, entry, false);
	if (evicted) {
		write_entry(report, evicted, false);
		report->dropped += evicted->written ? 0 : 1;
		ring_entry_free(evicted);
	}
}

static const char *copy_text(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

struct report *report_new(const struct report_config *config)
{
	struct report *report = mem_zalloc(sizeof(*report));
	struct rerun *how = &report->config.rerun;

	report->config = *config;
	report->run = mem_strdup(config->run);
	if (config->command) {
		report->command = mem_strdup(config->command);
		command_text_strip(report->command);
		if (strlen(report->command) > REPORT_COMMAND_MAX)
			report->command[REPORT_COMMAND_MAX] = '\0';
	}
	how->options = copy_text(how->options);
	how->line = copy_text(how->line);
	how->project = copy_text(how->project);
	report->sink = (struct violation_sink) { take_record, report };
	if (config->store_dir)
		report->store_dir = mem_strdup(config->store_dir);
	return report;
}

void report_free(struct report *report)
{
	if (!report)
		return;
	buf_done(&report->rest);
	ring_done(&report->ring);
	violation_store_free(report->store);
	free(report->store_dir);
	free(report->run);
	free(report->command);
	free((char *)(uintptr_t)report->config.rerun.options);
	free((char *)(uintptr_t)report->config.rerun.line);
	free((char *)(uintptr_t)report->config.rerun.project);
	free(report->missing);
	free(report->parents);
	free(report);
}

const struct violation_sink *report_sink(const struct report *report)
{
	return &report->sink;
}

void report_set_ignores(struct report *report,
			const struct list_rules *ignores)
{
	report->config.ignores = ignores;
}

void report_missing(struct report *report, const char *words)
{
	auto_free char *old = take_ptr(report->missing);

	if (report->config.nested)
		return;
	report->missing = old ? mem_printf("%s; %s", old, words)
			      : mem_strdup(words);
}

void report_finish(struct report *report)
{
	static char op[] = "report", target[] = "violations",
		    reason[] = "records dropped";
	const struct violation closing = {
		.kind = VIOLATION_LIMIT, .time_ms = now_ms(CLOCK_REALTIME),
		.run = report->run, .command = report->command,
		.op = op, .target = target, .reason = reason,
		.count = report->dropped,
	};

	/* The ring is small: its end is not subject to the rate */
	for (size_t i = 0; i < report->ring.len; i++)
		write_entry(report, report->ring.v[i], true);
	if (report->dropped)
		(void)write_record(report, &closing, true);
}

void report_store_run(struct report *report, const struct run_record *run)
{
	struct run_record record = *run;

	if (!report->store_dir || open_store(report) < 0)
		return;
	record.run = report->run;
	record.command = report->command;
	memcpy(record.refused, report->refused, sizeof(record.refused));
	(void)violation_store_append_run(report->store, &record);
}

/* Move the entries of @run, and those of no command, from @from to @to */
static void split_ring(const struct report *report, const char *run,
		       struct ring *from, struct ring *to)
{
	size_t left = 0;

	for (size_t i = 0; i < from->len; i++) {
		struct ring_entry *entry = from->v[i];
		const char *of = entry->v.run;

		if (!strcmp(of, run) || !strcmp(of, report->run))
			to->v[to->len++] = entry;
		else
			from->v[left++] = entry;
	}
	from->len = left;
}

void report_part(struct report *report, const struct run_record *end,
		 const struct footer *how, struct buf *out)
{
	struct run_record record = *end;
	struct footer footer = *how;
	struct ring part = { 0 };

	split_ring(report, end->run, &report->ring, &part);
	for (size_t i = 0; i < part.len; i++) {
		const struct violation *v = &part.v[i]->v;

		write_entry(report, part.v[i], true);
		if (!strcmp(v->run, end->run))
			record.refused[v->kind] += v->count;
	}
	if (report->store_dir && end->policy && open_store(report) == 0)
		(void)violation_store_append_run(report->store, &record);
	footer.run = end->run;
	footer.missing = report->missing;
	footer_print(&part, &footer, out);
	ring_done(&part);
}

void report_footer(const struct report *report, const struct footer *how,
		   struct buf *out)
{
	struct footer full = *how;
	auto_free char *ask = suggestion_for("cloche run --ask -- ", &report->config.rerun);

	full.run = report->run;
	full.missing = report->missing;
	full.ask = ask;
	footer_print(&report->ring, &full, out);
}
