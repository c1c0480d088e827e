/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/cmd-report.c - cloche report: runs and refusals as one page of HTML
 *
 * The page (data/report.html) has its own script and style and asks for nothing else. The
 * records stand in it as JSON in which no character can end the element around it; the
 * script shows them as text.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "base/terminal.h"
#include "cli/command-line.h"
#include "ephemeral/ephemeral.h"
#include "plan/tier.h"
#include "policy/policy.h"
#include "report-page.h"
#include "report/run-record.h"
#include "report/violation-store.h"
#include "report/violation.h"

enum {
	TEXTS = 11,		/* Of a refusal; the script has the same list, and */
	RECENT = 8,		/* so many that each of them was before */
	PROJECTS_MAX = 64,	/* Whose staged changes are looked at */
	PATCHES_MAX = 1 << 20,	/* Bytes of lines that are different */
};

/**
 * struct column - The last different texts of one kind
 * @recent:	A ring; @next: what is replaced next; @last: what the last refusal has
 */
struct column {
	struct buf recent[RECENT];
	unsigned int next, last;
};

/**
 * struct page - What goes into the page
 * @projects:	Of the runs
 * @found:	How many records there are
 * @json:	The data, so far
 * @columns:	The texts of the last refusals, as JSON; @last_ms: the time of the last
 */
struct page {
	struct record_filter filter;
	struct strings projects;
	int64_t last_ms;
	size_t found;
	struct buf json;
	struct column columns[TEXTS];
};

static void page_done(struct page *page)
{
	json_decref(page->filter.runs);
	strings_done(&page->projects);
	for (size_t i = 0; i < TEXTS * RECENT; i++)
		buf_done(&page->columns[i / RECENT].recent[i % RECENT]);
	buf_done(&page->json);
}

/* Append one JSON text in which "<", ">", "&" and the line ends of JavaScript are escaped.
 * Outside of strings JSON has none of them.
 */
static void add_inert(struct page *page, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const unsigned char c = (unsigned char)text[i];

		if (c == '<' || c == '>' || c == '&') {
			buf_addf(&page->json, "\\u%04x", c);
		} else if (n - i > 2 && (!memcmp(text + i, "\342\200\250", 3) ||
					 !memcmp(text + i, "\342\200\251", 3))) {
			buf_addf(&page->json, "\\u202%d", 8 + (text[i + 2] & 1));
			i += 2;
		} else {
			buf_addc(&page->json, text[i]);
		}
	}
}

static void begin_record(struct page *page)
{
	if (page->json.p[page->json.len - 1] != '[')
		buf_addc(&page->json, ',');
	page->found++;
}

/* The line of a run that has not ended gets the key "running" */
static int add_run(void *arg, const struct run_record *run)
{
	const bool running = run_record_is_running(run);
	auto_buf struct buf line = { 0 };
	struct page *page = arg;
	const struct violation last = {
		.run = run->run,
		.time_ms = running ? INT64_MAX : run->end_ms ? run->end_ms : run->start_ms,
	};

	if (!record_filter_has(&page->filter, &last))
		return 0;
	run_record_to_json(run, &line);
	if (!run->end_ms) {
		line.len -= strlen("}\n");
		buf_addf(&line, ",\"running\":%s}", running ? "true" : "false");
	}
	begin_record(page);
	add_inert(page, line.p, line.len);
	if (run->project && page->projects.len < PROJECTS_MAX &&
	    !strings_have(&page->projects, run->project))
		*vec_push(&page->projects) = mem_strdup(run->project);
	return 0;
}

/* The command that allows it; U+0000 stands for a target at its end */
static void add_suggestion(const struct violation *v, struct buf *out)
{
	const size_t n = v->suggest_command ? strlen(v->suggest_command) : 0;
	const size_t target = v->target ? strlen(v->target) : 0;
	auto_free char *before = NULL;

	if (!target || n <= target || strcmp(v->suggest_command + n - target, v->target) != 0) {
		violation_add_text(out, v->suggest_command);
		return;
	}
	before = mem_strndup(v->suggest_command, n - target);
	violation_add_text(out, before);
	out->len--;
	buf_adds(out, "\\u0000\"");
}

/* Where in the tree of the run the process is: its ancestors, and its number */
static char *process_text(const struct violation *v)
{
	if (v->pid <= 0)
		return NULL;
	return mem_printf("%s%s%d", v->parents ? v->parents : "", v->parents ? "/" : "",
			  (int)v->pid);
}

/* How much of the beginning of the JSON string @text is that of @last, in characters that
 * are one byte here and one unit in the script
 */
static size_t common_prefix(const struct buf *text, const struct buf *last)
{
	size_t n = 1;

	if (*text->p != '"')
		return 0;
	while (n < text->len && n < last->len && text->p[n] == last->p[n] &&
	       (unsigned char)text->p[n] < 0x80 && text->p[n] != '\\' && text->p[n] != '"')
		n++;
	return n - 1;
}

/* Append to @out what changes in @column with @text, which it takes: ",-1" for the first of
 * the recent ones, or how much of the beginning stays, and what follows. False if nothing.
 */
static bool add_change(struct column *column, struct buf text, struct buf *out)
{
	const struct buf *last = &column->recent[column->last];
	size_t kept, quote = *text.p == '"';

	for (unsigned int i = 0; i < RECENT; i++) {
		const struct buf *one = &column->recent[(column->last + i) % RECENT];

		if (text.len != one->len || memcmp(text.p, one->p, text.len) != 0)
			continue;
		buf_done(&text);
		column->last = (column->last + i) % RECENT;
		if (i)
			buf_addf(out, ",-%u", column->last + 1);
		return i;
	}
	kept = common_prefix(&text, last);
	buf_addf(out, ",%zu,%s", kept, quote ? "\"" : "");
	buf_add(out, text.p + quote + kept, text.len - quote - kept);
	column->last = column->next++ % RECENT;
	buf_done(&column->recent[column->last]);
	column->recent[column->last] = text;
	return true;
}

/* milliseconds since the refusal before, times, which texts have changed, as bits, and the
 * changes: a hundred thousand refusals are a tenth as long as the lines of the store
 */
static int add_refusal(void *arg, const struct violation *v)
{
	struct page *page = arg;
	auto_free char *process = process_text(v);
	const char *const texts[TEXTS - 1] = {
		v->run, v->command, v->exe, violation_kind_name(v->kind), v->target, v->reason,
		v->rule_file, v->rule_key, v->suggest_edit, process,
	};
	auto_buf struct buf changes = { 0 };
	unsigned int changed = 0;

	if (!record_filter_has(&page->filter, v))
		return 0;
	for (unsigned int i = 0; i < TEXTS; i++) {
		struct buf text = { 0 };

		if (i < TEXTS - 1)
			violation_add_text(&text, texts[i]);
		else
			add_suggestion(v, &text);
		changed |= (unsigned int)add_change(&page->columns[i], text, &changes) << i;
	}
	begin_record(page);
	buf_addf(&page->json, "%" PRId64 ",%" PRIu64 ",%u", v->time_ms - page->last_ms, v->count,
		 changed);
	page->last_ms = v->time_ms;
	add_inert(page, changes.p, changes.len);
	return 0;
}

/* [kind, path, stale, lines of a patch, why there are none] */
static json_t *change_json(const struct ephemeral *store, const struct ephemeral_change *c,
			   size_t *left)
{
	auto_buf struct buf hunks = { 0 };
	const char *why = *left ? ephemeral_compare(store, c, &hunks) : NULL;
	json_t *lines = json_array();

	if (hunks.len >= *left) {
		why = "not in this page, which is long enough; cloche diff -p shows it";
		hunks.len = *left = 0;
	}
	*left -= hunks.len;
	for (char *line = hunks.p, *end; line < hunks.p + hunks.len; line = end + 1) {
		end = strchr(line, '\n');
		*end = '\0';
		json_array_append_new(lines, json_text(line));
	}
	return json_pack("[s,o,b,o,o]", ephemeral_kind_name(c->kind), json_text(c->path),
			 c->stale, lines, json_text(why));
}

/* What --ephemeral has staged for @project, as it is now; NULL if nothing */
static json_t *staged_json(char *project, char *state, size_t *left)
{
	/* All that says where the store is */
	const struct policy policy = { .project = project, .dirs[DIR_STATE] = state };
	struct ephemeral store = EPHEMERAL_NONE;
	struct err err = { 0 };
	json_t *changes;
	const int r = ephemeral_open(&policy, &store, &err);

	if (r <= 0)
		return r < 0 ? json_pack("{s:o, s:o}", "project", json_text(project), "why",
					 json_text(err.msg)) : NULL;
	changes = json_array();
	for (size_t i = 0; i < store.changes.len; i++)
		json_array_append_new(changes, change_json(&store, &store.changes.v[i], left));
	ephemeral_done(&store);
	return json_pack("{s:o, s:o}", "project", json_text(project), "changes", changes);
}

static void add_json(struct page *page, json_t *value)
{
	auto_free char *text = json_dumps(value, JSON_COMPACT);

	add_inert(page, text, strlen(text));
	json_decref(value);
}

/* The changes are beside the record store */
static void add_staged(struct page *page)
{
	auto_free char *dir = violation_store_default_dir(), *state = path_parent(dir);
	json_t *all = json_array();
	size_t left = PATCHES_MAX;

	for (size_t i = 0; i < page->projects.len; i++) {
		json_t *one = staged_json(page->projects.v[i], state, &left);

		if (one)
			json_array_append_new(all, one);
	}
	buf_adds(&page->json, ",\"staged\":");
	add_json(page, all);
}

/* {"full": [{"promise": ..., "holds": "partly", "by": ...}], ...} of what does not hold */
static void add_tiers(struct page *page)
{
	const struct ground ground = { .abi = sys_landlock_abi(), .observer = true };
	json_t *tiers = json_object();

	for (enum tier tier = TIER_FULL; tier < TIER_NONE; tier++) {
		json_t *list = json_array();

		for (enum guarantee g = 0; g < GUARANTEE_COUNT; g++) {
			const struct guarantee_state s = guarantee_in(g, tier, ground);

			if (s.holds != HOLDS)
				json_array_append_new(list, json_pack(
					"{s:s, s:s, s:s}", "promise", s.promise,
					"holds", holds_name(s.holds), "by", s.by));
		}
		json_object_set_new(tiers, tier_name(tier), list);
	}
	add_json(page, tiers);
}

static int add_records(struct page *page, struct violation_store *store, struct err *err)
{
	int r = record_filter_open(&page->filter, store, err);

	buf_adds(&page->json, ",\"runs\":[");
	if (r == 0)
		r = violation_store_each_run(store, add_run, page, err);
	buf_adds(&page->json, "],\"refusals\":[");
	if (r == 0)
		r = violation_store_each(store, add_refusal, page, err);
	buf_adds(&page->json, "],\"tiers\":");
	return r;
}

static int fill_page(struct page *page, struct err *err)
{
	char now[VIOLATION_TIME_SIZE];
	struct violation_store *store = NULL;
	int r = violation_store_open(false, &store, err);

	if (r < 0)
		return r;
	violation_time(now_ms(CLOCK_REALTIME), now);
	buf_addf(&page->json, "{\"version\":1,\"made\":\"%s\",\"cloche\":\"%s\"", now,
		 CLOCHE_VERSION);
	r = add_records(page, store, err);
	violation_store_free(store);
	if (r < 0)
		return r;
	if (page->filter.run && !page->found)
		return fail(err, -ENOENT, "no record of a run '%s'; 'cloche violations list' and 'cloche report' name runs",
			    page->filter.run);
	if (page->filter.session && !page->found)
		return fail(err, -ENOENT, "no record of a session '%s'; 'cloche session list' names those that last",
			    page->filter.session);
	add_tiers(page);
	add_staged(page);
	buf_addc(&page->json, '}');
	return 0;
}

/* Only the user may read the file: it holds records */
static int write_page(const struct buf *json, const char *path, struct err *err)
{
	auto_close int file = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)
				   : -1;
	const int fd = path ? file : STDOUT_FILENO;
	int r;

	if (fd < 0)
		return fail_errno(err, "cannot write '%s'", path);
	if ((r = fs_write_all(fd, page_head, sizeof(page_head) - 1)) < 0 ||
	    (r = fs_write_all(fd, json->p, json->len)) < 0 ||
	    (r = fs_write_all(fd, page_tail, sizeof(page_tail) - 1)) < 0)
		return fail(err, r, "cannot write '%s': %s",
			    path ? path : "standard output", strerror(-r));
	return 0;
}

/* Without -o, for a browser or from a terminal: a file that every such report replaces */
static char *default_path(void)
{
	auto_free char *dir = violation_store_default_dir();

	return dir && access(dir, F_OK) == 0 ? mem_printf("%s/report.html", dir) : NULL;
}

/* The desktop's own way to a browser takes this process's place */
static int open_page(const char *path, struct err *err)
{
	auto_free char *real = realpath(path, NULL);
	char program[] = "xdg-open";
	char *const argv[] = { program, real, NULL };

	if (!real)
		return fail_errno(err, "cannot find '%s'", path);
	execvp(program, argv);
	return fail(err, -errno, "cannot start xdg-open (%s); open file://%s in a browser",
		    strerror(errno), real);
}

int cli_report(struct call *call, struct err *err)
{
	const char *path = call_flag(call, "output");
	const bool open = call_flag(call, "open");
	const bool keeps = !path && (open || isatty(STDOUT_FILENO));
	auto_free char *chosen = keeps ? default_path() : NULL;
	struct page page = { .filter = {
		.run = call->count ? call->args[0] : NULL,
		.session = call_flag(call, "session") } };
	int r = call_expect(call, 0, 1, err);

	path = path ? path : chosen;
	if (r == 0)
		r = call_since(call, &page.filter.since_ms, err);
	if (r == 0 && keeps && !path)
		r = fail(err, -ENOENT, "nothing is recorded yet");
	if (r == 0)
		r = fill_page(&page, err);
	if (r == 0)
		r = write_page(&page.json, path, err);
	if (r == 0 && keeps && !open)
		terminal_line(stdout, "file://%s (--open shows it in a browser)", path);
	page_done(&page);
	return r == 0 && open ? open_page(path, err) : r;
}
