/* SPDX-License-Identifier: Apache-2.0 */
/* lib/keep.c - masks and read-only files of a running sandbox */

#include "lib/keep.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "lib/held.h"
#include "lib/session.h"
#include "plan/plan.h"
#include "plan/view.h"
#include "watch/birth.h"
#include "watch/born.h"

/* The keeper has looked at everything once */
static int on_covered(void *arg, uint32_t events)
{
	struct keep *k = arg;

	(void)events;
	loop_remove(k->loop, &k->covered);
	held_masked(k->session->held);
	return 0;
}

/* Hidden, and not there: whoever makes it, the command must not read it. What it
 * makes itself, and only our defaults hide, it knows anyway.
 */
static bool may_come(const struct view *view, const struct view_rule *r)
{
	return r->list == PATH_DENY_READ && !r->mode && !r->closed &&
	       !view_verdict(view, VIEW_READ, r->path).allowed &&
	       view_place(view, r->path) == VIEW_HOST &&
	       (r->rule->strength != RULE_BASELINE ||
		!view_verdict(view, VIEW_WRITE, r->path).allowed);
}

/* @plan with masks for what may come, and for @held if that is not NULL; only its
 * mounts are the caller's to free
 */
static struct plan with_more(const struct plan *plan, char *held)
{
	const struct view_rules *rules = &plan->view->rules;
	struct plan more = *plan;
	size_t n = more.mounts.len;

	more.mounts.v = mem_zalloc((n + rules->len + 1) * sizeof(*more.mounts.v));
	memcpy(more.mounts.v, plan->mounts.v, n * sizeof(*more.mounts.v));
	if (held)
		more.mounts.v[n++] = (struct plan_mount){
			.kind = MOUNT_MASK_DIR, .path = held,
		};
	for (size_t i = 0; i < rules->len && n < KEEPER_MOUNTS_MAX; i++) {
		if (may_come(plan->view, &rules->v[i]))
			more.mounts.v[n++] = (struct plan_mount){
				.kind = MOUNT_MASK_DIR, .path = rules->v[i].path,
			};
	}
	more.mounts.len = n;
	return more;
}

/* A keeper for @plan, and @held; the one before goes when it has begun */
static void replace(struct keep *k, const struct plan *plan, char *held)
{
	struct plan more = with_more(plan, held);
	struct keeper old = k->keeper, next;
	const int r = keeper_start(&next, &more, k->own[0], k->own[1], NULL);

	free(more.mounts.v);
	if (r < 0) {		/* Better the one before than none */
		k->lost(k->arg);
		return;
	}
	k->keeper = next;
	loop_remove(k->loop, &k->mounts);	/* From now on it looks itself */
	loop_remove(k->loop, &k->covered);
	keeper_stop(&old);
	k->covered = (struct loop_source){ k->keeper.socket, on_covered, k };
	if (k->keeper.socket >= 0)
		(void)loop_add(k->loop, &k->covered, EPOLLIN);
}

/* A mount has gone: until then there was nothing to keep */
static int on_mounts(void *arg, uint32_t events)
{
	struct keep *k = arg;

	(void)events;
	replace(k, k->session->plan, NULL);
	return 0;
}

/* The loop forgets what happened before the descriptor was added, so a second
 * one is asked for that
 */
void keep_start(struct keep *k)
{
	struct pollfd before = { .fd = k->own[4], .events = POLLPRI };
	int r;

	k->keeper = (struct keeper){ -1, -1 };
	k->covered.fd = -1;
	k->mounts = (struct loop_source){ k->own[3], on_mounts, k };
	r = loop_add(k->loop, &k->mounts, EPOLLPRI);
	if (r < 0 || poll(&before, 1, 0) != 0)
		(void)on_mounts(k, 0);
	keep_held(k);
}

void keep_early(struct keep *k)
{
	/* None is started where there is nothing to keep, nor to wait for */
	if (k->own && k->keeper.pid <= 0)
		replace(k, k->session->plan, NULL);
}

void keep_done(struct keep *k)
{
	if (k->own)
		keeper_stop(&k->keeper);
	k->own = NULL;
}

void keep_held(struct keep *k)
{
	/* The settings may be watched before the mounts are */
	const struct held *held = k->own ? k->session->held : NULL;

	if (held && held->waits && held->path)
		replace(k, k->session->plan, held->path);
}

/* What the command made itself is not made read-only under its hands: the
 * observer knows what to refuse. What the user made is.
 */
static void spare_new(struct plan *plan, const struct timespec *since,
		      const struct born *born)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->mounts.len; i++) {
		struct plan_mount *m = &plan->mounts.v[i];

		if (m->kind == MOUNT_BIND_RO && birth_is_after(m->path, since) &&
		    !(born && born_is_late(born, m->path)))
			free(m->path);
		else
			plan->mounts.v[n++] = *m;
	}
	plan->mounts.len = n;
}

void keep_view(struct keep *k, const struct view *view,
	       const struct timespec *since, const struct born *born)
{
	/* The settings may be watched before the mounts are */
	const struct plan *first = k->own ? k->session->plan : NULL;
	const struct plan_request request = {
		.argv = first ? first->argv : NULL, .environ = environ,
	};
	auto_plan struct plan *plan = NULL;

	if (!first ||
	    plan_build(view, &first->machine, &request, &plan, NULL) < 0)
		return;
	spare_new(plan, since, born);
	replace(k, plan, NULL);
}
