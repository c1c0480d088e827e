/* SPDX-License-Identifier: Apache-2.0 */
/* cli/hook-manage.c - cloche hook install, print and uninstall */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/path.h"
#include "cli/command.h"
#include "cli/hook.h"
#include "lib/hook.h"
#include "lib/options.h"
#include "policy/roots.h"
#include "policy/settings.h"

/* Below /etc: a file of our own among the administrator's */
#define MANAGED_FILE "claude-code/managed-settings.d/50-cloche.json"

static char *user_file(const struct agent *agent, struct err *err)
{
	const char *moved = agent->variable ? getenv(agent->variable) : NULL;
	auto_free char *home = fs_home();
	auto_free char *dir = NULL;

	if (moved && *moved == '/')
		return path_join(moved, agent->file);
	if (!home) {
		fail(err, -ENOENT, "there is no home directory; set $HOME");
		return NULL;
	}
	dir = path_join(home, agent->dir);
	return path_join(dir, agent->file);
}

/* The agent's settings file of @scope; NULL with words */
static char *file_for(const struct agent *agent, const char *scope,
		      struct err *err)
{
	auto_free char *cwd = getcwd(NULL, 0);
	auto_free char *dir = NULL;
	struct settings_request request;
	char *file;

	if (!strcmp(scope, "user"))
		return user_file(agent, err);
	if (!strcmp(scope, "managed") && agent->id == AGENT_CLAUDE)
		return path_join(roots_etc(), MANAGED_FILE);
	if (!cwd) {
		fail_errno(err, "cannot tell the current directory");
		return NULL;
	}
	if (!strcmp(scope, "project")) {
		dir = path_join(cwd, agent->dir);
		return path_join(dir, agent->file);
	}
	if (strcmp(scope, "local") != 0 || agent->id != AGENT_CLAUDE) {
		fail(err, -EINVAL, "--scope: '%s' is not one of user, project%s",
		     scope, agent->id == AGENT_CLAUDE ? ", local, managed"
						      : "");
		return NULL;
	}
	settings_request_init(&request, cwd);
	file = settings_file_for(&request, SCOPE_LOCAL);
	settings_request_done(&request);
	return file;
}

/* Options that would be refused at every call are refused now */
static int check_options(int argc, char **argv, struct err *err)
{
	struct options options = { 0 };
	const int first = cli_parse_options(argc, argv, &options, err);

	options_done(&options);
	if (first < 0)
		return first;
	if (first < argc)
		return fail(err, -EINVAL, "'%s' is no option of run",
			    argv[first]);
	return 0;
}

static int install(const struct hook_target *t, struct err *err)
{
	const int r = hook_install(t, err);

	if (r >= 0)
		cli_say(stdout, "%s: %s", t->file,
			r ? "installed" : "is installed already");
	return r < 0 ? r : 0;
}

static int uninstall(const struct hook_target *t, struct err *err)
{
	const int r = hook_uninstall(t, err);

	if (r >= 0)
		cli_say(stdout, "%s: %s", t->file,
			r ? "uninstalled" : "has no hooks of cloche");
	return r < 0 ? r : 0;
}

static int print(const struct hook_target *t, struct err *err)
{
	json_t *settings = hook_settings(t, err);
	auto_free char *text = NULL;

	if (!settings)
		return -EINVAL;
	text = json_dumps(settings, JSON_INDENT(2));
	json_decref(settings);
	puts(text ? text : "{}");
	return 0;
}

int hook_manage(int argc, char **argv, struct err *err)
{
	static const struct {
		const char *name;
		int (*run)(const struct hook_target *t, struct err *err);
	} verbs[] = {
		{ "install", install }, { "print", print },
		{ "uninstall", uninstall },
	};
	const char *verb = argv[0];
	const char *scope = cli_take(&argc, argv, "--scope");
	auto_free char *file = NULL;
	auto_buf struct buf names = { 0 };
	struct hook_target target = { 0 };
	char path[PATH_MAX];
	int r;

	target.agent = argc > 1 ? agent_find(argv[1]) : NULL;
	if (!target.agent) {
		agent_names(&names);
		return fail(err, -EINVAL, "hook %s needs an agent: %s", verb,
			    buf_str(&names));
	}
	r = check_options(argc - 1, argv + 1, err);
	if (r < 0)
		return r;
	target.file = file = file_for(target.agent, scope ? scope : "user", err);
	target.program = own_path(path, sizeof(path));
	target.options = (const char *const *)(argv + 2);
	if (!file)
		return err->code;
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (!strcmp(verbs[i].name, verb))
			r = verbs[i].run(&target, err);
	}
	return r;
}
