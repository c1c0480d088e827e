/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net/confine-seal.c - Landlock and the system call filter
 *
 * Theory of operation: the filter is made of the rows of confine.def when it
 * is needed: the machine is checked, then the number, by halves, against each
 * row. A plain row jumps to the one "allow" at the end; a row with a condition
 * is followed by the few instructions that look at its argument. By halves,
 * because the kernel, to remember which numbers need no look, runs the filter
 * with each of them before it takes it.
 * Only the low half of an argument is looked at: the high one is either
 * ignored by the kernel (flags, families) or makes no difference.
 */

#include "net/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/sys.h"

enum {
	PROGRAM_MAX = 250,	/* Jumps are a byte */
	FEW_ROWS = 4,		/* Not worth a jump */
};

#if defined(__x86_64__)
enum { THIS_MACHINE = AUDIT_ARCH_X86_64 };
#elif defined(__aarch64__)
enum { THIS_MACHINE = AUDIT_ARCH_AARCH64 };
#else
#error "name this machine for the system call filter"
#endif

enum condition { NO, YES, WEB, NSS, DATA, FORK, ORPHAN, SELF };

struct row {
	uint32_t number;
	uint8_t who[CONFINED_KINDS];
};

static const struct row rows[] = {
#define CALL(name, gate, resolver)					\
	{ SYS_##name, { [CONFINED_GATE] = (gate),			\
			[CONFINED_RESOLVER] = (resolver) } },
#include "net/confine.def"
#undef CALL
};

/**
 * struct chosen - A row that says something about the kind at hand
 */
struct chosen {
	uint32_t number;
	enum condition condition;
};

/* Files whose readers getaddrinfo() may load or be; what is not there is fine */
static const char *const resolver_paths[] = {
	"/etc", "/lib", "/lib64", "/usr/lib", "/usr/lib64",
	"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager",
	"/run/nscd", "/var/lib/sss",
};

#define ALL_FS	((1ULL << 13) - 1)	/* Every right of ABI 1 */

static uint64_t handled_fs(int abi)
{
	return ALL_FS | (abi >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0) |
	       (abi >= 3 ? SYS_LANDLOCK_FS_TRUNCATE : 0) |
	       (abi >= 5 ? SYS_LANDLOCK_FS_IOCTL_DEV : 0);
}

static int allow_reading(int ruleset, const char *path, struct err *err)
{
	struct landlock_path_beneath_attr attr = {
		.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE |
				  LANDLOCK_ACCESS_FS_READ_DIR,
	};
	auto_close int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	attr.parent_fd = fd;
	if (sys_landlock_add_rule(ruleset, LANDLOCK_RULE_PATH_BENEATH,
				  &attr) < 0)
		return fail_errno(err, "cannot allow '%s'", path);
	return 0;
}

/* A kernel without Landlock leaves the filter: the gate can open nothing then
 * either, its resolver whatever the user could
 */
static int restrict_files(enum confined kind, struct err *err)
{
	const int abi = sys_landlock_abi();
	const struct sys_landlock_ruleset_attr attr = {
		.handled_access_fs = handled_fs(abi),
		.handled_access_net = abi >= 4 ? SYS_LANDLOCK_NET_BIND_TCP : 0,
		.scoped = abi >= 6 ? SYS_LANDLOCK_SCOPE_ABSTRACT_UNIX |
				     SYS_LANDLOCK_SCOPE_SIGNAL : 0,
	};
	const size_t size = abi >= 6 ? sizeof(attr)
			  : abi >= 4 ? offsetof(struct sys_landlock_ruleset_attr,
						scoped)
				     : sizeof(attr.handled_access_fs);
	auto_close int fd = -1;
	int r = 0;

	if (!abi)
		return 0;
	fd = sys_landlock_create_ruleset(&attr, size, 0);
	if (fd < 0)
		return fail_errno(err, "cannot make a Landlock ruleset");
	for (size_t i = 0; !r && kind == CONFINED_RESOLVER &&
			   i < ARRAY_SIZE(resolver_paths); i++)
		r = allow_reading(fd, resolver_paths[i], err);
	if (r < 0)
		return r;
	if (sys_landlock_restrict_self(fd) < 0)
		return fail_errno(err, "cannot enter the Landlock ruleset");
	return 0;
}

/**
 * struct program - Instructions; jumps to "allow" are patched at the end
 */
struct program {
	struct sock_filter v[PROGRAM_MAX];
	unsigned short len;
};

enum { TO_ALLOW = 0xff };	/* In a jump: to the end, wherever that is */

static void put(struct program *p, struct sock_filter instruction)
{
	if (p->len < PROGRAM_MAX)
		p->v[p->len] = instruction;
	p->len++;
}

static void load(struct program *p, uint32_t offset)
{
	put(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

static void allow_if_equal(struct program *p, uint32_t value)
{
	put(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value,
					    TO_ALLOW, 0));
}

static void refuse(struct program *p)
{
	put(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
					    SECCOMP_RET_ERRNO | EPERM));
}

static void look_at(struct program *p, enum condition condition)
{
	const uint32_t first = offsetof(struct seccomp_data, args[0]);
	const uint32_t third = offsetof(struct seccomp_data, args[2]);

	load(p, condition == DATA ? third : first);
	switch (condition) {
	case NSS:
		allow_if_equal(p, AF_UNIX);
		allow_if_equal(p, AF_NETLINK);
		allow_if_equal(p, AF_INET);
		allow_if_equal(p, AF_INET6);
		break;
	case WEB:
		allow_if_equal(p, AF_INET);
		allow_if_equal(p, AF_INET6);
		break;
	case FORK:
		allow_if_equal(p, CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID |
				  SIGCHLD);
		break;
	case SELF:
		allow_if_equal(p, (uint32_t)getpid());
		break;
	case ORPHAN:
		allow_if_equal(p, PR_SET_PDEATHSIG);
		break;
	default:
		put(p, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K,
						    PROT_EXEC));
		allow_if_equal(p, 0);
	}
	refuse(p);
}

static void add_row(struct program *p, uint32_t number,
		    enum condition condition)
{
	const unsigned short jump = p->len;

	allow_if_equal(p, number);
	if (condition == YES)
		return;
	/* Not this number: over what looks at the argument */
	look_at(p, condition);
	if (p->len <= PROGRAM_MAX)
		p->v[jump] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, number, 0,
			(uint8_t)(p->len - jump - 1));
}

/* @v is in order: lower numbers first, or else over them to the others */
static void add_rows(struct program *p, const struct chosen *v, size_t n)
{
	const unsigned short jump = p->len;
	const size_t half = n / 2;

	if (n <= FEW_ROWS) {
		for (size_t i = 0; i < n; i++)
			add_row(p, v[i].number, v[i].condition);
		refuse(p);
		return;
	}
	put(p, (struct sock_filter){ 0 });
	add_rows(p, v, half);
	if (p->len <= PROGRAM_MAX)
		p->v[jump] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JGE | BPF_K, v[half].number,
			(uint8_t)(p->len - jump - 1), 0);
	add_rows(p, v + half, n - half);
}

static int by_number(const void *a, const void *b)
{
	const struct chosen *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static void add_calls(struct program *p, enum confined kind)
{
	struct chosen v[ARRAY_SIZE(rows)];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].who[kind] != NO)
			v[n++] = (struct chosen){ rows[i].number,
						  rows[i].who[kind] };
	}
	qsort(v, n, sizeof(*v), by_number);
	add_rows(p, v, n);
}

static int finish(struct program *p, struct err *err)
{
	put(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
					    SECCOMP_RET_ALLOW));
	if (p->len > PROGRAM_MAX)
		return fail(err, -E2BIG, "the gate's filter is too long");
	for (unsigned short i = 0; i < p->len; i++) {
		if (BPF_CLASS(p->v[i].code) == BPF_JMP &&
		    p->v[i].jt == TO_ALLOW)
			p->v[i].jt = (uint8_t)(p->len - 1 - i - 1);
	}
	return 0;
}

static int restrict_calls(enum confined kind, struct err *err)
{
	struct program p = { .len = 0 };
	struct sock_fprog prog;
	int r;

	load(&p, offsetof(struct seccomp_data, arch));
	put(&p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
					     THIS_MACHINE, 1, 0));
	put(&p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
					     SECCOMP_RET_KILL_PROCESS));
	load(&p, offsetof(struct seccomp_data, nr));
	add_calls(&p, kind);
	r = finish(&p, err);
	if (r < 0)
		return r;
	prog = (struct sock_fprog){ p.len, p.v };
	if (sys_seccomp(SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return fail_errno(err, "cannot load the gate's filter");
	return 0;
}

int confine_seal(enum confined kind, struct err *err)
{
	const int r = restrict_files(kind, err);

	return r < 0 ? r : restrict_calls(kind, err);
}
