/* SPDX-License-Identifier: Apache-2.0 */
/* lib/events.c - where --events writes */

#include "lib/events.h"

#include <fcntl.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

int events_open(const char *where, int *ret_fd, bool *ret_owned,
		struct err *err)
{
	uint64_t fd;

	*ret_fd = -1;
	*ret_owned = false;
	if (!where)
		return 0;
	if (text_to_u64(where, 1 << 20, &fd) == 0) {
		if (fcntl((int)fd, F_GETFD) < 0)
			return fail_errno(err, "--events: descriptor %s", where);
		*ret_fd = (int)fd;
		return 0;
	}
	*ret_fd = open(where, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC |
		       O_NOCTTY, 0600);
	*ret_owned = true;
	if (*ret_fd < 0)
		return fail_errno(err, "--events: cannot open '%s'", where);
	return 0;
}
