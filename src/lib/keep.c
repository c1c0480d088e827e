/* SPDX-License-Identifier: Apache-2.0 */
/* lib/keep.c - masks and read-only files of a running sandbox */

#include "lib/keep.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sock.h"
#include "base/sys.h"
#include "lib/held.h"
#include "lib/hooks.h"
#include "lib/options.h"
#include "lib/session.h"
#include "plan/mask.h"
#include "plan/plan.h"
#include "plan/view.h"
#include "watch/birth.h"
#include "watch/born.h"
#include "watch/mask.h"

#define LOST "what others replace from outside is no longer kept closed to the command that runs"

enum { ENDED_MAX = 3 };	/* Keepers that are replaced when they end */

/* That something is open is told whoever wants quiet */
static void tell(const struct keep *k, const struct keeper_begun *begun)
{
	if (begun->open)
		hooks_say(k->options, "%zu path%s cannot be closed to the command that runs; end it",
			  begun->open, begun->open == 1 ? "" : "s");
	if (begun->hidden && !options_has(k->options, OPTION_QUIET))
		hooks_say(k->options, "settings reloaded; %zu path%s allowed now, but only from the next run on",
			  begun->hidden, begun->hidden == 1 ? " is" : "s are");
}

/* It was killed: nobody knows how far it got, so the next one looks */
static void replace_ended(struct keep *k)
{
	loop_remove(k->loop, &k->covered);
	keeper_stop(&k->keeper);
	if (k->ended++ < ENDED_MAX)
		k->edited(k->arg);
	else
		hooks_say(k->options, LOST);
}

/* The keeper has looked at everything once, or ended */
static int on_keeper(void *arg, uint32_t events)
{
	struct keep *k = arg;
	struct keeper_begun begun = { 0 };
	size_t none = 0;
	const ssize_t n = sock_recv(k->keeper.socket, &begun, sizeof(begun),
				    NULL, &none);

	(void)events;
	k->busy = false;
	if (n != (ssize_t)sizeof(begun)) {
		replace_ended(k);
		return 0;
	}
	/* Not before: whoever waits for that stores secrets at once */
	if (k->covers_held && !begun.open)
		held_masked(k->session->held);
	tell(k, &begun);
	if (k->again)
		k->edited(k->arg);
	return 0;
}

/* Hidden, and not there: whoever makes it, the command must not read it. What it
 * makes itself, and only our defaults hide, it knows anyway; and in a mask nothing
 * comes.
 */
static bool may_come(const struct plan *plan, const struct view_rule *r)
{
	const struct view *view = plan->view;

	return r->list == PATH_DENY_READ && !r->mode && !r->closed &&
	       !view_verdict(view, VIEW_READ, r->path).allowed &&
	       view_place(view, r->path) == VIEW_HOST &&
	       (r->rule->strength != RULE_BASELINE ||
		!view_verdict(view, VIEW_WRITE, r->path).allowed) &&
	       mask_part(plan, r->path) != MASK_INSIDE;
}

/* The same for what the user's rules say must not be written: who moved it away for
 * the moment of an edit, and back, would have it writable
 */
static bool may_come_back(const struct plan *plan, const struct view_rule *r)
{
	const struct view *view = plan->view;
	auto_free char *above = path_parent(r->path);

	return r->list == PATH_DENY_WRITE && !r->mode && !r->closed &&
	       r->rule->strength == RULE_USER &&
	       !view_verdict(view, VIEW_WRITE, r->path).allowed &&
	       view_verdict(view, VIEW_WRITE, above).allowed &&
	       view_place(view, r->path) == VIEW_HOST;
}

static void add_mask(struct mounted_list *list, const char *path, bool ours)
{
	*vec_push(list) = (struct mounted){
		.kind = MOUNT_MASK_DIR, .path = mem_strdup(path), .ours = ours,
		.is_dir = true,
	};
}

/* The mounts of @plan, masks for what may come, and one for our own directory if
 * that was made late
 */
static void list_mounts(const struct keep *k, const struct plan *plan,
			struct mounted_list *ret)
{
	const struct view_rules *rules = &plan->view->rules;

	mounted_add(ret, plan);
	/* It cannot begin to keep something aside now */
	for (size_t i = 0; k->session->plan->ephemeral && i < ret->len; i++) {
		if (ret->v[i].kind == MOUNT_BIND_RW)
			ret->v[i].kind = MOUNT_ASIDE;
	}
	if (k->held)
		add_mask(ret, k->held, true);
	for (size_t i = 0; i < rules->len && ret->len < KEEPER_MOUNTS_MAX; i++) {
		const struct view_rule *r = &rules->v[i];

		if (may_come(plan, r))
			add_mask(ret, r->path,
				 r->rule->strength == RULE_ALWAYS);
		else if (may_come_back(plan, r))
			*vec_push(ret) = (struct mounted){
				.kind = MOUNT_BIND_RO,
				.path = mem_strdup(r->path),
			};
	}
	mounted_sort(ret);
}

static bool lists(const struct mounted_list *list, const char *path)
{
	size_t i = 0;

	while (i < list->len && strcmp(list->v[i].path, path) != 0)
		i++;
	return i < list->len;
}

/* A keeper for what is to be kept; the one before goes. Of @changes nothing is done
 * if there is none to be had.
 */
static void replace(struct keep *k, const struct changes *changes)
{
	struct keeper old = k->keeper, new;
	auto_close int before = old.pid > 0 ? sys_pidfd_open(old.pid, 0) : -1;
	const struct keeper_work work = { &k->known, &k->next, changes, before };
	struct err err = { 0 };

	if (keeper_start(&new, &work, k->own[0], k->own[1], &err) < 0) {
		hooks_say(k->options, "%s: %s", changes ?
			  "what the settings close is not closed to the command that runs; end it" :
			  LOST, err.msg);
		return;		/* Better the one before than none */
	}
	k->keeper = new;
	k->covers_held = k->held && lists(&k->next, k->held);
	loop_remove(k->loop, &k->mounts);	/* From now on it looks itself */
	loop_remove(k->loop, &k->covered);
	keeper_stop(&old);
	k->covered = (struct loop_source){ k->keeper.socket, on_keeper, k };
	if (k->keeper.socket >= 0)
		k->busy = loop_add(k->loop, &k->covered, EPOLLIN) == 0;
}

/* What stood at the start, if nothing has changed since */
static void know(struct keep *k)
{
	if (!k->next.len)
		list_mounts(k, k->session->plan, &k->next);
}

/* A keeper for what stands; @held, if not NULL, has just been made */
static void keep_now(struct keep *k, const char *held)
{
	know(k);
	if (held)
		add_mask(&k->next, held, true);
	mounted_sort(&k->next);
	replace(k, NULL);
}

/* A mount has gone: until then there was nothing to keep */
static int on_mounts(void *arg, uint32_t events)
{
	(void)events;
	keep_now(arg, NULL);
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
		keep_now(k, NULL);
}

void keep_done(struct keep *k)
{
	if (k->own)
		keeper_stop(&k->keeper);
	mounted_done(&k->next);
	mounted_done(&k->known);
	k->own = NULL;
}

void keep_held(struct keep *k)
{
	/* The settings may be watched before the mounts are */
	const struct held *held = k->own ? k->session->held : NULL;

	if (!held || !held->waits || !held->path || k->held)
		return;
	k->held = held->path;
	if (k->busy)
		k->again = true;
	else
		keep_now(k, k->held);
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

/* Nor does what was made meanwhile become writable because no rule for it is
 * looked for any more
 */
static void leave_new(struct mounted_list *known, const struct timespec *since)
{
	for (size_t i = 0; i < known->len; i++) {
		if (known->v[i].kind == MOUNT_BIND_RO &&
		    birth_is_after(known->v[i].path, since))
			known->v[i].ours = true;
	}
}

/* True if it could not be written when the run began, so that the observer has to; or
 * if Landlock, which goes by the directories above it, does not find those that it
 * knows, because a mask has taken their place
 */
static bool is_late(const struct plan *first, const struct change *c)
{
	auto_free char *above = c->mask ? path_parent(c->mask->path) : NULL;

	if (!c->writable)
		return false;
	return (first->observe && !view_verdict(first->view, VIEW_WRITE,
						c->mount->path).allowed) ||
	       (above && !view_verdict(first->view, VIEW_WRITE, above).allowed);
}

/* In masks that talk there must be something to mount it on */
static void furnish(const struct keep *k, struct changes *changes)
{
	for (size_t i = 0; i < changes->len; i++) {
		struct change *c = &changes->v[i];

		c->late = is_late(k->session->plan, c);
		if (*k->masks && c->kind == CHANGE_SHOW && c->mask)
			masks_show(*k->masks, c->mask->path, c->mount->path,
				   c->mount->is_dir);
	}
}

void keep_view(struct keep *k, const struct view *view,
	       const struct timespec *since, const struct born *born)
{
	/* The settings may be watched before the mounts are */
	const struct plan *first = k->own ? k->session->plan : NULL;
	const struct plan_request request = {
		.argv = first ? first->argv : NULL,
		.environ = first ? options_env(k->options) : NULL,
	};
	auto_plan struct plan *plan = NULL;
	struct changes changes = { 0 };
	struct err err = { 0 };

	/* One that was stopped halfway would leave nobody knows what */
	k->again = k->busy;
	if (k->busy || !first)
		return;
	if (plan_build(view, &first->machine, &request, &plan, &err) < 0) {
		hooks_say(k->options, "what the settings close may be open to the command that runs: %s", err.msg);
		return;
	}
	spare_new(plan, since, born);
	know(k);
	mounted_merge(&k->known, &k->next);
	leave_new(&k->known, since);
	mounted_done(&k->next);
	list_mounts(k, plan, &k->next);
	mounted_merge(&k->known, &k->next);
	changes_build(&k->known, &k->next, view, &changes);
	furnish(k, &changes);
	replace(k, &changes);
	free(changes.v);
}
