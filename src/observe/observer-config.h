/* SPDX-License-Identifier: Apache-2.0 */
/* observe/observer-config.h - what the observer is given: policy, network, sockets */

#ifndef OBSERVE_OBSERVER_CONFIG_H
#define OBSERVE_OBSERVER_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "plan/fuse-mask.h"

struct loop;
struct mask_fds;
struct seccomp_data;
struct violation;
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
 * @final:	Nothing lifts it
 * @yields:	One more rule does, in spite of @rule_file
 * @scan:	Allowed, but it can carry protected names that are not notified: scan
 *		for them at the end
 * All strings stay valid until the next call of the policy.
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
 * struct observer_policy - Decisions that the observer needs
 * @arg:	Passed to each
 * @verdict:	What may be done with @path, absolute and real, from inside
 * @check_move: May a directory or a link, which stands at @what, or is to be made
 *		(NULL), have the name @path? Not called unless @verdict allows
 *		both. May be NULL.
 * @patterns:	Some rules are patterns, so @check_move must be called for every directory
 *		that is moved
 * @is_fast:	Cheap: true only if the text of @path is in a writable root and
 *		no rule could deny a name in it. From any thread. May be NULL.
 * @needs_emulation: True if @path is in a root that was granted after the start, so
 *		that mounts and Landlock refuse it, or is on a @read_only mount
 *		although it is allowed: the observer makes the call
 *		(observe/emulate.h). May be NULL.
 * @replace:	@from is to replace @to, which is refused: true if that was done in
 *		another way after all (git's settings). May be NULL.
 * @link:	A symbolic link from @path to @target was refused: true if it was made after
 *		all. May be NULL.
 * @made:	The observer has made the file @path for the command, open as @fd. May be
 *		NULL.
 * @is_fixed:	True if what stands at @path may not be moved or removed; where
 *		there are mounts, they say so. May be NULL.
 * @mask:	What part of a FUSE mask @path is: the observer cannot enter those.
 *		May be NULL.
 * @describe_syscall: Name and reason of a call that the filter refuses, into @ret,
 *		whose strings are NULL. May be NULL: then it is not reported.
 */
struct observer_policy {
	void *arg;
	void (*verdict)(void *arg, enum observer_op op, const char *path,
			struct observer_verdict *ret);
	void (*check_move)(void *arg, const char *what, const char *path,
			   struct observer_verdict *ret);
	bool patterns;
	bool (*is_fast)(void *arg, const char *path);
	bool (*needs_emulation)(void *arg, const char *path, bool read_only);
	bool (*replace)(void *arg, const char *from, const char *to);
	bool (*link)(void *arg, const char *target, const char *path);
	void (*made)(void *arg, const char *path, int fd);
	bool (*is_fixed)(void *arg, const char *path);
	enum fuse_mask_part (*mask)(void *arg, const char *path);
	void (*describe_syscall)(void *arg, const struct seccomp_data *call,
				 struct violation *ret);
	struct observer_network network;
};

/**
 * struct observer_config - All that the observer needs
 * @listener:	The descriptor of seccomp's listener; the observer's from now on
 * @loop:	Where connections under way are waited for; outlives the observer
 * @policy:	See above
 * @sink:	Where refusals go
 * @no_mounts:	The floor is Landlock alone: what no rule allows is EACCES
 * @mask_fds:	Directories that FUSE masks show; may be NULL. They outlive the
 *		observer.
 * @nested:	The command may have mount namespaces of its own, into which the
 *		observer does not see
 * @reads:	Reads are notified as well; @files: and only those of single
 *		files that are hidden are refused, not what is in hidden directories
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
	struct observer_policy policy;
	const struct violation_sink *sink;
	const struct mask_fds *mask_fds;
	bool no_mounts, nested, reads, files, sockets_by_path;
	const struct observer_socket *sockets;
	size_t nsockets;
	void (*on_make)(void *arg);
	void *arg;
	const char *home;
};

#endif /* OBSERVE_OBSERVER_CONFIG_H */
