/* SPDX-License-Identifier: Apache-2.0 */
/* watch/observer.h - who tries to change what: answers to seccomp's questions
 *
 * The kernel asks before a call that may write; the observer looks where the
 * path leads and answers with an error, or lets the call go on. It never
 * grants: a call that goes on meets the mounts and Landlock as if nobody had
 * looked. What cannot be read or looked up is refused.
 */

#ifndef WATCH_OBSERVER_H
#define WATCH_OBSERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "plan/mask.h"

struct err;
struct observer;
struct seccomp_data;
struct violation;
struct violation_sink;
struct ways;

enum observer_op { OBSERVER_READ, OBSERVER_WRITE };

enum observer_answer {
	OBSERVER_ALLOWED,
	OBSERVER_OUTSIDE,	/* No rule allows it: refused where the mount
				 * is read-only, as the kernel will */
	OBSERVER_DENIED,	/* A rule denies it: refused, mount or not */
};

/**
 * struct observer_verdict - What the policy says of a path
 * @reason:	Words
 * @rule_file, @rule_key: As in struct violation; may be NULL
 * @unprotect:	The protected name that denies it, if that may be given up
 * @final:	Nothing lifts it
 * @yields:	One more rule does, in spite of @rule_file
 * @look:	Allowed, but it can bring protected names along, which nobody
 *		asks about: look for them in the end
 * All strings stay valid until the next question.
 */
struct observer_verdict {
	enum observer_answer answer;
	const char *reason, *rule_file, *rule_key, *unprotect;
	bool final, yields, look;
};

/**
 * struct observer_socket - A Unix socket that may be connected to
 * @birth:	birth_of() it
 * @path:	Where the host has it, the observer's to free; or NULL
 */
struct observer_socket {
	dev_t dev;
	ino_t ino;
	int64_t birth;
	char *path;
};

/**
 * struct observer_network - The questions about IPv4 and IPv6 addresses
 * @arg:	Handed to each. All are NULL where there is no network to ask.
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
 * struct observer_policy - The questions that the observer asks
 * @arg:	Handed to each
 * @verdict:	What may be done with @path, absolute and real, from inside
 * @place:	May a directory or a link, which stands at @what, or is to be made
 *		(NULL), have the name @path? Not asked unless @verdict allows
 *		both. May be NULL.
 * @patterns:	Some rules are patterns, so @place must hear of every directory
 *		that is moved
 * @is_plain:	Cheap: true only if @path as text is in a writable place, and
 *		no name in it is one that a rule could deny. May be NULL.
 * @is_late:	True if @path is in a root that was granted after the start, so
 *		that neither mounts nor Landlock know of it, or on a @read_only
 *		mount in spite of that: what is allowed there is done by the
 *		observer (watch/perform.h). May be NULL.
 * @replace:	@from is to replace @to, which is refused: true if that was done in
 *		another way after all (git's settings). May be NULL.
 * @is_fixed:	True if what stands at @path may not be moved or removed; where
 *		there are mounts, they say so. May be NULL.
 * @mask:	What of a mask that talks @path is: we cannot look into those.
 *		May be NULL.
 * @told:	A call that the filter refuses: what it is, and why, into @ret. May be
 *		NULL: then nobody wants to know.
 */
struct observer_policy {
	void *arg;
	void (*verdict)(void *arg, enum observer_op op, const char *path,
			struct observer_verdict *ret);
	void (*place)(void *arg, const char *what, const char *path,
		      struct observer_verdict *ret);
	bool patterns;
	bool (*is_plain)(void *arg, const char *path);
	bool (*is_late)(void *arg, const char *path, bool read_only);
	bool (*replace)(void *arg, const char *from, const char *to);
	bool (*is_fixed)(void *arg, const char *path);
	enum mask_part (*mask)(void *arg, const char *path);
	void (*told)(void *arg, const struct seccomp_data *call,
		     struct violation *ret);
	struct observer_network network;
};

/**
 * struct observer_config - All that the observer needs
 * @listener:	The descriptor of seccomp's listener; the observer's from now on
 * @policy:	See above
 * @sink:	Where refusals go
 * @no_mounts:	The floor is Landlock alone: what no rule allows is EACCES
 * @ways:	To directories that are shown in masks that talk; may be NULL. They
 *		outlive the observer.
 * @nested:	The command may have namespaces of its own, and in them see what
 *		we do not
 * @reads:	Reads are asked about as well
 * @on_make:	Called with @arg before a call that can make a name goes on; may
 *		be NULL
 * @home:	The user's home, links followed, which is never suggested as a
 *		whole; may be NULL
 * @sockets_by_path: Unix sockets: only @sockets and the sandbox's own may be
 *		connected to; otherwise all may
 */
struct observer_config {
	int listener;
	struct observer_policy policy;
	const struct violation_sink *sink;
	const struct ways *ways;
	bool no_mounts, nested, reads, sockets_by_path;
	const struct observer_socket *sockets;
	size_t nsockets;
	void (*on_make)(void *arg);
	void *arg;
	const char *home;
};

/**
 * struct observer_stats - What was asked so far
 * @passed:	Calls that can make a name and were let through
 * @makes:	There were such calls, or one was made on behalf of the command
 * @names:	Names that were refused where nothing stood: who tries one may
 *		try again while we look elsewhere. Also what was let through and
 *		must be looked for in the end.
 * @unseen:	Calls that went on although where their path leads is not known
 *		(see goes_on() in observer.c): if there are any, the observer
 *		cannot vouch for any name
 */
struct observer_stats {
	uint64_t asked, quick, refused, failed, names, unseen, passed;
	bool makes;
};

int observer_new(const struct observer_config *config, struct observer **ret,
		 struct err *err);
void observer_free(struct observer *observer);

/* For the loop: wait for EPOLLIN and call observer_dispatch(), after which it
 * may be another descriptor
 */
int observer_fd(const struct observer *observer);

/* Answer one question; @events is what epoll said. 0; 1 when nobody is left
 * who could ask; or a negative errno when the listener is broken (then
 * everything asked fails: ENOSYS).
 */
int observer_dispatch(struct observer *observer, uint32_t events);

/* Swap the policy (a live edit) */
void observer_set_policy(struct observer *observer,
			 const struct observer_policy *policy);

struct observer_stats observer_stats(const struct observer *observer);

/* True if all calls that were let through and can make a name are over
 * (watch/passed.h): *@ret is how many that were, and @on_make is called before the
 * next one goes on.
 */
bool observer_settled(struct observer *observer, uint64_t *ret);

#endif /* WATCH_OBSERVER_H */
