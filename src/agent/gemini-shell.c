/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent/gemini-shell.c - the bash that Gemini CLI finds: its lines run in the sandbox
 *
 * Theory of operation: a line of the shell tool is
 *	shopt -u promptvars ...; _bgpids_file=DIRECTORY/bgpids.tmp
 *	(
 *	  trap 'jobs -p > "$_bgpids_file"' EXIT
 *	COMMAND
 *	)
 *	__code=$?
 *	exit $__code
 * and Gemini CLI reads the file afterwards. Its hooks come by bash -c as well, without the
 * first words, and with a variable that no tool has: they are the user's own settings.
 * Everything else that is started as bash goes into the sandbox.
 */

#include "agent/gemini-shell.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/claude-shell.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/text.h"
#include "run/choose-tier.h"
#include "run/exec-error.h"
#include "run/options.h"

static const char GUARD[] = "shopt -u promptvars ";
static const char FILE_WORD[] = "; _bgpids_file=";
static const char HEAD[] = " EXIT\n";
static const char TAIL[] = "\n)\n__code=$?\nexit $__code";
static const char BASH[] = "/bin/bash";

/* .../gemini-shell-XXXXXX of .../gemini-shell-XXXXXX/bgpids.tmp, plain or quoted */
static char *find_tmp(const char *text, const char *end)
{
	const bool quoted = end - text > 2 && *text == '\'' && end[-1] == '\'';
	auto_free char *file = quoted ?
		mem_strndup(text + 1, (size_t)(end - text - 2)) :
		mem_strndup(text, (size_t)(end - text));
	auto_free char *dir = path_parent(file);

	return *file == '/' && !strchr(file, '\'') && !strstr(file, "/../") &&
	       !strcmp(path_base(file), "bgpids.tmp") &&
	       !strncmp(path_base(dir), "gemini-shell-", 13) ? take_ptr(dir) : NULL;
}

void gemini_line_parse(const char *line, struct gemini_line *ret)
{
	const char *file, *end, *head, *tail = NULL;

	*ret = (struct gemini_line){ .is_tool = !strncmp(line, GUARD, strlen(GUARD)) };
	file = ret->is_tool ? strstr(line, FILE_WORD) : NULL;
	end = file ? strchr(file, '\n') : NULL;
	head = end ? strstr(end, HEAD) : NULL;
	for (const char *p = head; p && (p = strstr(p, TAIL)); p++)
		tail = p;
	if (end)
		ret->tmp = find_tmp(file + strlen(FILE_WORD), end);
	/* The end of the line is Gemini's own, so the last one is it */
	if (tail && !tail[strlen(TAIL)] && tail >= head + strlen(HEAD))
		ret->command = mem_strndup(head + strlen(HEAD),
					   (size_t)(tail - head) - strlen(HEAD));
}

void gemini_line_done(struct gemini_line *line)
{
	free(line->tmp);
	free(line->command);
	*line = (struct gemini_line){ 0 };
}

/* The directory in which its file tools may write beside the project; to be freed, or NULL.
 * Gemini CLI keeps a list of projects and their names there.
 */
static char *find_own_tmp(const char *project)
{
	const char *moved = getenv("GEMINI_CLI_HOME");
	auto_free char *home = moved && *moved == '/' ? mem_strdup(moved) : fs_home();
	auto_free char *list = home ? path_join(home, ".gemini/projects.json") : NULL;
	auto_json json_t *root = list ? json_read(AT_FDCWD, list, NULL) : NULL;
	const char *name = json_get_text(json_object_get(root, "projects"), project);

	return name && *name && *name != '.' && !strchr(name, '/') ?
	       mem_printf("%s/.gemini/tmp/%s", home, name) : NULL;
}

static int share(struct options *options, const char *dir, struct err *err)
{
	struct stat st;

	return dir && lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid() ? options_add(options, OPTION_WRITE, dir, err) : 0;
}

/* What the line opens besides the project. All commands of a session have one policy. */
static int open_files(const struct gemini_line *line, const char *project,
		      struct options *options, struct err *err)
{
	auto_free char *own = find_own_tmp(project);
	int r = options_add(options, OPTION_SHARE_TMP, NULL, err);

	/* Made before the first command, so that the policy of the later ones is the same */
	if (r == 0 && own && mkdir(own, 0700) < 0 && errno != EEXIST)
		return 0;
	if (r == 0)
		r = share(options, own, err);
	return r < 0 || options_has(options, OPTION_SESSION) ? r :
	       share(options, line->tmp, err);
}

/* The first directory of $PATH is ours: commands inside need it no more */
static void leave_path(void)
{
	const char *path = getenv("PATH");
	const char *rest = path ? strchr(path, ':') : NULL;
	const size_t n = path ? strcspn(path, ":") : 0;
	auto_free char *first = path ? mem_strndup(path, n) : NULL;

	if (rest && strstr(first, "/cloche/") && !strcmp(path_base(first), "gemini-shell"))
		(void)setenv("PATH", rest + 1, 1);
}

static int run_outside(char **args, struct err *err)
{
	size_t n = 0;
	auto_free char **words = NULL;

	while (args[n])
		n++;
	words = mem_zalloc((n + 2) * sizeof(*words));
	words[0] = (char []){ "bash" };
	memcpy(words + 1, args, n * sizeof(*words));
	execv(BASH, words);
	return fail_errno(err, "cannot run %s", BASH);
}

/* In a session, which has one policy, only the shared /tmp is open: elsewhere the numbers of
 * background processes are not stored. To be freed.
 */
static char *store_nothing(const char *line)
{
	const char *file = strstr(line, FILE_WORD) + strlen(FILE_WORD);

	return mem_printf("%.*s/dev/null%s", (int)(file - line), line,
			  file + strcspn(file, "\n"));
}

/* @args as a line for bash */
static char *quote_all(char **args)
{
	struct buf b = { 0 };

	buf_adds(&b, "exec bash");
	text_shell_words(&b, (const char *const *)args, SIZE_MAX);
	return buf_take(&b);
}

int gemini_shell_run(char **args, int (*join)(struct run *run), struct options *options,
		     struct err *err)
{
	const char *line = args[0] && !strcmp(args[0], "-c") && args[1] && !args[2] ?
			   args[1] : NULL;
	auto_free char *words = line ? NULL : quote_all(args);
	const pid_t owner = agent_process(getppid());
	struct gemini_line parsed;
	auto_free char *project = NULL;
	char id[16];
	int r = 0;

	gemini_line_parse(line ? line : "", &parsed);
	if (tier_steps_aside() ||
	    (line && !parsed.is_tool && getenv("GEMINI_PROJECT_DIR")))
		r = run_outside(args, err);
	if (r == 0 && !(project = agent_project(owner, err)))
		r = err->code;
	if (r == 0)
		r = options_add(options, OPTION_CWD, project, err);
	if (r == 0 && (r = agent_stays_outside(parsed.command, project, options,
					       err)) > 0)
		r = run_outside(args, err);
	snprintf(id, sizeof(id), "%d", (int)owner);
	if (r == 0 && join)
		r = agent_add_session("gemini", id, owner, options, err);
	if (r == 0 && options_has(options, OPTION_SESSION) && parsed.tmp &&
	    strncmp(parsed.tmp, "/tmp/", 5) != 0)
		line = words = store_nothing(line);
	if (r == 0 && (r = open_files(&parsed, project, options, err)) == 0) {
		leave_path();
		r = agent_run_inside(BASH, line ? line : words, parsed.command, project,
				     join, options, err);
	}
	gemini_line_done(&parsed);
	return r;
}

char *gemini_shell_objection(const char *prefix)
{
	auto_free char *found = exec_error_find("bash", getenv("PATH"), "/");
	const char *name;

	if (!found || strcmp(found, prefix) != 0)
		return mem_printf("the sandbox is not in force: the first bash on the agent's PATH is not '%s'; start gemini by its shim, 'cloche shim list' shows where that is",
				  prefix);
	name = agent_planted_variable(agent_process(proc_parent(getppid())));
	return name ? mem_printf("a settings file sets %s, which would run code before the sandbox is built",
				 name) : NULL;
}
