/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/outside.c - blockReadsOutsideWorkingDirectories as path rules
 *
 * Theory of operation: a denial of "/" would hide the system as well. So every
 * directory at the top that is not the system's is denied by name; nobody but
 * root can add one there while a command runs.
 */

#include "policy/outside.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/policy.h"
#include "policy/reader.h"

static const char *const system_dirs[] = {
	"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "libx32", "nix",
	"opt", "proc", "run", "sbin", "sys", "tmp", "usr", "var",
};

static bool is_system(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(system_dirs); i++) {
		if (!strcmp(system_dirs[i], name))
			return true;
	}
	return false;
}

static void deny_one(struct policy *policy, const char *path)
{
	const struct flag *flag = &policy->flags[FLAG_BLOCK_OUTSIDE_READS];

	policy_add_literal(policy, PATH_DENY_READ, path, RULE_USER,
			   origin_copy(&flag->origin));
}

/* True if somebody else's rule hides the start directory */
static bool is_hidden(const struct policy *policy)
{
	const struct path_rules *rules = &policy->paths[PATH_DENY_READ];

	for (size_t i = 0; i < rules->len; i++) {
		if (path_is_within(rules->v[i].path, policy->cwd))
			return true;
	}
	return false;
}

int outside_deny(struct policy *policy, const struct reader *reader,
		 struct err *err)
{
	const struct flag *flag = &policy->flags[FLAG_BLOCK_OUTSIDE_READS];
	const bool hidden = is_hidden(policy);
	struct reader_names names = { 0 };
	int r;

	if (!policy_flag(policy, FLAG_BLOCK_OUTSIDE_READS, false))
		return 0;
	r = reader->list(reader->arg, "/", &names, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < names.len; i++) {
		auto_free char *path = path_join("/", names.v[i]);

		if (!is_system(names.v[i]) &&
		    reader->kind(reader->arg, path, NULL) == READER_DIR)
			deny_one(policy, path);
	}
	if (policy->home)
		deny_one(policy, policy->home);
	/* What may be written may be read as well; that needs no rule */
	if (!hidden)
		policy_add_literal(policy, PATH_ALLOW_READ, policy->project,
				   RULE_USER, origin_copy(&flag->origin));
	reader_names_done(&names);
	return 0;
}
