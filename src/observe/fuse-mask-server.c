/* SPDX-License-Identifier: Apache-2.0 */
/*
 * observe/fuse-mask-server.c - serve FUSE masks and report reads of hidden paths
 *
 * Theory of operation: the kernel names the mask, one name in it and a thread.
 * The thread waits for us, so its call can be read: that gives the call's name
 * and the rest of the path. None of it decides anything, so it does not matter
 * that the process can change it meanwhile.
 *
 * What is not on the host either was not refused: a program that looks whether
 * there is a file gets the same answer as everywhere in the mask, and no report.
 */

#include "observe/fuse-mask-server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "observe/notification.h"
#include "observe/observer-policy.h"
#include "observe/tracee.h"
#include "report/suggestion.h"
#include "report/violation.h"

/* A number of another pid namespace in ours (Linux 6.11) */
#ifndef NS_GET_PID_FROM_PIDNS
#define NS_GET_PID_FROM_PIDNS	_IOR(0xb7, 0x6, int)
#endif

enum { PROCESSES_MAX = 8192 };	/* Looked through, where that is missing */

struct fuse_masks_run {
	int device, pids;
	struct fuse_mask_tree tree;
	struct observer_rules *rules;
	const struct violation_sink *sink;
	struct tracees tracees;
	uint64_t request[FUSE_MASK_REQUEST_MAX / 8], reply[FUSE_MASK_REPLY_MAX / 8];
};

/**
 * struct reading - The call that waits
 * @op:		Its name, or NULL
 * @path:	Its path, absolute; "" if it could not be read
 */
struct reading {
	const char *op;
	char path[2 * PATH_MAX];
};

int fuse_masks_new(const struct fuse_masks_config *config, struct fuse_masks_run **ret,
	      struct err *err)
{
	struct fuse_masks_run *m = mem_zalloc(sizeof(*m));

	m->device = config->device;
	m->pids = config->pids;
	m->rules = config->rules;
	m->sink = config->sink;
	tracees_init(&m->tracees, NULL);
	fuse_mask_tree_build(config->plan, &m->tree);
	if (fcntl(m->device, F_SETFL, O_NONBLOCK) < 0) {
		const int r = fail_errno(err, "cannot answer for the masks");

		fuse_masks_free(m);
		return r;
	}
	*ret = m;
	return 0;
}

void fuse_masks_free(struct fuse_masks_run *m)
{
	if (!m)
		return;
	close_fd(&m->device);	/* Pending requests fail */
	close_fd(&m->pids);
	tracees_done(&m->tracees);
	fuse_mask_tree_done(&m->tree);
	free(m);
}

size_t fuse_masks_silent(const struct fuse_masks_run *m)
{
	return m->tree.silent;
}

void fuse_masks_set_rules(struct fuse_masks_run *m, struct observer_rules *rules)
{
	m->rules = rules;
}

/* True if process @pid has the number @inner in the namespace @pids */
static bool is_called(pid_t pid, pid_t inner, const struct stat *pids)
{
	char path[64], status[1024];
	const char *at;
	struct stat st;
	long last = 0;

	snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
	if (stat(path, &st) < 0 || st.st_ino != pids->st_ino)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	(void)fs_read_small(AT_FDCWD, path, status, sizeof(status));
	at = strstr(status, "\nNSpid:");
	if (!at)
		return false;
	for (at += strlen("\nNSpid:"); *at == '\t'; at += strcspn(at, "\t\n"))
		last = strtol(++at, NULL, 10);
	return last == inner;
}

/* Older kernels: look through all processes. 0 if it is not found. */
static pid_t search_process(const struct fuse_masks_run *m, pid_t inner)
{
	auto_close int list = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_dir struct dir dir = dir_of(list);
	struct dir_entry entry;
	struct stat pids;

	if (list < 0 || fstat(m->pids, &pids) < 0)
		return 0;
	for (int i = 0; i < PROCESSES_MAX && dir_next(&dir, &entry) > 0; i++) {
		const pid_t pid = (pid_t)strtol(entry.name, NULL, 10);

		if (pid > 0 && is_called(pid, inner, &pids))
			return pid;
	}
	return 0;
}

static pid_t host_thread(const struct fuse_masks_run *m, pid_t inner)
{
	const int pid = ioctl(m->pids, NS_GET_PID_FROM_PIDNS,
			      (unsigned long)inner);

	if (pid > 0 || errno == ESRCH)
		return pid > 0 ? pid : 0;
	return search_process(m, inner);
}

/* The calls that may be waiting for the answer of a mask; arguments as in struct call */
static const struct read_call {
	int nr;
	const char *name;
	int dir, path;
} reads[] = {
#define READ(name, dir, path) { SYS_##name, #name, dir, path }
	READ(openat, 0, 1),
	READ(openat2, 0, 1),
	READ(newfstatat, 0, 1),
	READ(statx, 0, 1),
	READ(faccessat, 0, 1),
	READ(faccessat2, 0, 1),
	READ(readlinkat, 0, 1),
	READ(statfs, CALL_CWD, 0),
	READ(chdir, CALL_CWD, 0),
	READ(getxattr, CALL_CWD, 0),
	READ(lgetxattr, CALL_CWD, 0),
	READ(listxattr, CALL_CWD, 0),
	READ(llistxattr, CALL_CWD, 0),
	READ(execve, CALL_CWD, 0),
	READ(execveat, 0, 1),
#ifdef SYS_open	/* Not on newer architectures */
	READ(open, CALL_CWD, 0),
	READ(stat, CALL_CWD, 0),
	READ(lstat, CALL_CWD, 0),
	READ(access, CALL_CWD, 0),
	READ(readlink, CALL_CWD, 0),
#endif
};

/* Read the call that @t waits in, as far as that can be done */
static void read_reading(struct tracee *t, struct reading *ret)
{
	long nr = -1;
	uint64_t args[6];
	const struct read_call *call = NULL;
	const bool waits = t && tracee_call(t->tid, &nr, args) > 0;
	char text[PATH_MAX];
	ssize_t n = 0;

	ret->op = NULL;
	ret->path[0] = '\0';
	for (size_t i = 0; waits && !call && i < ARRAY_SIZE(reads); i++)
		call = reads[i].nr == nr ? &reads[i] : NULL;
	if (!call)
		return;
	ret->op = call->name;
	if (tracee_string(t, args[call->path], text, sizeof(text)) < 0)
		return;
	if (text[0] != '/') {
		const int dir = call->dir == CALL_CWD ? AT_FDCWD
						       : (int)args[call->dir];

		n = dir == AT_FDCWD ?
		    tracee_link(t, "cwd", ret->path, PATH_MAX) :
		    tracee_fd_link(t, dir, ret->path, PATH_MAX);
		if (n < 0) {
			ret->path[0] = '\0';
			return;
		}
		ret->path[n++] = '/';
	}
	memcpy(ret->path + n, text, strlen(text) + 1);
}

/* True if @path has a "..": where that leads is unknown, as the walk ends before */
static bool goes_up(const char *path)
{
	for (; (path = strstr(path, "/..")) != NULL; path++) {
		if (path[3] == '/' || !path[3])
			return true;
	}
	return false;
}

/* What follows the component @name in @path: the one in @mask, by the text, or
 * the last one, if a link led there; "" if nothing does
 */
static const char *rest_after(const char *path, const char *mask,
			      const char *name)
{
	const size_t n = strlen(name);
	const char *rest = "";

	for (const char *p = path; (p = strstr(p, name)) != NULL; p++) {
		auto_free char *text = mem_strndup(path, (size_t)(p - path));
		auto_free char *dir = path_resolve("/", text);

		if (p == path || p[-1] != '/' || (p[n] != '/' && p[n]))
			continue;
		rest = p + n;
		if (!strcmp(dir, mask))
			break;
	}
	return goes_up(rest) ? "" : rest;
}

/* The whole path of the attempt, as far as it is known */
static char *target_of(const struct fuse_masks_run *m,
		       const struct fuse_mask_event *event,
		       const struct reading *reading)
{
	const char *mask = m->tree.v[event->node].path;
	auto_free char *there = NULL;

	if (event->what != FUSE_MASK_SOUGHT)
		return mem_strdup(mask);
	there = mem_printf("%s/%s%s", mask, event->name,
			   rest_after(reading->path, mask, event->name));
	return path_resolve("/", there);
}

/* True if the host has nothing there that could have been read */
static bool is_nothing(const struct fuse_mask_event *event, const char *target)
{
	struct statx x;

	if (event->what == FUSE_MASK_LISTED)
		return dir_has_names(AT_FDCWD, target) == 0;
	return statx(AT_FDCWD, target, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT |
		     AT_STATX_DONT_SYNC, STATX_TYPE, &x) < 0 &&
	       (errno == ENOENT || errno == ENOTDIR);
}

/* cloche itself, inside, looks for its own state: not reported */
static bool is_ourselves(pid_t tid)
{
	char path[32];
	struct stat own, other;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)tid);
	return tid && stat("/proc/self/exe", &own) == 0 &&
	       stat(path, &other) == 0 && own.st_dev == other.st_dev &&
	       own.st_ino == other.st_ino;
}

static void report(struct fuse_masks_run *m, const struct fuse_mask_event *event)
{
	const pid_t tid = host_thread(m, event->tid);
	struct tracee *t = tid ? tracee_get(&m->tracees, tid) : NULL;
	struct observer_verdict verdict = { 0 };
	struct reading reading;
	auto_free char *target = NULL, *asked = NULL;
	auto_violation struct violation v = { .kind = VIOLATION_FS_READ, .count = 1 };
	const char *reason;
	bool shown;

	read_reading(t, &reading);
	target = target_of(m, event, &reading);
	if (is_nothing(event, target))
		return;
	observer_rules_verdict(m->rules, OBSERVER_READ, target, &verdict);
	if (verdict.final && is_ourselves(tid))
		return;
	shown = verdict.answer == OBSERVER_ALLOWED;	/* But the mask is there */
	reason = shown ? "hidden until the edited settings count" :
		 verdict.reason ? verdict.reason : "hidden";
	v.error = event->error;
	v.pid = t ? tracee_process(t, NULL) : 0;
	v.op = mem_strdup(reading.op ? reading.op :
			  event->what == FUSE_MASK_SOUGHT ? "lookup" : "open");
	v.rule_file = verdict.rule_file ? mem_strdup(verdict.rule_file) : NULL;
	v.rule_key = verdict.rule_key ? mem_strdup(verdict.rule_key) : NULL;
	asked = path_resolve("/", reading.path);
	if (reading.path[0] && strcmp(asked, target))
		v.reason = mem_printf("%s; given as %s", reason, reading.path);
	else
		v.reason = mem_strdup(reason);
	v.target = take_ptr(target);
	if (verdict.yields)
		suggestion_allow(&v, NULL);
	else if (!verdict.final && !shown)
		suggestion_fill(&v, NULL);
	violation_report(m->sink, &v);
}

int fuse_masks_dispatch(struct fuse_masks_run *m, uint32_t events)
{
	struct fuse_mask_event event;
	const ssize_t n = read(m->device, m->request, sizeof(m->request));
	ssize_t len;

	if (n < 0)	/* ENOENT: the process was killed meanwhile */
		return errno == ENODEV || (events & (EPOLLERR | EPOLLHUP) &&
					   errno == EAGAIN);
	len = fuse_mask_answer(&m->tree, m->request, (size_t)n, m->reply, &event);
	if (len < 0)
		return 1;
	if (event.what && event.tid)	/* Else it is the keeper */
		report(m, &event);
	if (len > 0)
		(void)!write(m->device, m->reply, (size_t)len);
	return 0;
}
