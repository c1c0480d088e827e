/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tools/gen-platforms.c - documents made from the doctor's tables
 *
 *	gen-platforms			print docs/platforms.md
 *	gen-platforms --check FILE	1 if FILE says something else
 *	gen-platforms --apparmor PATH	print the profile of the program at PATH
 */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"
#include "doctor/probe.h"

static const struct {
	const char *name, *tier, *words;
} platforms[] = {
	{ "Linux, most distributions", "full",
	  "Nothing to do: Debian, Fedora, Arch, openSUSE, NixOS." },
	{ "Ubuntu 23.10 and later", "full with the profile, else landlock",
	  "The package and `make install` bring the AppArmor profile; a program elsewhere needs one of its own." },
	{ "Debian 10, hardened kernels", "full after a sysctl, else none or landlock",
	  "Old Debian kernels have no Landlock: then nothing runs until user namespaces are allowed." },
	{ "Rootless Podman", "full",
	  "Its filter allows user namespaces. Its /proc has masks: cloche then needs the option below, or uses the landlock tier." },
	{ "Docker, default options", "landlock",
	  "The container is a boundary already; the landlock tier inside adds the file and network rules without weakening it." },
	{ "Docker Desktop", "landlock",
	  "Its virtual machine (LinuxKit) is already a boundary to your computer. Weakening the container for the sandbox inside is usually a bad trade: use the landlock tier." },
	{ "Kubernetes", "landlock",
	  "As in Docker; policies of the cluster often forbid the options for more." },
	{ "GitHub Codespaces and other dev containers", "landlock",
	  "A container in a virtual machine of your own; the same trade as Docker Desktop." },
	{ "GitHub Actions, hosted runners", "full with the profile, else landlock",
	  "Virtual machines with Ubuntu: load the profile in a step (sudo is there), or live with the landlock tier." },
	{ "WSL 2", "full",
	  "A Linux kernel of its own. With mirrored networking the observer is missing." },
	{ "WSL 1", "none",
	  "Nothing is run." },
	{ "gVisor", "none",
	  "Landlock is missing there, and namespaces are emulated. gVisor is the boundary." },
	{ "Inside a cloche sandbox", "landlock",
	  "The inner sandbox adds its layers to the outer one's and loosens nothing." },
};

static void print_matrix(struct buf *out)
{
	buf_adds(out, "| where | tier | what to know |\n|---|---|---|\n");
	for (size_t i = 0; i < ARRAY_SIZE(platforms); i++)
		buf_addf(out, "| %s | %s | %s |\n", platforms[i].name,
			 platforms[i].tier, platforms[i].words);
}

static void print_tiers(struct buf *out)
{
	/* A kernel that has everything; the ABI column says which */
	const struct ground all = { .abi = 1 << 16, .observer = true };

	buf_adds(out, "\n## What each tier guarantees\n\n");
	for (enum tier t = TIER_FULL; t < TIER_COUNT; t++)
		buf_addf(out, "- **%s**: %s.\n", tier_name(t),
			 tier_words(t, all));
	buf_adds(out, "\n| promise | full | landlock |\n|---|---|---|\n");
	for (enum guarantee g = 0; g < GUARANTEE_COUNT; g++) {
		const struct guarantee_state full =
			guarantee_in(g, TIER_FULL, all);
		const struct guarantee_state landlock =
			guarantee_in(g, TIER_LANDLOCK, all);

		buf_addf(out, "| %s | %s: %s | %s: %s |\n", full.promise,
			 holds_name(full.holds), full.by,
			 holds_name(landlock.holds), landlock.by);
	}
	buf_addf(out, "\nThe landlock tier takes Landlock ABI %d (Linux 6.7); signals and the clean end\n"
		 "take ABI 6 (Linux 6.12). `cloche doctor` says what this machine has.\n",
		 TIER_LANDLOCK_ABI);
}

static void print_causes(struct buf *out)
{
	buf_adds(out, "\n## Why not, and what to do\n\n");
	for (enum cause c = CAUSE_NONE + 1; c < CAUSE_COUNT; c++)
		buf_addf(out, "- **%s**. %s. Fix: `%s`\n", cause_row(c)->name,
			 cause_row(c)->words, cause_row(c)->fix);
}

static void print_probes(struct buf *out)
{
	buf_adds(out, "\n## What `cloche doctor` tries\n\n"
		 "| probe | what depends on it | without it |\n|---|---|---|\n");
	for (enum probe p = 0; p < PROBE_COUNT; p++)
		buf_addf(out, "| %s | %s | %s |\n", probe_row(p)->title,
			 probe_row(p)->carries, probe_row(p)->no);
}

static void print_platforms(struct buf *out)
{
	buf_adds(out, "# Platforms\n\n"
		 "Made by `tools/gen-platforms.c` from the tables of the program; `make test`\n"
		 "compares. `cloche doctor` tries all of it on your machine and says which tier\n"
		 "it gets; `cloche run --tier full` insists on one; `minimumTier` in the\n"
		 "settings does so for all users.\n\n");
	print_matrix(out);
	print_tiers(out);
	print_causes(out);
	print_probes(out);
}

enum { FILE_MAX = 1 << 20 };

static int check(const char *path, const char *want)
{
	auto_buf struct buf have = { 0 };
	struct err err = { 0 };

	if (fs_read(AT_FDCWD, path, FILE_MAX, &have, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	if (!strcmp(want, buf_str(&have)))
		return 0;
	fprintf(stderr, "%s is out of date: write it with build/src/doctor/gen-platforms\n",
		path);
	return 1;
}

int main(int argc, char **argv)
{
	auto_buf struct buf text = { 0 };

	if (argc == 3 && !strcmp(argv[1], "--apparmor"))
		doctor_print_apparmor(argv[2], &text);
	else
		print_platforms(&text);
	if (argc == 3 && !strcmp(argv[1], "--check"))
		return check(argv[2], buf_str(&text));
	fputs(buf_str(&text), stdout);
	return 0;
}
