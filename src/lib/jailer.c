/* SPDX-License-Identifier: Apache-2.0 */
/* lib/jailer.c - a run's egress jail: started, watched, ended */

#include "lib/jailer.h"

#include <stdint.h>
#include <sys/epoll.h>

#include "base/err.h"
#include "lib/hooks.h"
#include "plan/plan.h"

static int on_end(void *arg, uint32_t events)
{
	struct jailer *j = arg;

	(void)events;
	loop_remove(j->loop, &j->source);
	hooks_say(j->options, "pasta ended: there is no network from now on (--net jail)");
	return 0;
}

int jailer_start(struct jailer *jailer, const struct plan *plan,
		 struct loop *loop, const struct options *options,
		 struct err *err)
{
	int r;

	if (!plan->jail.on)
		return 0;
	r = jail_start(plan, &jailer->run, err);
	if (r < 0)
		return r;
	jailer->loop = loop;
	jailer->options = options;
	jailer->source = (struct loop_source){ jailer->run.socket, on_end,
					       jailer };
	r = loop_add(loop, &jailer->source, EPOLLIN);
	return r < 0 ? fail(err, r, "cannot wait for events") : 0;
}

void jailer_stop(struct jailer *jailer)
{
	jail_stop(&jailer->run);
}
