/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fallback/refuse.c - run a command on a machine that lacks something
 *
 *	refuse WHAT[,WHAT...] COMMAND [ARG...]
 *
 * What can be lacking is in refuse.def. Calls are refused by a seccomp filter,
 * as a container's is; for the rest the kernel refuses by itself in a namespace
 * made here, in which the command has the caller's own ids.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ns.h"

enum { PROGRAM_MAX = 256, CALL_INSNS = 7 };

#if defined(__x86_64__)
#define NATIVE_ARCH	AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH	AUDIT_ARCH_AARCH64
#endif

static const struct call {
	const char *what;
	unsigned int number, argument, mask, value, error;
} calls[] = {
#define CALL(what, call, argument, mask, value, error) \
	{ what, SYS_##call, argument, mask, value, error },
#include "refuse.def"
};

static void die(const char *what)
{
	fprintf(stderr, "refuse: %s: %s\n", what, strerror(errno));
	exit(99);
}

/* New namespaces in which we are still ourselves */
static void enter(void)
{
	const int r = ns_enter(CLONE_NEWNS);

	errno = -r;
	if (r < 0)
		die("user namespace");
}

/* With a part covered, the kernel lets nobody have a /proc that shows it; one
 * that lies around elsewhere would do, so all of them get their cover
 */
static void mask_proc(void)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char line[4096], path[8192];

	enter();
	while (mounts && fgets(line, sizeof(line), mounts)) {
		char *field = line;

		if (!strstr(line, " - proc "))
			continue;
		for (int i = 0; i < 4 && field; i++)
			field = strchr(field, ' ') ? strchr(field, ' ') + 1
						   : NULL;
		if (!field)
			die("/proc/self/mountinfo");
		field[strcspn(field, " ")] = '\0';
		snprintf(path, sizeof(path), "%s/sys", field);
		if (mount("tmpfs", path, "tmpfs", MS_RDONLY, NULL) < 0)
			die(path);
	}
	if (!mounts || fclose(mounts))
		die("/proc/self/mountinfo");
}

/* A file that is no device, over the device */
static void close_fuse(void)
{
	enter();
	if (mount("tmpfs", "/mnt", "tmpfs", 0, NULL) < 0 ||
	    mknod("/mnt/fuse", S_IFREG, 0) < 0)
		die("/mnt");
	if (mount("/mnt/fuse", "/dev/fuse", NULL, MS_BIND, NULL) < 0 &&
	    errno != ENOENT)
		die("/dev/fuse");
	if (umount2("/mnt", MNT_DETACH) < 0)
		die("/mnt");
}

static void forbid_userns(void)
{
	enter();
	if (ns_put("/proc/sys/user/max_user_namespaces", "0") < 0)
		die("max_user_namespaces");
}

static const struct place {
	const char *what;
	void (*function)(void);
} places[] = {
#define PLACE(what, function) { what, function },
#include "refuse.def"
};

static size_t add_call(struct sock_filter *p, const struct call *c)
{
	const unsigned int mask = c->mask;
	const struct sock_filter code[CALL_INSNS] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, c->number, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 (unsigned int)offsetof(struct seccomp_data, args) +
			 8 * c->argument),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, mask ? c->value : 0, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | c->error),
		/* The next call's rules load the number again */
		BPF_STMT(BPF_LD | BPF_IMM, 0),
	};

	memcpy(p, code, sizeof(code));
	return CALL_INSNS;
}

static int names(const char *list, const char *what)
{
	const size_t n = strlen(what);

	for (; list; list = strchr(list, ',')) {
		list += *list == ',';
		if (!strncmp(list, what, n) && (!list[n] || list[n] == ','))
			return 1;
	}
	return 0;
}

static size_t load_filter(const char *list)
{
	const struct sock_filter arch[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_filter allow =
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	static struct sock_filter program[PROGRAM_MAX];
	struct sock_fprog prog = { .filter = program };
	size_t n = 3, found = 0;

	memcpy(program, arch, sizeof(arch));
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (!names(list, calls[i].what))
			continue;
		n += add_call(program + n, &calls[i]);
		found++;
	}
	program[n++] = allow;
	prog.len = (unsigned short)n;
	if (found && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0))
		die("filter");
	return found;
}

int main(int argc, char **argv)
{
	size_t found = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: refuse WHAT[,WHAT...] COMMAND...\n");
		return 99;
	}
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (names(argv[1], places[i].what)) {
			places[i].function();
			found++;
		}
	}
	found += load_filter(argv[1]);
	if (!found) {
		fprintf(stderr, "refuse: nothing is called '%s'\n", argv[1]);
		return 99;
	}
	(void)execvp(argv[2], argv + 2);
	die(argv[2]);
	return 99;
}
