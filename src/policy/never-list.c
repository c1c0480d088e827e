/* SPDX-License-Identifier: Apache-2.0 */
/* policy/never-list.c - paths, sockets and hosts that only a rule written by hand allows */

#include "policy/never-list.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "policy/glob.h"
#include "policy/host.h"
#include "policy/policy.h"
#include "policy/protected-names.h"

static const struct {
	const char *text;
	unsigned int use;
} ranges[] = {
#define RANGE(range, use, what) { range, use },
#define WRAPPED(range, byte, mask)
#include "policy/address-ranges.def"
#undef RANGE
#undef WRAPPED
};

/* Sockets of the user's own daemons that act for every client */
static const char acting[] =
	"docker.sock podman.sock containerd.sock bus S.gpg-agent "
	"S.gpg-agent.extra S.gpg-agent.ssh keyring ssh private wayland-0 X0 X1 "
	"pipewire-0 native";

/* True if @rule is about @path or a directory above it */
static bool rule_hides(const struct path_rule *rule, const char *path)
{
	auto_free char *up = mem_strdup(path);
	char *slash;

	if (!rule->glob)
		return rule->path && path_is_within(rule->path, path);
	while (!glob_match(rule->glob, up)) {
		slash = strrchr(up, '/');
		if (!slash || slash == up)
			return false;
		*slash = '\0';
	}
	return true;
}

/* The rule that hides @path, or with @below something in that directory; or NULL */
static const struct path_rule *find_secret(const struct policy *policy, const char *path,
					   bool below)
{
	const struct path_rules *rules = &policy->paths[PATH_DENY_READ];

	for (size_t i = 0; i < rules->len; i++) {
		const struct path_rule *rule = &rules->v[i];

		if (below ? rule->path && path_is_below(path, rule->path) :
			    rule_hides(rule, path))
			return rule;
	}
	return NULL;
}

/* A shell finds programs there by their bare names */
static bool is_on_path(const char *dir)
{
	const char *path = getenv("PATH");
	bool found = false;
	char *word;

	while (!found && (word = path_next_dir(&path))) {
		found = *word == '/' && path_is_within(word, dir);
		free(word);
	}
	return found;
}

/* The row that protects @path: any name, or one in a git directory; or NULL */
static const struct protected_row *find_protected(const struct policy *policy,
						  const char *path)
{
	const struct protected_row *row = protected_match(policy, path);

	for (const char *in = protected_in_git(path); in && !row;
	     in = protected_in_git(in - 1))
		row = protected_match_repo(policy, in);
	return row;
}

/* Root's own is not beside the others */
bool never_list_is_other_home(const struct policy *policy, const char *path)
{
	const char *home = policy->home;
	auto_free char *homes = home ? path_parent(home) : NULL;

	return home && !path_is_within(home, path) &&
	       (path_is_below("/home", path) ||
		(strcmp(homes, "/") && path_is_below(homes, path)));
}

const char *never_list_path(const struct policy *policy, const char *path)
{
	const char *home = policy->home;
	const struct protected_row *row = find_protected(policy, path);
	const struct path_rule *secret = find_secret(policy, path, false);

	if (row)
		return row->reason;
	if (secret)
		return secret->origin.reason ? secret->origin.reason : "hidden by a rule";
	if (find_secret(policy, path, true))
		return "keys or passwords are in that directory as well";
	if (is_on_path(path))
		return "programs that a shell finds by name";
	if (home && path_is_within(path, home))
		return "the whole home";
	return never_list_is_other_home(policy, path) ? "the home of another user" : NULL;
}

bool never_list_is_ours(const struct policy *policy, const char *path)
{
	const struct path_rules *rules = &policy->paths[PATH_DENY_READ];

	for (size_t i = 0; i < rules->len; i++) {
		const struct path_rule *rule = &rules->v[i];
		auto_free char *real = NULL;

		if (rule->strength != RULE_ALWAYS || rule->place != PLACE_HOST || !rule->path)
			continue;
		real = realpath(rule->path, NULL);
		if (path_is_within(rule->path, path) || (real && path_is_within(real, path)))
			return true;
	}
	return false;
}

const char *never_list_socket(const char *path)
{
	const char *agent = getenv("SSH_AUTH_SOCK");
	struct stat st;

	if (stat(path, &st) < 0 || st.st_uid == 0)
		return "a socket of root's: what listens there acts as root";
	if (text_has_word(acting, path_base(path)))
		return "what listens there acts for you";
	return agent && !strcmp(agent, path) ? "an agent that signs with your keys" : NULL;
}

const char *never_list_host(const char *text)
{
	static const char why[] = "hands out credentials of the machine";
	struct host host;
	struct host_range range;

	if (host_parse_authority(text, strlen(text), 443, &host) < 0)
		return "not a host";
	if (host.kind == HOST_NAME)
		return !strcmp(host.name, "metadata") ||
		       !strcmp(host.name, "metadata.google.internal") ? why : NULL;
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++) {
		if ((ranges[i].use & RANGE_METADATA) &&
		    host_range_parse(ranges[i].text, strlen(ranges[i].text), &range) == 0 &&
		    host_range_has(&range, &host))
			return why;
	}
	return NULL;
}
