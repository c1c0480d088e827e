/* SPDX-License-Identifier: Apache-2.0 */
/* policy/project.c - which project a directory belongs to */

#include "policy/git.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "policy/file-reader.h"
#include "policy/policy.h"

bool project_find(const struct file_reader *reader, struct policy *policy,
		  struct git_repo *repo)
{
	const char *state = policy->dirs[DIR_STATE];
	auto_free char *made = state ? path_join(state, "cloche/" GIT_MADE)
				     : NULL;
	auto_free char *record = NULL;

	/* A ".git" that cannot be read is not reported here */
	if (!git_discover(reader, policy->cwd, repo))
		return false;
	if (policy_holds_home(policy, repo->top))
		return true;
	record = made ? git_made_record(made, repo->dir) : NULL;
	if (record && reader->kind(reader->arg, record, NULL) != FILE_READER_NONE) {
		policy->made_top = mem_strdup(repo->top);
		policy->made_record = take_ptr(record);
		return true;
	}
	if (strcmp(repo->top, policy->cwd) != 0 && git_is_project(reader, repo)) {
		free(policy->project);
		policy->project = mem_strdup(repo->top);
	}
	return true;
}
