/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd-run.c - cloche run, wrap and explain: a command in the sandbox */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/command-line.h"
#include "plan/plan.h"
#include "run/decision.h"
#include "run/options.h"
#include "run/output.h"
#include "run/run.h"
#include "session/session.h"

int cli_run(struct call *call, struct err *err)
{
	static struct run one;

	one = (struct run){ .options = &call->options, .output = &output_stderr,
			    .argv = call->args, .err = err };
	return options_has(&call->options, OPTION_SESSION) ? session_run(&one)
							   : run(&one);
}

/* Print @line on one line, whatever the words hold: readers take a newline within
 * quotes for the end of it, and not every shell knows $'..'
 */
static void print_line(const char *line)
{
	auto_buf struct buf format = { 0 }, quoted = { 0 };

	if (!strchr(line, '\n')) {
		puts(line);
		return;
	}
	for (; *line; line++) {
		if (*line == '\n')
			buf_adds(&format, "\\n");
		else if (*line == '\\' || *line == '%')
			buf_addf(&format, "%c%c", *line, *line);
		else
			buf_addc(&format, *line);
	}
	text_shell_quote(&quoted, buf_str(&format));
	printf("eval \"$(printf %s)\"\n", buf_str(&quoted));
}

int cli_wrap(struct call *call, struct err *err)
{
	auto_free char **command = NULL;
	auto_buf struct buf line = { 0 };
	auto_free char *self = own_path();
	/* Checked here, so that the line does not fail later for this */
	const int r = options_command(&call->options, call->args, false,
				      &command, err);

	if (r < 0)
		return r;
	text_shell_quote(&line, self);
	buf_adds(&line, " run");
	text_shell_words(&line, (const char *const *)call->given.v, SIZE_MAX);
	buf_adds(&line, " --");
	text_shell_words(&line, (const char *const *)call->args, SIZE_MAX);
	print_line(buf_str(&line));
	return 0;
}

int cli_explain(struct call *call, struct err *err)
{
	auto_free char **command = NULL;
	auto_buf struct buf text = { 0 };
	struct decision decision;
	int r = options_command(&call->options, call->args, true, &command,
				err);

	call->options.reads_no_secrets = true;
	if (r == 0)
		r = decision_make(&call->options, command, &decision, err);
	if (r < 0)
		return r;
	if (call_flag(call, "json"))
		plan_print_json(decision.plan, &text);
	else
		plan_print(decision.plan, &text);
	fputs(buf_str(&text), stdout);
	decision_done(&decision);
	return 0;
}
