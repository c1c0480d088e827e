/* SPDX-License-Identifier: Apache-2.0 */
/* lib/clock.c - a run's time limit */

#include "lib/clock.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/sys.h"
#include "lib/job.h"
#include "policy/policy.h"

enum { GRACE_MS = 2000 };	/* Between asking to end and ending it */

static int set(int fd, uint64_t ms)
{
	const struct itimerspec when = {
		.it_value = { .tv_sec = (time_t)(ms / 1000),
			      .tv_nsec = (long)(ms % 1000) * 1000000 },
	};

	return timerfd_settime(fd, 0, &when, NULL) < 0 ? -errno : 0;
}

static int on_clock(void *arg, uint32_t events)
{
	struct clock *c = arg;
	uint64_t n;

	(void)events;
	(void)!read(c->source.fd, &n, sizeof(n));
	if (c->timed_out || c->job->command < 0) {
		c->timed_out = true;
		loop_stop(c->loop, 0);
		return 0;
	}
	c->timed_out = true;
	(void)sys_pidfd_send_signal(c->job->command, SIGTERM);
	(void)sys_pidfd_send_signal(c->job->command, SIGCONT);
	return set(c->source.fd, GRACE_MS);
}

int clock_start(struct clock *c, struct loop *loop, const struct job *job,
		const struct policy *policy, struct err *err)
{
	const struct number *limit = &policy->numbers[NUMBER_TIMEOUT_MS];
	int r;

	c->loop = loop;
	c->job = job;
	if (!limit->set)
		return 0;
	c->source = (struct loop_source){
		timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK),
		on_clock, c,
	};
	if (c->source.fd < 0)
		return fail_errno(err, "cannot keep the time limit");
	r = loop_add(loop, &c->source, EPOLLIN);
	if (r == 0)
		r = set(c->source.fd, limit->value);
	return r < 0 ? fail(err, r, "cannot keep the time limit") : 0;
}

void clock_done(struct clock *c)
{
	close_fd(&c->source.fd);
}
