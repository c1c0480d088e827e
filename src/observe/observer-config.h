/* SPDX-License-Identifier: Apache-2.0 */
/* observe/observer-config.h - what the observer is given: policy, network, sockets */

#ifndef OBSERVE_OBSERVER_CONFIG_H
#define OBSERVE_OBSERVER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

struct loop;
struct mask_fds;
struct observer_rules;
struct violation_sink;

enum observer_op { OBSERVER_READ, OBSERVER_WRITE };

enum observer_answer {
	OBSERVER_ALLOWED,
	OBSERVER_OUTSIDE,	/* No rule allows it: refused where the mount
				 * is read-only, as the kernel will */
	OBSERVER_DENIED,	/* A rule denies it: refused, mount or not */
};

/**
 * struct observer_verdict - What the policy says of a path
 * @reason:	For the report
 * @rule_file, @rule_key: As in struct violation; may be NULL
 * @unprotect:	The protected name that denies it, if that may be given up
 * @final:	No rule can allow it
 * @yields:	One more rule can allow it, in spite of @rule_file
 * @scan:	Allowed, but it can carry protected names that are not notified: scan
 *		for them at the end
 * All strings stay valid until the next verdict.
 */
struct observer_verdict {
	enum observer_answer answer;
	const char *reason, *rule_file, *rule_key, *unprotect;
	bool final, yields, scan;
};

/**
 * struct observer_socket - A Unix socket that may be connected to
 * @birth:	btime_of() it
 * @path:	Where the host has it, the observer's to free; or NULL
 */
struct observer_socket {
	dev_t dev;
	ino_t ino;
	int64_t birth;
	char *path;
};

/**
 * struct observer_network - Decisions about IPv4 and IPv6 addresses
 * @arg:	Passed to each. All are NULL where there is no network.
 * @connect:	Before a connect() goes on: @socket is a copy of the socket, or -1. 0
 *		lets it go on, 1 says that it was made, a negative errno is its
 *		result.
 * @wants_connect: Cheap: false if @connect has nothing to do for that address,
 *		and needs no copy of the socket to say so
 * @is_served:	True if @wants_connect is false for that address, whenever it is
 *		asked: from any thread
 * @is_held:	Cheap: true if a server may find that address taken because of
 *		what @connect did; from any thread
 * @bind:	Then, before its bind() goes on
 * @listen:	Before a listen() on @socket, a copy, goes on
 * @unreached:	A connect() of @socket that was made here failed with @error: there is
 *		no way to the address
 */
struct observer_network {
	void *arg;
	int (*connect)(void *arg, const struct sockaddr *address,
		       socklen_t len, int socket);
	bool (*wants_connect)(void *arg, const struct sockaddr *address,
			      socklen_t len);
	bool (*is_served)(void *arg, const struct sockaddr *address,
			  socklen_t len);
	bool (*is_held)(void *arg, const struct sockaddr *address,
			socklen_t len);
	void (*bind)(void *arg, const struct sockaddr *address, socklen_t len);
	void (*listen)(void *arg, int socket);
	void (*unreached)(void *arg, const struct sockaddr *address,
			  socklen_t len, int socket, int error);
};

/**
 * struct observer_config - All that the observer needs
 * @listener:	The descriptor of seccomp's listener; the observer's from now on
 * @loop:	Where connections under way are waited for; outlives the observer
 * @rules:	What the policy decides (observe/observer-policy.h); outlives the observer
 * @network:	See above
 * @sink:	Where refusals go
 * @no_mounts:	The floor is Landlock alone: what no rule allows is EACCES
 * @mask_fds:	Directories that FUSE masks show; may be NULL. They outlive the
 *		observer.
 * @nested:	The command may have mount namespaces of its own, into which the
 *		observer does not see
 * @reads:	Reads are notified as well; @files: and only those of single
 *		files that are hidden are refused, not what is in hidden directories
 * @ask:	No rule mentions @grant, and the call of @pid, which would write to
 *		@target in it, is to be refused: true if a person is asked, so that the
 *		call waits for observer_resume(); may be NULL
 * @on_make:	Called with @arg before a call that can make a name goes on; may
 *		be NULL
 * @home:	The user's home, links followed, which is never suggested as a
 *		whole; may be NULL
 * @sockets_by_path: Unix sockets: only @sockets and the sandbox's own may be
 *		connected to; otherwise all may
 */
struct observer_config {
	int listener;
	struct loop *loop;
	struct observer_rules *rules;
	struct observer_network network;
	const struct violation_sink *sink;
	const struct mask_fds *mask_fds;
	bool no_mounts, nested, reads, files, sockets_by_path;
	const struct observer_socket *sockets;
	size_t nsockets;
	bool (*ask)(void *arg, const char *grant, const char *target, pid_t pid);
	void (*on_make)(void *arg);
	void *arg;
	const char *home;
};

#endif /* OBSERVE_OBSERVER_CONFIG_H */
