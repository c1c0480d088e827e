/* SPDX-License-Identifier: Apache-2.0 */
/* lib/told.c - a system call that the filter refuses, in words */

#include "lib/told.h"

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/mem.h"
#include "base/own.h"
#include "cage/seccomp.h"
#include "plan/plan.h"
#include "policy/violation.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452	/* The same on every architecture */
#endif

#define NAMESPACES "new namespaces open more of the kernel", \
		   "sandbox.allowNestedUserNamespaces = true"
#define SET_USER_ID "set-user-id bit", \
		    "the file would run as its owner, for everybody", NULL

/* What says more than the name of the call, and the reason of its row */
static const struct {
	int nr;
	const char *target, *reason, *edit;
} words[] = {
	{ SYS_socket, "raw or ICMP socket",
	  "hosts are reached by name over TCP, and in no other way", NULL },
	{ SYS_unshare, "unshare", NAMESPACES },
	{ SYS_clone, "clone", NAMESPACES },
#ifdef SYS_chmod
	{ SYS_chmod, SET_USER_ID },
	{ SYS_creat, SET_USER_ID },
#endif
	{ SYS_fchmod, SET_USER_ID },
	{ SYS_fchmodat, SET_USER_ID },
	{ SYS_fchmodat2, SET_USER_ID },
};

/* Nobody knows yet which one it was to be */
static void fill_unix(const struct plan *plan, struct violation *ret)
{
	ret->kind = VIOLATION_UNIX_SOCKET;
	ret->target = mem_strdup("AF_UNIX");
	ret->reason = mem_strdup(plan->sockets_by_path ?
		"datagrams reach every socket, not only those that are allowed" :
		"Unix sockets lead to programs outside");
	ret->rule_key = mem_strdup("sandbox.network.allowUnixSockets");
	ret->suggest_edit = mem_strdup(plan->sockets_by_path ?
		"sandbox.network.allowAllUnixSockets = true" :
		"sandbox.network.allowUnixSockets += \"/PATH/OF/THE/SOCKET\"");
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

static void fill_words(const struct seccomp_row *row, struct violation *ret)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(words) && words[i].nr != row->number)
		i++;
	ret->rule_key = mem_strdup("system call filter");
	if (i == ARRAY_SIZE(words)) {
		ret->target = mem_strdup(row->name);
		ret->reason = mem_strdup(row->reason);
		return;
	}
	ret->target = mem_strdup(words[i].target);
	ret->reason = mem_strdup(words[i].reason);
	if (words[i].edit)
		ret->suggest_edit = mem_strdup(words[i].edit);
}

void told_fill(const struct plan *plan, const struct seccomp_data *call,
	       struct violation *ret)
{
	struct seccomp_row row;

	if (!find_row(call->nr, &row))
		return;
	ret->op = mem_strdup(row.name);
	if (call->nr == SYS_socket && (int)call->args[0] == AF_UNIX)
		fill_unix(plan, ret);
	else
		fill_words(&row, ret);
}
