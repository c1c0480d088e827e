/* SPDX-License-Identifier: Apache-2.0 */
/* secret/timer.c - a descriptor that becomes readable once, later */

#include "secret/timer.h"

#include <errno.h>
#include <sys/timerfd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"

int timer_set(int fd, unsigned int ms)
{
	const struct itimerspec when = {
		.it_value = { ms / 1000, (long)(ms % 1000) * 1000000 },
	};

	return timerfd_settime(fd, 0, &when, NULL) < 0 ? -errno : 0;
}

int timer_new(unsigned int ms, struct err *err)
{
	auto_close int fd = fs_above_std(timerfd_create(CLOCK_MONOTONIC,
							TFD_CLOEXEC |
							TFD_NONBLOCK));

	if (fd < 0 || timer_set(fd, ms) < 0)
		return fail_errno(err, "cannot make a timer");
	return take_fd(&fd);
}
