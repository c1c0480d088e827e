/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/api-here.c - cloche.h for the program itself: it is the supervisor
 *
 * The same functions as in api-run.c, without another process: the command
 * runs in cloche_run_wait(). Standard streams, environment and directory are
 * this process's, and the only events are those that cloche(1) listens to;
 * it has options for the rest.
 */

#include "lib/api.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/mem.h"
#include "lib/hooks.h"
#include "lib/run.h"

struct cloche_run {
	cloche_sandbox *sandbox;
	char **argv;
	struct cloche_events events;
	void *arg;
	struct hooks hooks;
};

static void on_say(void *arg, const char *line)
{
	cloche_run *run = arg;

	if (run->events.message)
		run->events.message(run->arg, run, line);
}

static void on_print(void *arg, const char *text, size_t n)
{
	cloche_run *run = arg;

	(void)n;
	if (run->events.report)
		run->events.report(run->arg, run, text);
}

int cloche_start(cloche_sandbox *sandbox,
		 const struct cloche_run_options *options, cloche_run **ret)
{
	struct cloche_run_options o;
	struct cloche_events events = { 0 };
	cloche_run *run;
	int r = api_copy(&o, sizeof(o), options);

	if (r == 0 && o.events)
		r = api_copy(&events, sizeof(events), o.events);
	if (r == 0 && (o.env || o.directory || o.stdio || events.ask ||
		       events.violation))
		r = -ENOTSUP;
	if (r < 0)
		return fail(&sandbox->err, r, "not from within the program");
	run = mem_zalloc(sizeof(*run));
	run->sandbox = sandbox;
	run->argv = (char **)(uintptr_t)o.argv;	/* Nobody writes to it */
	run->events = events;
	run->arg = o.arg;
	run->hooks = (struct hooks){ on_say, on_print, run, NULL };
	*ret = run;
	return 0;
}

void cloche_run_free(cloche_run *run)
{
	free(run);
}

int cloche_run_wait(cloche_run *run, struct cloche_result *result)
{
	struct options *options = &run->sandbox->options;
	struct err *err = &run->sandbox->err;
	int r;

	*err = (struct err){ 0 };
	options->hooks = &run->hooks;
	r = run_command(options, run->argv, err);
	options->hooks = NULL;
	if (result)
		api_give(result, &(struct cloche_result){
			.error = r < 0 ? r : 0, .status = r < 0 ? 125 : r,
			.sandboxed = 1, .message = r < 0 ? err->msg : "",
		}, sizeof(*result));
	return r < 0 ? r : 0;
}

const char *cloche_run_message(const cloche_run *run)
{
	return run->sandbox->err.msg;
}
