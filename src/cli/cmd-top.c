/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/cmd-top.c - cloche top: the sandboxes that run now
 *
 * The record store says which runs have started and not ended, /proc which of their
 * supervisors are there, and what their descendants use. Nothing is asked of a run.
 */

#include <inttypes.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/processes.h"
#include "base/sys.h"
#include "base/terminal.h"
#include "cli/command-line.h"
#include "report/run-record.h"
#include "report/violation-store.h"

enum {
	EVERY_MS = 2000,
	SCREEN_BYTES = 64 << 10,
};

/**
 * struct sandbox_row - One run that has not ended
 * @inside:	A process of the sandbox, or 0
 */
struct sandbox_row {
	struct run_record run;
	pid_t inside;
	unsigned int processes, connections;
	uint64_t cpu_ms, memory, refusals;
};

struct top {
	struct { struct sandbox_row *v; size_t len, cap; } rows;
};

static void top_done(struct top *top)
{
	for (size_t i = 0; i < top->rows.len; i++)
		run_record_done(&top->rows.v[i].run);
	free(top->rows.v);
}

static struct sandbox_row *row_of(const struct top *top, const char *run)
{
	for (size_t i = 0; i < top->rows.len; i++) {
		if (!strcmp(top->rows.v[i].run.run, run))
			return &top->rows.v[i];
	}
	return NULL;
}

static char *copy(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

static int add_running(void *arg, const struct run_record *run)
{
	struct top *top = arg;
	struct sandbox_row *row;

	if (!run_record_is_running(run))
		return 0;
	row = vec_push(&top->rows);
	*row = (struct sandbox_row){ .run = {
		.start_ms = run->start_ms, .pid = run->pid, .run = copy(run->run),
		.command = copy(run->command), .project = copy(run->project),
		.tier = copy(run->tier),
	} };
	return 0;
}

/* The first line of a refusal has a count of 1, the last one that of all */
static int count_refusal(void *arg, const struct violation *v)
{
	struct sandbox_row *row = v->run ? row_of(arg, v->run) : NULL;

	if (row)
		row->refusals += v->count > 1 ? v->count - 1 : 1;
	return 0;
}

static bool has_own_network(pid_t pid)
{
	char path[64], ours[64], theirs[64];
	ssize_t n = readlink("/proc/self/ns/net", ours, sizeof(ours)), m;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	m = readlink(path, theirs, sizeof(theirs));
	return n > 0 && m > 0 && (n != m || memcmp(ours, theirs, (size_t)n) != 0);
}

/* Every process counts for the run whose supervisor it descends from */
static void add_up(struct top *top)
{
	struct processes all = { 0 };

	processes_read(&all);
	for (size_t i = 0; i < all.len * top->rows.len; i++) {
		const struct process *p = &all.v[i / top->rows.len];
		struct sandbox_row *row = &top->rows.v[i % top->rows.len];

		if (!processes_descend(&all, p->pid, row->run.pid))
			continue;
		row->processes++;
		row->cpu_ms += p->cpu_ms;
		row->memory += p->memory;
		if (!row->inside && has_own_network(p->pid))
			row->inside = p->pid;
	}
	free(all.v);
}

static void count_end(void *arg, const struct tcp_socket *s)
{
	*(unsigned int *)arg += s->state == TCP_ESTABLISHED;
}

/* Both ends of a connection are in the sandbox's namespace: the gate's and the command's */
static unsigned int count_connections(pid_t pid)
{
	auto_free char *name = mem_printf("%d", (int)pid);
	unsigned int ends = 0;

	tcp_sockets_each(name, count_end, &ends);
	return (ends + 1) / 2;
}

static int look(struct top *top, struct err *err)
{
	struct violation_store *store = NULL;
	int r = violation_store_open(false, &store, err);

	if (r == 0 && (r = violation_store_each_run(store, add_running, top, err)) == 0 &&
	    top->rows.len)
		r = violation_store_each(store, count_refusal, top, err);
	violation_store_free(store);
	if (r < 0 || !top->rows.len)
		return r;
	add_up(top);
	for (size_t i = 0; i < top->rows.len; i++) {
		if (top->rows.v[i].inside)
			top->rows.v[i].connections = count_connections(top->rows.v[i].inside);
	}
	return 0;
}

static uint64_t age_ms(const struct sandbox_row *row)
{
	const int64_t age = now_ms(CLOCK_REALTIME) - row->run.start_ms;

	return age > 0 ? (uint64_t)age : 0;
}

static void print_rows_json(const struct top *top)
{
	json_t *list = json_array();

	for (size_t i = 0; i < top->rows.len; i++) {
		const struct sandbox_row *row = &top->rows.v[i];

		json_array_append_new(list, json_pack(
			"{s:o, s:o, s:o, s:o, s:i, s:I, s:I, s:I, s:i, s:i, s:I}",
			"run", json_text(row->run.run), "command", json_text(row->run.command),
			"project", json_text(row->run.project), "tier", json_text(row->run.tier),
			"pid", (int)row->run.pid, "age_ms", (json_int_t)age_ms(row),
			"cpu_ms", (json_int_t)row->cpu_ms, "memory", (json_int_t)row->memory,
			"processes", (int)row->processes, "connections", (int)row->connections,
			"refusals", (json_int_t)row->refusals));
	}
	print_json(json_pack("{s:i, s:o}", "version", 1, "sandboxes", list), JSON_COMPACT);
}

/* A terminal has one line for each run, as many as there is room for */
static void print_rows(const struct top *top)
{
	enum { BEFORE = 58, LEAST = 20, HEAD = 1, LAST = 2 };
	struct winsize size = { .ws_col = USHRT_MAX, .ws_row = USHRT_MAX };
	size_t rows = top->rows.len;
	int width;

	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	width = size.ws_col < BEFORE + LEAST ? LEAST : size.ws_col - BEFORE;
	if (rows + HEAD >= size.ws_row && size.ws_row > HEAD + LAST)
		rows = size.ws_row - HEAD - LAST;
	if (!rows) {
		terminal_line(stdout, "no sandbox runs");
		return;
	}
	terminal_line(stdout, "%8s %9s %8s %8s %5s %5s %7s  %s", "PID", "AGE", "CPU", "MEMORY",
		      "PROCS", "CONNS", "REFUSED", "COMMAND");
	for (size_t i = 0; i < rows; i++) {
		const struct sandbox_row *row = &top->rows.v[i];
		const uint64_t age = age_ms(row) / 1000;

		terminal_line(stdout, "%8d %3" PRIu64 ":%02" PRIu64 ":%02" PRIu64 " %7.1fs %7" PRIu64 "M %5u %5u %7" PRIu64 "  %.*s",
			      (int)row->run.pid, age / 3600, age / 60 % 60, age % 60,
			      (double)row->cpu_ms / 1000, row->memory >> 20, row->processes,
			      row->connections, row->refusals, width,
			      row->run.command ? row->run.command : "");
	}
	if (rows < top->rows.len)
		terminal_line(stdout, "and %zu more", top->rows.len - rows);
}

int cli_top(struct call *call, struct err *err)
{
	const bool json = call_flag(call, "json");
	const bool once = json || call_flag(call, "once") || !isatty(STDOUT_FILENO);
	int r = call_expect(call, 0, 0, err);

	if (!once)	/* A screen is one write, so that it does not flicker */
		(void)setvbuf(stdout, NULL, _IOFBF, SCREEN_BYTES);
	while (r == 0) {
		struct top top = { 0 };

		r = look(&top, err);
		if (r == 0 && !once)
			fputs("\033[H\033[2J", stdout);
		if (r == 0 && json)
			print_rows_json(&top);
		else if (r == 0)
			print_rows(&top);
		top_done(&top);
		if (r < 0 || once || fflush(stdout))
			break;
		(void)poll(NULL, 0, EVERY_MS);
	}
	return r;
}
