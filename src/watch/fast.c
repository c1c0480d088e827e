/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch/fast.c - a thread for the questions that need no look-up
 *
 * Theory of operation: who waits in the listener itself is woken on the
 * processor of the one who asks, and sends it on there; who waits in epoll is
 * woken wherever there is room, and in a virtual machine to wake another
 * processor costs more than the call that is asked about. So a thread receives
 * all questions, answers those that text alone decides (quick.c), and hands the
 * others on, as they are, through a pipe to the loop.
 *
 * To be sent on where the thread runs is a loss when there are two who run: both
 * stay on one processor, and the other has nothing to do. So while somebody else
 * is running, the kernel chooses where one goes on.
 *
 * It never refuses, and what it lets go on meets the kernel's own floor. A
 * directory that is not there is the answer: it may be there in a moment. Who
 * opens /dev/null or the terminal is handed that: what cannot be anything else
 * need not be watched for. It has its own memory; the policy is the one thing
 * shared, behind a lock.
 */

#include "watch/fast.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/sys.h"
#include "watch/address.h"
#include "watch/cwd.h"
#include "watch/observer.h"
#include "watch/git-lock.h"
#include "watch/passed.h"
#include "watch/question.h"
#include "watch/quick.h"
#include "watch/tracee.h"

enum {
	STACK_SIZE = 128 * 1024,
	LOOK_EVERY_MS = 8,	/* At who else is running */
	LOOKS = 3,		/* In a row that find somebody: that is no accident */
};

/**
 * struct fast - The thread
 * @pipe:	Questions for the loop: its end, and the thread's
 * @lock:	For @policy, @stopped and @over: the thread is no more
 * @by_path:	Each connect() is the loop's
 * @nested:	Directories may be others than their names say
 * @split:	Threads of one process may be in different directories
 * @near:	Who asks is woken on our processor, and wakes us on his
 * @load:	/proc/loadavg, or -1; @looked_ms: when it was read last;
 *		@in_a_row: how often somebody else was running
 * @makes:	The loop knows that names are made
 */
struct fast {
	int listener, pipe[2];
	pthread_mutex_t lock;
	struct observer_policy policy;
	bool stopped, over, by_path, nested, split, near;
	int load, in_a_row;
	int64_t looked_ms;
	struct tracees tracees;
	struct quick quick;
	struct cwds cwds;
	struct name names[2];
	_Atomic uint64_t answered;
	_Atomic bool makes;
	struct passed *passed;
	struct git_lock *git;
};

/* Who was asked has ended before we read the question; or all have */
static bool somebody_left(const struct fast *f)
{
	struct pollfd p = { .fd = f->listener, .events = POLLIN };

	return poll(&p, 1, 0) >= 0 && !(p.revents & (POLLHUP | POLLERR));
}

/**
 * struct effect - What becomes of a call
 * @makes:	Let through, it can bring a name into being
 * @fd:		Or it is not let through: this is handed in, unless it is -1
 * @cloexec:	And how
 * @error:	Or this is its answer, negative
 */
struct effect {
	bool makes, cloexec;
	int fd, error;
};

/* True if @effect is the answer to an open of a device */
static bool opens_device(struct fast *f, const struct question *q,
			 struct effect *effect)
{
	const int r = f->nested ? -ENODEV :
		      quick_device(&f->quick, q, f->names);

	effect->cloexec = q->flags & O_CLOEXEC;
	if (r >= 0)
		effect->fd = r;
	else if (r == -ENXIO)
		effect->error = r;
	return r >= 0 || r == -ENXIO;
}

/* Its memory is all there is to look at */
static bool is_free(const struct fast *f, const struct call *call,
		    const struct seccomp_notif *notif)
{
	const struct tracee asker = { (pid_t)notif->pid, -1, NULL };

	return call->what == CALL_CONNECT ?
	       address_is_served(&f->policy, &asker, notif->data.args) :
	       address_is_free(&f->policy, &asker, notif->data.args);
}

/* True if @effect is the answer */
static bool is_quick(struct fast *f, const struct seccomp_notif *notif,
		     struct effect *effect)
{
	struct question q = {
		.notif = notif, .call = call_find(notif->data.nr), .fd = -1,
	};
	const int64_t now = quick_now_ms();
	int r;

	if (!q.call || q.call->what >= CALL_LISTEN ||
	    q.call->what == CALL_GROUP)
		return false;
	if (q.call->what == CALL_TURN) {
		cwd_turns(&f->cwds, (pid_t)notif->pid, now);
		return true;
	}
	/* Should it become another program, it has the first thread's number */
	if (q.call->what == CALL_SPLIT) {
		f->split = true;
		return true;
	}
	cwd_asks(&f->cwds, (pid_t)notif->pid);
	if (!f->nested && !f->split && quick_is_still(&f->quick, now))
		q.cwds = &f->cwds;
	/* The address may be a path when the kernel reads it */
	effect->makes = q.call->what == CALL_BIND;
	if (q.call->what >= CALL_CONNECT)
		return (!f->by_path || effect->makes) &&
		       (f->makes || !effect->makes) &&
		       is_free(f, q.call, notif);
	q.tracee = tracee_get(&f->tracees, (pid_t)notif->pid);
	r = q.tracee ? question_read(&q, false, f->names) : -EPERM;
	if (r < 0 || !quick_moves_file(&f->quick, &q, f->names))
		quick_note(&f->quick, q.call);
	if (r < 0)
		return false;
	if (opens_device(f, &q, effect))
		return true;
	effect->makes = question_makes(&q);
	if (effect->makes && !f->makes)
		return false;
	if (q.reads || !f->names[0].text[0])
		return q.reads;
	r = quick_answers(&f->quick, &f->policy, &q, f->names);
	/* Who has namespaces of his own may see what we do not */
	if (r < 0 && (f->nested || q.quiet))
		return false;
	effect->error = r < 0 ? r : 0;
	if (r > 0)
		git_lock_note(f->git, &q, (pid_t)notif->pid, f->names[0].full);
	return r;
}

/* How many run on this machine: "0.00 0.00 0.00 RUNNING/ALL". We are one. */
static bool is_alone(int load)
{
	char text[64];
	const ssize_t n = pread(load, text, sizeof(text) - 1, 0);
	const char *p = text;

	text[n > 0 ? n : 0] = '\0';
	for (int i = 0; i < 3 && p; i++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
	return !p || strtoul(p, NULL, 10) <= 1;
}

/* True if others are running, and that is no accident */
static bool has_company(struct fast *f)
{
	const int64_t now = quick_now_ms();

	if (f->load >= 0 && now >= f->looked_ms + LOOK_EVERY_MS) {
		f->looked_ms = now;
		f->in_a_row = is_alone(f->load) ? 0 : f->in_a_row + 1;
	}
	return f->in_a_row >= LOOKS;
}

static void stay_near(const struct fast *f, bool near)
{
	(void)ioctl(f->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS,
		    near ? SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP : 0UL);
}

static int send_on(struct fast *f, const struct seccomp_notif *notif,
		   const struct effect *effect)
{
	struct seccomp_notif_resp resp = {
		.id = notif->id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE,
	};
	const bool apart = f->near && has_company(f);
	int r;

	/* First: what appears from now on may be the command's */
	if (effect->makes)
		passed_add(f->passed, notif);
	f->answered++;
	if (apart)
		stay_near(f, false);
	r = sys_notif_send(f->listener, &resp);
	if (apart)
		stay_near(f, true);
	return r;
}

/* Hand in the device, or say why not */
static int send_answer(struct fast *f, const struct seccomp_notif *notif,
		       const struct effect *effect)
{
	auto_close int fd = effect->fd;
	const struct seccomp_notif_addfd add = {
		.id = notif->id, .flags = SECCOMP_ADDFD_FLAG_SEND,
		.srcfd = (uint32_t)fd,
		.newfd_flags = effect->cloexec ? O_CLOEXEC : 0,
	};
	struct seccomp_notif_resp resp = {
		.id = notif->id, .error = effect->error,
	};

	f->answered++;
	if (fd >= 0) {
		if (ioctl(f->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) >= 0)
			return 0;
		resp.error = -errno;	/* Perhaps it has no room */
	}
	return sys_notif_send(f->listener, &resp);
}

/* 0, or a negative errno when there is nothing left to do */
static int answer(struct fast *f, const struct seccomp_notif *notif)
{
	struct effect effect = { .fd = -1 };
	bool stopped, quick = false;

	passed_asks(f->passed, (pid_t)notif->pid);
	pthread_mutex_lock(&f->lock);
	stopped = f->stopped;
	if (!stopped)
		quick = is_quick(f, notif, &effect);
	pthread_mutex_unlock(&f->lock);
	if (stopped)
		return -ECANCELED;
	if (quick && (effect.fd >= 0 || effect.error))
		return send_answer(f, notif, &effect);
	if (quick)
		return send_on(f, notif, &effect);
	return write(f->pipe[1], notif, sizeof(*notif)) < 0 ? -errno : 0;
}

static void *serve(void *arg)
{
	struct fast *f = arg;
	int r = 0;

	(void)prctl(PR_SET_NAME, "cloche-quick");
	while (r == 0) {
		struct seccomp_notif notif = { 0 };

		if (!ioctl(f->listener, SECCOMP_IOCTL_NOTIF_RECV, &notif))
			r = answer(f, &notif);
		else if (errno == ENOENT)
			r = somebody_left(f) ? 0 : -ENOENT;
		else if (errno != EINTR)
			r = -errno;
	}
	pthread_mutex_lock(&f->lock);
	f->over = true;
	close_fd(&f->pipe[1]);	/* Tells the loop */
	pthread_mutex_unlock(&f->lock);
	return NULL;
}

static int start_thread(struct fast *f)
{
	pthread_attr_t attr;
	sigset_t all, before;
	pthread_t thread;
	int r;

	/* Signals are the loop's */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	r = pthread_create(&thread, &attr, serve, f);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -r;
}

int fast_start(const struct observer_config *config, struct passed *passed,
	       struct git_lock *git, struct fast **ret)
{
	struct fast *f = mem_zalloc(sizeof(*f));
	int r;

	f->listener = config->listener;
	f->policy = config->policy;
	f->passed = passed;
	f->git = git;
	f->by_path = config->sockets_by_path;
	f->nested = config->nested;
	f->load = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	f->looked_ms = quick_now_ms();	/* Short runs never look */
	/* Older kernels do without */
	f->near = ioctl(f->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS,
			SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP) == 0;
	pthread_mutex_init(&f->lock, NULL);
	tracees_init(&f->tracees, config->ways);
	quick_init(&f->quick, config);
	r = pipe2(f->pipe, O_CLOEXEC) < 0 ? -errno : 0;
	if (r == 0 && (r = start_thread(f)) < 0) {
		close_fd(&f->pipe[0]);
		close_fd(&f->pipe[1]);
	}
	if (r < 0) {
		close_fd(&f->load);
		free(f);
		return r;
	}
	*ret = f;
	return 0;
}

bool fast_stop(struct fast *f)
{
	bool over;

	pthread_mutex_lock(&f->lock);
	f->stopped = true;
	over = f->over;
	pthread_mutex_unlock(&f->lock);
	if (!over)
		return false;
	close_fd(&f->pipe[0]);
	tracees_done(&f->tracees);
	quick_done(&f->quick);
	pthread_mutex_destroy(&f->lock);
	free(f);
	return true;
}

int fast_fd(const struct fast *f)
{
	return f->pipe[0];
}

int fast_next(struct fast *f, struct seccomp_notif *ret)
{
	return read(f->pipe[0], ret, sizeof(*ret)) == (ssize_t)sizeof(*ret);
}

void fast_note(struct fast *f, const struct call *call)
{
	quick_note(&f->quick, call);
}

void fast_set_policy(struct fast *f, const struct observer_policy *policy)
{
	pthread_mutex_lock(&f->lock);
	f->policy = *policy;
	pthread_mutex_unlock(&f->lock);
}

void fast_makes(struct fast *f, bool makes)
{
	f->makes = makes;
}

uint64_t fast_answered(const struct fast *f)
{
	return f->answered;
}
