/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/why.c - why user namespaces are refused
 *
 * The kernel says EPERM to nearly everything, so the surroundings are looked
 * at, the most certain sign first. What is named here was refused before: no
 * sign alone makes a diagnosis.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "doctor/probe.h"

static bool is_apparmor(void)
{
	return geteuid() != 0 && place_number(
		"/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1;
}

/* "Seccomp:\t2" of our own status */
static bool is_filtered(void)
{
	auto_buf struct buf status = { 0 };
	const char *at;

	if (!probe_read("/proc/self/status", &status))
		return false;
	at = strstr(buf_str(&status), "\nSeccomp:\t");
	return at && at[10] == '2';
}

/* True if "/" is no mount point: its line in mountinfo is missing */
static bool is_chroot(void)
{
	auto_buf struct buf mounts = { 0 };

	return probe_read("/proc/self/mountinfo", &mounts) &&
	       !strstr(buf_str(&mounts), " / / ") &&
	       !strstr(buf_str(&mounts), " / rw") &&
	       !strstr(buf_str(&mounts), " / ro");
}

/* The kernel makes no namespace for ids that it cannot name */
static bool is_unmapped(void)
{
	auto_buf struct buf map = { 0 };
	const char *p;

	if (!probe_read("/proc/self/uid_map", &map))
		return false;
	for (p = buf_str(&map); *p; p += strcspn(p, "\n"), p += *p == '\n') {
		char *end;
		const unsigned long first = strtoul(p, &end, 10);
		unsigned long count;

		(void)strtoul(end, &end, 10);
		count = strtoul(end, &end, 10);
		if (geteuid() >= first && geteuid() - first < count)
			return false;
	}
	return true;
}

static enum cause who_filters(void)
{
	const char *sandbox = place_sandbox();

	if (doctor_is_in_landlock())
		return CAUSE_CLOCHE_LANDLOCK;
	if (sandbox && !strcmp(sandbox, "cloche"))
		return CAUSE_CLOCHE;
	if (place_is_kubernetes())
		return CAUSE_KUBERNETES;
	if (place_is_docker())
		return CAUSE_DOCKER;
	return CAUSE_FILTER;
}

enum cause why_no_userns(int error)
{
	if (place_wsl() == 1)
		return CAUSE_WSL1;
	if (place_is_gvisor())
		return CAUSE_GVISOR;
	if (place_number("/proc/sys/user/max_user_namespaces") == 0)
		return CAUSE_MAX_ZERO;
	if (error == ENOSPC || error == EUSERS)
		return CAUSE_MAX_USED;
	if (place_number("/proc/sys/kernel/unprivileged_userns_clone") == 0 &&
	    geteuid() != 0)
		return CAUSE_SYSCTL;
	/* It answers EACCES, or strips the capabilities inside: EPERM */
	if (is_apparmor() && (error == EACCES || error == EPERM) &&
	    !(error == EPERM && is_filtered()))
		return CAUSE_APPARMOR;
	if (error == EACCES && access("/sys/fs/selinux/enforce", F_OK) == 0)
		return CAUSE_SELINUX;
	if (error == EPERM && is_unmapped())
		return CAUSE_UNMAPPED;
	if (error == EPERM && is_chroot())
		return CAUSE_CHROOT;
	if ((error == EPERM || error == ENOSYS) && is_filtered())
		return who_filters();
	if (error == EINVAL || error == ENOSYS)
		return CAUSE_NOT_BUILT;
	return is_apparmor() ? CAUSE_APPARMOR : CAUSE_NONE;
}
