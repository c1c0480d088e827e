/* SPDX-License-Identifier: Apache-2.0 */
/* tools/gen-gate-filter.c - print the seccomp programs of the gate, its resolver, cloche-tls
 *
 * gen-gate-filter x86_64|aarch64	print gate-filter-ARCH.h
 *
 * libseccomp makes the programs from gate/gate-confine.def. Conditions look at
 * the low half of an argument only: the kernel ignores the high one (flags,
 * families), or it makes no difference.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum condition { NO, YES, WEB, NSS, DATA, FORK, ORPHAN, SEE };
enum { GATE, RESOLVER, TLS, KINDS };

static const struct {
	const char *name;
	enum condition conditions[KINDS];
} calls[] = {
#define CALL(name, gate, resolver, tls) { #name, { gate, resolver, tls } },
#define CALL_X86_64 CALL
#include "gate/gate-confine.def"
};

/* Each allows the call if @mask of the argument is @value */
static const struct {
	enum condition condition;
	unsigned int arg;
	uint32_t mask, value;
} rules[] = {
	{ WEB, 0, UINT32_MAX, AF_INET },
	{ WEB, 0, UINT32_MAX, AF_INET6 },
	{ NSS, 0, UINT32_MAX, AF_INET },
	{ NSS, 0, UINT32_MAX, AF_INET6 },
	{ NSS, 0, UINT32_MAX, AF_UNIX },
	{ NSS, 0, UINT32_MAX, AF_NETLINK },
	{ DATA, 2, PROT_EXEC, 0 },
	{ FORK, 0, UINT32_MAX,
	  CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD },
	{ ORPHAN, 0, UINT32_MAX, PR_SET_PDEATHSIG },
	{ SEE, 2, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY },
};

static void check(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "gen-gate-filter: %s: %s\n", what, strerror(-r));
	exit(1);
}

static void add_call(scmp_filter_ctx filter, int number, enum condition condition,
		     const char *name)
{
	if (condition == YES)
		check(seccomp_rule_add_exact(filter, SCMP_ACT_ALLOW, number, 0),
		      name);
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		const struct scmp_arg_cmp compare = {
			rules[i].arg, SCMP_CMP_MASKED_EQ, rules[i].mask,
			rules[i].value,
		};

		if (rules[i].condition == condition)
			check(seccomp_rule_add_exact_array(filter,
				SCMP_ACT_ALLOW, number, 1, &compare), name);
	}
}

static void print(int fd, const char *name)
{
	struct sock_filter code;

	printf("static const struct sock_filter %s[] = {\n", name);
	check((int)lseek(fd, 0, SEEK_SET), "lseek");
	while (read(fd, &code, sizeof(code)) == sizeof(code))
		printf("\t{ 0x%x, %u, %u, 0x%x },\n", code.code, code.jt, code.jf,
		       code.k);
	printf("};\n");
}

static void make(uint32_t arch, int kind, const char *name)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	const int fd = memfd_create("filter", MFD_CLOEXEC);

	check(filter ? fd : -ENOMEM, name);
	if (arch != seccomp_arch_native()) {
		check(seccomp_arch_add(filter, arch), "arch");
		check(seccomp_arch_remove(filter, SCMP_ARCH_NATIVE), "arch");
	}
	check(seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH,
			       SCMP_ACT_KILL_PROCESS), "other machines");
	check(seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2), "tree");
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		/* The library wants the number on the machine that builds */
		const int number = seccomp_syscall_resolve_name(calls[i].name);

		if (number == __NR_SCMP_ERROR)
			check(-ENOSYS, calls[i].name);
		if (seccomp_syscall_resolve_name_arch(arch, calls[i].name) >= 0)
			add_call(filter, number, calls[i].conditions[kind],
				 calls[i].name);
	}
	check(seccomp_export_bpf(filter, fd), "export");
	print(fd, name);
	close(fd);
	seccomp_release(filter);
}

int main(int argc, char **argv)
{
	const uint32_t arch = argc == 2 ? seccomp_arch_resolve_name(argv[1]) : 0;

	check(arch ? 0 : -EINVAL, "wants one of: x86_64 aarch64");
	printf("/* Made by tools/gen-gate-filter.c from gate/gate-confine.def */\n\n");
	make(arch, GATE, "gate_filter");
	make(arch, RESOLVER, "resolver_filter");
	make(arch, TLS, "tls_filter");
	return 0;
}
