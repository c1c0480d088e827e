/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run/resource-limits.c - memory, processes, file size: a control group, or rlimits
 *
 * Theory of operation: three ways in one table. Version 2 wants one directory
 * with both controllers; version 1 one directory per controller. Whichever
 * can be made and limited is used; a directory left behind by a run that was
 * killed is empty, and removed by the next one.
 */

#include "run/resource-limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/policy.h"
#include "run/run.h"

enum { CONTROL_FILE_MAX = 4096 };

/* How a group limits one thing, in each version */
static const struct controller {
	enum policy_number number;
	const char *name;	/* Of the version 1 hierarchy */
	const char *v1_limit, *v1_hits, *v2_limit, *v2_hits, *v2_key, *v1_peak, *v2_peak;
} controllers[] = {
	{ NUMBER_MEMORY, "memory", "memory.limit_in_bytes", "memory.failcnt",
	  "memory.max", "memory.events", "oom_kill ",
	  "memory.max_usage_in_bytes", "memory.peak" },
	{ NUMBER_PIDS, "pids", "pids.max", "pids.events", "pids.max",
	  "pids.events", "max ", "pids.peak", "pids.peak" },
};

enum { CONTROLLERS = ARRAY_SIZE(controllers) };

/**
 * struct limits - One run's
 * @groups:	Directory of the group that keeps this limit, or NULL
 * @version:	1 or 2, of the groups
 */
struct limits {
	const struct policy *policy;
	char *groups[CONTROLLERS];
	int version;
};

static int put(const char *dir, const char *file, const char *text)
{
	auto_free char *path = path_join(dir, file);
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return fs_write_all(fd, text, strlen(text));
}

static int put_number(const char *dir, const char *file, uint64_t n)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	return put(dir, file, text);
}

/* The first number after @key in @file, or 0 */
static uint64_t get_number(const char *dir, const char *file, const char *key)
{
	auto_free char *path = path_join(dir, file);
	auto_buf struct buf text = { 0 };
	const char *at;

	if (fs_read(AT_FDCWD, path, CONTROL_FILE_MAX, &text, NULL) < 0)
		return 0;
	at = key ? strstr(buf_str(&text), key) : buf_str(&text);
	return at ? strtoull(at + (key ? strlen(key) : 0), NULL, 10) : 0;
}

/* Our own group: "N:controller:/path" or "0::/path" of /proc/self/cgroup */
static char *own_group(const char *mount, const char *field)
{
	auto_buf struct buf text = { 0 };
	const char *at;

	if (fs_read(AT_FDCWD, "/proc/self/cgroup", CONTROL_FILE_MAX, &text,
		    NULL) < 0)
		return NULL;
	at = strstr(buf_str(&text), field);
	if (!at)
		return NULL;
	at += strlen(field);
	return mem_printf("%s%.*s", mount, (int)strcspn(at, "\n"), at);
}

/* Remove empty groups of earlier runs */
static void sweep(const char *parent)
{
	auto_closedir DIR *dir = opendir(parent);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL) {
		pid_t pid;

		if (strncmp(entry->d_name, "cloche-", 7) != 0)
			continue;
		pid = (pid_t)strtol(entry->d_name + 7, NULL, 10);
		if (kill(pid, 0) < 0 && errno == ESRCH)
			(void)unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
	}
}

static char *make_group(const char *parent)
{
	char *path = mem_printf("%s/cloche-%d", parent, (int)getpid());

	sweep(parent);
	if (mkdir(path, 0755) < 0 && errno != EEXIST) {
		free(path);
		return NULL;
	}
	return path;
}

static void drop_group(char **group)
{
	if (*group)
		(void)rmdir(*group);
	free(*group);
	*group = NULL;
}

static bool wants(const struct limits *l, size_t i)
{
	return l->policy->numbers[controllers[i].number].set;
}

/* Process 1 of the sandbox is in the group too, and does not count as the command's */
static uint64_t for_group(const struct limits *l, size_t i)
{
	return l->policy->numbers[controllers[i].number].value +
	       (controllers[i].number == NUMBER_PIDS);
}

static void try_v2(struct limits *l)
{
	auto_free char *parent = own_group("/sys/fs/cgroup", "0::");
	char *group;

	if (!parent || access("/sys/fs/cgroup/cgroup.controllers", F_OK) < 0)
		return;
	(void)put(parent, "cgroup.subtree_control", "+memory +pids");
	group = make_group(parent);
	if (!group)
		return;
	for (size_t i = 0; i < CONTROLLERS; i++) {
		if (wants(l, i) && put_number(group, controllers[i].v2_limit,
					      for_group(l, i)) == 0)
			l->groups[i] = mem_strdup(group);
	}
	(void)put(group, "memory.swap.max", "0");
	l->version = 2;
	if (!l->groups[0] && !l->groups[1])
		(void)rmdir(group);
	free(group);
}

static void try_v1(struct limits *l, size_t i)
{
	const struct controller *c = &controllers[i];
	auto_free char *mount = mem_printf("/sys/fs/cgroup/%s", c->name);
	auto_free char *field = mem_printf(":%s:", c->name);
	auto_free char *parent = own_group(mount, field);

	if (!parent || access(parent, W_OK) < 0)
		return;
	l->groups[i] = make_group(parent);
	if (l->groups[i] &&
	    put_number(l->groups[i], c->v1_limit, for_group(l, i)) < 0)
		drop_group(&l->groups[i]);
	l->version = 1;
}

struct limits *limits_new(const struct policy *policy)
{
	struct limits *l = mem_zalloc(sizeof(*l));

	l->policy = policy;
	if (wants(l, 0) || wants(l, 1))
		try_v2(l);
	for (size_t i = 0; i < CONTROLLERS; i++) {
		if (wants(l, i) && !l->groups[i] && l->version != 2)
			try_v1(l, i);
	}
	return l;
}

void limits_free(struct limits *l)
{
	for (size_t i = 0; l && i < CONTROLLERS; i++)
		drop_group(&l->groups[i]);
	free(l);
}

bool limits_need_group(const struct limits *l)
{
	return l->groups[0] || l->groups[1];
}

const char *limits_method(const struct limits *l)
{
	if (!limits_need_group(l))
		return "per process";
	return l->version == 2 ? "control group (v2)" : "control group (v1)";
}

static void fill_one(const struct limits *l, struct sandbox_request *request,
		     enum policy_number number, int resource)
{
	if (l->policy->numbers[number].set)
		request->limits[request->nlimits++] = (struct sandbox_limit){
			resource, l->policy->numbers[number].value,
		};
}

void limits_fill(const struct limits *l, struct sandbox_request *request)
{
	/* Not the address space: some programs reserve far more than they use */
	if (!l->groups[0])
		fill_one(l, request, NUMBER_MEMORY, RLIMIT_DATA);
	if (!l->groups[1])
		fill_one(l, request, NUMBER_PIDS, RLIMIT_NPROC);
	fill_one(l, request, NUMBER_FILE_SIZE, RLIMIT_FSIZE);
	request->wait = limits_need_group(l);
}

int limits_apply(const struct limits *l, pid_t init)
{
	for (size_t i = 0; i < CONTROLLERS; i++) {
		const int r = !l->groups[i] ? 0 :
			put_number(l->groups[i], "cgroup.procs",
				   (uint64_t)init);

		if (r < 0)
			return r;
	}
	return 0;
}

static uint64_t hits(const struct limits *l, size_t i)
{
	const struct controller *c = &controllers[i];

	if (l->version == 2)
		return get_number(l->groups[i], c->v2_hits, c->v2_key);
	return get_number(l->groups[i], c->v1_hits,
			  c->number == NUMBER_PIDS ? "max " : NULL);
}

void limits_used(const struct limits *l, struct buf *out)
{
	for (size_t i = 0; i < CONTROLLERS; i++) {
		const struct controller *c = &controllers[i];
		const uint64_t peak = !l->groups[i] ? 0 :
			get_number(l->groups[i], l->version == 2 ? c->v2_peak : c->v1_peak,
				   NULL);

		if (peak)
			buf_addf(out, " %s=%" PRIu64 "/%" PRIu64, c->name,
				 peak - (c->number == NUMBER_PIDS),
				 l->policy->numbers[c->number].value);
	}
}

/* Without a control group nothing counts the hits: a command that fails may not have
 * said that a limit was why
 */
void limits_explain(const struct limits *l, struct run *run, int status)
{
	static const char maybe[] = "the command failed with a limit of %" PRIu64 " in force";
	const struct number *size = &l->policy->numbers[NUMBER_FILE_SIZE];

	if (size->set && status == 128 + SIGXFSZ)
		run_report_limit(run, NUMBER_FILE_SIZE, true,
				 "a file reached %" PRIu64 " bytes", size->value);
	else if (size->set && status != 0)
		run_report_limit(run, NUMBER_FILE_SIZE, false, maybe,
				 size->value);
	for (size_t i = 0; i < CONTROLLERS; i++) {
		const enum policy_number number = controllers[i].number;
		const uint64_t value = l->policy->numbers[number].value;

		if (l->groups[i] && hits(l, i))
			run_report_limit(run, number, true,
					 "the sandbox reached %" PRIu64, value);
		else if (wants(l, i) && !l->groups[i] && status != 0)
			run_report_limit(run, number, false, maybe, value);
	}
}
