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
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/sys.h"
#include "base/text.h"
#include "cli/command-line.h"
#include "plan/tier.h"
#include "report-page.h"
#include "report/run-record.h"
#include "report/violation-store.h"
#include "report/violation.h"

/**
 * struct page - What goes into the page
 * @run:	Only this run, or NULL
 * @since_ms:	Only what is later
 * @found:	How many records there are
 * @json:	The data, so far
 */
struct page {
	const char *run;
	int64_t since_ms;
	size_t found;
	struct buf json;
};

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

static void add_record(struct page *page, const struct buf *line)
{
	if (page->json.p[page->json.len - 1] != '[')
		buf_addc(&page->json, ',');
	add_inert(page, line->p, line->len);
	page->found++;
}

/* The line of a run that has not ended gets the key "running" */
static int add_run(void *arg, const struct run_record *run)
{
	const bool running = run_record_is_running(run);
	auto_buf struct buf line = { 0 };
	struct page *page = arg;

	if ((!running && (run->end_ms ? run->end_ms : run->start_ms) < page->since_ms) ||
	    (page->run && strcmp(run->run, page->run) != 0))
		return 0;
	run_record_to_json(run, &line);
	if (!run->end_ms) {
		line.len -= strlen("}\n");
		buf_addf(&line, ",\"running\":%s}", running ? "true" : "false");
	}
	add_record(page, &line);
	return 0;
}

static int add_refusal(void *arg, const struct violation *v)
{
	auto_buf struct buf line = { 0 };
	struct page *page = arg;

	if (v->time_ms < page->since_ms ||
	    (page->run && (!v->run || strcmp(v->run, page->run) != 0)))
		return 0;
	violation_to_json(v, &line);
	add_record(page, &line);
	return 0;
}

/* {"full": [{"promise": ..., "holds": "partly", "by": ...}], ...} of what does not hold */
static void add_tiers(struct page *page)
{
	const struct ground ground = { .abi = sys_landlock_abi(), .observer = true };
	json_t *tiers = json_object();
	auto_free char *text = NULL;

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
	text = json_dumps(tiers, 0);
	add_inert(page, text, strlen(text));
	json_decref(tiers);
}

static int add_records(struct page *page, struct violation_store *store, struct err *err)
{
	int r = 0;

	buf_adds(&page->json, ",\"runs\":[");
	if (store)
		r = violation_store_each_run(store, add_run, page, err);
	buf_adds(&page->json, "],\"refusals\":[");
	if (store && r == 0)
		r = violation_store_each(store, add_refusal, page, err);
	buf_adds(&page->json, "],\"tiers\":");
	return r;
}

static int fill_page(struct page *page, struct err *err)
{
	auto_free char *dir = violation_store_default_dir();
	char now[VIOLATION_TIME_SIZE];
	struct violation_store *store = NULL;
	int r = 0;

	if (!dir)
		return fail(err, -ENOENT, "no home directory; set XDG_STATE_HOME");
	/* A query creates nothing */
	if (access(dir, F_OK) == 0)
		r = violation_store_new(dir, VIOLATION_STORE_FILE_MAX, &store, err);
	if (r < 0)
		return r;
	violation_time(now_ms(CLOCK_REALTIME), now);
	buf_addf(&page->json, "{\"version\":1,\"made\":\"%s\",\"cloche\":\"%s\"", now,
		 CLOCHE_VERSION);
	r = add_records(page, store, err);
	violation_store_free(store);
	if (r < 0)
		return r;
	if (page->run && !page->found)
		return fail(err, -ENOENT, "no record of a run '%s'; 'cloche violations list' and 'cloche report' name runs",
			    page->run);
	add_tiers(page);
	buf_addc(&page->json, '}');
	return 0;
}

/* Records are nobody else's business: the file is the user's alone */
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

int cli_report(struct call *call, struct err *err)
{
	const char *since = call_flag(call, "since"), *path = call_flag(call, "output");
	struct page page = { .run = call->count ? call->args[0] : NULL };
	uint64_t ms;
	int r = call_expect(call, 0, 1, err);

	if (r == 0 && since && text_to_duration_ms(since, &ms) < 0)
		r = fail(err, -EINVAL, "--since: '%s' is not a time like 30m, 1h or 2d", since);
	if (r == 0 && since)
		page.since_ms = now_ms(CLOCK_REALTIME) - (int64_t)ms;
	if (r == 0 && !path && isatty(STDOUT_FILENO))
		r = fail(err, -EINVAL, "the page is not for a terminal; -o FILE writes it to a file");
	if (r == 0)
		r = fill_page(&page, err);
	if (r == 0)
		r = write_page(&page.json, path, err);
	buf_done(&page.json);
	return r;
}
