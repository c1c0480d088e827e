/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox/child.c - the order of confinement
 *
 * Should: run as pid 1 of new namespaces, with all signals blocked, and with
 * no other thread but the one that makes the network and is gone before the
 * capabilities are. Mustn't: run anything, open anything of the caller's, or
 * go on after a failed stage. After the last stage nothing may fail but
 * execve().
 *
 * What is the same in every sandbox is done while the supervisor still makes
 * its plan; a failure there is reported like any other.
 *
 * The order is load-bearing. Mounts need capabilities in the new user
 * namespace; Landlock forbids mounting, so it follows; the seccomp filter
 * forbids nearly all of this, so it is last; the assertion comes after it
 * and is itself confined.
 *
 * The landlock tier takes the same way without namespaces and mounts: what is
 * left is Landlock, the filter, and an init that ends its descendants.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/proc.h"
#include "base/sys.h"
#include "ipc/listener.h"
#include "ipc/nested-address.h"
#include "ipc/socket.h"
#include "plan/plan.h"
#include "sandbox/fuse-mount.h"
#include "sandbox/netns.h"
#include "sandbox/sandbox.h"
#include "sandbox/seccomp.h"
#include "sandbox/stages.h"
#include "sandbox/tmpfs.h"

/* What is handed over, after the sandbox's own */
enum { AT_LISTENER = SANDBOX_OWN_FDS };

/* What a rule for all of /proc comes to */
#define HIDDEN " inside; does a rule hide it? Leave /proc/self out of what is denied"

void child_fail(int socket, int status, int code, const char *text)
{
	struct sandbox_message m = {
		.event = SANDBOX_FAILED, .value = status, .code = code,
	};

	snprintf(m.text, sizeof(m.text), "%s", text);
	(void)socket_send(socket, &m, sizeof(m), NULL, 0);
	_exit(status);
}

/* 0, 1 and 2 are the command's; the socket moves to 3; all else is closed */
static int arrange_descriptors(const struct sandbox_request *request,
			       int *socket, struct err *err)
{
	int fds[4] = { request->stdio[0], request->stdio[1],
		       request->stdio[2], *socket };

	/* Out of the way first, so that no dup2() hits one still needed */
	for (size_t i = 0; i < 4; i++) {
		if (fds[i] < 0)
			continue;
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 10);
		if (fds[i] < 0)
			return fail_errno(err, "cannot move a descriptor");
	}
	for (int i = 0; i < 3; i++) {
		if (fds[i] < 0)
			(void)close(i);
		else if (dup2(fds[i], i) < 0)
			return fail_errno(err, "cannot set up descriptor %d", i);
	}
	if (dup3(fds[3], 3, O_CLOEXEC) < 0 || close_range(4, ~0U, 0) < 0)
		return fail_errno(err, "cannot close inherited descriptors");
	*socket = 3;
	return 0;
}

static int enter_cwd(const struct plan *plan, struct err *err)
{
	if (chdir(plan->cwd) < 0)
		return fail_errno(err, "cannot enter '%s' inside the sandbox",
				  plan->cwd);
	return 0;
}

/* Without an observer of our own: have that of a sandbox around this one make the
 * connections to the proxies, and no others (ipc/nested-address.h). False if there is
 * none: connect() to that name fails then.
 */
static bool announce_proxies(const struct plan *plan)
{
	const struct nested_address a = {
		.family = AF_UNIX, .name = NESTED_NAME,
		.ports = { plan->proxies.http, plan->proxies.socks },
	};
	auto_close int fd = -1;

	if (!plan->machine.nested || !plan->proxies.http)
		return false;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return fd >= 0 && connect(fd, (const struct sockaddr *)&a, sizeof(a)) == 0;
}

/* 0, 1 if the proxies were announced to a sandbox around this one, or a negative
 * errno
 */
static int install_filter(const struct plan *plan, int *listener,
			  struct err *err)
{
	struct seccomp_config filter = {
		.unix_sockets = plan->unix_sockets ? SECCOMP_UNIX_ALLOW :
				plan->sockets_by_path ? SECCOMP_UNIX_BY_PATH
						      : SECCOMP_UNIX_DENY,
		.observe = !plan->observe ? SECCOMP_OBSERVE_OFF :
			   plan->observe_full || plan->observe_files ?
			   SECCOMP_OBSERVE_FULL :
			   plan->observe_late ? SECCOMP_OBSERVE_LATE
					      : SECCOMP_OBSERVE_ON,
		.nested_userns = plan->nested_userns &&
				 plan->tier == TIER_FULL,
		.deny_udp = plan->tier != TIER_FULL && plan->net != NET_HOST,
	};
	/* The observer follows paths with it */
	const bool able = sys_has_openat2();
	int r = seccomp_install(&filter, listener, err);
	bool announced;

	if (r == 0 && *listener >= 0 && !able)
		return fail(err, -ENOSYS, "openat2() is missing");
	if (r != -EBUSY || (r = plan_check_frozen(plan, false, err)) < 0)
		return r;
	/* Another listener is there already: the boundary holds, the reports are fewer */
	announced = plan->tier != TIER_FULL && announce_proxies(plan);
	filter.observe = SECCOMP_OBSERVE_OFF;
	if (filter.unix_sockets == SECCOMP_UNIX_BY_PATH)
		filter.unix_sockets = SECCOMP_UNIX_DENY;
	r = seccomp_install(&filter, listener, err);
	if (r < 0 || plan->tier == TIER_FULL || plan->net == NET_HOST)
		return r;
	return announced ? 1 : stage_unconnected(err);
}

/* The supervisor may have to act in here later, and these cannot be opened
 * once init is closed to others
 */
static int open_own(const struct sandbox_request *request, int *fds,
		    struct err *err)
{
	static const char *const paths[] = {
		"/proc/self/ns/user", "/proc/self/ns/mnt", "/proc/self/ns/net",
		"/proc/self/mountinfo", "/proc/self/mountinfo",
	};

	if (request->plan->tier != TIER_FULL)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		fds[i] = open(paths[i], O_RDONLY | O_CLOEXEC);
		if (fds[i] < 0)
			return fail_errno(err, "cannot open %s" HIDDEN,
					  paths[i]);
	}
	return 0;
}

static int open_listeners(const struct sandbox_request *request,
			  struct listener_set *set, struct err *err)
{
	const struct plan *plan = request->plan;
	const struct netns_config config = {
		.filtered = plan->net == NET_FILTERED,
		.capture = plan->network.capture.v,
		.n_capture = plan->network.capture.len,
		.host_ports = plan->network.host_ports.v,
		.n_host_ports = plan->network.host_ports.len,
		.publish = plan->network.publish.len > 0 ||
			   plan->network.publish_any || request->serves,
	};

	return plan->tier == TIER_FULL ? netns_open(&config, set, err) : 0;
}

/* All that the supervisor needs, in one go; then none of it is left here */
static int hand_over(int socket, const int *fds,
		     const struct listener_set *set, int value,
		     struct err *err)
{
	struct sandbox_message m = { .event = SANDBOX_READY };
	int there[SANDBOX_READY_FDS], r;
	size_t n = 0;

	for (size_t i = 0; i < SANDBOX_READY_FDS; i++) {
		if (fds[i] >= 0)
			there[n++] = fds[i];
	}
	m.value = value | (fds[AT_LISTENER] >= 0 ? SANDBOX_HAS_OBSERVER : 0) |
		  (set->len ? SANDBOX_HAS_NETWORK : 0);
	r = socket_send(socket, &m, sizeof(m), there, n);
	if (r == 0 && set->len)
		r = listener_send(socket, set);
	return r < 0 ? socket_fail(r, "cannot hand over to the supervisor", err)
		     : 0;
}

/* The FUSE server identifies the process behind a request by its pid in our pid
 * namespace
 */
static int hand_masks(int socket, const struct mask_ends *masks,
		      struct err *err)
{
	const struct sandbox_message m = { .event = SANDBOX_MASKS };
	auto_close int pids = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	int fds[SANDBOX_MASKS_FDS] = { pids }, r;

	if (pids < 0)
		return fail_errno(err, "cannot open /proc/self/ns/pid" HIDDEN);
	memcpy(fds + 1, masks->v, masks->len * sizeof(*fds));
	r = socket_send(socket, &m, sizeof(m), fds, 1 + masks->len);
	return r < 0 ? socket_fail(r, "cannot hand over the masks", err) : 0;
}

/**
 * struct netstart - A network on its way
 * @beside:	@thread makes it; else it is made when it is needed
 * @fd:		The namespace, once @thread has ended
 * @code, @err:	How that went
 * @signal:	As the kernel keeps it: what a signal of the C library's did before
 */
struct netstart {
	enum net_mode net;
	pthread_t thread;
	bool beside;
	int fd, code;
	struct err err;
	unsigned long signal[4];
};

/* The kernel takes as long for a network namespace as for all mounts together, and
 * the two have nothing to do with each other: so a thread makes it, on another
 * processor. A namespace belongs to the thread that made it: init enters it when
 * the thread has ended, and still has its capabilities then. Where no thread can be
 * had, init makes it itself.
 */
enum { LIBRARY_SIGNAL = 33 };	/* SIGSETXID */

/* A jail's network is its holder's to set up */
static bool is_own(enum net_mode net)
{
	return net == NET_NONE || net == NET_FILTERED;
}

static int make_network(enum net_mode net, struct err *err)
{
	if (unshare(CLONE_NEWNET) < 0)
		return fail_errno(err, "cannot make a network namespace");
	return netns_up(net == NET_FILTERED, err);
}

/* By a socket in it, not by a name: a rule may hide that in /proc just now */
static void *make_beside(void *arg)
{
	struct netstart *n = arg;
	auto_close int in_it = -1;

	n->code = make_network(n->net, &n->err);
	if (n->code < 0)
		return NULL;
	in_it = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	n->fd = in_it < 0 ? -1 : ioctl(in_it, SIOCGSKNS);
	if (n->fd < 0)
		n->code = fail_errno(&n->err, "cannot open the network namespace");
	return NULL;
}

/* With the first thread the C library handles a signal of its own, by calls that
 * refuse it to others. A command whose caller ignores it must find it ignored.
 */
static void library_signal(const unsigned long *set, unsigned long *before)
{
	(void)syscall(SYS_rt_sigaction, LIBRARY_SIGNAL, set, before,
		      sizeof(uint64_t));
}

/* In another thread if @beside; each netstart_begin() needs a netstart_end() */
static void netstart_begin(struct netstart *n, enum net_mode net, bool beside)
{
	*n = (struct netstart){ .net = net, .fd = -1 };
	library_signal(NULL, n->signal);
	n->beside = beside && is_own(net) &&
		    pthread_create(&n->thread, NULL, make_beside, n) == 0;
}

/* Wait for it and enter it: no other thread is left */
static int netstart_end(struct netstart *n, struct err *err)
{
	auto_close int fd = -1;

	if (!is_own(n->net))
		return 0;
	if (!n->beside)
		return make_network(n->net, err);
	if (pthread_join(n->thread, NULL) != 0)
		return fail(err, -EDEADLK, "cannot wait for the network namespace");
	library_signal(n->signal, NULL);
	fd = take_fd(&n->fd);
	if (n->code < 0) {
		*err = n->err;
		return n->code;
	}
	if (setns(fd, CLONE_NEWNET) < 0)
		return fail_errno(err, "cannot enter the network namespace");
	return 0;
}

/* What only tier full has */
struct full_tier {
	struct tmpfs tmpfs;
	struct fuse_mount masks;
	struct netstart net;
};

static int leave_host(const struct init_args *args, struct err *err)
{
	const uint64_t all = plan_namespaces(args->kind->tier, args->kind->net);

	if (unshare((int)(all & ~(uint64_t)(FORK_NAMESPACES | CLONE_NEWNET))) < 0)
		return fail_errno(err, "cannot make the sandbox's namespaces");
	return 0;
}

/* Mounts of our own, and the network beside them. With two processors the thread
 * runs on ours, while the supervisor plans on the other: /dev is made before that,
 * /proc in turn with it.
 */
static int begin_full_tier(const struct init_args *args, struct full_tier *full,
		       struct err *err)
{
	int r = leave_host(args, err);

	full->masks = (struct fuse_mount)FUSE_MOUNT_NONE;
	if (r == 0 && (r = tmpfs_make(&full->tmpfs, err)) == 0)
		r = stage_lock(err);
	if (r < 0)
		return r;
	if (!args->two_cpus)
		netstart_begin(&full->net, args->kind->net, args->other_cpu);
	if ((r = stage_idmap(args->uid, args->gid, err)) == 0 &&
	    (r = tmpfs_fill(&full->tmpfs, err)) == 0)
		r = tmpfs_begin_dev(&full->tmpfs, err);
	if (r < 0)
		return r;
	if (args->two_cpus)
		netstart_begin(&full->net, args->kind->net, true);
	r = tmpfs_begin_proc(&full->tmpfs, err);
	if (r == 0 && args->kind->masks)
		fuse_mount_begin(&full->masks, full->tmpfs.host, args->uid, args->gid);
	return r;
}

/* Without namespaces of its own, init keeps at least all its children */
static int begin(const struct init_args *args, struct full_tier *full,
		 struct err *err)
{
	int r = stage_keyring(err);

	if (r == 0)
		r = stage_core(err);
	if (r < 0)
		return r;
	if (args->kind->tier == TIER_FULL)
		return begin_full_tier(args, full, err);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return fail_errno(err, "cannot adopt orphaned processes");
	return 0;
}

/* The request as if it were our own: its descriptors have come with it */
static void take_order(int socket, struct order *order,
		       struct sandbox_request *request)
{
	int fds[3];
	size_t n = 3, at = 0;
	const ssize_t got = socket_recv(socket, order, sizeof(*order), fds, &n);

	if (got == -EMSGSIZE)
		child_fail(socket, EXIT_NOT_BUILT, -EMFILE, "the sandbox needs more descriptors than it may have (ulimit -n)");
	if (got != (ssize_t)sizeof(*order))
		_exit(EXIT_NOT_BUILT);	/* The supervisor has no plan, or has ended */
	*request = *order->request;
	for (size_t i = 0; i < 3; i++)
		request->stdio[i] = order->open[i] && at < n ? fds[at++] : -1;
}

/* The rest, as this plan wants it, to the end of all that takes capabilities */
static int finish_full_tier(struct sandbox_request *request, struct full_tier *full,
		      int *value, int socket, struct err *err)
{
	struct mask_ends ends;
	int r;

	if (request->plan->tier != TIER_FULL)
		return 0;
	r = stage_tree(request, &full->tmpfs, &full->masks, &ends, err);
	*value = r > 0 ? r : 0;
	if (r >= 0)
		reopen_devices(request);
	if (r >= 0 && ends.len)
		r = hand_masks(socket, &ends, err);
	mask_ends_close(&ends);
	return r < 0 ? r : netstart_end(&full->net, err);
}

/* The filters, the strictest last: what it refuses is needed until then */
static int filter(const struct plan *plan, int *listener, struct err *err)
{
	const int r = plan->tier == TIER_FULL ? 0 : stage_shared(plan, err);

	return r < 0 ? r : install_filter(plan, listener, err);
}

static int build_sandbox(struct sandbox_request *request, struct full_tier *full,
		 const struct host_ids *host, int *socket, struct err *err)
{
	const struct plan *plan = request->plan;
	struct listener_set set = { 0 };
	int fds[SANDBOX_READY_FDS] = { -1, -1, -1, -1, -1, -1 };
	int value = 0, r = finish_full_tier(request, full, &value, *socket, err);

	if (r == 0 && (r = enter_cwd(plan, err)) == 0 &&
	    (r = arrange_descriptors(request, socket, err)) == 0 &&
	    (r = open_listeners(request, &set, err)) == 0 &&
	    (r = open_own(request, fds, err)) == 0 &&
	    (r = stage_privileges(plan, err)) == 0 &&
	    (r = stage_landlock(request, *socket, err)) == 0)
		r = filter(plan, &fds[AT_LISTENER], err);
	if (r > 0) {
		value |= SANDBOX_ANNOUNCED;
		r = 0;
	}
	/* Only now is it certain that an observer is notified of connections */
	if (plan->observe && fds[AT_LISTENER] >= 0)
		listener_yield(&set);
	if (r == 0)
		r = hand_over(*socket, fds, &set, value, err);
	listener_done(&set);
	for (size_t i = 0; i < SANDBOX_READY_FDS; i++)
		close_fd(&fds[i]);
	return r < 0 ? r : stage_assert(plan, host, *socket, err);
}

void child_main(const struct init_args *args)
{
	int socket = args->pair[1];
	struct sandbox_request request;
	struct err err = { 0 };
	struct order order;
	struct full_tier full;
	char go;

	(void)close(args->pair[0]);
	/* Our end, and the supervisor's, in whatever order they come. Without a
	 * pid namespace, init must live on to end the others: the socket tells.
	 */
	if ((args->kind->tier == TIER_FULL &&
	     prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) ||
	    prctl(PR_SET_NAME, "cloche-init") < 0)
		child_fail(socket, EXIT_NOT_BUILT, -errno, "cannot tie init to its supervisor");
	child_wipe();
	if (begin(args, &full, &err) < 0)
		child_fail(socket, EXIT_NOT_BUILT, err.code, err.msg);
	take_order(socket, &order, &request);
	/* Only now, or the supervisor might move us after this */
	if (args->other_cpu)
		(void)sched_setaffinity(0, sizeof(args->cpus), &args->cpus);
	if (build_sandbox(&request, &full, &order.host, &socket, &err) < 0)
		child_fail(socket, EXIT_NOT_BUILT, err.code, err.msg);
	if (request.wait && socket_recv(socket, &go, 1, NULL, NULL) != 1)
		_exit(EXIT_NOT_BUILT);
	if (request.serves)
		members_serve(socket);
	init_run(&request, socket);
}
