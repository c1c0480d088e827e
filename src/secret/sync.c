/* SPDX-License-Identifier: Apache-2.0 */
/* secret/sync.c - wait for an answer */

#include "secret/sync.h"

#include "base/loop.h"

void sync_answer(void *arg, const struct answer *answer)
{
	struct sync *s = arg;

	s->answer = *answer;
	if (answer->data)
		bytes_copy(&s->data, answer->data);
	s->answer.data = answer->data ? &s->data : NULL;
	s->answered = true;
	if (s->waiting)
		loop_stop(s->loop, 0);
}

int sync_wait(struct sync *s)
{
	int r = 0;

	s->waiting = true;
	while (!s->answered && r >= 0)
		r = loop_run(s->loop);
	if (r < 0)
		return fail(&s->answer.err, r, "the event loop failed");
	return s->answer.r;
}

void sync_done(struct sync *s)
{
	bytes_done(&s->data);
}
