/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/test-bpf.h - a classic BPF machine for the tests */

#ifndef SANDBOX_TEST_BPF_H
#define SANDBOX_TEST_BPF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sock_filter;
struct seccomp_data;

/**
 * struct bpf_run - What one run did
 * @result:	What the program returned
 * @steps:	Instructions that it took
 * @arguments:	It looked at more than the machine and the number; then the
 *		kernel has to run it again for every call
 */
struct bpf_run {
	uint32_t result;
	unsigned int steps;
	bool arguments;
};

/* Run a program. False if it does something that the kernel would refuse at
 * load, or that our programs have no business with.
 */
bool bpf_run(const struct sock_filter *code, size_t len,
	     const struct seccomp_data *data, struct bpf_run *ret);

#endif /* SANDBOX_TEST_BPF_H */
