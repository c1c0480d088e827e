/* SPDX-License-Identifier: Apache-2.0 */
/* plan/tier.c - how strong a boundary is, and what it guarantees */

#include "plan/tier.h"

#include <errno.h>
#include <string.h>

/* Strongest first; @alone: where there is no Landlock */
static const struct {
	const char *name, *words, *alone;
} tiers[TIER_COUNT] = {
	[TIER_FULL] = {
		"full",
		"namespaces, mounts, a private network, Landlock, a system call filter",
		"namespaces, mounts, a private network, a system call filter",
	},
	[TIER_LANDLOCK] = {
		"landlock", "Landlock and a system call filter; no namespaces",
	},
	[TIER_NONE] = {
		"none", "this machine cannot hold a boundary: nothing is run",
	},
};

/**
 * struct row - One promise
 * @holds, @by:	In the full tier, then in the landlock tier. HOLDS: for everything;
 *		PARTLY: but for what @by names
 * @abi:	Of Landlock; with less the promise is MISSING in the landlock tier
 * @alone:	@by in the full tier, where Landlock has less than @alone_abi
 * @unwatched:	@by where there is no observer, and PARTLY; NULL: as with one
 */
static const struct row {
	const char *name, *promise;
	enum holds holds[2];
	const char *by[2];
	int abi, alone_abi;
	const char *alone, *unwatched[2];
} rows[GUARANTEE_COUNT] = {
	[GUARANTEE_WRITES] = {
		"writes", "files change only where you allowed it",
		{ HOLDS, HOLDS }, {
			"read-only mounts, and Landlock behind them",
			"Landlock; the observer sets modes, owners and times itself",
		}, 3,
		.alone_abi = 1, .alone = "read-only mounts",
		.unwatched[1] = "Landlock; modes, owners and times of your files elsewhere can still be changed",
	},
	[GUARANTEE_HIDDEN] = {
		"hidden", "hidden files and directories cannot be read",
		{ HOLDS, PARTLY }, {
			"empty mounts over them",
			"Landlock grants their neighbours instead; that they exist can be seen",
		}, 1,
	},
	[GUARANTEE_PROTECTED] = {
		"protected", "protected files that exist stay as they are",
		{ HOLDS, HOLDS }, {
			"read-only mounts that cannot be renamed away",
			"Landlock grants their neighbours instead",
		}, 3,
	},
	[GUARANTEE_PLANTED] = {
		"planted", "protected names are not newly made",
		{ PARTLY, PARTLY }, {
			"the observer refuses them, leftovers are moved away at the end; where it does not see, a race can win until then",
			"the observer refuses them, leftovers are moved away at the end; where it does not see, a race can win until then",
		}, 1,
		.unwatched = { "they are moved away at the end",
			       "they are moved away at the end" },
	},
	[GUARANTEE_NETWORK] = {
		"network", "only the hosts you named are reached",
		{ HOLDS, HOLDS }, {
			"a private network namespace; the gate is the only way out",
			"Landlock and the filter close everything; the gate is reached through $HTTPS_PROXY and $ALL_PROXY only",
		}, 4,
	},
	[GUARANTEE_UNIX_SOCKETS] = {
		"unix-sockets", "no socket of a host service is reached",
		{ HOLDS, HOLDS }, {
			"connect() is made by the supervisor, to sockets of the sandbox's own; abstract names have a private namespace",
			"connect() is made by the supervisor, to sockets that were named; nothing inside can listen",
		}, 1,
	},
	[GUARANTEE_SIGNALS] = {
		"signals", "other processes cannot be signalled",
		{ HOLDS, HOLDS }, {
			"a private pid namespace, and Landlock behind it",
			"Landlock",
		}, 6,
		.alone_abi = 6, .alone = "a private pid namespace",
	},
	[GUARANTEE_MEMORY] = {
		"memory", "other processes cannot be read or traced",
		{ HOLDS, HOLDS }, {
			"a private pid namespace, Landlock and the filter",
			"Landlock and the filter",
		}, 1,
		.alone_abi = 1, .alone = "a private pid namespace and the filter",
	},
	[GUARANTEE_PROCESSES] = {
		"processes", "other processes cannot be seen",
		{ HOLDS, MISSING }, {
			"a private pid namespace and /proc",
			"the host's /proc is visible, command lines included",
		}, 1,
	},
	[GUARANTEE_IPC] = {
		"ipc", "no shared memory or queue of the host is reached",
		{ HOLDS, HOLDS }, {
			"a private IPC namespace",
			"the filter refuses System V and POSIX queues, memory, semaphores",
		}, 1,
	},
	[GUARANTEE_PRIVILEGES] = {
		"privileges", "nothing can gain privileges",
		{ HOLDS, HOLDS }, {
			"no_new_privs, no capabilities, nosuid mounts",
			"no_new_privs, no capabilities",
		}, 1,
	},
	[GUARANTEE_KERNEL] = {
		"kernel", "rarely used kernel interfaces are closed",
		{ HOLDS, HOLDS }, {
			"the system call filter",
			"the system call filter",
		}, 1,
	},
	[GUARANTEE_TMP] = {
		"tmp", "/tmp is the sandbox's own",
		{ HOLDS, PARTLY }, {
			"a private /tmp",
			"the host's /tmp is closed; $TMPDIR is private",
		}, 1,
	},
	[GUARANTEE_END] = {
		"end", "nothing outlives the command",
		{ HOLDS, HOLDS }, {
			"the kernel ends the pid namespace",
			"all descendants are ended, and cannot end the process that does it",
		}, 6,
	},
};

const char *tier_name(enum tier tier)
{
	return tiers[tier].name;
}

const char *tier_words(enum tier tier, struct ground ground)
{
	return !ground.abi && tiers[tier].alone ? tiers[tier].alone :
						  tiers[tier].words;
}

int tier_parse(const char *name, enum tier *ret)
{
	for (enum tier t = TIER_FULL; t < TIER_NONE; t++) {
		if (!strcmp(tiers[t].name, name)) {
			*ret = t;
			return 0;
		}
	}
	return -EINVAL;
}

struct guarantee_state guarantee_in(enum guarantee guarantee, enum tier tier,
				    struct ground ground)
{
	const struct row *row = &rows[guarantee];
	struct guarantee_state state = {
		.name = row->name, .promise = row->promise,
		.holds = MISSING, .by = "nothing is run",
	};

	if (tier == TIER_NONE)
		return state;
	state.holds = row->holds[tier];
	state.by = row->by[tier];
	if (tier == TIER_FULL && ground.abi < row->alone_abi)
		state.by = row->alone;
	if (!ground.observer && row->unwatched[tier]) {
		state.holds = PARTLY;
		state.by = row->unwatched[tier];
	}
	if (tier == TIER_LANDLOCK && ground.abi < row->abi) {
		state.holds = MISSING;
		state.by = "this kernel's Landlock is too old for it";
	}
	return state;
}

const char *holds_name(enum holds holds)
{
	static const char *const names[] = { "holds", "partly", "missing" };

	return names[holds];
}
