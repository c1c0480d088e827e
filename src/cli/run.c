/* SPDX-License-Identifier: Apache-2.0 */
/* cli/run.c - cloche run: a command in the sandbox, by the public functions */

#include <cloche.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "cli/command.h"
#include "lib/options.h"

static void on_message(void *arg, cloche_run *run, const char *line)
{
	(void)arg;
	(void)run;
	cli_tell("cloche: %s", line);
}

/* Heads and commands of a footer stand out on a terminal */
static void on_report(void *arg, cloche_run *run, const char *text)
{
	auto_buf struct buf out = { 0 };

	(void)arg;
	(void)run;
	while (*text) {
		const size_t n = strcspn(text, "\n");
		const enum style style =
			!strncmp(text, "cloche: ", 8) && text[8] != ' ' ?
			STYLE_HEAD : *text == ' ' ? STYLE_COMMAND : STYLE_NONE;

		if (style)
			buf_adds(&out, cli_style(stderr, style));
		buf_add(&out, text, n);
		if (style)
			buf_adds(&out, cli_style(stderr, STYLE_NONE));
		text += n;
		if (*text)
			buf_addc(&out, *text++);
	}
	cli_print(out.p, out.len);
}

static int run(cloche_sandbox *box, char **argv, struct err *err)
{
	const struct cloche_events events = {
		.size = sizeof(events), .message = on_message,
		.report = on_report,
	};
	const struct cloche_run_options options = {
		.size = sizeof(options), .argv = (const char *const *)argv,
		.events = &events,
	};
	struct cloche_result how = { .size = sizeof(how) };
	cloche_run *started;
	const int r = cloche_start(box, &options, &started);

	if (r < 0)
		return fail(err, r, "%s", cloche_sandbox_message(box));
	if (cloche_run_wait(started, &how) < 0)
		fail(err, how.error, "%s", how.message);
	cloche_run_free(started);
	return how.error ? how.error : how.status;
}

static int set_options(cloche_sandbox *box, const struct options *options,
		       struct err *err)
{
	for (size_t i = 0; i < options->len; i++) {
		const struct option_value *v = &options->v[i];
		const int r = cloche_sandbox_set(box, option_row(v->id)->name,
						 v->value);

		if (r < 0)
			return fail(err, r, "%s", cloche_sandbox_message(box));
	}
	return 0;
}

int cli_run(int argc, char **argv, struct err *err)
{
	struct options options = { 0 };
	const int first = cli_parse_options(argc, argv, &options, err);
	cloche_sandbox *box = NULL;
	int r = first;

	if (r >= 0)
		r = cloche_sandbox_new(NULL, &box, err->msg,
				       sizeof(err->msg));
	if (r >= 0)
		r = set_options(box, &options, err);
	options_done(&options);
	if (r >= 0)
		r = run(box, argv + first, err);
	cloche_sandbox_free(box);
	return r;
}
