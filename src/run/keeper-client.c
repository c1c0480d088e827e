/* SPDX-License-Identifier: Apache-2.0 */
/* run/keeper-client.c - masks and read-only files of a running sandbox */

#include "run/keeper-client.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/btime.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sys.h"
#include "guard/planted.h"
#include "ipc/socket.h"
#include "plan/fuse-mask.h"
#include "plan/plan.h"
#include "run/options.h"
#include "run/output.h"
#include "run/run.h"
#include "view/view.h"

#define LOST "files that the host replaces are not masked or read-only again in the running sandbox"

enum { ENDED_MAX = 3 };	/* Keepers that are replaced when they end */

/* The keeper was killed and may not have finished: the next one checks all */
static void replace_ended(struct keeper_client *k)
{
	loop_remove(k->run->loop, &k->covered);
	proc_end(&k->keeper, false);
	if (k->ended++ < ENDED_MAX)
		monitor_keep_again(k->run->monitor);
	else
		output_say(k->run->output, LOST);
}

/* The keeper has looked at everything once, or covered a file, or ended */
static int on_keeper(void *arg)
{
	struct keeper_client *k = arg;
	struct keeper_note note = { 0 };
	size_t none = 0;
	const ssize_t n = socket_recv(k->keeper.socket, &note, sizeof(note),
				      NULL, &none);

	if (n <= (ssize_t)offsetof(struct keeper_note, covered)) {
		k->busy = false;
		replace_ended(k);
		return 0;
	}
	if (note.covered[0]) {
		monitor_covered(k->run->monitor, note.covered);
		return 0;
	}
	k->busy = false;
	if (note.open)
		output_say(k->run->output, "cannot revoke access to %zu path%s while the command runs; stop it to enforce the settings",
			  note.open, note.open == 1 ? "" : "s");
	if (k->again)
		monitor_keep_again(k->run->monitor);
	return 0;
}

/* Hidden and missing: when another process makes it, the command must not read it. What it
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
	       fuse_mask_part(plan, r->path) != FUSE_MASK_INSIDE;
}

/* The same for a path that the user's rules make read-only: a process that moves it away
 * during an edit, and back, would have it writable
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

static void add(struct keeper_list *list, enum mount_kind kind,
		const char *path, bool is_dir)
{
	*vec_push(list) = (struct keeper_mount){ kind, mem_strdup(path),
						 is_dir };
}

static int compare(const void *a, const void *b)
{
	const struct keeper_mount *x = a, *y = b;
	const int r = strcmp(x->path, y->path);

	return r ? r : (int)x->kind - (int)y->kind;
}

/* Sort it, and have each once */
static void sort(struct keeper_list *list)
{
	size_t n = 0;

	if (list->len)
		qsort(list->v, list->len, sizeof(*list->v), compare);
	for (size_t i = 0; i < list->len; i++) {
		if (n && !compare(&list->v[n - 1], &list->v[i]))
			free(list->v[i].path);
		else
			list->v[n++] = list->v[i];
	}
	list->len = n;
}

/* What @plan closes, and masks for what may come. What is closed once stays so
 * until the run ends, whatever the settings say then.
 */
static void add_plan(struct keeper_list *list, const struct plan *plan)
{
	const struct view_rules *rules = &plan->view->rules;

	for (size_t i = 0; i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];

		if (m->kind == MOUNT_MASK_DIR || m->kind == MOUNT_MASK_FILE ||
		    m->kind == MOUNT_BIND_RO)
			add(list, m->kind, m->path, m->is_dir);
		/* One that the host writes anew is hidden as a whole */
		else if (m->kind == MOUNT_REDACTED)
			add(list, MOUNT_MASK_FILE, m->path, false);
	}
	for (size_t i = 0; i < rules->len && list->len < KEEPER_MOUNTS_MAX; i++) {
		const struct view_rule *r = &rules->v[i];

		if (may_come(plan, r))
			add(list, MOUNT_MASK_DIR, r->path, true);
		else if (may_come_back(plan, r))
			add(list, MOUNT_BIND_RO, r->path, false);
	}
}

/* A mount of its own that an edit closes: what hides or closes all around it does
 * not reach it
 */
static void close_mount(struct keeper_list *list, const struct view *view,
			enum mount_kind kind, const char *path, bool is_dir)
{
	if (kind != MOUNT_BIND_RW && kind != MOUNT_STAGED && kind != MOUNT_PIN &&
	    kind != MOUNT_SHOW && kind != MOUNT_BIND_RO)
		return;
	if (!view_verdict(view, VIEW_READ, path).allowed)
		add(list, is_dir ? MOUNT_MASK_DIR : MOUNT_MASK_FILE, path, is_dir);
	else if (!view_verdict(view, VIEW_WRITE, path).allowed)
		add(list, MOUNT_BIND_RO, path, is_dir);
}

/* What one edit took back and another grants again is not kept read-only */
static void drop_granted(struct keeper_list *list, const struct view *first,
			 const struct view *view)
{
	size_t n = 0;

	for (size_t i = 0; i < list->len; i++) {
		const struct keeper_mount *m = &list->v[i];

		if (m->kind == MOUNT_BIND_RO &&
		    view_verdict(first, VIEW_WRITE, m->path).allowed &&
		    view_verdict(view, VIEW_WRITE, m->path).allowed)
			free(m->path);
		else
			list->v[n++] = *m;
	}
	list->len = n;
}

/* After an edit: also what stays visible in directories that are hidden from now on.
 * Only roots of the start are writable there: Landlock knows others by directories
 * that the mask takes the place of, so the observer writes in those.
 */
static void add_edit(struct keeper_list *list, const struct plan *first,
		     const struct plan *plan)
{
	size_t known;

	drop_granted(list, first->view, plan->view);
	known = list->len;
	for (size_t i = 0; i < first->mounts.len; i++) {
		const struct plan_mount *m = &first->mounts.v[i];

		close_mount(list, plan->view, m->kind, m->path, m->is_dir);
		if (m->kind == MOUNT_PIN || m->kind == MOUNT_BIND_RW ||
		    m->kind == MOUNT_STAGED)
			add(list, MOUNT_BIND_RW, m->path, m->is_dir);
	}
	for (size_t i = 0; i < known; i++) {
		const struct keeper_mount m = list->v[i];

		close_mount(list, plan->view, m.kind, m.path, m.is_dir);
	}
	for (size_t i = 0; i < plan->mounts.len; i++) {
		const struct plan_mount *m = &plan->mounts.v[i];

		if (m->kind == MOUNT_SHOW || m->kind == MOUNT_BIND_RW ||
		    m->kind == MOUNT_STAGED)
			add(list, MOUNT_SHOW, m->path, m->is_dir);
	}
	add_plan(list, plan);
}

/* A keeper for what is to be kept; the one before goes */
static void replace(struct keeper_client *k)
{
	struct proc old = k->keeper, new;
	auto_close int before = old.pid > 0 ? pidfd_open(old.pid, 0) : -1;
	struct err err = { 0 };

	if (!k->list.len)
		add_plan(&k->list, k->run->decision.plan);
	sort(&k->list);
	if (keeper_start(&new, &k->list, before, k->run->own[0], k->run->own[1],
			 &err) < 0) {
		output_say(k->run->output, LOST ": %s", err.msg);
		return;		/* Better the one before than none */
	}
	k->keeper = new;
	loop_remove(k->run->loop, &k->mounts);	/* From now on it looks itself */
	loop_remove(k->run->loop, &k->covered);
	proc_end(&old, false);
	k->covered = (struct loop_source){ k->keeper.socket, on_keeper, k };
	if (k->keeper.socket >= 0)
		k->busy = loop_add(k->run->loop, &k->covered, EPOLLIN) == 0;
}

/* A mount has gone: until then there was nothing to keep */
static int on_mounts(void *arg)
{
	replace(arg);
	return 0;
}

/* The loop forgets what happened before the descriptor was added, so a second
 * one is asked for that
 */
void keeper_client_start(struct keeper_client *k)
{
	struct pollfd before = { .fd = k->run->own[4], .events = POLLPRI };
	int r;

	k->keeper = PROC_NONE;
	k->covered.fd = -1;
	k->mounts = (struct loop_source){ k->run->own[3], on_mounts, k };
	r = loop_add(k->run->loop, &k->mounts, EPOLLPRI);
	if (r < 0 || poll(&before, 1, 0) != 0)
		(void)on_mounts(k);
}

void keeper_client_early(struct keeper_client *k)
{
	/* None is started where there is nothing to keep, nor to wait for */
	if (k->run && k->keeper.pid <= 0)
		replace(k);
}

void keeper_client_done(struct keeper_client *k)
{
	if (k->run)
		proc_end(&k->keeper, false);
	for (size_t i = 0; i < k->list.len; i++)
		free(k->list.v[i].path);
	free(k->list.v);
	k->list = (struct keeper_list){ 0 };
	k->run = NULL;
}

/* What the command made itself is not made read-only under its hands: the
 * observer knows what to refuse. What the user made is.
 */
static void spare_new(struct plan *plan, const struct timespec *since,
		      const struct planted *planted)
{
	size_t n = 0;

	for (size_t i = 0; i < plan->mounts.len; i++) {
		struct plan_mount *m = &plan->mounts.v[i];

		if (m->kind == MOUNT_BIND_RO && btime_is_after(m->path, since) &&
		    !(planted && planted_is_users(planted, m->path)))
			free(m->path);
		else
			plan->mounts.v[n++] = *m;
	}
	plan->mounts.len = n;
}

void keeper_client_view(struct keeper_client *k, const struct view *view,
	       const struct timespec *since, const struct planted *planted)
{
	/* The settings may be watched before the mounts are */
	const struct plan *first = k->run ? k->run->decision.plan : NULL;
	const struct plan_request request = {
		.argv = first ? first->argv : NULL,
		.environ = first ? options_env(k->run->options) : NULL,
	};
	auto_plan struct plan *plan = NULL;
	struct err err = { 0 };

	/* A keeper that is stopped halfway leaves some mounts undone */
	k->again = k->busy;
	if (k->busy || !first)
		return;
	if (plan_build(view, &first->machine, &request, &plan, &err) < 0) {
		output_say(k->run->output, "cannot apply the denials of the settings to the running sandbox: %s", err.msg);
		return;
	}
	spare_new(plan, since, planted);
	if (!k->list.len)
		add_plan(&k->list, first);
	add_edit(&k->list, first, plan);
	replace(k);
}
