/* SPDX-License-Identifier: Apache-2.0 */
/* lib/killed.c - what runs that were killed left behind, cleaned up and told */

#include "lib/killed.h"

#include <stdlib.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/violation.h"
#include "watch/born.h"
#include "watch/report.h"
#include "watch/store.h"

static void take(void *arg, const struct violation *v)
{
	struct killed *killed = arg;

	violation_copy(vec_push(killed), v);
}

void killed_clean(struct killed *ret)
{
	const struct violation_sink sink = { take, ret };
	auto_free char *state = store_default_dir();
	auto_free char *home = fs_home();

	if (state)
		born_replay(state, home, &sink);
}

void killed_tell(struct killed *killed, const struct violation_sink *sink)
{
	if (!killed)
		return;
	for (size_t i = 0; i < killed->len; i++) {
		violation_report(sink, &killed->v[i]);
		violation_done(&killed->v[i]);
	}
	killed->len = 0;
}

static void keep(struct killed *killed)
{
	auto_free char *state = store_default_dir();
	char run[REPORT_RUN_SIZE];
	const struct report_config config = {
		.run = run, .command = "", .stream = -1, .store_dir = state,
	};
	struct report *report;

	report_run_id(run);
	report = report_new(&config);
	killed_tell(killed, report_sink(report));
	report_finish(report);
	report_free(report);
}

void killed_done(struct killed *killed)
{
	if (killed->len)
		keep(killed);
	killed_tell(killed, NULL);
	free(killed->v);
	*killed = (struct killed){ 0 };
}
