/* SPDX-License-Identifier: Apache-2.0 */
/* base/homelock.c - sandboxes that were started before there was a store */

#include "base/homelock.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

#include "base/fs.h"
#include "base/own.h"

enum { STEP_MS = 10 };

static int open_home(void)
{
	auto_free char *home = fs_home();
	auto_close int fd = home ? open(home, O_RDONLY | O_DIRECTORY |
					O_CLOEXEC) : -1;

	/* Never as one of the standard descriptors, even where those are
	 * closed: the command must find them so
	 */
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

int homelock_take(void)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	auto_close int fd = open_home();

	if (fd < 0 || fcntl(fd, F_OFD_SETLK, &lock) < 0)
		return -errno;
	return take_fd(&fd);
}

static bool is_held(void)
{
	/* Only asked, never taken: a directory cannot be opened for writing */
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	auto_close int fd = open_home();

	return fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 &&
	       lock.l_type != F_UNLCK;
}

bool homelock_wait(unsigned int ms)
{
	const struct timespec step = { .tv_nsec = STEP_MS * 1000000 };
	unsigned int waited = 0;

	/* Who only asks cannot be woken */
	while (is_held()) {
		if (waited >= ms)
			return false;
		(void)nanosleep(&step, NULL);
		waited += STEP_MS;
	}
	return true;
}
