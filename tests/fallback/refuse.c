/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fallback/refuse.c - run a command on a machine that lacks something
 *
 *	refuse WHAT[,WHAT...] COMMAND [ARG...]
 *
 * Calls are refused by a seccomp filter, as a container's is: src/attack/lack.c
 * has the names. For "proc", "fuse" and "max-userns" the kernel refuses by itself
 * in a namespace made here, in which the command has the caller's own ids.
 */

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attack/attack.h"
#include "ns.h"

static void die(const char *what)
{
	fprintf(stderr, "refuse: %s: %s\n", what, strerror(errno));
	exit(99);
}

/* New namespaces in which we are still ourselves */
static void enter(void)
{
	const int r = ns_enter(CLONE_NEWNS);

	errno = -r;
	if (r < 0)
		die("user namespace");
}

/* With a part covered, the kernel lets nobody have a /proc that shows it; one
 * that lies around elsewhere would do, so all of them get their cover
 */
static void mask_proc(void)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char line[4096], path[8192];

	enter();
	while (mounts && fgets(line, sizeof(line), mounts)) {
		char *field = line;

		if (!strstr(line, " - proc "))
			continue;
		for (int i = 0; i < 4 && field; i++)
			field = strchr(field, ' ') ? strchr(field, ' ') + 1
						   : NULL;
		if (!field)
			die("/proc/self/mountinfo");
		field[strcspn(field, " ")] = '\0';
		snprintf(path, sizeof(path), "%s/sys", field);
		if (mount("tmpfs", path, "tmpfs", MS_RDONLY, NULL) < 0)
			die(path);
	}
	if (!mounts || fclose(mounts))
		die("/proc/self/mountinfo");
}

/* A file that is no device, over the device */
static void close_fuse(void)
{
	enter();
	if (mount("tmpfs", "/mnt", "tmpfs", 0, NULL) < 0 ||
	    mknod("/mnt/fuse", S_IFREG, 0) < 0)
		die("/mnt");
	if (mount("/mnt/fuse", "/dev/fuse", NULL, MS_BIND, NULL) < 0 &&
	    errno != ENOENT)
		die("/dev/fuse");
	if (umount2("/mnt", MNT_DETACH) < 0)
		die("/mnt");
}

static void forbid_userns(void)
{
	enter();
	if (ns_put("/proc/sys/user/max_user_namespaces", "0") < 0)
		die("max_user_namespaces");
}

static const struct place {
	const char *what;
	void (*function)(void);
} places[] = {
	{ "proc", mask_proc }, { "fuse", close_fuse },
	{ "max-userns", forbid_userns },
};

static int names(const char *list, const char *what)
{
	const size_t n = strlen(what);

	for (; list; list = strchr(list, ',')) {
		list += *list == ',';
		if (!strncmp(list, what, n) && (!list[n] || list[n] == ','))
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int calls, found = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: refuse WHAT[,WHAT...] COMMAND...\n");
		return 99;
	}
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (names(argv[1], places[i].what)) {
			places[i].function();
			found++;
		}
	}
	calls = lack_of(argv[1]);
	errno = -calls;
	if (calls < 0)
		die("filter");
	if (!calls && !found) {
		fprintf(stderr, "refuse: nothing is called '%s'\n", argv[1]);
		return 99;
	}
	(void)execvp(argv[2], argv + 2);
	die(argv[2]);
	return 99;
}
