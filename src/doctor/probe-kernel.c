/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/probe-kernel.c - the filter, its listener, Landlock */

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/sys.h"
#include "cage/seccomp.h"
#include "doctor/probe.h"
#include "doctor/table.h"

static int try_filter(enum seccomp_observe observe)
{
	const struct seccomp_config config = { .observe = observe };
	int listener;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return seccomp_install(&config, &listener, NULL);
}

/* In a sandbox of ours there is no openat2(), and no listener to need it for */
static int try_calls(void)
{
	auto_close int pidfd = sys_pidfd_open(getpid(), 0);

	if (pidfd < 0 || sys_pidfd_send_signal(pidfd, 0) < 0 ||
	    sys_close_range(100, ~0U, 0) < 0)
		return -errno;
	return sys_has_openat2() || try_filter(SECCOMP_OBSERVE_ON) == -EBUSY ?
	       0 : -ENOSYS;
}

void probe_calls(struct probe_result *r)
{
	const int error = -try_calls();

	if (error) {
		probe_no(r, PROBE_calls, CAUSE_NONE, error);
		probe_detail(r, "%s", strerror(error));
	}
}

void probe_seccomp(struct probe_result *r)
{
	const int error = -try_filter(SECCOMP_OBSERVE_OFF);

	if (error) {
		probe_no(r, PROBE_seccomp, place_is_gvisor() ? CAUSE_GVISOR
							     : CAUSE_NONE,
			 error);
		probe_detail(r, "%s", strerror(error));
	}
}

void probe_notify(struct probe_result *r)
{
	const int error = -try_filter(SECCOMP_OBSERVE_ON);

	if (!error)
		return;
	probe_no(r, PROBE_notify, error == EBUSY ? CAUSE_LISTENER : CAUSE_NONE,
		 error);
	probe_detail(r, "%s", strerror(error));
}

/* Close the file system, and see it closed */
static int try_landlock(void)
{
	const struct sys_landlock_ruleset_attr attr = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_READ_DIR,
	};
	auto_close int ruleset = -1;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	ruleset = sys_landlock_create_ruleset(&attr, sizeof(uint64_t), 0);
	if (ruleset < 0 || sys_landlock_restrict_self(ruleset) < 0)
		return -errno;
	if (open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0)
		return -EPROTO;
	return errno == EACCES ? 0 : -errno;
}

void probe_landlock(struct probe_result *r)
{
	const int abi = sys_landlock_abi();
	const int error = -try_landlock();
	auto_buf struct buf lacks = { 0 };
	const char *words;
	int cursor = 0;

	if (!abi || error) {
		probe_no(r, PROBE_landlock, CAUSE_NONE, error);
		probe_detail(r, "%s", strerror(error));
		return;
	}
	r->value = abi;
	while ((words = landlock_lack(abi, &cursor)) != NULL)
		buf_addf(&lacks, "%s%s", lacks.len ? ", " : "", words);
	probe_detail(r, "ABI %d%s%s", abi, lacks.len ? "; does not cover " : "",
		     buf_str(&lacks));
	if (abi < 6)
		probe_no(r, PROBE_landlock, CAUSE_LANDLOCK_OLD, 0);
}
