/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/cmd-top.c - cloche top: the sandboxes that run now
 *
 * The record store says which runs have started and not ended, /proc which of their
 * supervisors are there, and what their descendants use. Nothing is asked of a run.
 */

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
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
#include "base/proc.h"
#include "base/sys.h"
#include "base/terminal.h"
#include "cli/command-line.h"
#include "report/run-record.h"
#include "report/violation-store.h"

enum {
	EVERY_MS = 2000,
	SCREEN_BYTES = 64 << 10,
	TCP_ESTABLISHED = 1,
	STATE = 3,		/* The field of /proc/net/tcp */
};

/**
 * struct process - One process of /proc
 * @ticks:	Processor time
 * @pages:	Resident memory
 */
struct process {
	pid_t pid, parent;
	uint64_t ticks, pages;
};

/**
 * struct sandbox_row - One run that has not ended
 * @inside:	A process of the sandbox, or 0
 */
struct sandbox_row {
	struct run_record run;
	pid_t inside;
	unsigned int processes, connections;
	uint64_t ticks, pages, refusals;
};

struct top {
	struct { struct sandbox_row *v; size_t len, cap; } rows;
	struct { struct process *v; size_t len, cap; } processes;
};

static void top_done(struct top *top)
{
	for (size_t i = 0; i < top->rows.len; i++)
		run_record_done(&top->rows.v[i].run);
	free(top->rows.v);
	free(top->processes.v);
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

/* Field @n of @text, from 0, as a number; blanks are between fields */
static uint64_t number_at(const char *text, unsigned int n, int base)
{
	text += strspn(text, " ");
	while (n-- > 0) {
		text += strcspn(text, " ");
		text += strspn(text, " ");
	}
	return strtoull(text, NULL, base);
}

/* Of /proc/PID/stat, counted from behind the name, which may hold anything */
static void read_process(struct top *top, pid_t pid)
{
	enum { PARENT = 1, USER_TICKS = 11, SYSTEM_TICKS = 12, RESIDENT = 21 };
	char text[1024], *at = proc_stat(pid, text, sizeof(text));

	if (!at)
		return;
	at++;
	*vec_push(&top->processes) = (struct process){
		.pid = pid, .parent = (pid_t)number_at(at, PARENT, 10),
		.ticks = number_at(at, USER_TICKS, 10) + number_at(at, SYSTEM_TICKS, 10),
		.pages = number_at(at, RESIDENT, 10),
	};
}

static void read_processes(struct top *top)
{
	auto_closedir DIR *dir = opendir("/proc");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL) {
		char *end;
		const long pid = strtol(entry->d_name, &end, 10);

		if (pid > 0 && !*end)
			read_process(top, (pid_t)pid);
	}
}

static const struct process *find_process(const struct top *top, pid_t pid)
{
	for (size_t i = 0; i < top->processes.len; i++) {
		if (top->processes.v[i].pid == pid)
			return &top->processes.v[i];
	}
	return NULL;
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
	for (size_t i = 0; i < top->processes.len; i++) {
		const struct process *p = &top->processes.v[i], *up = p;
		struct sandbox_row *row = NULL;

		/* A snapshot of /proc may hold a circle: at most as many steps as processes */
		for (size_t step = 0; up && !row && step < top->processes.len; step++) {
			for (size_t k = 0; k < top->rows.len && !row; k++)
				row = top->rows.v[k].run.pid == up->pid ? &top->rows.v[k] : NULL;
			up = find_process(top, up->parent);
		}
		if (!row)
			continue;
		row->processes++;
		row->ticks += p->ticks;
		row->pages += p->pages;
		if (!row->inside && has_own_network(p->pid))
			row->inside = p->pid;
	}
}

/* Both ends of a connection are in the sandbox's namespace: the gate's and the command's */
static unsigned int count_connections(pid_t pid)
{
	static const char *const tables[] = { "tcp", "tcp6" };
	unsigned int ends = 0;

	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		auto_fclose FILE *file = NULL;
		char path[64], line[512];

		snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, tables[i]);
		file = fopen(path, "re");
		while (file && fgets(line, sizeof(line), file))
			ends += number_at(line, STATE, 16) == TCP_ESTABLISHED;
	}
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
	read_processes(top);
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

static uint64_t cpu_ms(const struct sandbox_row *row)
{
	return row->ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK);
}

static uint64_t memory_bytes(const struct sandbox_row *row)
{
	return row->pages * (uint64_t)sysconf(_SC_PAGESIZE);
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
			"cpu_ms", (json_int_t)cpu_ms(row), "memory", (json_int_t)memory_bytes(row),
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
			      (double)cpu_ms(row) / 1000, memory_bytes(row) >> 20, row->processes,
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
