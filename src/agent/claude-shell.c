/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent/claude-shell.c - Claude Code's shell prefix: its lines run in the sandbox
 *
 * Theory of operation: a line of the shell tool is
 *	source SNAPSHOT ... && eval 'COMMAND' < /dev/null && pwd -P >| CWD-FILE
 * and Claude Code reads CWD-FILE to learn where the next command starts. The model's
 * text is inside the quotes of eval, so the end of the line is Claude Code's own. The
 * file is made here and is the only one of its kind that the command can write.
 *
 * The agent's file tools work outside and know the host's /tmp, so the command has that
 * one, without the directories of other sessions and of the agents' own sockets.
 *
 * Hooks, MCP servers and the status line come through the prefix too. They have
 * another shape, are the user's own settings, and run as they do without a prefix.
 */

#include "agent/claude-shell.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/hook.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/text.h"
#include "policy/mode.h"
#include "policy/policy.h"
#include "run/choose-tier.h"
#include "run/decision.h"
#include "run/options.h"
#include "run/output.h"
#include "run/run.h"
#include "shell/parse.h"

enum {
	ENVIRON_MAX = 4 << 20,	/* Of the agent: more than the kernel takes */
	PARENTS_MAX = 4,	/* Shells between the agent and us */
	SESSION_LEN = 36,	/* A UUID */
	STAT_MAX = 256,		/* Bytes of /proc/PID/stat, which has the name near its start */
};

static const char TAIL[] = " && pwd -P >| ";
static const char HEAD[] = "source ";
static const char EVAL[] = " && eval ";

/* The one word that @text is, up to @end: plain, or in single quotes; or NULL */
static char *single_word(const char *text, const char *end)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+@:,%=-";
	const size_t n = (size_t)(end - text);

	if (n > 2 && *text == '\'' && end[-1] == '\'' &&
	    !memchr(text + 1, '\'', n - 2))
		return mem_strndup(text + 1, n - 2);
	return n && strspn(text, plain) >= n ? mem_strndup(text, n) : NULL;
}

/* /tmp/claude-1a2b-cwd, or with Claude Code's own sandbox /tmp/claude-1000/cwd-1a2b */
static bool is_cwd_file(const char *path)
{
	const char *base = path_base(path);
	const size_t n = strlen(base);

	return *path == '/' && !strstr(path, "/../") &&
	       ((n > 11 && !strncmp(base, "claude-", 7) &&
		 !strcmp(base + n - 4, "-cwd")) ||
		(n > 4 && !strncmp(base, "cwd-", 4)));
}

/* The word behind eval, where the line up to @tail is as Claude Code makes it */
static char *find_command(const char *line, const char *tail)
{
	const char *at = strstr(line, EVAL);
	auto_free char *text = at && at < tail ?
		mem_strndup(at + 4, (size_t)(tail - at - 4)) : NULL;
	auto_shell struct shell_script script = { 0 };
	const struct shell_word *word;

	if (!text || !shell_parse(text, &script) || script.commands.len != 1 ||
	    script.words.len != 2 || script.features & ~SHELL_REDIRECT_NULL)
		return NULL;
	word = &script.words.v[1];
	return word->known ? mem_strndup(script.plain.p + word->plain,
					 word->plain_len) : NULL;
}

void claude_line_parse(const char *line, struct claude_line *ret)
{
	const char *tail = NULL, *end;

	*ret = (struct claude_line){ 0 };
	for (const char *p = line; (p = strstr(p, TAIL)); p++)
		tail = p;
	ret->is_tool = tail || !strncmp(line, HEAD, strlen(HEAD));
	if (tail) {
		auto_free char *file = single_word(tail + strlen(TAIL),
						   tail + strlen(tail));

		ret->command = find_command(line, tail);
		if (file && is_cwd_file(file))
			ret->cwd_file = take_ptr(file);
	}
	if (!strncmp(line, HEAD, strlen(HEAD)) &&
	    (end = strstr(line, " 2>/dev/null || true && ")))
		ret->snapshot = single_word(line + strlen(HEAD), end);
}

void claude_line_done(struct claude_line *line)
{
	free(line->cwd_file);
	free(line->snapshot);
	free(line->command);
	*line = (struct claude_line){ 0 };
}

static bool is_shell(pid_t pid)
{
	char stat[STAT_MAX], *end = proc_stat(pid, stat, sizeof(stat));
	const char *name = end ? strchr(stat, '(') : NULL;

	if (!name)
		return false;
	*end = '\0';
	return text_has_bytes("sh bash dash zsh", name + 1, strlen(name + 1));
}

pid_t agent_process(pid_t pid)
{
	for (int i = 0; i < PARENTS_MAX && is_shell(pid); i++)
		pid = proc_parent(pid);
	return pid;
}

char *agent_project(pid_t pid, struct err *err)
{
	char path[64], real[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/cwd", (int)pid);
	n = readlink(path, real, sizeof(real));
	if (n <= 0 || n == sizeof(real)) {
		fail(err, -ENOENT, "cannot tell the directory of the agent, process %d",
		     (int)pid);
		return NULL;
	}
	return mem_strndup(real, (size_t)n);
}

/* Make the file, or accept one that belongs to us alone. If that fails, the agent does not
 * learn the last directory.
 */
static bool make_cwd_file(const char *path)
{
	auto_close int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK |
				 O_CLOEXEC, 0600);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       st.st_uid == geteuid() && st.st_nlink == 1;
}

/* Remove the file if it is empty: the line writes it at its end, which a failed command
 * does not reach
 */
static void remove_empty(const char *path)
{
	struct stat st;

	if (path && lstat(path, &st) == 0 && S_ISREG(st.st_mode) && !st.st_size &&
	    st.st_uid == geteuid())
		(void)unlink(path);
}

static bool is_uuid(const char *s)
{
	return s && strlen(s) == SESSION_LEN &&
	       strspn(s, "0123456789abcdef-") == SESSION_LEN;
}

/* Show this session's directory, /tmp/claude-1000/PROJECT/SESSION: output of background
 * commands, and what the file tools put there
 */
static int show_session(struct options *options, struct err *err)
{
	auto_free char *dir = mem_printf("/tmp/claude-%u", geteuid());
	const char *session = getenv("CLAUDE_CODE_SESSION_ID");
	auto_closedir DIR *d = is_uuid(session) ? opendir(dir) : NULL;
	const struct dirent *e;
	int r = 0;

	while (r == 0 && d && (e = readdir(d))) {
		auto_free char *path = mem_printf("%s/%s/%s", dir, e->d_name,
						  session);
		struct stat st;

		if (*e->d_name != '.' && lstat(path, &st) == 0 &&
		    S_ISDIR(st.st_mode))
			r = options_add(options, OPTION_READ, path, err);
	}
	return r;
}

/* What the line opens besides the project */
static int open_files(const struct claude_line *line, struct options *options,
		      struct err *err)
{
	int r = options_add(options, OPTION_SHARE_TMP, NULL, err);

	if (r == 0)
		r = show_session(options, err);
	/* In a session it is in /tmp, and writable already */
	if (r == 0 && line->cwd_file && make_cwd_file(line->cwd_file) &&
	    !options_has(options, OPTION_SESSION))
		r = options_add(options, OPTION_WRITE, line->cwd_file, err);
	if (r == 0 && line->snapshot && access(line->snapshot, R_OK) == 0)
		r = options_add(options, OPTION_READ, line->snapshot, err);
	return r;
}

/* The shell that the line was made for: its snapshot says so */
static const char *shell_of(const struct claude_line *line)
{
	const char *base = line->snapshot ? path_base(line->snapshot) : "";

	if (strncmp(base, "snapshot-zsh-", 13) != 0)
		return access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
	return access("/bin/zsh", X_OK) == 0 ? "/bin/zsh" : "/usr/bin/zsh";
}

static int run_outside(const struct claude_line *parsed, const char *line,
		       struct err *err)
{
	const char *shell = shell_of(parsed);

	execl(shell, path_base(shell), "-c", line, (char *)NULL);
	return fail_errno(err, "cannot run %s", shell);
}

int agent_stays_outside(const char *command, const char *project,
			const struct options *options, struct err *err)
{
	auto_policy struct policy *policy = NULL;
	auto_free char *here = getcwd(NULL, 0);
	const struct origin *off;
	const int r = decision_policy(options, &policy, err);

	if (r < 0)
		return r;
	return mode_is_off_for_hooks(policy, &off) ||
	       (command && here && !strcmp(here, project) &&
		policy_flag(policy, FLAG_ALLOW_UNSANDBOXED, true) &&
		mode_excludes(policy, command, NULL));
}

int agent_run_inside(const char *shell, const char *line, const char *command,
		     const char *project, int (*join)(struct run *run),
		     struct options *options, struct err *err)
{
	static struct run one;
	static char *no_args[] = { NULL };
	const struct run fresh = { .options = options, .output = &output_stderr,
				   .argv = no_args, .err = err, .shown = command };
	auto_free char *here = getcwd(NULL, 0);
	auto_buf struct buf script = { 0 };
	int r;

	if (here && strcmp(here, project) != 0) {
		buf_adds(&script, "cd -- ");
		text_shell_quote(&script, here);
		buf_adds(&script, " || exit\n");
	}
	buf_adds(&script, line);
	if ((r = options_add(options, OPTION_SHELL, shell, err)) < 0 ||
	    (r = options_add(options, OPTION_COMMAND, buf_str(&script), err)) < 0)
		return r;
	one = fresh;
	r = options_has(options, OPTION_SESSION) ? join(&one) : -EOPNOTSUPP;
	if (r != -EOPNOTSUPP)
		return r;
	free(options_swap(options, OPTION_SESSION, NULL));
	free(options_swap(options, OPTION_SESSION_OWNER, NULL));
	*err = (struct err){ 0 };
	one = fresh;
	return run(&one);
}

int agent_add_session(const char *agent, const char *id, pid_t owner,
		      struct options *options, struct err *err)
{
	auto_free char *name = hook_session_name(agent_find(agent), id);
	char pid[16];
	int r;

	if (!name)
		return 0;
	snprintf(pid, sizeof(pid), "%d", (int)owner);
	r = options_add(options, OPTION_SESSION, name, err);
	return r < 0 ? r : options_add(options, OPTION_SESSION_OWNER, pid, err);
}

int claude_shell_run(const char *line, int (*join)(struct run *run),
		     struct options *options, struct err *err)
{
	const pid_t owner = agent_process(getppid());
	struct claude_line parsed;
	auto_free char *project = NULL;
	int r = 0;

	claude_line_parse(line, &parsed);
	/* A tool's line without its end would be a new shape: into the sandbox */
	if (tier_steps_aside() || (!parsed.is_tool && getenv("CLAUDE_PROJECT_DIR")))
		r = run_outside(&parsed, line, err);
	if (r == 0)
		project = agent_project(owner, err);
	if (r == 0 && !project)
		r = err->code;
	if (r == 0)
		r = options_add(options, OPTION_CWD, project, err);
	if (r == 0 && (r = agent_stays_outside(parsed.command, project, options,
					       err)) > 0)
		r = run_outside(&parsed, line, err);
	/* In a session, which has one policy, only the shared /tmp is open for that file */
	if (r == 0 && join && (!parsed.cwd_file || path_is_below("/tmp", parsed.cwd_file)))
		r = agent_add_session("claude", getenv("CLAUDE_CODE_SESSION_ID"), owner,
				      options, err);
	if (r == 0 && (r = open_files(&parsed, options, err)) == 0) {
		r = agent_run_inside(shell_of(&parsed), line, parsed.command, project,
				     join, options, err);
		remove_empty(parsed.cwd_file);
	}
	claude_line_done(&parsed);
	return r;
}

void agent_shell_script(const char *program, const char *words,
			const char *const *options, struct buf *out)
{
	buf_adds(out, "#!/bin/sh\n# Made by cloche: the agent runs its commands by it\nexec ");
	text_shell_quote(out, program);
	buf_addf(out, " %s", words);
	text_shell_words(out, options, SIZE_MAX);
	buf_adds(out, " -- \"$@\"\n");
}

int agent_environment(pid_t pid, struct buf *ret)
{
	char path[64];
	auto_close int fd = -1;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fs_read_fd(fd, ENVIRON_MAX, ret, NULL);
}

const char *agent_variable(const struct buf *environment, const char *name)
{
	const char *p = buf_str(environment), *end = p + environment->len;
	const size_t n = strlen(name);

	for (; p < end; p += strlen(p) + 1) {
		if (!strncmp(p, name, n) && p[n] == '=')
			return p + n + 1;
	}
	return NULL;
}

const char *agent_planted_variable(pid_t agent)
{
	static const char *const names[] = {
		"BASH_ENV", "ENV", "LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH",
		"GCONV_PATH", "SHELLOPTS", "BASHOPTS",
	};
	auto_buf struct buf environment = { 0 };

	(void)agent_environment(agent, &environment);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *now = getenv(names[i]);
		const char *then = agent_variable(&environment, names[i]);

		if (now && *now && (!then || strcmp(now, then) != 0))
			return names[i];
	}
	return NULL;
}

char *claude_shell_objection(const char *prefix)
{
	const char *set = getenv("CLAUDE_CODE_SHELL_PREFIX");
	const char *name;
	auto_buf struct buf shown = { 0 };

	if (!set || strcmp(set, prefix) != 0) {
		text_escape(&shown, set ? set : "");
		return mem_printf("the sandbox is not in force: CLAUDE_CODE_SHELL_PREFIX is '%s' and not '%s'; a settings file of the project, or the environment, has changed it",
				  buf_str(&shown), prefix);
	}
	if (access(prefix, X_OK) < 0)
		return mem_printf("the sandbox is not in force: '%s' cannot be executed; run 'cloche hook install claude' again",
				  prefix);
	name = agent_planted_variable(proc_parent(getppid()));	/* A hook works in a child */
	return name ? mem_printf("a settings file sets %s, which would run code before the sandbox is built",
				 name) : NULL;
}
