/* SPDX-License-Identifier: Apache-2.0 */
/* lib/told.c - a system call that the filter refuses, in words */

#include "lib/told.h"

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/mem.h"
#include "cage/seccomp.h"
#include "plan/plan.h"
#include "policy/violation.h"

/* Nobody knows yet which one it was to be */
static void fill_unix(const struct plan *plan, struct violation *ret)
{
	ret->kind = VIOLATION_UNIX_SOCKET;
	ret->target = mem_strdup("AF_UNIX");
	ret->reason = mem_strdup(plan->sockets_by_path ?
		"datagrams reach every socket, not only those that are allowed" :
		"Unix sockets lead to programs outside; allow the one it needs, by its path");
	ret->rule_key = mem_strdup("sandbox.network.allowUnixSockets");
	ret->suggest_edit = mem_strdup(plan->sockets_by_path ?
		"sandbox.network.allowAllUnixSockets = true" :
		"sandbox.network.allowUnixSockets += \"PATH\"");
}

static bool find_row(int number, struct seccomp_row *ret)
{
	size_t cursor = 0;

	while (seccomp_next_row(&cursor, ret)) {
		if (ret->number == number)
			return true;
	}
	return false;
}

void told_fill(const struct plan *plan, const struct seccomp_data *call,
	       struct violation *ret)
{
	const bool namespaces = call->nr == SYS_unshare ||
				call->nr == SYS_clone;
	struct seccomp_row row;

	if (!find_row(call->nr, &row))
		return;
	ret->op = mem_strdup(row.name);
	if (call->nr == SYS_socket && (int)call->args[0] == AF_UNIX) {
		fill_unix(plan, ret);
		return;
	}
	ret->rule_key = mem_strdup("system call filter");
	ret->target = mem_strdup(call->nr == SYS_socket ? "raw or ICMP socket"
							: row.name);
	ret->reason = mem_strdup(call->nr == SYS_socket ?
		"hosts are reached by name over TCP, and in no other way" :
		namespaces ? "new namespaces open more of the kernel" :
		row.reason);
	if (namespaces)
		ret->suggest_edit = mem_strdup("sandbox.allowNestedUserNamespaces = true");
}
