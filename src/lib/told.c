/* SPDX-License-Identifier: Apache-2.0 */
/* lib/told.c - a system call that the filter refuses, in words */

#include "lib/told.h"

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "cage/seccomp.h"
#include "policy/violation.h"

static bool find_row(int number, struct seccomp_row *ret)
{
	size_t cursor = 0;

	while (seccomp_next_row(&cursor, ret)) {
		if (ret->number == number)
			return true;
	}
	return false;
}

void told_fill(const struct seccomp_data *call, struct violation *ret)
{
	struct seccomp_row row;

	if (!find_row(call->nr, &row))
		return;
	ret->op = mem_strdup(row.name);
	ret->target = mem_strdup(row.name);
	ret->reason = mem_strdup(row.reason);
	ret->rule_key = mem_strdup("system call filter");
}
