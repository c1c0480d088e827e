/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cage/seccomp.c - load the system call filter
 *
 * Theory of operation.  The kernel asks all loaded programs and takes the
 * strictest answer: kill, then an errno, then the listener, then allow.  So
 * the order of loading changes no verdict, but the base program refuses
 * listeners, ours included: a listening program is loaded before it.
 *
 * Another machine's calls (int 0x80 and 32-bit programs) end the process with
 * SIGSYS.  ENOSYS would let a 32-bit program stumble on and die of something
 * obscure; SIGSYS is a status that the launcher can put into words.  x32 call
 * numbers are numbers without a row: ENOSYS, the answer of nearly every
 * kernel, since distributions switch x32 off.
 *
 * This must be the last stage: afterwards the process can only run, not set
 * up.  Mustn't allocate, open or look up anything that a program reports.
 */

#include "cage/seccomp.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include "base/err.h"
#include "base/own.h"
#include "base/sys.h"
#include "cage/filter.h"

#if defined(__x86_64__)
#include "filters-x86_64.h"
#define NATIVE_FILTERS	x86_64_filters
#define NATIVE_NUMBERS	x86_64_numbers
#elif defined(__aarch64__)
#include "filters-aarch64.h"
#define NATIVE_FILTERS	aarch64_filters
#define NATIVE_NUMBERS	aarch64_numbers
#else
#error "no filter for this machine: teach tools/gen-filter.c its numbers"
#endif

static const char *const class_words[CLASS_COUNT] = {
#define CLASS(id, words) [CLASS_##id] = words,
#include "cage/filters.def"
};

static const struct row {
	const char *name;
	enum filter_class class, watch;
	const char *reason;
} rows[] = {
#define SYSCALL(name, class, watch, reason)				\
	{ #name, CLASS_##class, CLASS_##watch, reason },
#define SYSCALL_NR(name, x86_64, aarch64, class, watch, reason)		\
	{ #name, CLASS_##class, CLASS_##watch, reason },
#include "cage/syscalls.def"
#undef SYSCALL
#undef SYSCALL_NR
};

_Static_assert(ARRAY_SIZE(rows) == ARRAY_SIZE(NATIVE_NUMBERS),
	       "filters-*.h and syscalls.def differ");

/**
 * struct loads - The programs of a configuration, in the order of loading
 */
struct loads {
	enum filter_program v[SECCOMP_LOADS_MAX];
	size_t len;
	bool listener;		/* The first of them listens */
};

static struct loads choose(const struct seccomp_config *config)
{
	static const enum filter_program bases[][2] = {
		[SECCOMP_UNIX_DENY] = { PROGRAM_BASE_NO_UNIX,
					PROGRAM_NESTED_NO_UNIX },
		[SECCOMP_UNIX_BY_PATH] = { PROGRAM_BASE_PATHS,
					   PROGRAM_NESTED_PATHS },
		[SECCOMP_UNIX_ALLOW] = { PROGRAM_BASE, PROGRAM_NESTED },
	};
	struct loads loads = { .listener = seccomp_wants_listener(config) };

	if (config->observe == SECCOMP_OBSERVE_FULL)
		loads.v[loads.len++] = PROGRAM_OBSERVE_FULL;
	else if (config->observe == SECCOMP_OBSERVE_ON)
		loads.v[loads.len++] = PROGRAM_OBSERVE;
	else if (loads.listener)
		loads.v[loads.len++] = PROGRAM_UNIX_NOTIFY;
	loads.v[loads.len++] = bases[config->unix_sockets]
				    [config->nested_userns];
	if (config->deny_udp)
		loads.v[loads.len++] = PROGRAM_UDP_DENY;
	return loads;
}

bool seccomp_wants_listener(const struct seccomp_config *config)
{
	return config->observe != SECCOMP_OBSERVE_OFF ||
	       config->unix_sockets == SECCOMP_UNIX_BY_PATH;
}

static int load(enum filter_program program, unsigned int flags)
{
	const struct filter *filter = &NATIVE_FILTERS[program];
	/* The kernel only reads it, but its header has no const */
	const struct sock_fprog prog = {
		.len = filter->len,
		.filter = (struct sock_filter *)(uintptr_t)filter->code,
	};
	const int r = sys_seccomp(SECCOMP_SET_MODE_FILTER, flags, &prog);

	return r < 0 ? -errno : r;
}

/* Returns the listener. A kernel before 5.19 cannot shield a waiting call
 * from signals; it then restarts, which the observer lives with.
 */
static int load_listener(enum filter_program program, struct err *err)
{
	const unsigned int flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
	int fd = load(program, flags |
			       SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);

	if (fd == -EINVAL)
		fd = load(program, flags);
	if (fd == -EBUSY)
		return fail(err, fd, "another program already listens to system calls");
	if (fd < 0)
		return fail(err, fd, "cannot load the filter '%s': %s",
			    NATIVE_FILTERS[program].name, strerror(-fd));
	/* Wakes the supervisor on this processor: ten times quicker. Kernels
	 * before 6.6 do without.
	 */
	(void)ioctl(fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS,
		    SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
	return fd;
}

int seccomp_install(const struct seccomp_config *config, int *ret_listener,
		    struct err *err)
{
	const struct loads loads = choose(config);
	auto_close int listener = -1;

	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return fail(err, -EINVAL, "no_new_privs must be set before the filter");
	if (loads.listener) {
		listener = load_listener(loads.v[0], err);
		if (listener < 0)
			return listener;
	}
	for (size_t i = loads.listener; i < loads.len; i++) {
		const int r = load(loads.v[i], 0);

		if (r < 0)
			return fail(err, r, "cannot load the filter '%s': %s",
				    NATIVE_FILTERS[loads.v[i]].name,
				    strerror(-r));
	}
	*ret_listener = take_fd(&listener);
	return 0;
}

size_t seccomp_loads(const struct seccomp_config *config,
		     struct seccomp_load ret[SECCOMP_LOADS_MAX])
{
	const struct loads loads = choose(config);

	for (size_t i = 0; i < loads.len; i++) {
		const struct filter *filter = &NATIVE_FILTERS[loads.v[i]];

		ret[i] = (struct seccomp_load){ filter->name, filter->len };
	}
	return loads.len;
}

bool seccomp_next_row(size_t *cursor, struct seccomp_row *ret)
{
	while (*cursor < ARRAY_SIZE(rows)) {
		const struct row *row = &rows[*cursor];
		const int number = NATIVE_NUMBERS[(*cursor)++];

		if (number < 0)
			continue;
		*ret = (struct seccomp_row){
			.name = row->name,
			.number = number,
			.action = class_words[row->class],
			.watch = class_words[row->watch],
			.reason = row->reason,
		};
		return true;
	}
	return false;
}
