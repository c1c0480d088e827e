/* SPDX-License-Identifier: Apache-2.0 */
/* lib/edits.c - the settings files of a run, watched for edits */

#include "lib/edits.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/own.h"
#include "lib/approval.h"
#include "lib/session.h"
#include "policy/policy.h"
#include "policy/settings.h"
#include "watch/born.h"
#include "watch/live.h"

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

int edits_check_own(const struct policy *policy, struct born *born,
		    struct err *err)
{
	for (size_t i = 0; i < policy->sources.len; i++) {
		const struct source *s = policy->sources.v[i];

		if (s->text && s->name[0] == '/' &&
		    (!born || !born_is_own(born, s->name, s->text, s->len)))
			return fail(err, -EPERM, "'%s' appeared where the command can write; use 'cloche policy', or edit it between runs",
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
