/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/place.c - where we run: WSL, containers, other sandboxes */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/own.h"
#include "doctor/probe.h"

enum {
	PLACE_FILE_MAX = 1 << 20,
	ANCESTORS_MAX = 256,	/* Looked at, from us upwards */
};

bool probe_read(const char *path, struct buf *out)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && fs_read_fd(fd, PLACE_FILE_MAX, out, NULL) == 0;
}

long place_number(const char *path)
{
	auto_buf struct buf text = { 0 };
	char *end;
	long n;

	if (!probe_read(path, &text))
		return -1;
	n = strtol(buf_str(&text), &end, 10);
	return end == buf_str(&text) ? -1 : n;
}

static bool file_has(const char *path, const char *part)
{
	auto_buf struct buf text = { 0 };

	return probe_read(path, &text) && strstr(buf_str(&text), part);
}

/* Version 1 spells its maker with a capital and is no Linux */
int place_wsl(void)
{
	static const char release[] = "/proc/sys/kernel/osrelease";

	if (file_has(release, "WSL2") || file_has(release, "microsoft"))
		return 2;
	return file_has(release, "Microsoft") ? 1 : 0;
}

bool place_is_gvisor(void)
{
	return file_has("/proc/version", "gVisor") ||
	       file_has("/proc/sys/kernel/osrelease", "gvisor") ||
	       /* What it has claimed to be since its first release */
	       file_has("/proc/version", "4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016");
}

bool place_is_kubernetes(void)
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

bool place_is_docker(void)
{
	return access("/.dockerenv", F_OK) == 0 && !is_first_namespace();
}

/* The container we are in, or NULL; words for people */
static const char *find_container(void)
{
	static const char release[] = "/proc/sys/kernel/osrelease";
	const char *name;

	if (place_is_gvisor())
		return "gVisor: a kernel of its own between you and the machine, itself a boundary";
	if (is_first_namespace())
		return NULL;
	if (getenv("CODESPACES"))
		return "GitHub Codespaces: a container in a virtual machine of your own";
	if (place_is_kubernetes())
		return "a Kubernetes pod";
	if (place_is_docker() && file_has(release, "linuxkit"))
		return "Docker Desktop: its virtual machine is already a boundary to your computer; weakening the container for a sandbox inside is usually a bad trade";
	if (place_is_docker())
		return "Docker";
	if (access("/run/.containerenv", F_OK) == 0)
		return "Podman";
	name = getenv("container");
	if (access("/run/systemd/container", F_OK) == 0 || (name && *name))
		return "a container (systemd-nspawn, LXC or the like)";
	return NULL;
}

/* The parent of @pid and @pid's name, by /proc; 0 if that cannot be known */
static pid_t parent_of(pid_t pid, bool *ret_is_init)
{
	auto_buf struct buf status = { 0 };
	char path[64];
	const char *p;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (!probe_read(path, &status))
		return 0;
	*ret_is_init = !strncmp(buf_str(&status), "Name:\tcloche-init\n", 18);
	p = strstr(buf_str(&status), "\nPPid:");
	return p ? (pid_t)strtol(p + 6, NULL, 10) : 0;
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
		bool is_init = false;

		pid = parent_of(pid, &is_init);
		if (is_init)
			return true;
	}
	return false;
}

const char *place_sandbox(void)
{
	auto_buf struct buf first = { 0 }, status = { 0 };

	if (probe_read("/proc/1/comm", &first)) {
		if (!strcmp(buf_str(&first), "cloche-init\n"))
			return "cloche";
		if (!strcmp(buf_str(&first), "bwrap\n"))
			return "bubblewrap";
		if (!strcmp(buf_str(&first), "firejail\n"))
			return "firejail";
	}
	if (getenv("SANDBOX_RUNTIME"))
		return "sandbox-runtime or cloche";
	if (probe_read("/proc/self/status", &status) &&
	    strstr(buf_str(&status), "\nNoNewPrivs:\t1"))
		return "one that set no_new_privs";
	return NULL;
}

void probe_wsl(struct probe_result *r)
{
	const int version = place_wsl();

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
	const char *sandbox = place_sandbox();

	if (!sandbox)
		return;
	probe_no(r, PROBE_nested, doctor_is_in_landlock() ?
		 CAUSE_CLOCHE_LANDLOCK : CAUSE_NONE, 0);
	probe_detail(r, "%s", sandbox);
}
