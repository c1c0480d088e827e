/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/verify-try-process.c - attempts on processes, descriptors, IPC */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "base/sys.h"
#include "doctor/verify-row.h"
#include "doctor/verify-world.h"

enum { FDS_SCANNED = 1024, CORE_LIMIT = 1 << 20, SURVIVE_SECONDS = 20 };

/* What the files of that name below /proc/PID say, with the canary's prefix */
static void scan_processes(const char *file, bool all, struct found *f)
{
	auto_closedir DIR *dir = opendir("/proc");
	const struct dirent *entry;

	found_result(f, dir ? 0 : -1);
	while (dir && (entry = readdir(dir)) != NULL) {
		struct found one = { 0 };
		const long pid = strtol(entry->d_name, NULL, 10);
		char path[300];
		const char *at;

		/* What we were given ourselves is another matter */
		if (pid <= 0 || pid == getpid() || pid == getppid())
			continue;
		snprintf(path, sizeof(path), "/proc/%s/%s", entry->d_name,
			 file);
		found_fd(&one, open(path, O_RDONLY | O_CLOEXEC));
		at = memmem(one.bytes, one.len, CANARY_PREFIX,
			    sizeof(CANARY_PREFIX) - 1);
		if (at)
			found_bytes(f, at, sizeof(CANARY_PREFIX) + NEEDLE);
		else if (all && one.len <= NEEDLE + 1)
			found_bytes(f, one.bytes, one.len);
	}
}

void attempt_comms(const struct world *w, const char *argument,
		   struct found *f)
{
	char path[64];

	(void)argument;
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)w->victim);
	found_fd(f, open(path, O_RDONLY | O_CLOEXEC));
	scan_processes("comm", true, f);
}

void attempt_environs(const struct world *w, const char *argument,
		      struct found *f)
{
	(void)w;
	scan_processes(argument, false, f);
}

void attempt_variable(const struct world *w, const char *argument,
		      struct found *f)
{
	const char *value = getenv(argument);

	(void)w;
	f->error = value ? 0 : ENOENT;
	if (value)
		found_bytes(f, value, strlen(value));
}

void attempt_kill(const struct world *w, const char *argument,
		  struct found *f)
{
	(void)argument;
	/* 0 is no victim, but all who are with us */
	if (w->victim > 0)
		found_result(f, kill(w->victim, SIGKILL));
	else
		f->error = ESRCH;
}

/* By every other call that sends a signal. Not to anybody else: where the attempt
 * is not stopped, it must do no harm.
 */
void attempt_kill_otherwise(const struct world *w, const char *argument,
			    struct found *f)
{
	const union sigval value = { 0 };
	auto_close int pidfd = -1;

	(void)argument;
	f->error = ESRCH;
	if (w->victim <= 0)
		return;
	pidfd = sys_pidfd_open(w->victim, 0);
	if (sigqueue(w->victim, SIGKILL, value) == 0 ||
	    syscall(SYS_tkill, w->victim, SIGKILL) == 0 ||
	    syscall(SYS_tgkill, w->victim, w->victim, SIGKILL) == 0 ||
	    (pidfd >= 0 && sys_pidfd_send_signal(pidfd, SIGKILL) == 0))
		f->error = 0;
	else
		f->error = errno;
}

void attempt_namespace(const struct world *w, const char *argument,
		       struct found *f)
{
	char path[64], target[64];
	ssize_t n;

	(void)w;
	snprintf(path, sizeof(path), "/proc/self/ns/%s", argument);
	n = readlink(path, target, sizeof(target));
	found_result(f, n);
	if (n > 0)
		found_bytes(f, target, (size_t)n);
}

/* "Reached" is any line but the one that is wanted */
void attempt_status(const struct world *w, const char *argument,
		    struct found *f)
{
	struct found all = { 0 };
	char want[64];

	(void)w;
	found_fd(&all, open("/proc/self/status", O_RDONLY | O_CLOEXEC));
	snprintf(want, sizeof(want), "\n%s\n", argument);
	f->error = all.error ? all.error :
		   memmem(all.bytes, all.len, want, strlen(want)) ? EPERM : 0;
}

static void need_flag(const struct world *w, const char *argument,
		      unsigned long flag, struct found *f)
{
	char path[PATH_MAX];
	struct statvfs vfs;

	world_path(w, argument, NULL, path, sizeof(path));
	if (statvfs(path, &vfs) < 0)
		found_result(f, -1);
	else
		f->error = vfs.f_flag & flag ? EPERM : 0;
}

void attempt_nosuid(const struct world *w, const char *argument,
		    struct found *f)
{
	need_flag(w, argument, ST_NOSUID, f);
}

void attempt_nodev(const struct world *w, const char *argument,
		   struct found *f)
{
	need_flag(w, argument, ST_NODEV, f);
}

void attempt_ptrace(const struct world *w, const char *argument,
		    struct found *f)
{
	(void)argument;
	found_result(f, ptrace(PTRACE_SEIZE, w->init, NULL, NULL));
}

void attempt_vm_read(const struct world *w, const char *argument,
		     struct found *f)
{
	char byte;
	struct iovec ours = { &byte, 1 }, theirs = { (void *)1, 1 };

	(void)argument;
	found_result(f, process_vm_readv(w->init, &ours, 1, &theirs, 1, 0));
}

void attempt_get_fd(const struct world *w, const char *argument,
		    struct found *f)
{
	auto_close int pidfd = sys_pidfd_open(w->init, 0);

	(void)argument;
	found_result(f, pidfd < 0 ? -1 : sys_pidfd_getfd(pidfd, 0));
}

void attempt_init_mem(const struct world *w, const char *argument,
		      struct found *f)
{
	char path[64];
	int fd;

	(void)argument;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)w->init);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	found_result(f, fd);
	close_fd(&fd);
}

void attempt_core(const struct world *w, const char *argument,
		  struct found *f)
{
	struct rlimit limit = { CORE_LIMIT, CORE_LIMIT };

	(void)w, (void)argument;
	found_result(f, setrlimit(RLIMIT_CORE, &limit));
}

void attempt_fds(const struct world *w, const char *argument, struct found *f)
{
	(void)w, (void)argument;
	f->error = EBADF;
	for (int fd = 3; fd < FDS_SCANNED; fd++) {
		char room[256];
		const ssize_t n = pread(fd, room, sizeof(room), 0);

		if (n <= 0)
			continue;
		f->error = 0;
		found_bytes(f, room, (size_t)n);
	}
}

void attempt_dir_fds(const struct world *w, const char *argument,
		     struct found *f)
{
	(void)w, (void)argument;
	f->error = EBADF;
	for (int fd = 3; fd < FDS_SCANNED && f->error; fd++)
		found_fd(f, openat(fd, "id_ed25519", O_RDONLY | O_CLOEXEC));
}

void attempt_reopen_write(const struct world *w, const char *argument,
			  struct found *f)
{
	auto_close int fd = open("/proc/self/fd/0",
				 O_WRONLY | O_TRUNC | O_CLOEXEC);

	(void)w, (void)argument;
	found_result(f, fd < 0 ? -1 : write(fd, "x", 1));
}

void attempt_reopen_read(const struct world *w, const char *argument,
			 struct found *f)
{
	(void)w, (void)argument;
	found_fd(f, open("/proc/self/fd/2",
			 O_RDONLY | O_NONBLOCK | O_CLOEXEC));
}

void attempt_shm(const struct world *w, const char *argument, struct found *f)
{
	const int id = shmget(w->key, 0, 0);
	const char *data = id < 0 ? (void *)-1 : shmat(id, NULL, SHM_RDONLY);

	(void)argument;
	found_result(f, data == (void *)-1 ? -1 : 0);
	if (data != (void *)-1)
		found_bytes(f, data, CANARY_TEXT);
}

void attempt_msg(const struct world *w, const char *argument, struct found *f)
{
	struct {
		long type;
		char text[CANARY_TEXT];
	} message;
	const int id = msgget(w->key, 0);
	const ssize_t n = id < 0 ? -1 : msgrcv(id, &message, CANARY_TEXT, 0,
					       IPC_NOWAIT | MSG_NOERROR);

	(void)argument;
	found_result(f, n);
	if (n > 0)
		found_bytes(f, message.text, (size_t)n);
}

void attempt_mqueue(const struct world *w, const char *argument,
		    struct found *f)
{
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = CANARY_TEXT };
	char name[64], text[CANARY_TEXT];
	mqd_t queue;
	ssize_t n;

	(void)argument;
	snprintf(name, sizeof(name), "/%s", w->name);
	queue = mq_open(name, O_RDONLY | O_NONBLOCK, 0, &attr);
	n = queue < 0 ? -1 : mq_receive(queue, text, sizeof(text), NULL);
	found_result(f, n);
	if (n > 0)
		found_bytes(f, text, (size_t)n);
}

/* A terminal of our own, so that nothing happens to the user's; -1 where none can
 * be had
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

/* The raw call: the C library would cut the request to 32 bits. The filter looks at
 * that alone; a descriptor that is none is the kernel's business.
 */
void attempt_tty(const struct world *w, const char *argument, struct found *f)
{
	const int ldisc = 0;

	(void)w;
	found_result(f, syscall(SYS_ioctl, (long)own_terminal(),
				strtoul(argument, NULL, 10), &ldisc));
}

/* The lines of /proc/keys that the caller would know */
void attempt_keys(const struct world *w, const char *argument,
		  struct found *f)
{
	auto_fclose FILE *file = fopen("/proc/keys", "re");
	char line[512];

	(void)w, (void)argument;
	found_result(f, file ? 0 : -1);
	while (file && fgets(line, sizeof(line), file)) {
		if (strstr(line, CANARY_PREFIX))
			found_bytes(f, line, strlen(line));
	}
}

void attempt_keyring(const struct world *w, const char *argument,
		     struct found *f)
{
	char data[CANARY_TEXT];
	const long key = syscall(SYS_keyctl, KEYCTL_SEARCH,
				 KEY_SPEC_SESSION_KEYRING, "user", w->name, 0);
	const long n = key < 0 ? -1 : syscall(SYS_keyctl, KEYCTL_READ, key,
					      data, sizeof(data));

	(void)argument;
	found_result(f, n);
	if (n > 0)
		found_bytes(f, data, (size_t)n < sizeof(data) ? (size_t)n
							     : sizeof(data));
}

/* It ignores everything but its own end, and holds the pipe that the host
 * reads from; its number comes back for a control's sake
 */
static void outlive(struct found *f)
{
	pid_t pid;

	(void)setsid();
	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_IGN);
	pid = fork();
	if (pid > 0) {
		found_bytes(f, &pid, sizeof(pid));
		_exit(0);
	}
	(void)signal(SIGALRM, SIG_DFL);
	(void)alarm(SURVIVE_SECONDS);
	for (;;)
		(void)pause();
}

void attempt_survive(const struct world *w, const char *argument,
		     struct found *f)
{
	const pid_t pid = fork();

	(void)w, (void)argument;
	if (pid == 0)
		outlive(f);
	(void)waitpid(pid, NULL, 0);
	found_result(f, pid);
}

/* Inside, starting the sandbox was the attempt */
void attempt_helpers(const struct world *w, const char *argument,
		     struct found *f)
{
	char path[PATH_MAX];

	(void)argument;
	f->error = w->inside ? ENOENT : 0;
	if (w->inside)
		return;
	world_path(w, "A/bin", NULL, path, sizeof(path));
	(void)setenv("PATH", path, 1);
	execlp("bwrap", "bwrap", NULL);
	found_result(f, -1);
}

/* The host's business: verify-launch.c */
void attempt_launch(const struct world *w, const char *argument,
		    struct found *f)
{
	(void)w, (void)argument;
	f->error = FOUND_NOTHING;
}
