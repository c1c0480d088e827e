/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/seccomp.c - load the system call filter
 *
 * Theory of operation.  There is one ready program for every configuration,
 * listener included, and one load.  If the listener is refused (EBUSY) nothing
 * was loaded, and the caller takes the program without.  The kernel asks all
 * programs and takes the strictest answer (kill, an errno, the listener,
 * allow), so that what the command loads on top can only tighten.
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

#include "sandbox/seccomp.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include "base/err.h"
#include "base/own.h"
#include "base/sys.h"
#include "sandbox/filter.h"

#if defined(__x86_64__)
#include "filters-x86_64.h"
#define NATIVE_FILTERS	x86_64_filters
#define NATIVE_NO_UDP	x86_64_no_udp
#define NATIVE_NUMBERS	x86_64_numbers
#elif defined(__aarch64__)
#include "filters-aarch64.h"
#define NATIVE_FILTERS	aarch64_filters
#define NATIVE_NO_UDP	aarch64_no_udp
#define NATIVE_NUMBERS	aarch64_numbers
#else
#error "no filter for this machine: teach tools/gen-filter.c its numbers"
#endif

static const char *const class_words[CLASS_COUNT] = {
#define CLASS(id, words) [CLASS_##id] = words,
#include "sandbox/filters.def"
};

/* No pointers: they would be relocated at every start, for explain alone */
static const struct row {
	char name[SECCOMP_NAME_MAX + 1], reason[SECCOMP_REASON_MAX + 1];
	unsigned char class, watch;
} rows[] = {
#define SYSCALL(name, class, watch, reason)				\
	{ #name, reason, CLASS_##class, CLASS_##watch },
#define SYSCALL_NR(name, x86_64, aarch64, class, watch, reason)		\
	{ #name, reason, CLASS_##class, CLASS_##watch },
#include "sandbox/syscalls.def"
#undef SYSCALL
#undef SYSCALL_NR
};

_Static_assert(ARRAY_SIZE(rows) == ARRAY_SIZE(NATIVE_NUMBERS) &&
	       ARRAY_SIZE(NATIVE_FILTERS) == SECCOMP_UNIX_COUNT * 2 *
					     SECCOMP_OBSERVE_COUNT,
	       "what tools/gen-filter wrote is not what we read");

bool seccomp_wants_listener(const struct seccomp_config *config)
{
	return config->observe != SECCOMP_OBSERVE_OFF ||
	       config->unix_sockets == SECCOMP_UNIX_BY_PATH;
}

/* NULL if @config is not one that the generator foresaw */
static const struct filter *choose(const struct seccomp_config *config)
{
	if ((unsigned int)config->unix_sockets >= SECCOMP_UNIX_COUNT ||
	    (unsigned int)config->observe >= SECCOMP_OBSERVE_COUNT)
		return NULL;
	return &NATIVE_FILTERS[(config->unix_sockets * 2 +
				(config->nested_userns ? 1 : 0)) *
			       SECCOMP_OBSERVE_COUNT + config->observe];
}

static int load(const struct filter *filter, unsigned int flags)
{
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
static int load_listener(const struct filter *filter)
{
	const unsigned int flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
	int fd = load(filter, flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);

	if (fd == -EINVAL)
		fd = load(filter, flags);
	if (fd < 0)
		return fd;
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
	const struct filter *filter = choose(config);
	const bool listen = seccomp_wants_listener(config);
	auto_close int listener = -1;
	int r;

	if (!filter)
		return fail(err, -EINVAL, "no such system call filter");
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return fail(err, -EINVAL,
			    "no_new_privs must be set before the filter");

	r = listen ? load_listener(filter) : load(filter, 0);
	if (r == -EBUSY && listen)
		return fail(err, r, "another program already listens to system calls");
	if (r >= 0 && listen)
		listener = r;
	if (r >= 0 && config->deny_udp)
		r = load(&NATIVE_NO_UDP, 0);
	if (r < 0)
		return fail(err, r, "cannot load the system call filter: %s",
			    strerror(-r));

	*ret_listener = take_fd(&listener);
	return 0;
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
