/* SPDX-License-Identifier: Apache-2.0 */
/* lib/ending.c - why a command ended, where that is not the command's doing */

#include "lib/ending.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "lib/aside.h"
#include "lib/hooks.h"
#include "lib/limit.h"
#include "lib/options.h"
#include "policy/env.h"
#include "policy/policy.h"
#include "policy/violation.h"

/**
 * What a limit is called: by a person, in a record, on the command line
 */
static const struct name {
	const char *words, *target, *option;
	int error;
} names[NUMBER_COUNT] = {
	[NUMBER_TIMEOUT_MS] = { "time", "time", "--timeout", 0 },
	[NUMBER_MEMORY] = { "memory", "memory", "--memory", ENOMEM },
	[NUMBER_PIDS] = { "process", "pids", "--pids", EAGAIN },
	[NUMBER_FILE_SIZE] = { "file size", "file-size", "--file-size", EFBIG },
	[NUMBER_OUTPUT] = { "output", "output", "limits.output", EPIPE },
};

static void record(const struct ending *e, enum policy_number number,
		   const char *words)
{
	const struct origin *origin = &e->policy->numbers[number].origin;
	struct violation v = {
		.kind = VIOLATION_LIMIT, .error = names[number].error,
		.op = mem_strdup(VIOLATION_OP_LIMIT),
		.target = mem_strdup(names[number].target),
		.reason = mem_strdup(words),
		.rule_key = mem_strdup(origin->key ? origin->key
						   : names[number].option),
		.count = 1,
	};

	if (origin->source && origin->source->text)
		v.rule_file = mem_printf("%s:%u", origin->source->name,
					 origin_line(origin));
	violation_report(e->sink, &v);
	violation_done(&v);
}

static void on_limit(void *arg, enum policy_number number, bool sure,
		     const char *words)
{
	const struct ending *e = arg;

	hooks_say(e->options, "%s limit: %s (%s)", names[number].words, words,
		  names[number].option);
	if (sure)
		record(e, number, words);
}

void ending_explain(struct ending *e)
{
	const struct number *numbers = e->policy->numbers;
	const unsigned long long ms = numbers[NUMBER_TIMEOUT_MS].value;
	const unsigned long long bytes = numbers[NUMBER_OUTPUT].value;
	/* There is a reason, then: no need to guess at others */
	const bool known = e->timed_out || e->cut_off;
	char words[80];

	limits_explain(e->limits, known ? 0 : e->status, on_limit, e);
	snprintf(words, sizeof(words), "the command printed more than %llu bytes",
		 bytes);
	if (e->cut_off)
		on_limit(e, NUMBER_OUTPUT, true, words);
	snprintf(words, sizeof(words), "the command was ended after %llu.%03llu s",
		 ms / 1000, ms % 1000);
	if (e->timed_out)
		on_limit(e, NUMBER_TIMEOUT_MS, true, words);
	else if (e->status == 128 + SIGSYS)
		hooks_say(e->options, "the command made a system call that ends it; a 32-bit program cannot run in the sandbox");
}

enum { NAMES_MAX = 8 };

/* "A, B and 3 more" of the variables that stayed outside; those that look like
 * secrets, or the others
 */
static void add_withheld(const struct policy *policy, bool secret,
			 struct buf *out)
{
	size_t more = 0, shown = 0;

	for (char **e = environ; *e; e++) {
		const size_t n = strcspn(*e, "=");
		const struct env_verdict v = env_decide(policy, *e, n);

		if (!n || v.pass || v.secret != secret)
			continue;
		if (shown == NAMES_MAX) {
			more++;
			continue;
		}
		buf_addf(out, "%s%.*s", shown++ ? ", " : "", (int)n, *e);
	}
	if (more)
		buf_addf(out, " and %zu more", more);
}

void ending_variables(const struct ending *e)
{
	const bool verbose = options_has(e->options, OPTION_VERBOSE);
	auto_buf struct buf secrets = { 0 }, others = { 0 }, safe = { 0 };

	if (options_has(e->options, OPTION_QUIET) ||
	    (!verbose && (!e->status || e->timed_out ||
			  e->status == 128 + SIGINT)))
		return;
	add_withheld(e->policy, true, &secrets);
	text_escape(&safe, buf_str(&secrets));
	if (secrets.len)
		hooks_say(e->options, "not passed, as they look like secrets: %s (--env NAME passes one)",
			  buf_str(&safe));
	if (verbose)
		add_withheld(e->policy, false, &others);
	if (others.len)
		hooks_say(e->options, "not passed, as they belong to the session: %s (--env NAME passes one)",
			  buf_str(&others));
}

void ending_aside(const struct options *options, struct aside *aside)
{
	const size_t n = aside_finish(aside);

	if (n && !options_has(options, OPTION_QUIET))
		hooks_say(options, "%zu change%s kept aside: cloche diff, cloche apply, cloche discard",
			  n, n == 1 ? " is" : "s are");
	aside_done(aside);
}
