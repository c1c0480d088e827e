/* SPDX-License-Identifier: Apache-2.0 */
/* cli/preflight.c - cloche preflight: an advisory for a start hook, always 0 */

#include <jansson.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "cli/command.h"
#include "doctor/doctor.h"
#include "lib/options.h"
#include "lib/session.h"
#include "lib/shim.h"
#include "policy/firewall-mark.h"
#include "policy/policy.h"

/* What there is to say, in lines; nothing where all is well. A negative errno
 * with words if the settings cannot be read: nobody can tell then.
 */
static int advise(const struct options *options, struct buf *out,
		  struct err *err)
{
	auto_policy struct policy *policy = NULL;
	struct preflight want = { .minimum = TIER_LANDLOCK };
	int r;

	shim_tell_bypass(out);
	r = session_policy(options, &policy, err);
	if (r < 0)
		return r;
	want.firewall = firewall_mark_is_up();
	want.enabled = policy_flag(policy, FLAG_ENABLED, false);
	if (policy->texts[TEXT_MINIMUM_TIER].value)
		(void)tier_parse(policy->texts[TEXT_MINIMUM_TIER].value,
				 &want.minimum);
	doctor_preflight(&want, out);
	return 0;
}

static void print_json(char *lines)
{
	json_t *list = json_array(), *root;
	auto_free char *text = NULL;
	char *save = NULL;

	for (char *line = strtok_r(lines, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		json_array_append_new(list, json_string(line));
	root = json_pack("{s:i, s:b, s:o}", "version", 1, "healthy",
			 !json_array_size(list), "advice", list);
	text = json_dumps(root, JSON_COMPACT);
	puts(text ? text : "{}");
	json_decref(root);
}

/* A hook that fails would be switched off, and then nobody says anything: so
 * wrong usage is told, and is no failure either, nor is a reader who has gone
 */
int cli_preflight(int argc, char **argv, struct err *err)
{
	struct options options = { 0 };
	auto_buf struct buf out = { 0 };
	int json = 0;
	const int first = cli_parse_query(argc, argv, &options, &json, err);
	auto_free char *lines = NULL;

	if (first < 0)
		cli_tell("cloche: %s", err->msg);
	else if (advise(&options, &out, err) < 0 && json)
		/* To whoever asks, silence would be a yes; a session has heard
		 * it from the first command
		 */
		buf_addf(&out, "the settings cannot be read, and no command will run: %s\n",
			 err->msg);
	lines = mem_strdup(buf_str(&out));
	/* Where a start hook's words reach whoever reads the session */
	if (first >= 0 && json)
		print_json(lines);
	else
		fputs(lines, stdout);
	if (fflush(stdout) == EOF) {
		__fpurge(stdout);
		clearerr(stdout);
	}
	options_done(&options);
	return 0;
}
