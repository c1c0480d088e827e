/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/verify-lack.c - kernels that lack something, for the launcher to meet
 *
 * A filter of our own stands for them. It cannot be told from a container's.
 */

#include "doctor/verify-lack.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/own.h"
#include "base/sys.h"

static const struct {
	const char *what, *option;
} lacks[] = {
#define LACK(what, option) { what, option },
#include "doctor/verify-lack.def"
};

static const struct refused {
	const char *what;
	uint32_t call, bits;
	int error;
} refused[] = {
#define REFUSED(what, call, bits, error) { what, SYS_##call, bits, error },
#include "doctor/verify-lack.def"
};

enum { ROW_LENGTH = 5 };

#define LOAD(member) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, \
		 (uint32_t)offsetof(struct seccomp_data, member))

static void add_row(struct sock_filter *code, const struct refused *row)
{
	const struct sock_filter program[ROW_LENGTH] = {
		LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, row->call, 0, 3),
		LOAD(args[0]),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, row->bits, 0,
			 row->bits ? 1 : 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO |
					  (uint32_t)row->error),
	};

	memcpy(code, program, sizeof(program));
}

int lack_of(const char *what)
{
	struct sock_filter code[ARRAY_SIZE(refused) * ROW_LENGTH + 1];
	struct sock_fprog prog = { .filter = code };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		if (strcmp(refused[i].what, what) != 0)
			continue;
		add_row(code + n, &refused[i]);
		n += ROW_LENGTH;
	}
	code[n++] = (struct sock_filter)
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	prog.len = (unsigned short)n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    sys_seccomp(SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return -errno;
	return 0;
}

const char *lack_option(const char *what)
{
	for (size_t i = 0; i < ARRAY_SIZE(lacks); i++) {
		if (!strcmp(lacks[i].what, what))
			return lacks[i].option;
	}
	return "";
}
