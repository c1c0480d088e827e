/* SPDX-License-Identifier: Apache-2.0 */
/* lib/masked.c - who answers for the masks of a run that talk */

#include "lib/masked.h"

#include <stdint.h>
#include <sys/epoll.h>

#include "watch/mask.h"
#include "watch/ways.h"

/* Nobody must wait for an answer */
static void stop(struct masked *m)
{
	masks_free(m->masks);
	m->masks = NULL;
}

static int on_attempt(void *arg, uint32_t events)
{
	struct masked *m = arg;

	if (masks_dispatch(m->masks, events) == 0)
		return 0;
	loop_remove(m->loop, &m->source);
	stop(m);
	return 0;
}

void masked_start(struct masked *m, struct loop *loop,
		  struct masks_config *config, const int *fds, size_t nfds)
{
	if (nfds < 2)
		return;
	config->pids = fds[0];
	config->device = fds[1];
	m->ways = ways_new(config->plan, fds + 2, nfds - 2);
	m->loop = loop;
	if (masks_new(config, &m->masks, NULL) < 0)
		return;
	m->source = (struct loop_source){ fds[1], on_attempt, m };
	if (loop_add(loop, &m->source, EPOLLIN) < 0)
		stop(m);
}

void masked_done(struct masked *m)
{
	stop(m);
	ways_free(m->ways);
	m->ways = NULL;
}
