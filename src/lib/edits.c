/* SPDX-License-Identifier: Apache-2.0 */
/* lib/edits.c - the settings files of a run, watched for edits */

#include "lib/edits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "lib/approval.h"
#include "lib/hooks.h"
#include "lib/options.h"
#include "lib/session.h"
#include "plan/plan.h"
#include "plan/view.h"
#include "policy/policy.h"
#include "policy/settings.h"
#include "watch/born.h"
#include "watch/live.h"
#include "watch/trust.h"

static const struct source *find_source(const struct policy *policy,
					const char *file)
{
	for (size_t i = 0; i < policy->sources.len; i++) {
		const struct source *s = policy->sources.v[i];

		if (s->text && !strcmp(s->name, file))
			return s;
	}
	return NULL;
}

/* True if @file is not what @policy was made from */
static bool is_edited(const struct policy *policy, const char *file)
{
	const struct source *s = find_source(policy, file);
	auto_buf struct buf now = { 0 };

	if (fs_read(AT_FDCWD, file, JSON_TEXT_MAX, &now, NULL) < 0)
		return s != NULL;
	return !s || s->len != now.len ||
	       memcmp(s->text, buf_str(&now), now.len) != 0;
}

int edits_check_gone(const struct policy *old, const struct policy *policy,
		     struct err *err)
{
	for (size_t i = 0; i < old->sources.len; i++) {
		const struct source *s = old->sources.v[i];

		if (s->text && s->name[0] == '/' && s->scope != SCOPE_FLAG &&
		    !find_source(policy, s->name))
			return fail(err, -ENOENT, "'%s' is gone or makes no sense; put it back, with {} in it if it is to say nothing",
				    s->name);
	}
	return 0;
}

int edits_check_own(const struct policy *old, const struct policy *policy,
		    const char *state, const struct born *born,
		    struct err *err)
{
	for (size_t i = 0; i < policy->sources.len; i++) {
		const struct source *s = policy->sources.v[i], *was;

		/* A repository's files widen nothing that was not approved */
		if (!s->text || s->name[0] != '/' || s->scope != SCOPE_USER ||
		    (born && !born_covers(born, s->name)))
			continue;
		was = find_source(old, s->name);
		if (was && was->len == s->len &&
		    !memcmp(was->text, s->text, s->len))
			continue;
		if (!state || !trust_holds(state, s->name, s->text, s->len))
			return fail(err, -EPERM, "'%s' changed where the command can write; use 'cloche policy', or it counts from the next run on",
				    s->name);
	}
	return 0;
}

int edits_watch(const struct options *options, const struct policy *policy,
		void (*fn)(void *arg), void *arg, struct live **ret,
		bool *ret_edited)
{
	auto_policy struct policy *unused = NULL;
	auto_report struct settings_report report = { 0 };
	auto_free char *approved = approvals_path();
	const char *files[LIVE_FILES_MAX];
	struct err ignored = { 0 };
	size_t n = 0;
	int r;

	/* Only the list of files is wanted, whatever is in them by now */
	r = session_policy_report(options, true, &unused, &report, &ignored);
	if (r < 0)
		return r;
	if (approved)
		files[n++] = approved;
	for (size_t i = 0; i < report.files.len && n < LIVE_FILES_MAX; i++) {
		if (report.files.v[i].path && report.files.v[i].path[0] == '/')
			files[n++] = report.files.v[i].path;
	}
	r = n ? live_new(files, n, fn, arg, ret) : -ENOENT;
	for (size_t i = approved ? 1 : 0; r == 0 && i < n && !*ret_edited; i++)
		*ret_edited = is_edited(policy, files[i]);
	return r;
}

static const struct { enum policy_number number; const char *key; } numbers[] = {
	{ NUMBER_TIMEOUT_MS, "limits.timeout" },
	{ NUMBER_MEMORY, "limits.memory" },
	{ NUMBER_PIDS, "limits.pids" },
	{ NUMBER_FILE_SIZE, "limits.fileSize" },
	{ NUMBER_OUTPUT, "limits.output" },
};

static const struct { enum policy_flag flag; const char *key; } flags[] = {
	{ FLAG_NESTED_USERNS, "allowNestedUserNamespaces" },
	{ FLAG_ALL_UNIX_SOCKETS, "network.allowAllUnixSockets" },
	{ FLAG_LOCAL_BINDING, "network.allowLocalBinding" },
	{ FLAG_FS_DISABLED, "filesystem.disabled" },
	{ FLAG_PASS_ENV, "passEnv" },
};

static const struct { enum string_list list; const char *key; } lists[] = {
	{ LIST_UNIX_SOCKETS, "network.allowUnixSockets" },
	{ LIST_HOST_PORTS, "network.hostPorts" },
	{ LIST_PUBLISH, "network.publish" },
	{ LIST_ALLOW_IPS, "network.allowIps" },
	{ LIST_ENV_SET, "env" },
};

static void add(struct buf *ret, const char *words)
{
	buf_adds(ret, ret->len ? ", " : "");
	buf_adds(ret, words);
}

static bool are_same(const struct string_rules *a, const struct string_rules *b)
{
	size_t i = 0;

	while (i < a->len && i < b->len && !strcmp(a->v[i].text, b->v[i].text))
		i++;
	return i == a->len && i == b->len;
}

static void name_values(const struct policy *a, const struct policy *b,
			struct buf *ret)
{
	if (a->profile != b->profile)
		add(ret, "profile");
	if (a->net != b->net)
		add(ret, "network.mode");
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		const struct number *x = &a->numbers[numbers[i].number];
		const struct number *y = &b->numbers[numbers[i].number];

		if (x->set != y->set || x->value != y->value)
			add(ret, numbers[i].key);
	}
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		if (a->flags[flags[i].flag].value !=
		    b->flags[flags[i].flag].value)
			add(ret, flags[i].key);
	}
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		if (!are_same(&a->lists[lists[i].list],
			      &b->lists[lists[i].list]))
			add(ret, lists[i].key);
	}
}

/* True if @path may be read or written since the edit, but not in this run: masks
 * stay, nobody writes for the command in what is hidden, and anywhere only an
 * observer does
 */
static bool is_deferred(const struct plan *plan, const struct view *before,
			const struct view *now, enum view_op op,
			const char *path)
{
	auto_free char *above = path_parent(path);

	if (view_verdict(before, op, path).allowed ||
	    !view_verdict(now, op, path).allowed)
		return false;
	return op == VIEW_READ ||
	       !view_verdict(now, VIEW_READ, above).allowed || !plan->observe;
}

static void name_opened(const struct plan *plan, const struct view *before,
			const struct view *now, enum view_op op,
			struct buf *ret)
{
	const size_t n = before->rules.len;

	for (size_t i = 0; i < n + now->rules.len; i++) {
		const struct view_rule *r = i < n ? &before->rules.v[i] :
					    &now->rules.v[i - n];
		auto_free char *words = NULL;

		if (!is_deferred(plan, before, now, op, r->path))
			continue;
		words = mem_printf("%s '%s'", op == VIEW_WRITE ? "writing" :
				   "reading", r->path);
		if (!strstr(buf_str(ret), words))
			add(ret, words);
	}
}

void edits_tell(const struct options *options, const struct plan *plan,
		const struct edits_state *before,
		const struct edits_state *now)
{
	auto_buf struct buf words = { 0 };

	if (options_has(options, OPTION_QUIET))
		return;
	name_values(before->policy, now->policy, &words);
	name_opened(plan, before->view, now->view, VIEW_READ, &words);
	name_opened(plan, before->view, now->view, VIEW_WRITE, &words);
	if (words.len)
		hooks_say(options, "settings reloaded; this counts from the next run on: %s",
			  buf_str(&words));
}
