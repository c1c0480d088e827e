/* SPDX-License-Identifier: Apache-2.0 */
/* verify/world.c - scratch directories, planted files, a victim */

#include "verify/verify.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"

/* Numbers that nothing of ours has */
enum { ARMED_FILE = 207, ARMED_DIR = 208, DYING_MS = 50, CONTROL_MS = 2000,
       KEYS_TRIES = 250, KEYS_WAIT_MS = 20, WALK_FDS = 16, ATTEMPT_WORDS = 8,
       COMMAND_LINE_MAX = 8192,
       STALE_SECONDS = 60 };	/* A new scratch may not be locked yet */

#define SCRATCH_PREFIX	"cloche-verify-"

bool row_is(const struct verify_row *row, const char *name)
{
	const size_t n = strcspn(row->attempt, " ");

	return strlen(name) == n && !strncmp(row->attempt, name, n);
}

bool row_binds(const struct verify_row *row)
{
	return row->options && strstr(row->options, "--secret");
}

/* Append what "+@code" stands for; false if it is no code */
static bool add_code(const struct world *w, char code, const char *canary,
		     struct buf *out)
{
	const struct {
		char code;
		long number;
	} numbers[] = {
		{ 'v', w->victim }, { 'i', w->init }, { 'k', w->key },
		{ 'p', w->tcp4 }, { 'o', w->own_port }, { 'u', w->udp },
	};
	char host[HOST_NAME_MAX + 1] = "";

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (numbers[i].code != code)
			continue;
		buf_addf(out, "%ld", numbers[i].number);
		return true;
	}
	if (code == 'h')
		(void)gethostname(host, sizeof(host) - 1);
	buf_adds(out, code == 'n' ? w->name : code == 'a' ? w->own :
		 code == 'c' && canary ? canary : host);
	return code && strchr("nach", code);
}

char *world_path(const struct world *w, const char *text, const char *canary)
{
	static const char *const below[] = {
		['A'] = "away", ['H'] = "home", ['P'] = "project",
	};
	struct buf out = { 0 };
	bool first = true;	/* What follows may be the name of a directory */

	for (; *text; text++) {
		if (first && strchr("AHP", *text) && (text[1] == '/' || !text[1]))
			buf_addf(&out, "%s/%s", w->root,
				 below[(unsigned char)*text]);
		else if (*text == '+' && add_code(w, text[1], canary, &out))
			text++;
		else if (*text != '+')
			buf_addc(&out, *text);
		first = *text == '+';
	}
	return buf_take(&out);
}

char *target_path(const struct target *t, const char *text)
{
	return world_path(&t->w, text, t->canary);
}

void world_try(const struct world *w, size_t number,
	       void (*prepare)(const void *arg), const void *arg,
	       struct found *ret)
{
	auto_free char *line = mem_strdup(verify_rows[number].attempt);
	char *argv[ATTEMPT_WORDS + 1] = { NULL }, *save = NULL, word[32];
	struct attack a = {
		.argv = argv + 1, .word = word, .control = !w->inside,
		.prepare = prepare, .world = arg,
		.found.error = ATTACK_NOTHING,
	};
	const struct attempt *attempt;
	size_t n = 0;

	snprintf(word, sizeof(word), "row-%zu;", number);
	for (char *p = strtok_r(line, " ", &save); p && n < ATTEMPT_WORDS;
	     p = strtok_r(NULL, " ", &save))
		argv[n++] = world_path(w, p, NULL);
	a.name = argv[0];
	attempt = attack_find(a.name);
	if (attempt)
		attack_run(attempt, &a, ATTACK_SECONDS);
	*ret = a.found;
	while (n > 0)
		free(argv[--n]);
}

/* The directory is in use until the descriptor is closed */
static int scratch_lock(const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
				       O_CLOEXEC);

	return fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 ? -1 : take_fd(&fd);
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st, (void)ftw;
	if (type == FTW_DNR)
		(void)chmod(path, 0700);
	(void)remove(path);
	return 0;
}

static void scratch_remove(const char *path)
{
	(void)nftw(path, remove_one, WALK_FDS, FTW_DEPTH | FTW_PHYS);
}

static void sweep_one(const char *parent, const char *name)
{
	auto_free char *path = path_join(parent, name);
	auto_close int lock = scratch_lock(path);
	struct stat st;

	if (lock < 0 || fstat(lock, &st) < 0 || st.st_uid != geteuid() ||
	    st.st_ctim.tv_sec > time(NULL) - STALE_SECONDS)
		return;
	scratch_remove(path);
}

/* What a run that was killed has left */
static void scratch_sweep(const char *parent)
{
	auto_closedir DIR *dir = opendir(parent);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL) {
		if (!strncmp(entry->d_name, SCRATCH_PREFIX,
			     sizeof(SCRATCH_PREFIX) - 1))
			sweep_one(parent, entry->d_name);
	}
}

/* Links in /tmp that "plant-links" left, where the policy shares it */
static void scratch_unlink(const char *root)
{
	static const char *const names[] = { "/tmp/claude", "/tmp/.X11-unix" };
	const size_t n = strlen(root);
	char to[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (readlink(names[i], to, sizeof(to)) > (ssize_t)n &&
		    !strncmp(to, root, n))
			(void)unlink(names[i]);
	}
}

static int random_hex(char ret[static CANARY_HEX + 1])
{
	unsigned char bytes[CANARY_HEX / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	text_hex(bytes, sizeof(bytes), ret);
	return 0;
}

/* 28 of its bits: never IPC_PRIVATE, never negative */
static int random_key(const char *name)
{
	char part[8];

	snprintf(part, sizeof(part), "%.7s", name);
	return (int)strtol(part, NULL, 16) | 1;
}

/* A file as it must stay: its text, its mode, its time */
static int put(const struct target *t, const char *name, const char *text,
	       mode_t mode)
{
	const struct timespec times[2] = { { PLANTED_TIME, 0 },
					   { PLANTED_TIME, 0 } };
	auto_free char *path = name[0] == '/' ? mem_strdup(name) :
						target_path(t, name);
	auto_close int fd = -1;
	int r;

	attack_make_parents(path);
	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	r = fs_write_all(fd, text, strlen(text));
	if (r == 0 && (fchmod(fd, mode) < 0 || futimens(fd, times) < 0))
		r = -errno;
	return r;
}

/* What a file of that name holds: a comment wherever something might read it,
 * or the pointer of a work tree
 */
void canary_line(const struct target *t, const char *path,
		 char ret[static CANARY_LINE])
{
	const char *slash = strrchr(path, '/');

	snprintf(ret, CANARY_LINE, "%s %s\n",
		 slash && !strcmp(slash, "/.git") ? "gitdir:" : "#", t->text);
}

static int put_canary(const struct target *t, const char *path)
{
	char text[CANARY_LINE];

	canary_line(t, path, text);
	return put(t, path, text, 0600);
}

/* A link beside what it leads to */
static int put_link(const struct target *t, const char *path)
{
	char real[PATH_MAX + 8];
	int r;

	link_end(path, real, sizeof(real));
	r = put_canary(t, real);
	(void)unlink(path);
	if (r == 0 && symlink(strrchr(real, '/') + 1, path) < 0)
		r = -errno;
	return r;
}

/* What makes a directory a repository */
static int put_repository(const struct target *t, const char *path)
{
	static const char *const parts[] = { "objects/", "refs/", "HEAD" };
	const char *at = strstr(path, "/.git/");
	char part[PATH_MAX];

	if (!at)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		snprintf(part, sizeof(part), "%.*s%s", (int)(at - path + 6),
			 path, parts[i]);
		attack_make_parents(part);
	}
	return access(part, F_OK) == 0 ?
	       0 : put(t, part, "ref: refs/heads/main\n", 0600);
}

/* Rules that a project never makes, and others that are not approved */
static int put_hostile(const struct target *t)
{
	static const char *const names[] = {
		"P/hostile/.cloche.json", "P/hostile/.claude/settings.json",
	};
	auto_free char *away = target_path(t, "A");
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names) && r == 0; i++) {
		auto_free char *text = mem_printf("%s{\"filesystem\":{\"disabled\":true,\"allowWrite\":[\"%s\"]},\"passEnv\":true,\"allowNestedUserNamespaces\":true}%s\n",
			i ? "{\"sandbox\":" : "", away, i ? "}" : "");

		r = put(t, names[i], text, 0600);
	}
	return r;
}

int target_plant(struct target *t, const struct verify_row *row)
{
	auto_free char *path = target_path(t, row->target);
	int r;

	if (row_is(row, "reloaded"))	/* Rules that are fine, for now */
		return put(t, "A/live.json", "{\"sandbox\":{\"network\":{\"allowedDomains\":[]}}}\n",
			   0600);
	if (row_is(row, "scan-files")) {	/* What only a control can find */
		auto_free char *bound = bound_secret(t);

		return t->w.inside ? 0 : put(t, row->target, bound, 0600);
	}
	if (row->options && strstr(row->options, "P/hostile") &&
	    put_hostile(t) < 0)
		return -EIO;
	if (!row->target[0] || (row->proof != PROOF_INTACT &&
				row->proof != PROOF_BYTES &&
				row->proof != PROOF_ABSENT &&
				row->proof != PROOF_LINK &&
				row->proof != PROOF_MOUNTS))
		return 0;
	if (row->target[0] == 'A' || row->options)
		attack_make_parents(path);
	r = put_repository(t, path);
	if (r == 0 && row->proof == PROOF_LINK)
		return put_link(t, path);
	if (r == 0 && (row->proof == PROOF_ABSENT ||
		       row->proof == PROOF_MOUNTS))
		(void)unlink(path);
	else if (r == 0)
		r = put_canary(t, path);
	return r;
}

int target_replace(struct target *t, const struct verify_row *row)
{
	auto_free char *path = target_path(t, row->proof == PROOF_HIT ?
					   "A/live.json" : row->target);
	auto_free char *fresh = mem_printf("%s.new", path);
	int r = put_canary(t, fresh);

	if (r == 0 && rename(fresh, path) < 0)
		r = -errno;
	return r;
}

/* Programs that a launcher might look for, which tell when they are run */
static int put_helpers(const struct target *t)
{
	static const char *const names[] = {
		"bwrap", "socat", "rg", "ip", "nft", "pasta", "slirp4netns",
		"newuidmap", "newgidmap", "sh", "bash", "git", "env",
	};
	auto_free char *ran = target_path(t, "A/helper-ran");
	auto_free char *script = mem_printf("#!/bin/sh\n: > '%s'\n", ran);
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names) && r == 0; i++) {
		auto_free char *name = path_join("A/bin", names[i]);

		r = put(t, name, script, 0700);
	}
	return r;
}

static int put_places(struct target *t, const char *parent)
{
	static const char *const below[] = { "H/", "P/", "A/" };

	if (snprintf(t->w.root, sizeof(t->w.root), "%s/" SCRATCH_PREFIX "XXXXXX",
		     parent) >= (int)sizeof(t->w.root))
		return -ENAMETOOLONG;
	scratch_sweep(parent);
	if (!mkdtemp(t->w.root)) {
		t->w.root[0] = '\0';
		return -errno;
	}
	t->lock = scratch_lock(t->w.root);
	for (size_t i = 0; i < ARRAY_SIZE(below); i++) {
		auto_free char *path = target_path(t, below[i]);

		attack_make_parents(path);
	}
	return put_canary(t, "A/stdin") ?: put_helpers(t);
}

/* Objects outside the file system, each with the canary in it */
static void put_ipc(struct target *t)
{
	struct {
		long type;
		char text[CANARY_TEXT];
	} message = { .type = 1 };
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = CANARY_TEXT };
	char name[64];
	void *at;
	mqd_t queue;

	t->shm = shmget(t->w.key, CANARY_TEXT + 1, IPC_CREAT | IPC_EXCL | 0600);
	at = t->shm < 0 ? (void *)-1 : shmat(t->shm, NULL, 0);
	if (at != (void *)-1) {
		memcpy(at, t->text, CANARY_TEXT);
		(void)shmdt(at);
	}
	t->msg = msgget(t->w.key, IPC_CREAT | IPC_EXCL | 0600);
	memcpy(message.text, t->text, CANARY_TEXT);
	if (t->msg >= 0)
		(void)msgsnd(t->msg, &message, CANARY_TEXT, IPC_NOWAIT);
	snprintf(name, sizeof(name), "/%s", t->w.name);
	queue = mq_open(name, O_WRONLY | O_CREAT | O_NONBLOCK, 0600, &attr);
	if (queue >= 0) {
		(void)mq_send(queue, t->text, CANARY_TEXT, 0);
		(void)mq_close(queue);
	}
}

static void set_variables(const struct target *t)
{
	static const char *const names[] = {
		"AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK",
		"DOCKER_HOST", "KUBECONFIG", "MYSQL_PWD", "VERIFY_API_KEY",
		"GCONV_PATH", "GLIBC_TUNABLES",
	};

	char secret[CANARY_HEX + 1];
	auto_free char *bound = bound_secret(t);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		(void)setenv(names[i], t->text, 1);
	(void)setenv(BOUND_VARIABLE, bound, 1);
	passed_secret(t, secret);
	(void)setenv(PASSED_VARIABLE, secret, 1);
}

pid_t victim_start(const struct target *t, const char *name, const char *argument)
{
	int ends[2];
	char byte;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)dup2(ends[1], STDOUT_FILENO);
		set_variables(t);
		execl("/proc/self/exe", name, "--attempt", "victim", argument,
		      NULL);
		_exit(1);
	}
	(void)close(ends[1]);
	if (pid > 0 && read(ends[0], &byte, 1) != 1) {
		proc_end(&(struct proc){ pid, -1 }, true);
		pid = -1;
	}
	(void)close(ends[0]);
	return pid;
}

static bool is_alive(const struct target *t)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)t->w.victim, &info,
		      WEXITED | WNOHANG | WNOWAIT) == 0 && !info.si_pid;
}

int target_revive(struct target *t, struct err *err)
{
	auto_free char *bound = bound_secret(t);
	auto_free char *name = mem_printf("%s %s", t->text, bound);

	if (t->w.victim > 0 && is_alive(t))
		return 0;
	/* Its name, command line and environment hold the canary */
	t->w.victim = victim_start(t, name, t->canary);
	if (t->w.victim < 0)
		return fail(err, -ECHILD, "cannot start the process that the attempts attack");
	if (!t->w.inside)
		t->w.init = t->w.victim;
	return 0;
}

bool target_stays_alive(const struct target *t)
{
	struct pollfd p = { .events = POLLIN };
	bool dead;

	p.fd = pidfd_open(t->w.victim, 0);
	/* A control must see it die, and does not wait for long if it does */
	dead = poll(&p, 1, t->w.inside ? DYING_MS : CONTROL_MS) == 1;
	close_fd(&p.fd);
	return !dead && is_alive(t);
}

int target_make(struct target *t, const char *parent, struct err *err)
{
	int r;

	*t = (struct target){ .shm = -1, .msg = -1, .lock = -1 };
	for (size_t i = 0; i < LISTENERS; i++)
		t->listeners[i] = -1;
	r = random_hex(t->canary);
	if (r == 0)
		r = random_hex(t->w.name);
	snprintf(t->text, sizeof(t->text), CANARY_PREFIX "%s", t->canary);
	if (r == 0)
		r = put_places(t, parent);
	if (r < 0)
		return fail(err, r, "cannot make a scratch directory in '%s': %s",
			    parent, strerror(-r));
	t->w.key = random_key(t->w.name);
	put_ipc(t);
	listen_open(t);
	return target_revive(t, err);
}

/* The user's quota of keys may be used up, and takes a moment to recover */
static void arm_keys(const struct target *t)
{
	const struct timespec wait = { .tv_nsec = KEYS_WAIT_MS * 1000000 };

	for (int i = 0; i < KEYS_TRIES &&
	     syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 &&
	     errno == EDQUOT; i++)
		(void)nanosleep(&wait, NULL);
	(void)syscall(SYS_add_key, "user", t->w.name, t->text, CANARY_TEXT,
		      KEY_SPEC_SESSION_KEYRING);
	(void)syscall(SYS_add_key, "user", t->text, "x", 1,
		      KEY_SPEC_SESSION_KEYRING);
}

static void arm_descriptor(const struct target *t, const char *text,
			   int flags, int number)
{
	auto_free char *path = target_path(t, text);
	const int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd >= 0 && dup2(fd, number) >= 0 && fd != number)
		(void)close(fd);
}

void target_arm(const struct target *t, bool keys)
{
	set_variables(t);
	arm_descriptor(t, "A/stdin", O_RDONLY, STDIN_FILENO);
	arm_descriptor(t, "A/stderr", O_WRONLY | O_APPEND | O_CREAT,
		       STDERR_FILENO);
	arm_descriptor(t, "H/.ssh/id_ed25519", O_RDONLY, ARMED_FILE);
	arm_descriptor(t, "H/.ssh", O_RDONLY | O_DIRECTORY, ARMED_DIR);
	if (keys)
		arm_keys(t);
}

void target_done(struct target *t)
{
	char path[64];

	proc_end(&(struct proc){ t->w.victim, -1 }, true);
	t->w.victim = 0;
	for (size_t i = 0; i < LISTENERS; i++)
		close_fd(&t->listeners[i]);
	if (t->shm >= 0)
		(void)shmctl(t->shm, IPC_RMID, NULL);
	if (t->msg >= 0)
		(void)msgctl(t->msg, IPC_RMID, NULL);
	t->shm = t->msg = -1;
	if (!t->w.root[0])
		return;
	snprintf(path, sizeof(path), "/%s", t->w.name);
	(void)mq_unlink(path);
	snprintf(path, sizeof(path), "/tmp/%s", t->w.name);
	(void)unlink(path);
	snprintf(path, sizeof(path), "/dev/shm/%s", t->w.name);
	(void)unlink(path);
	scratch_unlink(t->w.root);
	scratch_remove(t->w.root);
	close_fd(&t->lock);
	t->w.root[0] = '\0';
}

/* The canary backwards: another secret, which no attempt knows */
void passed_secret(const struct target *t, char ret[static CANARY_HEX + 1])
{
	for (size_t i = 0; i < CANARY_HEX; i++)
		ret[i] = t->canary[CANARY_HEX - 1 - i];
	ret[CANARY_HEX] = '\0';
}

char *bound_secret(const struct target *t)
{
	return mem_printf(BOUND_PREFIX "%s%.*s", t->canary + CANARY_HEX / 2,
			  CANARY_HEX / 2, t->canary);
}

bool seen_in_command_lines(const struct target *t)
{
	auto_closedir DIR *dir = opendir("/proc");
	char secret[CANARY_HEX + 1], text[COMMAND_LINE_MAX], path[300];
	const struct dirent *entry;

	passed_secret(t, secret);
	while (dir && (entry = readdir(dir)) != NULL) {
		auto_close int fd = -1;
		ssize_t n;

		if (strtol(entry->d_name, NULL, 10) <= 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%s/cmdline", entry->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? 0 : read(fd, text, sizeof(text));
		if (n > 0 && memmem(text, (size_t)n, secret, CANARY_HEX))
			return true;
	}
	return false;
}
