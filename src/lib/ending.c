/* SPDX-License-Identifier: Apache-2.0 */
/* lib/ending.c - why a command ended, where that is not the command's doing */

#include "lib/ending.h"

#include <signal.h>
#include <string.h>

#include "base/buf.h"
#include "lib/aside.h"
#include "lib/hooks.h"
#include "lib/limits.h"
#include "lib/options.h"
#include "lib/tmpdir.h"
#include "policy/policy.h"

void ending_explain(const struct ending *e)
{
	const unsigned long long ms = e->policy->numbers[NUMBER_TIMEOUT_MS].value;
	auto_buf struct buf hits = { 0 };

	/* Time was the reason, then: no need to guess at others */
	if (limits_explain(e->limits, e->timed_out ? 0 : e->status, &hits)) {
		for (char *line = hits.p; *line; line += strlen(line) + 1) {
			line[strcspn(line, "\n")] = '\0';
			hooks_say(e->options, "%s", line);
		}
	}
	if (e->timed_out)
		hooks_say(e->options, "time limit: the command was ended after %llu.%03llu s (--timeout)",
			  ms / 1000, ms % 1000);
	else if (e->status == 128 + SIGSYS)
		hooks_say(e->options, "the command made a system call that ends it; a 32-bit program cannot run in the sandbox");
}

void ending_aside(const struct options *options, struct aside *aside)
{
	const size_t n = aside_finish(aside);

	if (n && !options_has(options, OPTION_QUIET))
		hooks_say(options, "%zu change%s kept aside: cloche diff, cloche apply, cloche discard",
			  n, n == 1 ? " is" : "s are");
	aside_done(aside);
}

void ending_tmp(const struct options *options, struct tmpdir *tmp)
{
	if (!tmpdir_close(tmp) && !options_has(options, OPTION_QUIET))
		hooks_say(options, "not all of /tmp was kept: it held more than %d MiB or %d names, or there was no room; make ~/.cache, and it is kept where it is",
			  TMPDIR_BYTES_MAX >> 20, TMPDIR_ENTRIES_MAX);
}
