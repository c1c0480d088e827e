/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/seccomp.h - the system call filter: load it, and show what it does
 *
 * The programs are made at build time from sandbox/syscalls.def (one row per
 * call) and sandbox/filters.def (argument rules).
 */

#ifndef SANDBOX_SECCOMP_H
#define SANDBOX_SECCOMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* Unix sockets; socketpair() streams are always fine */
enum seccomp_unix {
	SECCOMP_UNIX_DENY,	/* socket(AF_UNIX) is EPERM */
	SECCOMP_UNIX_BY_PATH,	/* Streams only; the listener gets connect, bind */
	SECCOMP_UNIX_ALLOW,
	SECCOMP_UNIX_COUNT,
};

/* What the listener is asked about */
enum seccomp_observe {
	SECCOMP_OBSERVE_OFF,
	SECCOMP_OBSERVE_ON,	/* connect(), and calls that may change files */
	SECCOMP_OBSERVE_LATE,	/* And those of open files; access() to write */
	SECCOMP_OBSERVE_FULL,	/* And every open() and openat() */
	SECCOMP_OBSERVE_COUNT,
};

/**
 * struct seccomp_config - Which programs; all zero is the strictest
 * @unix_sockets:	What becomes of AF_UNIX
 * @observe:		What is reported to a listener
 * @nested_userns:	New namespaces, and mounts in them, are allowed
 * @deny_udp:		No UDP: where no network namespace would stop it
 */
struct seccomp_config {
	enum seccomp_unix unix_sockets;
	enum seccomp_observe observe;
	bool nested_userns;
	bool deny_udp;
};

/* True if these programs need a supervisor that answers a listener */
bool seccomp_wants_listener(const struct seccomp_config *config);

/* Load the programs into the calling process, which must have one thread and
 * no_new_privs. *@ret_listener is the listener (close-on-exec), or -1 where
 * @config wants none. Nothing this process still has to do itself may be a
 * reported call: no observer answers yet.
 *
 * 0, or a negative errno; -EBUSY means that another listener is in the way and
 * nothing was loaded: call again with observe off (and, where sockets were
 * allowed by path, with SECCOMP_UNIX_DENY). After any other failure some
 * programs may be loaded: the process must not go on to run anything.
 */
int seccomp_install(const struct seccomp_config *config, int *ret_listener,
		    struct err *err);

enum { SECCOMP_NAME_MAX = 23, SECCOMP_REASON_MAX = 55 };

/**
 * struct seccomp_row - What one system call meets
 * @name:	Its name
 * @number:	Its number on this machine
 * @action:	"allowed", "refused (EPERM)", ...
 * @watch:	"not reported", "reported", ...
 * @reason:	Why, in short
 */
struct seccomp_row {
	const char *name;
	int number;
	const char *action, *watch, *reason;
};

/* Walk the table: start with *@cursor 0, until it returns false. Only calls
 * that this machine has are shown.
 */
bool seccomp_next_row(size_t *cursor, struct seccomp_row *ret);

#endif /* SANDBOX_SECCOMP_H */
