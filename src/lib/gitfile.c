/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/gitfile.c - git's settings for profile home: the user's, safe ones only
 *
 * The user's own files are not shown: they may name programs to run, hold
 * tokens, and include others. What goes in is listed (policy/gitkeys.def) and
 * written anew; includes are not followed. A file that git would not read
 * gives nothing.
 */

#include "lib/gitfile.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/gitconfig.h"
#include "policy/policy.h"

enum { VALUE_MAX = 1024 };	/* Bytes of one setting */

static bool is_plain(const char *value)
{
	const size_t n = strlen(value);

	for (const char *p = value; *p; p++) {
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return false;
	}
	return n <= VALUE_MAX;
}

static void add_setting(struct buf *out, const char *section,
			const char *name, const char *value)
{
	buf_addf(out, "[%s]\n\t%s = \"", section, name);
	for (const char *p = value; *p; p++) {
		if (*p == '"' || *p == '\\')
			buf_addc(out, '\\');
		buf_addc(out, *p);
	}
	buf_adds(out, "\"\n");
}

static void take(void *arg, const char *key, const char *value)
{
	const char *dot = strchr(key, '.');
	auto_buf struct buf section = { 0 };

	if (!dot || !gitconfig_is_for_home(key, value) || !is_plain(value))
		return;
	buf_add(&section, key, (size_t)(dot - key));
	add_setting(arg, buf_str(&section), dot + 1, value);
}

static void take_file(const char *path, struct buf *out)
{
	auto_buf struct buf text = { 0 }, taken = { 0 };

	if (fs_read(AT_FDCWD, path, GITCONFIG_MAX, &text, NULL) < 0 ||
	    gitconfig_each(buf_str(&text), text.len, take, &taken) < 0)
		return;
	buf_add(out, buf_str(&taken), taken.len);
}

/* Pushing is what the forges' credentials are shown for */
static void add_helpers(const struct policy *policy, struct buf *out)
{
	if (policy_flag(policy, FLAG_NO_FORGE, false))
		return;
	add_setting(out, "credential \"https://github.com\"", "helper",
		    "!gh auth git-credential");
	add_setting(out, "credential \"https://gitlab.com\"", "helper",
		    "!glab auth git-credential");
}

char *gitfile_make(const struct policy *policy)
{
	auto_free char *xdg = path_join(policy->dirs[DIR_CONFIG], "git/config");
	auto_free char *own = path_join(policy->home, ".gitconfig");
	const struct string_rules *trusted = &policy->lists[LIST_GIT_SAFE];
	auto_buf struct buf out = { 0 };

	buf_adds(&out, "# Made by cloche for this run, from the safe part of yours\n");
	take_file(xdg, &out);
	take_file(own, &out);
	add_setting(&out, "safe", "bareRepository", "explicit");
	for (size_t i = 0; i < trusted->len; i++) {
		if (is_plain(trusted->v[i].text))
			add_setting(&out, "safe", "directory",
				    trusted->v[i].text);
	}
	add_helpers(policy, &out);
	return buf_take(&out);
}
