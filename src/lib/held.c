/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/held.c - a directory of ours that must be there while a sandbox runs
 *
 * It stays, empty, in a home that has a configuration directory: to make and
 * remove it with each run would cost more than the sandbox (ext4 is slow to
 * reuse what was just removed). In a bare home a lock stands for it as long as
 * the run is short (base/homelock.h). What a longer one makes is not left: every
 * run holds a shared lock, and whoever gets the exclusive one at its end removes
 * the directory; also one that a killed run has left.
 */

#include "lib/held.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/homelock.h"
#include "base/leftover.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"

enum {
	TRIES = 16,	/* Another run may remove it just before we lock it */
	LOCK_WAIT_MS = 2000,	/* Much longer than that takes */
};

/* Never as one of the standard descriptors, even where those are closed: the
 * command must find them so
 */
static int open_dir(const char *path)
{
	return fs_above_std(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
				 O_CLOEXEC));
}

/* Open @path, and make it first if that is needed */
static int open_or_make(const char *path)
{
	const int fd = open_dir(path);

	if (fd >= 0)
		return fd;
	leftover_make(path);
	return open_dir(path);
}

/* True if the lock on $HOME stands for the directory: there is none, and
 * nothing to put it in
 */
static bool lock_home(const char *path, const char *above, struct held *ret)
{
	auto_close int fd = access(above, F_OK) < 0 ? homelock_take() : -1;

	if (fd < 0 || access(path, F_OK) == 0)
		return false;
	*ret = (struct held){ .waits = true, .home = take_fd(&fd) };
	return true;
}

static void hold(const char *path, struct held *ret)
{
	for (int i = 0; i < TRIES; i++) {
		auto_close int fd = open_or_make(path);

		if (fd < 0)
			return;
		/* Not to be had: what is there is hidden all the same */
		if (fs_flock_within(fd, LOCK_SH, LOCK_WAIT_MS) < 0)
			return;
		if (fs_is_named(fd, path)) {
			ret->path = mem_strdup(path);
			ret->lock = take_fd(&fd);
			return;
		}
	}
}

static bool is_wanted(const char *path, const char *in, bool insist)
{
	return path && access(path, F_OK) < 0 &&
	       (insist || access(in, F_OK) == 0);
}

/* The record of refusals and the cache, likewise: where there is something to
 * put them in, they are there before the plan, which hides them. They stay.
 */
static void make_others(bool insist)
{
	auto_free char *above = fs_xdg("XDG_STATE_HOME", ".local/state");
	auto_free char *state = above ? path_join(above, "cloche") : NULL;
	auto_free char *home = above ? path_parent(above) : NULL;
	auto_free char *caches = fs_xdg("XDG_CACHE_HOME", ".cache");
	auto_free char *cache = caches ? path_join(caches, "cloche") : NULL;
	auto_close int fd = -1;

	if (is_wanted(state, home, insist))
		leftover_make(state);
	if (is_wanted(cache, caches, insist))
		fd = fs_open_private_dir(cache, NULL);
}

void held_open(struct held *ret)
{
	auto_free char *above = fs_xdg("XDG_CONFIG_HOME", ".config");
	auto_free char *path = above ? path_join(above, "cloche") : NULL;

	make_others(false);
	if (path && !lock_home(path, above, ret))
		hold(path, ret);
}

void held_settle(struct held *held)
{
	auto_free char *above = fs_xdg("XDG_CONFIG_HOME", ".config");
	auto_free char *path = above ? path_join(above, "cloche") : NULL;

	if (held && held->waits && path)
		hold(path, held);
}

void held_insist(struct held *held)
{
	make_others(true);
	held_settle(held);
}

void held_masked(struct held *held)
{
	if (!held || !held->waits || !held->path)
		return;
	held->waits = false;
	fs_unlock(&held->home);
}

/* True if no other sandbox has masks on our directories: none holds the lock,
 * nor the one that stands for it
 */
static bool is_last(const struct held *held)
{
	auto_free char *above = fs_xdg("XDG_CONFIG_HOME", ".config");

	if (held->path)
		return flock(held->lock, LOCK_EX | LOCK_NB) == 0;
	return held->waits && flock(held->home, LOCK_EX | LOCK_NB) == 0 &&
	       above && access(above, F_OK) < 0;
}

/* In a bare home nothing is left, nor what a killed run left there */
static void remove_ours(const struct held *held)
{
	auto_free char *states = fs_xdg("XDG_STATE_HOME", ".local/state");
	auto_free char *state = states ? path_join(states, "cloche") : NULL;

	if (held->path)
		leftover_tidy(held->path);
	if (state)
		leftover_tidy(state);
}

void held_close(struct held *held)
{
	if (is_last(held))
		remove_ours(held);
	if (held->path)
		fs_unlock(&held->lock);
	if (held->waits)
		fs_unlock(&held->home);
	free(held->path);
	*held = (struct held){ 0 };
}
