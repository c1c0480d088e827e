/* SPDX-License-Identifier: Apache-2.0 */
/* lib/events.c - where --events writes, and of what */

#include "lib/events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "base/text.h"
#include "plan/plan.h"
#include "plan/planted.h"
#include "watch/report.h"

/* A file that a command can replace by a link would be any file, with lines in
 * it whose words the command chooses. What is in /dev leads to open files.
 */
static int open_file(const struct policy *policy, const char *where,
		     struct err *err)
{
	const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY;
	auto_free char *cwd = getcwd(NULL, 0);
	auto_free char *path = path_resolve(cwd ? cwd : "/", where);
	auto_free char *real = NULL;
	int fd, r;

	if (path_is_within("/dev", path) || path_is_within("/proc", path)) {
		fd = open(where, flags, 0600);
	} else {
		r = planted_follow(policy, path, &real);
		if (r > 0)
			return fail(err, -ELOOP, "--events: '%s' goes through the symbolic link '%s', which a command could have made; name the file itself",
				    where, real);
		errno = -r;
		fd = r < 0 ? -1 : sys_open_nofollow(AT_FDCWD, real, flags,
						    0600);
	}
	return fd < 0 ? fail_errno(err, "--events: cannot open '%s'", where)
		      : fd;
}

int events_open(const struct policy *policy, const char *where, int *ret_fd,
		bool *ret_owned, struct err *err)
{
	int r;

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
	r = open_file(policy, where, err);
	if (r < 0)
		return r;
	*ret_fd = r;
	*ret_owned = true;
	return 0;
}

void events_command(const struct plan *plan, struct buf *out)
{
	for (char **a = plan->argv; *a && out->len < REPORT_COMMAND_MAX; a++) {
		if (out->len)
			buf_addc(out, ' ');
		text_shell_quote(out, *a);
	}
}

enum annotate_mode events_mode(const char *name)
{
	enum annotate_mode mode = ANNOTATE_AUTO;

	if (name)
		(void)annotate_parse(name, &mode);
	return annotate_choose(mode, getenv("CLAUDECODE"));
}
