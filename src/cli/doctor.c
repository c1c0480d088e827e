/* SPDX-License-Identifier: Apache-2.0 */
/* cli/doctor.c - cloche doctor: what this machine can enforce, and why not */

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/command.h"
#include "doctor/doctor.h"
#include "lib/limit.h"
#include "policy/policy.h"

static int print_apparmor(struct err *err)
{
	auto_buf struct buf out = { 0 };
	char path[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n <= 0)
		return fail_errno(err, "cannot tell where this program is");
	path[n] = '\0';
	doctor_print_apparmor(path, &out);
	fputs(buf_str(&out), stdout);
	return 0;
}

/* How limits would be kept: by making a group and removing it again */
static const char *limits_here(void)
{
	auto_policy struct policy *policy = policy_new("/", NULL);
	const struct origin none = { 0 };
	struct limits *limits;
	const char *method;

	policy_set_number(policy, NUMBER_MEMORY, 1 << 30, none);
	policy_set_number(policy, NUMBER_PIDS, 1 << 10, none);
	limits = limits_new(policy);
	method = limits_method(limits);
	limits_free(limits);
	return method;
}

/* What is missing, and what to do about it, stand out on a terminal */
static void print_text(const char *text)
{
	while (*text) {
		const size_t n = strcspn(text, "\n") + 1;
		const char *line = text + strspn(text, " ");
		const enum style style =
			!strncmp(text, "✗", strlen("✗")) ? STYLE_HEAD :
			!strncmp(line, "fix: ", 5) ? STYLE_COMMAND : STYLE_NONE;

		printf("%s%.*s%s", style ? cli_style(stdout, style) : "", (int)n,
		       text, style ? cli_style(stdout, STYLE_NONE) : "");
		text += n - !text[n - 1];
	}
}

int cli_doctor(int argc, char **argv, struct err *err)
{
	auto_buf struct buf out = { 0 };
	struct doctor doctor;
	bool json = false;
	int r;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--print-apparmor"))
			return print_apparmor(err);
		if (strcmp(argv[i], "--json") != 0)
			return fail(err, -EINVAL, "doctor: '%s' is not --json or --print-apparmor",
				    argv[i]);
		json = true;
	}
	r = doctor_run(&doctor, false, limits_here());
	if (r < 0)
		return fail(err, r, "cannot run the probes: %s", strerror(-r));
	if (json)
		doctor_print_json(&doctor, &out);
	else
		doctor_print(&doctor, &out);
	if (json)
		fputs(buf_str(&out), stdout);
	else
		print_text(buf_str(&out));
	return doctor.tier == TIER_FULL ? 0 : 1;
}
