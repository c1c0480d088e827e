/* SPDX-License-Identifier: Apache-2.0 */
/* cli/explain.c - cloche explain: the plan and its reasons; runs nothing */

#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "cli/command.h"
#include "lib/words.h"
#include "lib/options.h"
#include "lib/session.h"
#include "plan/plan.h"

static int explain(const struct options *options, char **words, int json,
		   struct err *err)
{
	auto_free char **command = NULL;
	auto_buf struct buf text = { 0 };
	struct session session;
	int r = words_command(options, words, 1, &command, err);

	if (r == 0)
		r = session_open(options, command, &session, err);
	if (r < 0)
		return r;
	if (json)
		plan_print_json(session.plan, &text);
	else
		plan_print(session.plan, &text);
	fputs(buf_str(&text), stdout);
	session_done(&session);
	return 0;
}

int cli_explain(int argc, char **argv, struct err *err)
{
	struct options options = { 0 };
	int json = 0;
	const int first = cli_parse_query(argc, argv, &options, &json, err);
	const int r = first < 0 ? first
				: explain(&options, argv + first, json, err);

	options_done(&options);
	return r;
}
