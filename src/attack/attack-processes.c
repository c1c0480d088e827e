/* SPDX-License-Identifier: Apache-2.0 */
/* attack/attack-processes.c - attempts on processes, descriptors, IPC */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack/attack.h"
#include "base/own.h"
#include "base/sys.h"

enum { FDS_SCANNED = 1024, CORE_LIMIT = 1 << 20, SURVIVE_SECONDS = 20,
       TEXT_MAX = 256, MAPPING_MAX = 64 << 20, PIECE = 1 << 20, WALK_FDS = 16 };

static pid_t pid_of(const char *text)
{
	return (pid_t)strtol(text, NULL, 0);
}

/* What an attempt brings back is limited, and many processes may say the same */
static void learn_once(struct attack *a, const char *text, size_t n)
{
	if (!memmem(a->found.bytes, a->found.len, text, n))
		attack_learn(a, text, n);
}

/* What @file of other processes says: a word that starts with @text, or with NULL all of it */
static int scan(struct attack *a, const char *file, const char *text)
{
	auto_closedir DIR *dir = opendir("/proc");
	const struct dirent *entry;

	if (!dir)
		return -errno;
	while ((entry = readdir(dir)) != NULL) {
		const pid_t pid = pid_of(entry->d_name);
		char path[300], bytes[ATTACK_FOUND_MAX + 1];
		auto_close int fd = -1;
		const char *at;
		size_t left;
		ssize_t n;

		/* What we were given ourselves is another matter */
		if (pid <= 0 || pid == getpid() || pid == getppid())
			continue;
		snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? 0 : read(fd, bytes, ATTACK_FOUND_MAX);
		if (n <= 0)
			continue;
		bytes[n] = '\0';
		at = text ? memmem(bytes, (size_t)n, text, strlen(text)) : bytes;
		left = !at ? 0 : text ? strcspn(at, " \n") : (size_t)n;
		if (left)
			learn_once(a, at, left < TEXT_MAX ? left : TEXT_MAX);
	}
	return 0;
}

/* True if a canary is at @p: TEXT and a digit of it, which this program does not have */
static bool is_canary(const char *p, const char *end, const char *text)
{
	const size_t n = strlen(text);

	return (size_t)(end - p) > n && !memcmp(p, text, n) &&
	       strchr("0123456789abcdef", p[n]) && p[n];
}

/* What is in the @n bytes from TEXT on */
static void find_canary(struct attack *a, const char *bytes, size_t n,
			const char *text)
{
	const char *at = bytes, *end = bytes + n;

	while (at < end && (at = memmem(at, (size_t)(end - at), text, strlen(text)))) {
		const size_t left = (size_t)(end - at);

		if (is_canary(at, end, text)) {
			attack_learn(a, at, left < TEXT_MAX ? left : TEXT_MAX);
			return;
		}
		at++;
	}
}

static void search_memory(struct attack *a, pid_t pid, char *piece)
{
	char path[64], line[PATH_MAX + 128];
	auto_fclose FILE *maps = NULL;
	auto_close int memory = -1;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	while (maps && memory >= 0 && fgets(line, sizeof(line), maps)) {
		char *next;
		const unsigned long first = strtoul(line, &next, 16);
		const unsigned long last = strtoul(next + 1, &next, 16);

		/* What a process has put somewhere, not what its programs are */
		if (next[2] != 'w' || last - first > MAPPING_MAX)
			continue;
		for (unsigned long at = first; at < last; at += PIECE - TEXT_MAX) {
			const ssize_t n = pread(memory, piece, PIECE, (off_t)at);

			if (n > 0)
				find_canary(a, piece, (size_t)n, a->argv[0]);
		}
	}
}

/* The memory of every process that may be read, our own among them, for TEXT. The
 * control has it in its own.
 */
static int scan_memory(struct attack *a)
{
	auto_closedir DIR *dir = opendir("/proc");
	auto_free char *piece = malloc(PIECE);
	const struct dirent *entry;

	if (!dir || !piece)
		return -errno;
	while ((entry = readdir(dir)) != NULL) {
		const pid_t pid = pid_of(entry->d_name);

		if (pid > 0 && (!a->control || pid == getpid()))
			search_memory(a, pid, piece);
	}
	return 0;
}

static struct attack *searching;

static int search_file(const char *path, const struct stat *st, int type,
		       struct FTW *ftw)
{
	auto_close int fd = -1;
	char bytes[ATTACK_FOUND_MAX * 8];
	ssize_t n;

	(void)ftw;
	if (type != FTW_F || !S_ISREG(st->st_mode))
		return 0;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	while (fd >= 0 && (n = read(fd, bytes, sizeof(bytes))) > 0)
		find_canary(searching, bytes, (size_t)n, searching->argv[0]);
	return 0;
}

/* TEXT DIR...: the files there */
static int scan_files(struct attack *a)
{
	searching = a;
	for (char **dir = a->argv + 1; *dir; dir++)
		(void)nftw(*dir, search_file, WALK_FDS, FTW_PHYS | FTW_MOUNT);
	return 0;
}

/* FILE of every other process, from TEXT on */
static int scan_processes(struct attack *a)
{
	return scan(a, a->argv[0], a->argv[1]);
}

/* The name of process PID, then of every other */
static int process_names(struct attack *a)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/comm", a->argv[0]);
	(void)attack_read(a, open(path, O_RDONLY | O_CLOEXEC));
	return scan(a, "comm", NULL);
}

static int variable(struct attack *a)
{
	const char *value = getenv(a->argv[0]);

	if (!value)
		return -ENOENT;
	attack_learn(a, value, strlen(value));
	return 0;
}

ATTEMPT(try_kill, kill(pid_of(a->argv[0]), 0))
/* 0 would be every process that is with us */
static int kill_hard(struct attack *a)
{
	const pid_t pid = pid_of(a->argv[0]);

	return pid > 0 ? attack_result(kill(pid, SIGKILL)) : -ESRCH;
}

/* By every other call that sends a signal */
static int kill_otherwise(struct attack *a)
{
	const union sigval value = { 0 };
	const pid_t pid = pid_of(a->argv[0]);
	auto_close int pidfd = pid > 0 ? pidfd_open(pid, 0) : -1;

	if (pid <= 0)
		return -ESRCH;
	if (sigqueue(pid, SIGKILL, value) == 0 ||
	    syscall(SYS_tkill, pid, SIGKILL) == 0 ||
	    syscall(SYS_tgkill, pid, pid, SIGKILL) == 0 ||
	    (pidfd >= 0 && pidfd_send_signal(pidfd, SIGKILL, NULL, 0) == 0))
		return 0;
	return -errno;
}

static int own_namespace(struct attack *a)
{
	char path[64], target[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", a->argv[0]);
	n = readlink(path, target, sizeof(target));
	if (n > 0)
		attack_learn(a, target, (size_t)n);
	return attack_result(n);
}

/* It works if /proc/self/status has another line than this */
static int not_status(struct attack *a)
{
	auto_fclose FILE *file = fopen("/proc/self/status", "re");
	char line[TEXT_MAX];

	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strcmp(line, a->argv[0]))
			return -EPERM;
	}
	return file ? 0 : -errno;
}

static int lacks_flag(struct attack *a)
{
	const unsigned long flag = !strcmp(a->name, "nosuid") ? ST_NOSUID
							      : ST_NODEV;
	struct statvfs vfs;

	if (statvfs(a->argv[0], &vfs) < 0)
		return -errno;
	return vfs.f_flag & flag ? -EPERM : 0;
}

ATTEMPT(try_ptrace, ptrace(PTRACE_SEIZE, pid_of(a->argv[0]), NULL, NULL))
static int vm_read(struct attack *a)
{
	char byte;
	struct iovec ours = { &byte, 1 }, theirs = { (void *)1, 1 };

	return attack_result(process_vm_readv(pid_of(a->argv[0]), &ours, 1,
					      &theirs, 1, 0));
}

static int pidfd_getfd_of(struct attack *a)
{
	auto_close int pidfd = pidfd_open(pid_of(a->argv[0]), 0);

	return attack_result(pidfd < 0 ? -1 :
			     pidfd_getfd(pidfd, (int)pid_of(a->argv[1]), 0));
}

static int core_limit(struct attack *a)
{
	struct rlimit limit = { 0 };
	char text[64];

	(void)getrlimit(RLIMIT_CORE, &limit);
	snprintf(text, sizeof(text), "%llu %llu",
		 (unsigned long long)limit.rlim_cur,
		 (unsigned long long)limit.rlim_max);
	attack_learn(a, text, strlen(text));
	limit.rlim_cur = limit.rlim_max = CORE_LIMIT;
	return attack_result(setrlimit(RLIMIT_CORE, &limit));
}

/* What descriptors hold that the caller left open */
static int inherited_files(struct attack *a)
{
	int r = -EBADF;

	for (int fd = 3; fd < FDS_SCANNED; fd++) {
		char bytes[TEXT_MAX];
		const ssize_t n = pread(fd, bytes, sizeof(bytes), 0);

		if (n <= 0)
			continue;
		r = 0;
		attack_learn(a, bytes, (size_t)n);
	}
	return r;
}

static int inherited_dirs(struct attack *a)
{
	int r = -EBADF;

	for (int fd = 3; fd < FDS_SCANNED && r < 0; fd++)
		r = attack_read(a, openat(fd, a->argv[0],
					  O_RDONLY | O_CLOEXEC));
	return r;
}

static int shm(struct attack *a)
{
	const int id = shmget((key_t)strtol(a->argv[0], NULL, 0), 0, 0);
	const char *data = id < 0 ? (void *)-1 : shmat(id, NULL, SHM_RDONLY);

	if (data == (void *)-1)
		return -errno;
	attack_learn(a, data, strnlen(data, TEXT_MAX));
	return 0;
}

static int msg(struct attack *a)
{
	struct {
		long type;
		char text[TEXT_MAX];
	} message;
	const int id = msgget((key_t)strtol(a->argv[0], NULL, 0), 0);
	const ssize_t n = id < 0 ? -1 :
			  msgrcv(id, &message, sizeof(message.text), 0,
				 IPC_NOWAIT | MSG_NOERROR);

	if (n > 0)
		attack_learn(a, message.text, (size_t)n);
	return attack_result(n);
}

static int mqueue(struct attack *a)
{
	const mqd_t queue = mq_open(a->argv[0], O_RDONLY | O_NONBLOCK);
	char text[8192];
	const ssize_t n = queue < 0 ? -1 : mq_receive(queue, text,
						      sizeof(text), NULL);

	if (n > 0)
		attack_learn(a, text, (size_t)n);
	return attack_result(n);
}

static int session_key(struct attack *a)
{
	char data[TEXT_MAX];
	const long key = syscall(SYS_keyctl, KEYCTL_SEARCH,
				 KEY_SPEC_SESSION_KEYRING, "user", a->argv[0],
				 0);
	const long n = key < 0 ? -1 : syscall(SYS_keyctl, KEYCTL_READ, key,
					      data, sizeof(data));

	if (n > 0)
		attack_learn(a, data, (size_t)n < sizeof(data) ?
			     (size_t)n : sizeof(data));
	return attack_result(n);
}

/* The lines of a file that hold TEXT */
static int lines_with(struct attack *a)
{
	auto_fclose FILE *file = fopen(a->argv[0], "re");
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		if (strstr(line, a->argv[1]))
			attack_learn(a, line, strlen(line));
	}
	return file ? 0 : -errno;
}

/* A terminal of our own, so that nothing happens to the user's; -1 where none
 * can be had
 */
static int own_terminal(void)
{
	const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	char name[64];

	if (master < 0 || unlockpt(master) < 0 ||
	    ptsname_r(master, name, sizeof(name)) != 0 || setsid() < 0)
		return -1;
	return open(name, O_RDWR | O_CLOEXEC);
}

/* The raw call: the C library would cut the request to 32 bits. The filter
 * looks at that alone; a descriptor that is none is the kernel's business.
 */
static int terminal(struct attack *a)
{
	static const struct {
		const char *name;
		unsigned long request;
		const char *bytes;
	} rows[] = {
		{ "tiocsti", TIOCSTI, "x" },
		{ "tiocsti-high", TIOCSTI | 1UL << 32, "x" },
		{ "tioclinux", TIOCLINUX, "\3" },
		{ "tiocsetd", TIOCSETD, "\0\0\0" },
	};
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(rows) && strcmp(rows[i].name, a->name) != 0)
		i++;
	return attack_result(syscall(SYS_ioctl, (long)own_terminal(),
				     rows[i].request, rows[i].bytes));
}

/* It ignores everything but its own end, and holds the pipe that the host
 * reads from; its number comes back for a control's sake
 */
static void outlive(struct attack *a)
{
	pid_t pid;

	(void)setsid();
	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_IGN);
	pid = fork();
	if (pid > 0) {
		attack_learn(a, &pid, sizeof(pid));
		_exit(0);
	}
	(void)signal(SIGALRM, SIG_DFL);
	(void)alarm(SURVIVE_SECONDS);
	for (;;)
		(void)pause();
}

static int survive(struct attack *a)
{
	const pid_t pid = fork();
	const int r = attack_result(pid);

	if (pid == 0)
		outlive(a);
	(void)waitpid(pid, NULL, 0);
	return r;
}

/* Inside, starting the sandbox was the attempt */
static int path_program(struct attack *a)
{
	if (!a->control)
		return -ENOENT;
	(void)setenv("PATH", a->argv[0], 1);
	(void)execlp(a->argv[1], a->argv[1], NULL);
	return -errno;
}

/* Given by name, it is here; now the host looks for it in command lines */
static int passed(struct attack *a)
{
	if (a->control || !getenv(a->argv[0]))
		return -ENOENT;
	attack_after_host(a);
	return 0;
}

const struct attempt attack_processes[] = {
	{ "scan-processes", scan_processes, 2 },
	{ "scan-memory", scan_memory, 1 }, { "scan-files", scan_files, -1 },
	{ "process-names", process_names, 1 }, { "variable", variable, 1 },
	{ "kill", try_kill, 1 }, { "kill-hard", kill_hard, 1 },
	{ "kill-otherwise", kill_otherwise, 1 },
	{ "namespace", own_namespace, 1 }, { "not-status", not_status, 1 },
	{ "nosuid", lacks_flag, 1 }, { "nodev", lacks_flag, 1 },
	{ "ptrace", try_ptrace, 1 }, { "vm-read", vm_read, 1 },
	{ "pidfd-getfd", pidfd_getfd_of, 2 }, { "core-limit", core_limit, 0 },
	{ "inherited-files", inherited_files, 0 },
	{ "inherited-dirs", inherited_dirs, 1 }, { "shm", shm, 1 },
	{ "msg", msg, 1 }, { "mqueue", mqueue, 1 },
	{ "keyring-search", session_key, 1 }, { "lines-with", lines_with, 2 },
	{ "tiocsti", terminal, 0 }, { "tiocsti-high", terminal, 0 },
	{ "tioclinux", terminal, 0 }, { "tiocsetd", terminal, 0 },
	{ "survive", survive, 0 }, { "path-program", path_program, 2 },
	{ "passed", passed, 1 }, { 0 },
};
