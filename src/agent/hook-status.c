/* SPDX-License-Identifier: Apache-2.0 */
/* agent/hook-status.c - check that an agent's commands run in the sandbox */

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/hook.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/proc.h"

#define IN_SANDBOX "[ \"$SANDBOX_RUNTIME\" = 1 ]"

enum { TRY_WORDS = 4 };

/* Run @argv, padded with NULL, with @input on its standard input. Its output is appended
 * to @out; with NULL it has our standard output. True if it exits with 0.
 */
static bool try_run(const char *const argv[static TRY_WORDS], const char *input,
		    struct buf *out)
{
	auto_close int in = memfd_create("input", MFD_CLOEXEC);
	int ends[2] = { -1, -1 }, status;
	pid_t pid;

	if (in < 0 || fs_write_all(in, input, strlen(input)) < 0 ||
	    lseek(in, 0, SEEK_SET) < 0 || (out && pipe2(ends, O_CLOEXEC) < 0))
		return false;
	pid = fork();
	if (pid == 0) {
		(void)dup2(in, STDIN_FILENO);
		if (out)
			(void)dup2(ends[1], STDOUT_FILENO);
		(void)unsetenv("SANDBOX_RUNTIME");
		(void)unsetenv("CLAUDE_CODE_SESSION_ID");
		(void)unsetenv("GEMINI_PROJECT_DIR");
		execl(argv[0], argv[0], argv[1], argv[2], argv[3], (char *)NULL);
		_exit(EXIT_NOT_FOUND);
	}
	if (out) {
		close(ends[1]);
		if (pid > 0)
			(void)fs_read_fd(ends[0], JSON_TEXT_MAX, out, NULL);
		close(ends[0]);
	}
	status = reap_wait(pid);
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* As the agent starts the script that runs its commands */
static bool try_script(const struct hook_target *t)
{
	const char *const claude[TRY_WORDS] = { t->prefix,
		"source /dev/null 2>/dev/null || true && eval '" IN_SANDBOX "' < /dev/null && pwd -P >| /dev/null" };
	const char *const codex[TRY_WORDS] = { t->prefix, "/bin/sh", "-c", IN_SANDBOX };
	const char *const gemini[TRY_WORDS] = { t->prefix, "-c",
		"shopt -u promptvars ; " IN_SANDBOX };

	return try_run(t->agent->id == AGENT_CLAUDE ? claude :
		       t->agent->id == AGENT_CODEX ? codex : gemini, "", NULL);
}

/* What the agent sends before it runs @command */
static char *make_call(const struct agent *agent, const char *command)
{
	auto_free char *cwd = getcwd(NULL, 0);
	auto_free char *tool = mem_strndup(agent->tools, strcspn(agent->tools, "|"));
	auto_json json_t *call = json_pack("{s:s, s:s, s:o, s:{s:s}, s:[o]}",
		"hook_event_name", agent_event_at(agent, 0)->theirs,
		"tool_name", tool, "cwd", json_text(cwd ? cwd : "/"),
		"tool_input", "command", command,
		"workspace_roots", json_text(cwd ? cwd : "/"));

	return json_dumps(call, 0);
}

/* The line that the hook's reply puts in the place of the command; or NULL */
static char *find_line(const char *reply, size_t n)
{
	static const char *const keys[] = { "updatedInput", "tool_input", "updated_input" };
	auto_json json_t *root = json_parse(reply, n, "", NULL);
	const json_t *inner = json_object_get(root, "hookSpecificOutput");
	const char *line = NULL;

	for (size_t i = 0; !line && i < ARRAY_SIZE(keys); i++)
		line = json_get_text(json_object_get(inner ? inner : root, keys[i]), "command");
	return line ? mem_strdup(line) : NULL;
}

static bool try_hook(const struct hook_target *t)
{
	auto_free char *hook = hook_command(t);
	auto_free char *call = make_call(t->agent, IN_SANDBOX);
	auto_free char *line = NULL;
	auto_buf struct buf reply = { 0 };

	if (!hook || !call || !try_run((const char *[TRY_WORDS]){ "/bin/sh", "-c", hook },
				       call, &reply))
		return false;
	line = find_line(buf_str(&reply), reply.len);
	return line && try_run((const char *[TRY_WORDS]){ "/bin/sh", "-c", line }, "",
			       NULL);
}

bool hook_try(const struct hook_target *t)
{
	return t->prefix ? try_script(t) : try_hook(t);
}

bool hook_is_reviewed(const char *file)
{
	auto_free char *dir = path_parent(file);
	auto_free char *config = path_join(dir, "config.toml");
	auto_free char *key = mem_printf("%s:pre_tool_use:", file);
	auto_buf struct buf text = { 0 };

	return fs_read(AT_FDCWD, config, JSON_TEXT_MAX, &text, NULL) == 0 &&
	       strstr(buf_str(&text), key);
}

static bool is_served(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || strlen(path) >= sizeof(to.sun_path))
		return false;
	memcpy(to.sun_path, path, strlen(path));
	return connect(fd, (const struct sockaddr *)&to, sizeof(to)) == 0;
}

bool hook_has_codex_daemon(void)
{
	auto_free char *dir = mem_printf("/tmp/codex-daemon-%u", geteuid());
	auto_closedir DIR *d = opendir(dir);
	const struct dirent *e;
	bool found = false;

	while (!found && d && (e = readdir(d))) {
		auto_free char *path = path_join(dir, e->d_name);

		found = is_served(path);
	}
	return found;
}

void hook_tell_switched_off(struct buf *out)
{
	static const char *const files[] = {
		".claude/settings.json", ".claude/settings.local.json",
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		auto_json json_t *root = json_read(AT_FDCWD, files[i], NULL);
		const bool hooks = json_is_true(json_object_get(root,
							"disableAllHooks"));
		const bool env = json_object_get(json_object_get(root, "env"),
						 "CLAUDE_CODE_SHELL_PREFIX");

		if (hooks || env)
			buf_addf(out, "claude: %s %s: commands may run OUTSIDE the sandbox here\n",
				 files[i], env ? "changes CLAUDE_CODE_SHELL_PREFIX" :
				 "switches hooks off");
	}
}
