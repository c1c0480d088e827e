/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd-violations.c - cloche violations: what was refused, here and before */

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/command-line.h"
#include "guard/quarantine.h"
#include "report/footer.h"
#include "report/run-record.h"
#include "report/strip.h"
#include "report/violation-store.h"
#include "report/violation.h"

/**
 * struct query - What is asked for
 * @kind:	Only those of this word or name; or NULL
 */
struct query {
	struct record_filter filter;
	const char *kind;
	bool json;
};

/**
 * struct records - Those found, each once; the last line of one counts
 * @index:	Where in @v a record is, by run, kind, target and program
 * @ends:	How each run ended, or that it has not, in words, by its id
 */
struct records {
	const struct query *query;
	struct violation *v;
	size_t len, cap;
	json_t *index, *ends;
};

/* The word that rules use, or the name that records or a footer's tags have */
static bool is_kind(enum violation_kind kind, const char *name)
{
	auto_buf struct buf tag = { 0 };

	footer_kind(kind, &tag);
	return !strcmp(violation_kind_words(kind), name) ||
	       !strcmp(violation_kind_name(kind), name) ||
	       !strcmp(buf_str(&tag), name);
}

/* Each word once, in the order of the table */
static void list_kinds(struct buf *out)
{
	for (enum violation_kind kind = 0; kind < VIOLATION_KINDS; kind++) {
		const char *word = violation_kind_words(kind);
		enum violation_kind k = 0;

		while (strcmp(violation_kind_words(k), word) != 0)
			k++;
		if (k == kind)
			buf_addf(out, "%s%s", out->len ? ", " : "", word);
	}
}

static int read_kind(const char *value, struct query *q, struct err *err)
{
	struct text_near near = { .word = value };
	auto_buf struct buf all = { 0 };

	for (enum violation_kind kind = 0; kind < VIOLATION_KINDS; kind++) {
		if (is_kind(kind, value))
			q->kind = value;
		(void)text_near_try(&near, violation_kind_words(kind));
	}
	if (q->kind)
		return 0;
	if (near.best)
		return fail(err, -EINVAL, "--kind: '%s' is not a kind of refusal; did you mean %s?",
			    value, near.best);
	list_kinds(&all);
	return fail(err, -EINVAL, "--kind: '%s' is not one of %s", value,
		    buf_str(&all));
}

static int read_query(const struct call *call, struct query *q, struct err *err)
{
	const char *kind = call_flag(call, "kind");

	*q = (struct query){
		.filter = { .run = call_flag(call, "run"),
			    .session = call_flag(call, "session") },
		.json = call_flag(call, "json"),
	};
	if (call_since(call, &q->filter.since_ms, err) < 0)
		return err->code;
	return kind ? read_kind(kind, q, err) : 0;
}

static bool is_wanted(const struct query *q, const struct violation *v)
{
	return record_filter_has(&q->filter, v) &&
	       (!q->kind || is_kind(v->kind, q->kind));
}

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static int collect_record(void *arg, const struct violation *v)
{
	struct records *r = arg;
	const char *run = v->run ? v->run : "", *exe = v->exe ? v->exe : "";
	auto_buf struct buf key = { 0 };
	const json_t *at;
	size_t i = r->len;

	if (!is_wanted(r->query, v))
		return 0;
	buf_addf(&key, "%d %zu %zu %s%s%s", (int)v->kind, strlen(run),
		 strlen(exe), run, exe, v->target ? v->target : "");
	at = json_object_get(r->index, buf_str(&key));
	if (at) {
		i = (size_t)json_integer_value(at);
		violation_done(&r->v[i]);
	} else {
		(void)vec_push(r);
		json_object_set_new_nocheck(r->index, buf_str(&key),
					    json_integer((json_int_t)i));
	}
	violation_copy(&r->v[i], v);
	return 0;
}

static int collect_end(void *arg, const struct run_record *run)
{
	struct records *r = arg;
	const int64_t ms = run->end_ms - run->start_ms;
	auto_free char *text = NULL;

	if (r->query->filter.run && strcmp(run->run, r->query->filter.run) != 0)
		return 0;
	if (run->end_ms)
		text = mem_printf(" (exit status %d, %" PRId64 ".%" PRId64 " s)", run->status,
				  ms / 1000, ms % 1000 / 100);
	else
		text = mem_strdup(run_record_is_running(run) ? " (running)" : " (killed)");
	json_object_set_new_nocheck(r->ends, run->run, json_string(text));
	return 0;
}

enum { REASON_AT = 6 };		/* Where a line that is broken continues */

/* Those of one run stand together, below its id, its command and its @end */
static void print_text(const struct violation *v, const struct violation *before,
		       const char *end)
{
	const char *plain = terminal_style(stdout, STYLE_NONE), *line;
	auto_buf struct buf text = { 0 }, first = { 0 };
	char when[VIOLATION_TIME_SIZE];

	violation_time(v->time_ms, when);
	if (!before || !same(before->run, v->run)) {
		fputs(terminal_style(stdout, STYLE_HEAD), stdout);
		terminal_line(stdout, "%.19sZ run %s  %s%s", when, v->run ? v->run : "?",
			v->command ? v->command : "", end ? end : "");
		fputs(plain, stdout);
	}
	buf_adds(&text, "  ");
	footer_text(v, "    ", &text);
	line = strchrnul(buf_str(&text), '\n');
	terminal_wrap(&first, text.p, (size_t)(line - text.p), REASON_AT,
		      terminal_columns(STDOUT_FILENO));
	printf("%s%s%s%s", buf_str(&first), terminal_style(stdout, STYLE_COMMAND), line, plain);
}

static void print_line(const struct violation *v)
{
	auto_buf struct buf line = { 0 };

	violation_to_json(v, &line);
	fputs(buf_str(&line), stdout);
}

static void print_records(const struct records *r)
{
	if (!r->query->json) {
		if (!r->len && isatty(STDOUT_FILENO))
			puts("nothing that was refused is recorded");
		for (size_t i = 0; i < r->len; i++)
			print_text(&r->v[i], i ? &r->v[i - 1] : NULL,
				   json_string_value(json_object_get(
					r->ends, r->v[i].run ? r->v[i].run : "")));
		return;
	}
	fputs("{\"version\":1,\"violations\":[\n", stdout);
	for (size_t i = 0; i < r->len; i++) {
		fputs(i ? "," : "", stdout);
		print_line(&r->v[i]);
	}
	fputs("]}\n", stdout);
}

static int show(void *arg, const struct violation *v)
{
	const struct query *q = arg;

	if (!is_wanted(q, v))
		return 0;
	if (q->json)
		print_line(v);
	else
		print_text(v, NULL, NULL);
	return fflush(stdout) ? 1 : 0;	/* The reader is gone */
}

int cmd_violations_list(struct call *call, struct err *err)
{
	struct violation_store *store = NULL;
	struct query q;
	struct records records = { .query = &q };
	int r = read_query(call, &q, err);

	if (r == 0)
		r = violation_store_open(false, &store, err);
	records.index = json_object();
	records.ends = json_object();
	if (r == 0)
		r = record_filter_open(&q.filter, store, err);
	if (r == 0)
		r = violation_store_each(store, collect_record, &records, err);
	if (r == 0 && records.len && !q.json)
		r = violation_store_each_run(store, collect_end, &records, err);
	if (r == 0)
		print_records(&records);
	for (size_t i = 0; i < records.len; i++)
		violation_done(&records.v[i]);
	free(records.v);
	json_decref(records.index);
	json_decref(records.ends);
	json_decref(q.filter.runs);
	violation_store_free(store);
	return r;
}

int cmd_violations_follow(struct call *call, struct err *err)
{
	struct violation_store *store = NULL;
	struct query q;
	int r = read_query(call, &q, err);

	if (r == 0)
		r = violation_store_open(true, &store, err);
	if (r == 0 && q.filter.since_ms)
		r = violation_store_each(store, show, &q, err);
	if (r == 0)
		r = violation_store_follow(store, show, &q, err);
	violation_store_free(store);
	return r < 0 ? r : 0;
}

int cmd_violations_clear(struct call *call, struct err *err)
{
	struct violation_store *store = NULL;
	int r = violation_store_open(false, &store, err);

	(void)call;
	if (r == 0 && store)
		r = violation_store_clear(store, err);
	violation_store_free(store);
	return r;
}

/* Standard input to standard output, without the blocks of footers */
int cmd_violations_strip(struct call *call, struct err *err)
{
	struct strip strip = { 0 };
	char chunk[16384];
	ssize_t n;
	int r = 0;

	(void)call;
	do {
		auto_buf struct buf out = { 0 };

		n = read(STDIN_FILENO, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			r = fail_errno(err, "cannot read standard input");
		else if (n > 0)
			strip_feed(&strip, chunk, (size_t)n, &out);
		else
			strip_finish(&strip, &out);
		if (r == 0 && out.len)
			r = fs_write_all(STDOUT_FILENO, out.p, out.len);
	} while (n != 0 && r == 0);
	return r < 0 ? fail(err, r, "cannot copy: %s", strerror(-r)) : 0;
}

int cmd_violations_restore(struct call *call, struct err *err)
{
	auto_free char *dir = violation_store_default_dir();

	if (call->count != 1)
		return fail(err, -EINVAL, "restore needs an id; 'cloche violations list --kind quarantine' lists them");
	if (!dir)
		return fail(err, -ENOENT, "no home directory; set XDG_STATE_HOME");
	return quarantine_restore(dir, call->args[0], err);
}
