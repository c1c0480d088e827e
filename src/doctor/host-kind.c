/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor/host-kind.c - the kind of machine or container, and why it refuses user namespaces
 *
 * The kernel says EPERM to nearly everything, so the surroundings are looked at,
 * the most certain sign first. What is named here was refused before: no sign
 * alone makes a diagnosis.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/proc.h"
#include "doctor/probe.h"

enum {
	HOST_FILE_MAX = 1 << 20,
	ANCESTORS_MAX = 256,	/* Looked at, from us upwards */
};

static bool read_file(const char *path, struct buf *out)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && fs_read_fd(fd, HOST_FILE_MAX, out, NULL) == 0;
}

static long host_number(const char *path)
{
	auto_buf struct buf text = { 0 };
	char *end;
	long n;

	if (!read_file(path, &text))
		return -1;
	n = strtol(buf_str(&text), &end, 10);
	return end == buf_str(&text) ? -1 : n;
}

static bool file_has(const char *path, const char *part)
{
	auto_buf struct buf text = { 0 };

	return read_file(path, &text) && strstr(buf_str(&text), part);
}

/* Version 1 spells its maker with a capital and is no Linux */
static int host_wsl(void)
{
	static const char release[] = "/proc/sys/kernel/osrelease";

	if (file_has(release, "WSL2") || file_has(release, "microsoft"))
		return 2;
	return file_has(release, "Microsoft") ? 1 : 0;
}

bool host_is_gvisor(void)
{
	return file_has("/proc/version", "gVisor") ||
	       file_has("/proc/sys/kernel/osrelease", "gvisor") ||
	       /* What it has claimed to be since its first release */
	       file_has("/proc/version", "4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016");
}

static bool host_is_kubernetes(void)
{
	return getenv("KUBERNETES_SERVICE_HOST") ||
	       access("/var/run/secrets/kubernetes.io", F_OK) == 0;
}

/* A machine's image may have been a container's: what counts is whether we
 * are in the kernel's first namespaces, whose numbers are fixed
 */
static bool is_first_namespace(void)
{
	enum { FIRST_UTS = 0xEFFFFFFE, FIRST_PID = 0xEFFFFFFC };
	struct stat uts, pid;

	return stat("/proc/self/ns/uts", &uts) == 0 &&
	       stat("/proc/self/ns/pid", &pid) == 0 &&
	       uts.st_ino == FIRST_UTS && pid.st_ino == FIRST_PID;
}

static bool host_is_docker(void)
{
	return access("/.dockerenv", F_OK) == 0 && !is_first_namespace();
}

/* The container we are in, or NULL; text for people */
static const char *find_container(void)
{
	static const char release[] = "/proc/sys/kernel/osrelease";
	const char *name;

	if (host_is_gvisor())
		return "gVisor: a kernel of its own between you and the machine, itself a boundary";
	if (is_first_namespace())
		return NULL;
	if (getenv("CODESPACES"))
		return "GitHub Codespaces: a container in a virtual machine of your own";
	if (host_is_kubernetes())
		return "a Kubernetes pod";
	if (host_is_docker() && file_has(release, "linuxkit"))
		return "Docker Desktop: its virtual machine is already a boundary to your computer; weakening the container for a sandbox inside is usually a bad trade";
	if (host_is_docker())
		return "Docker";
	if (access("/run/.containerenv", F_OK) == 0)
		return "Podman";
	name = getenv("container");
	if (access("/run/systemd/container", F_OK) == 0 || (name && *name))
		return "a container (systemd-nspawn, LXC or the like)";
	return NULL;
}

bool doctor_is_confined(void)
{
	static const char *const lines[] = {
		"\nNoNewPrivs:\t1\n", "\nSeccomp:\t2\n",
		"\nCapPrm:\t0000000000000000\n",
		"\nCapEff:\t0000000000000000\n",
		"\nCapAmb:\t0000000000000000\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		if (!file_has("/proc/self/status", lines[i]))
			return false;
	}
	return true;
}

/* There is no pid namespace, but init takes every orphan: it is above us,
 * without being the first process
 */
bool doctor_is_in_landlock(void)
{
	pid_t pid = getppid();

	if (!doctor_is_confined())
		return false;
	for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
		char text[256];

		if (proc_stat(pid, text, sizeof(text)) && strstr(text, " (cloche-init) "))
			return true;
		pid = proc_parent(pid);
	}
	return false;
}

const char *doctor_around(void)
{
	static const struct {
		const char *comm, *name;
	} known[] = {
		{ "cloche-init\n", "cloche" }, { "bwrap\n", "bubblewrap" },
		{ "firejail\n", "firejail" },
	};
	static const char *around;
	static bool read;
	char comm[20];

	if (read)
		return around;
	read = true;
	(void)fs_read_small(AT_FDCWD, "/proc/1/comm", comm, sizeof(comm));
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (!strcmp(comm, known[i].comm))
			around = known[i].name;
	}
	return around;
}

static const char *host_sandbox(void)
{
	const char *name = doctor_around();

	if (name)
		return name;
	if (getenv("SANDBOX_RUNTIME"))
		return "sandbox-runtime or cloche";
	if (file_has("/proc/self/status", "\nNoNewPrivs:\t1"))
		return "one that set no_new_privs";
	return NULL;
}

void probe_wsl(struct probe_result *r)
{
	const int version = host_wsl();

	if (!version)
		return;
	probe_no(r, PROBE_wsl, version == 1 ? CAUSE_WSL1 : CAUSE_NONE, 0);
	probe_detail(r, "version %d", version);
	r->value = version;
}

void probe_container(struct probe_result *r)
{
	const char *container = find_container();

	if (!container)
		return;
	probe_no(r, PROBE_container, CAUSE_NONE, 0);
	probe_detail(r, "%s", container);
}

void probe_nested(struct probe_result *r)
{
	const char *sandbox = host_sandbox();

	if (!sandbox)
		return;
	probe_no(r, PROBE_nested, doctor_is_in_landlock() ?
		 CAUSE_CLOCHE_LANDLOCK : CAUSE_NONE, 0);
	probe_detail(r, "%s", sandbox);
}

static bool is_apparmor(void)
{
	return geteuid() != 0 && host_number(
		"/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1;
}

static bool is_filtered(void)
{
	return file_has("/proc/self/status", "\nSeccomp:\t2");
}

/* True if "/" is no mount point: its line in mountinfo is missing */
static bool is_chroot(void)
{
	auto_buf struct buf mounts = { 0 };

	return read_file("/proc/self/mountinfo", &mounts) &&
	       !strstr(buf_str(&mounts), " / / ") &&
	       !strstr(buf_str(&mounts), " / rw") &&
	       !strstr(buf_str(&mounts), " / ro");
}

/* The kernel makes no namespace for ids that it cannot name */
static bool is_unmapped(void)
{
	auto_buf struct buf map = { 0 };
	const char *p;

	if (!read_file("/proc/self/uid_map", &map))
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
	const char *sandbox = host_sandbox();

	if (doctor_is_in_landlock())
		return CAUSE_CLOCHE_LANDLOCK;
	if (sandbox && !strcmp(sandbox, "cloche"))
		return CAUSE_CLOCHE;
	if (host_is_kubernetes())
		return CAUSE_KUBERNETES;
	if (host_is_docker())
		return CAUSE_DOCKER;
	return CAUSE_FILTER;
}

enum cause why_no_userns(int error)
{
	if (host_wsl() == 1)
		return CAUSE_WSL1;
	if (host_is_gvisor())
		return CAUSE_GVISOR;
	if (host_number("/proc/sys/user/max_user_namespaces") == 0)
		return CAUSE_MAX_ZERO;
	if (error == ENOSPC || error == EUSERS)
		return CAUSE_MAX_USED;
	if (host_number("/proc/sys/kernel/unprivileged_userns_clone") == 0 &&
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
