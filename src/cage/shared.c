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
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/err.h"
#include "base/own.h"
#include "base/sys.h"
#include "cage/stages.h"

static const struct {
	unsigned int call, argument;
	uint32_t least, most;
} rows[] = {
#define SHARED(call, argument, least, most) \
	{ SYS_##call, argument, least, most },
#include "cage/shared.def"
#undef SHARED
};

enum { ROW_LENGTH = 6 };

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

/* Foreign machines' calls end the process already, by the main filter */
int stage_shared(struct err *err)
{
	struct sock_filter code[ARRAY_SIZE(rows) * ROW_LENGTH + 1];
	const struct sock_fprog prog = {
		.len = ARRAY_SIZE(code), .filter = code,
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		add_row(code + i * ROW_LENGTH, i);
	code[ARRAY_SIZE(code) - 1] = (struct sock_filter)
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (sys_seccomp(SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return fail_errno(err, "cannot load the landlock tier's filter");
	return 0;
}
