/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/test-bpf.c - a classic BPF machine for the tests */

#include "sandbox/test-bpf.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>

static bool load(const struct seccomp_data *data, uint32_t offset, uint32_t *a)
{
	if (offset % sizeof(*a) || offset >= sizeof(*data))
		return false;
	memcpy(a, (const char *)data + offset, sizeof(*a));
	return true;
}

static bool test(uint16_t op, uint32_t a, uint32_t k, bool *ret)
{
	switch (op) {
	case BPF_JEQ:
		*ret = a == k;
		return true;
	case BPF_JGE:
		*ret = a >= k;
		return true;
	case BPF_JGT:
		*ret = a > k;
		return true;
	case BPF_JSET:
		*ret = a & k;
		return true;
	default:
		return false;
	}
}

bool bpf_run(const struct sock_filter *code, size_t len,
	     const struct seccomp_data *data, struct bpf_run *ret)
{
	struct bpf_run run = { 0 };
	uint32_t a = 0;
	bool holds;

	for (size_t at = 0; at < len; at++) {
		const struct sock_filter *i = &code[at];

		run.steps++;
		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (!load(data, i->k, &a))
				return false;
			if (i->k >= offsetof(struct seccomp_data, args))
				run.arguments = true;
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= i->k;
			break;
		case BPF_RET | BPF_K:
			run.result = i->k;
			*ret = run;
			return true;
		default:
			if (BPF_CLASS(i->code) != BPF_JMP ||
			    BPF_SRC(i->code) != BPF_K ||
			    !test(BPF_OP(i->code), a, i->k, &holds))
				return false;
			at += holds ? i->jt : i->jf;
		}
	}
	return false;	/* Ran off the end */
}
