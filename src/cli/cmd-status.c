/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd-status.c - cloche status: whether this shell is in a sandbox, as one line for prompts */

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/own.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/terminal.h"
#include "cli/command-line.h"

enum { DETAIL_MAX = 64 };	/* Bytes shown of a variable, which any process can set */

/* The variable says which sandbox it is, the kernel that there is one: a variable that was
 * copied to a shell outside does not count
 */
static bool is_confined(void)
{
	return getenv("SANDBOX_RUNTIME") && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 &&
	       prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER;
}

int cli_status(struct call *call, struct err *err)
{
	const char *detail = getenv("CLOCHE_SANDBOX");
	const bool confined = is_confined();
	const int r = call_expect(call, 0, 0, err);
	auto_free char *tier = NULL, *network = NULL;

	if (r < 0)
		return r;
	if (confined && detail && strlen(detail) < DETAIL_MAX && strstr(detail, ", ")) {
		tier = mem_strndup(detail, strcspn(detail, ","));
		network = mem_strdup(strstr(detail, ", ") + 2);
	}
	if (call_flag(call, "json"))
		print_json(json_pack("{s:i, s:b, s:o, s:o}", "version", 1, "sandboxed",
				     confined, "tier", json_text(tier), "network",
				     json_text(network)), JSON_COMPACT);
	else if (tier)
		terminal_line(stdout, "sandboxed: %s, %s", tier, network);
	else
		puts(confined ? "sandboxed" : "not sandboxed");
	return !confined;
}
