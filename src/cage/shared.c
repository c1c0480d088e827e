/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cage/shared.c - the landlock tier's second filter
 *
 * Without namespaces a few calls of the main filter's table reach the host's
 * objects and processes. This program only refuses; the kernel takes the
 * strictest answer of all programs, so it needs to know nothing of the others.
 */

#include <errno.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/fsverity.h>
#include <linux/ioprio.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/err.h"
#include "base/own.h"
#include "base/sys.h"
#include "cage/stages.h"
#include "plan/plan.h"

static const struct {
	unsigned int call, argument;
	uint32_t least, most;
} rows[] = {
#define SHARED(call, argument, least, most) \
	{ SYS_##call, argument, least, most },
#include "cage/shared.def"
};

static const struct {
	unsigned int call, argument;
	uint32_t bits;
	int error;
} network[] = {
#define NETWORK(call, argument, bits, error) \
	{ SYS_##call, argument, bits, error },
#include "cage/shared.def"
};

enum { ROW_LENGTH = 6, NETWORK_LENGTH = 5 };

#define LOAD(member) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
		 (uint32_t)offsetof(struct seccomp_data, member))

/* The low half of an argument */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ARGUMENT(n)	(offsetof(struct seccomp_data, args) + 8 * (n))
#else
#error "which half of an argument is the low one?"
#endif

static void add_row(struct sock_filter *code, size_t row)
{
	const struct sock_filter program[ROW_LENGTH] = {
		LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rows[row].call, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 (uint32_t)ARGUMENT(rows[row].argument)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, rows[row].least, 0, 2),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, rows[row].most, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};

	memcpy(code, program, sizeof(program));
}

/* No bits: whatever the argument is, it falls through */
static void add_network(struct sock_filter *code, size_t row)
{
	const uint32_t bits = network[row].bits;
	const struct sock_filter program[NETWORK_LENGTH] = {
		LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, network[row].call, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 (uint32_t)ARGUMENT(network[row].argument)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, bits ? 1 : 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO |
					  (uint32_t)network[row].error),
	};

	memcpy(code, program, sizeof(program));
}

int stage_unconnected(struct err *err)
{
	struct sock_filter code[] = {
		LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = { ARRAY_SIZE(code), code };

	if (sys_seccomp(SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return fail_errno(err, "cannot refuse connect()");
	return 0;
}

/* Foreign machines' calls end the process already, by the main filter */
int stage_shared(const struct plan *plan, struct err *err)
{
	struct sock_filter code[ARRAY_SIZE(rows) * ROW_LENGTH +
				ARRAY_SIZE(network) * NETWORK_LENGTH + 1];
	struct sock_fprog prog = { .filter = code };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++, n += ROW_LENGTH)
		add_row(code + n, i);
	for (size_t i = 0; plan->net != NET_HOST && i < ARRAY_SIZE(network);
	     i++, n += NETWORK_LENGTH)
		add_network(code + n, i);
	code[n++] = (struct sock_filter)
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prog.len = (unsigned short)n;
	if (sys_seccomp(SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return fail_errno(err, "cannot load the landlock tier's filter");
	return 0;
}
