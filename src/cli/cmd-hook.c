/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/cmd-hook.c - cloche hook: answer an agent before it runs a command
 *
 * Theory of operation: agents take a hook that crashes, hangs or fails in any
 * way but one for consent. The one way is exit status 2. So the work is done
 * in a child, and the parent does nothing that could go wrong: it waits for the
 * whole answer, and unless the child ends well in time, it ends with 2. Signals
 * that ask it to end do the same.
 */

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/claude-shell.h"
#include "agent/gemini-shell.h"
#include "agent/hook.h"
#include "agent/shim.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/command-line.h"
#include "policy/mode.h"
#include "policy/policy.h"
#include "policy/settings.h"
#include "run/choose-tier.h"
#include "run/decision.h"
#include "run/options.h"
#include "session/session.h"

enum {
	EXIT_BLOCK = 2,
	HOOK_REPLY_MAX = 16 << 20,	/* A call is 1 MiB, quoted twice */
};

/* The project must not follow the model, which may choose where a command
 * starts. The agents tell their hooks where it is: by a variable, (Cursor) in
 * the call, or (Codex, whose "cwd" is the model's choice) by starting the hook
 * there. Else it is where the session says it is: *@ret_named is whether the model
 * had no part in it.
 */
static char *project_of(const struct hook_call *call, const char *here,
			bool *ret_named)
{
	static const char *const variables[AGENT_COUNT] = {
		[AGENT_CLAUDE] = "CLAUDE_PROJECT_DIR",
		[AGENT_GEMINI] = "GEMINI_PROJECT_DIR",
		[AGENT_CURSOR] = "CURSOR_PROJECT_DIR",
	};
	const char *name = variables[call->agent->id];
	const json_t *roots = json_object_get(call->root, "workspace_roots");
	const char *dirs[] = {
		name ? getenv(name) : NULL,
		json_string_value(json_array_get(roots, 0)),
		call->agent->id == AGENT_CODEX ? here : NULL,
	};
	char real[PATH_MAX];

	*ret_named = true;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		if (dirs[i] && *dirs[i] == '/' && realpath(dirs[i], real))
			return mem_strdup(real);
	}
	*ret_named = !strcmp(call->cwd, here);
	return mem_strdup(call->cwd);
}

/* The call's own directory is the project's. Elsewhere the sandbox may have
 * written what a command obeys (a repository with hooks, a Makefile), also in its
 * /tmp, which lies in the user's cache.
 */
static bool is_in_project(const struct hook_call *call, const char *project)
{
	char real[PATH_MAX];

	return realpath(call->dir, real) && !strcmp(real, project);
}

enum { SESSION_WORDS = 4 };	/* --session NAME --session-owner PID */

/* Words for the line: all but the one that would let `cloche run` decide again,
 * with no sandbox as its answer; and before them @session, up to a NULL
 */
static char **line_words(char **argv, char *const *session)
{
	size_t n = 0, kept = 0;
	char **words;

	while (argv[n])
		n++;
	words = mem_zalloc((n + SESSION_WORDS + 1) * sizeof(*words));
	while (*session && kept < SESSION_WORDS)
		words[kept++] = *session++;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(argv[i], "--allow-unsandboxed") != 0)
			words[kept++] = argv[i];
	}
	return words;
}

static int answer_tool(const struct hook_call *call, const char *project,
		       bool named, struct call *typed, char **words,
		       struct buf *out, struct err *err)
{
	const struct options *options = &typed->options;
	const char *prefix = call_flag(typed, "prefix");
	auto_policy struct policy *policy = NULL;
	struct hook_decision decision = { 0 };
	auto_free char *self = own_path();
	auto_free char *objection = !prefix ? NULL :
		call->agent->id == AGENT_GEMINI ? gemini_shell_objection(prefix) :
						  claude_shell_objection(prefix);
	const struct hook_wrapper wrapper = {
		.program = prefix ? NULL : self,
		.options = (const char *const *)words,
		.project = project,
		.in_project = named && is_in_project(call, project),
		.objection = objection,
	};
	int r = 0;

	/* The agent, and what it starts, is in a sandbox already */
	if (tier_steps_aside())
		return hook_reply(call, &decision, out, err);

	if (call->command)
		r = decision_policy(options, &policy, err);
	if (r < 0)
		return r;
	if (call->command)
		hook_decide(policy, &wrapper, call,
			    options_has(options, OPTION_ALLOW_UNSANDBOXED),
			    &decision);
	r = hook_reply(call, &decision, out, err);
	hook_decision_done(&decision);
	return r;
}

/* The hook's user wants the sandbox unless cloche's own settings switch it off,
 * whatever Claude Code's "enabled" says: that is about the agent's own, and one does
 * not start inside the other
 */
static void add_advice(const struct hook_call *call,
		       const struct policy *policy, struct buf *words)
{
	const struct origin *off;

	shim_tell_bypass(words);
	if (mode_is_off_for_hooks(policy, &off)) {
		buf_adds(words, "cloche: commands run WITHOUT the sandbox: it is switched off (");
		origin_describe(off, words);
		buf_adds(words, "); 'cloche policy mode regular --scope user' switches it on\n");
		return;
	}
	advise(policy, true, words);
	if (call->agent->id == AGENT_CLAUDE &&
	    mode_of(policy) != MODE_DISABLED &&
	    !mode_is_own(&policy->flags[FLAG_ENABLED].origin)) {
		buf_adds(words, "cloche: the agent's own sandbox is switched on as well, and ours may not start inside it (");
		origin_describe(&policy->flags[FLAG_ENABLED].origin, words);
		buf_adds(words, "); switch one of the two off\n");
	}
}

static int answer_start(const struct hook_call *call,
			const struct options *options, struct buf *out,
			struct err *err)
{
	auto_policy struct policy *policy = NULL;
	auto_buf struct buf words = { 0 };
	struct err why = { 0 };

	/* Then every command will be refused: say so now */
	if (decision_policy(options, &policy, &why) < 0)
		buf_addf(&words, "cloche: %s\n", why.msg);
	else
		add_advice(call, policy, &words);
	return hook_reply_words(call, buf_str(&words), out, err);
}

/* The session of the agent's is over, and what ran in it. There may be none. */
static int answer_end(const struct hook_call *call, struct buf *out, struct err *err)
{
	auto_free char *name = hook_session_name(call->agent, call->session);

	if (name)
		(void)session_stop(name, NULL);
	return hook_reply_words(call, "", out, err);
}

static int answer(const struct hook_call *call, const char *here,
		  struct call *typed, struct buf *out, struct err *err)
{
	bool named;
	auto_free char *project = project_of(call, here, &named);
	auto_free char *name = call_flag(typed, "session") ?
			       hook_session_name(call->agent, call->session) : NULL;
	/* A hook works in a child */
	auto_free char *owner = mem_printf("%d", (int)agent_process(
						proc_parent(getppid())));
	char session_word[] = "--session", owner_word[] = "--session-owner";
	char *session[] = { name ? session_word : NULL, name, owner_word, owner, NULL };
	auto_free char **words = line_words(typed->given.v, session);
	int r = options_add(&typed->options, OPTION_CWD, project, err);

	if (r < 0)
		return r;
	if (call->event->kind == EVENT_END)
		return answer_end(call, out, err);
	if (call->event->kind == EVENT_PRE_TOOL)
		return answer_tool(call, project, named, typed, words, out,
				   err);
	return answer_start(call, &typed->options, out, err);
}

/* Answer the call of an agent that standard input holds. 0 with the answer in @out,
 * or a negative errno with a message.
 */
static int answer_call(const struct agent *agent,
		       const struct agent_event *event, struct call *typed,
		       struct buf *out, struct err *err)
{
	auto_free char *cwd = getcwd(NULL, 0);
	auto_buf struct buf text = { 0 };
	struct hook_call call;
	int r;

	if (!cwd)
		return fail_errno(err, "cannot tell the current directory");
	r = fs_read_fd(STDIN_FILENO, JSON_TEXT_MAX, &text, err);
	if (r == 0)
		r = hook_call_parse(agent, event, buf_str(&text), text.len,
				    cwd, &call, err);
	if (r < 0)
		return r;
	r = answer(&call, cwd, typed, out, err);
	hook_call_done(&call);
	return r;
}

static volatile sig_atomic_t worker;

/* Only what is safe in a handler */
static void block(int sig)
{
	static const char late[] = "cloche: hook: no answer in time; refused\n";
	static const char ended[] = "cloche: hook: ended by a signal; refused\n";

	if (worker > 0)
		(void)kill((pid_t)worker, SIGKILL);
	if (sig == SIGALRM)
		(void)!write(STDERR_FILENO, late, sizeof(late) - 1);
	else
		(void)!write(STDERR_FILENO, ended, sizeof(ended) - 1);
	_exit(EXIT_BLOCK);
}

static void arm(uint64_t ms)
{
	static const int ends[] = {
		SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
		/* A crash: agents take every status but 2 for an allowance */
		SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE,
	};
	const struct sigaction action = { .sa_handler = block };
	const struct itimerval timer = {
		.it_value = { .tv_sec = (time_t)(ms / 1000),
			      .tv_usec = (suseconds_t)(ms % 1000) * 1000 },
	};
	sigset_t none;

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		(void)sigaction(ends[i], &action, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGCHLD, SIG_DFL);	/* Ignored, there is no status */
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setitimer(ITIMER_REAL, &timer, NULL);
}

static void work(const struct agent *agent, const struct agent_event *event,
		 struct call *call, int to, pid_t parent)
{
	auto_buf struct buf out = { 0 };
	struct err err = { 0 };
	int r;

	/* The handlers are the parent's */
	(void)signal(SIGALRM, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)	/* It was ended before it knew of us */
		_exit(EXIT_BLOCK);
	r = answer_call(agent, event, call, &out, &err);
	if (r == 0 && fs_write_all(to, buf_str(&out), out.len) < 0)
		r = fail_errno(&err, "cannot write the answer to the process that waits for it");
	if (r < 0)
		fprintf(stderr, "cloche: hook: %s\n", err.msg);
	_exit(r < 0 ? EXIT_BLOCK : 0);
}

static int collect(pid_t pid, int from, struct buf *reply, struct err *err)
{
	int status, r;

	r = fs_read_fd(from, HOOK_REPLY_MAX, reply, err);
	if (r < 0)
		return r;
	status = reap_wait(pid);
	if (status < 0)
		return fail_errno(err, "hook: cannot wait");
	worker = 0;
	if (WIFSIGNALED(status))
		return fail(err, -ECHILD, "hook: the worker was ended by signal %d; refused",
			    WTERMSIG(status));
	if (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != EXIT_BLOCK)
		return fail(err, -ECHILD, "hook: the worker failed with %d; refused",
			    WEXITSTATUS(status));
	return WEXITSTATUS(status);	/* Said, if there is something to say */
}

static int supervise(const struct agent *agent,
		     const struct agent_event *event, struct call *call,
		     struct err *err)
{
	const pid_t self = getpid();
	auto_buf struct buf reply = { 0 };
	int ends[2], r;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail_errno(err, "hook: cannot make a pipe");
	pid = fork();
	if (pid < 0)
		return fail_errno(err, "hook: cannot start a worker");
	if (pid == 0) {
		close(ends[0]);
		work(agent, event, call, ends[1], self);
	}
	worker = pid;
	close(ends[1]);
	r = collect(pid, ends[0], &reply, err);
	/* An answer that does not arrive is no answer */
	if (r == 0 && reply.len &&
	    fs_write_all(STDOUT_FILENO, buf_str(&reply), reply.len) < 0)
		r = fail_errno(err, "hook: cannot write the answer");
	return r;
}

/* @name is no agent, nor, where it follows "hook", a word */
static int fail_hook(const struct call *call, const char *name, struct err *err)
{
	const bool word = call->word && isupper(*call->word->name);
	struct text_near near = { .word = name ? name : "" };
	auto_buf struct buf names = { 0 };

	agent_names(&names);
	agent_near(&near);
	for (const struct word *w = word_first(call->verb); word && w; w = word_next(w))
		(void)text_near_try(&near, w->name);
	if (near.best)
		return fail(err, -EINVAL, "hook: '%s' is unknown; did you mean %s?",
			    name, near.best);
	return word ? fail(err, -EINVAL, "hook needs an agent (%s), or install, print, status, uninstall",
			   buf_str(&names)) :
		      fail(err, -EINVAL, "hook %s needs an agent: %s", call->name,
			   buf_str(&names));
}

/* Claude Code's shell prefix, `cloche hook claude shell OPTIONS -- LINE`, and the bash of
 * Gemini CLI, `cloche hook gemini shell OPTIONS -- ARGUMENTS`. Where the sandbox cannot be
 * built, nothing runs.
 */
static int run_shell(const struct agent *agent, struct call *call, struct err *err)
{
	int (*join)(struct run *run) = NULL;
	int r = call_parse(call, err);

	if (r == 0 && call_flag(call, "session"))
		join = session_run;
	if (r == 0 && agent->id == AGENT_GEMINI)
		r = gemini_shell_run(call->args + 1, join, &call->options, err);
	else if (r == 0 && call->count != 2)
		r = fail(err, -EINVAL, "hook claude shell needs one line for the shell");
	else if (r == 0)
		r = claude_shell_run(call->args[1], join, &call->options, err);
	if (r < 0)
		stderr_line("cloche: %s", err->msg);
	return r < 0 ? EXIT_NOT_BUILT : r;
}

int cmd_hook_agent(struct call *call, struct err *err)
{
	const struct agent *agent = agent_find(call->name);
	const struct agent_event *event = NULL;
	auto_buf struct buf names = { 0 };
	uint64_t ms = HOOK_WATCHDOG_MS;
	const char *watchdog;
	int r;

	if (!agent)
		return fail_hook(call, call->name, err);
	if ((agent->id == AGENT_CLAUDE || agent->id == AGENT_GEMINI) && call->args[0] &&
	    !strcmp(call->args[0], "shell"))
		return run_shell(agent, call, err);
	arm(ms);
	r = call_parse(call, err);
	if (r < 0)
		return r;
	event = call->count == 1 ? agent_event_find(agent, call->args[0]) : NULL;
	if (!event) {
		agent_event_names(agent, &names);
		return fail(err, -EINVAL, "hook %s needs one of %s",
			    agent->name, buf_str(&names));
	}
	watchdog = call_flag(call, "watchdog");
	if (watchdog && (text_to_duration_ms(watchdog, &ms) < 0 ||
			 ms > HOOK_WATCHDOG_MS))
		return fail(err, -EINVAL, "--watchdog: '%s' is not a time of at most %d s",
			    watchdog, HOOK_WATCHDOG_MS / 1000);
	arm(ms);
	return supervise(agent, event, call, err);
}

/* Below /etc: a file of our own among the administrator's */
#define MANAGED_FILE "claude-code/managed-settings.d/50-cloche.json"

/* The agent's settings file of @scope; NULL with a message */
static char *file_for(const struct agent *agent, const char *scope,
		      struct err *err)
{
	auto_free char *cwd = getcwd(NULL, 0);
	auto_free char *dir = NULL;
	auto_request struct settings_request request = { 0 };

	if (!strcmp(scope, "user"))
		return agent_settings_file(agent, err);
	if (!strcmp(scope, "managed") && agent->id == AGENT_CLAUDE)
		return path_join(etc_dir(), MANAGED_FILE);
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
	return settings_file_for(&request, SCOPE_LOCAL);
}

/* Claude Code's prefix for the settings of @scope in @file; NULL for others */
static char *prefix_for(const struct agent *agent, const char *scope, const char *file)
{
	auto_free char *config = !strcmp(scope, "managed") ? mem_strdup(etc_dir()) :
				 fs_xdg("XDG_CONFIG_HOME", ".config");

	if (agent->id != AGENT_CLAUDE || !config)
		return NULL;
	if (!strcmp(scope, "user") || !strcmp(scope, "managed"))
		return mem_printf("%s/cloche/" HOOK_SCRIPTS "/claude-shell", config);
	return mem_printf("%s/cloche/" HOOK_SCRIPTS "/claude-shell-%016" PRIx64,
			  config, text_hash(file));
}

static const char *change_settings(const struct hook_target *t, bool install,
				   struct err *err)
{
	const int r = install ? hook_install(t, err) : hook_uninstall(t, err);

	if (r < 0)
		return NULL;
	return install ? r ? "installed" : "is installed already" :
	       r ? "uninstalled" : "has no hooks of cloche";
}

/* What "installed" does not include */
static void print_conditions(const struct hook_target *t, const char *scope)
{
	static const char rewritten[] = "cloche: hook: the prompts of %s show the rewritten line; 'cloche shim install %s --hook' leaves the command as it is";

	if (t->agent->id == AGENT_CODEX)
		stderr_line("cloche: hook: Codex skips the hook until you trust it: start codex, /hooks; 'codex exec' needs -s danger-full-access, because cloche does not start inside Codex's own sandbox");
	if (t->agent->id == AGENT_CODEX)
		stderr_line(rewritten, "Codex", "codex");
	if (t->agent->id == AGENT_GEMINI)
		stderr_line(rewritten, "Gemini CLI", "gemini");
	if (t->agent->id == AGENT_CURSOR)
		stderr_line("cloche: hook: not tried with Cursor itself; its prompts show the rewritten line, and its own sandbox must be off (\"type\": \"insecure_none\" in ~/.cursor/sandbox.json)");
	if (t->agent->id == AGENT_CLAUDE && !strcmp(scope, "user"))
		stderr_line("cloche: hook: a repository's .claude/settings.json can switch off hooks and variables of user settings ('cloche hook status claude' reports it); 'cloche shim install claude --hook', or --scope managed as root, prevents that");
}

/* Why the commands of an agent whose hook is in @t would not run in the sandbox; or would,
 * but not as the user expects. Nothing if all is well.
 */
static void find_fault(const struct hook_target *t, struct buf *why)
{
	if (!hook_is_installed(t))
		buf_addf(why, "not installed (%s)", t->file);
	else if (t->agent->id == AGENT_CODEX && !hook_is_reviewed(t->file))
		buf_adds(why, "installed, but not reviewed in Codex: its hooks are skipped; start codex and trust them (/hooks)");
	else if (!hook_try(t))
		buf_addf(why, "installed, but a command through %s does not run in the sandbox; 'cloche doctor' shows why, 'cloche hook install %s' installs it again",
			 t->prefix ? t->prefix : "its hook", t->agent->name);
	else if (t->agent->id == AGENT_CODEX && hook_has_codex_daemon())
		buf_adds(why, "installed, but a daemon of Codex runs with the settings of its own start; 'codex app-server daemon stop' ends it");
}

/* 0 if the commands of @agent come into the sandbox, 1 if not */
static int print_status(const struct agent *agent, const char *scope, bool json,
			struct err *err)
{
	auto_free char *self = own_path();
	const bool shim = !strcmp(scope, "user") && shim_holds_commands(agent->name);
	const bool claude = agent->id == AGENT_CLAUDE;
	auto_free char *file = shim && claude ? hook_shim_file("claude-shim.json") :
				      file_for(agent, scope, err);
	auto_free char *prefix = shim && claude ? hook_shim_file("claude-shell-shim") :
				 file ? prefix_for(agent, scope, file) : NULL;
	const struct hook_target target = { .agent = agent, .file = file,
		.program = self, .prefix = prefix };
	auto_buf struct buf why = { 0 }, off = { 0 };
	bool held;

	if (!file)
		return err->code;
	if (shim && !claude)
		shim_agent_check(agent, &why);
	else
		find_fault(&target, &why);
	if (!why.len && claude && strcmp(scope, "managed") != 0 && !shim)
		hook_tell_switched_off(&off);
	held = !why.len && !off.len;
	if (held && agent->id == AGENT_CURSOR)	/* There is no Cursor that we could have tried */
		buf_addf(&why, "installed (%s); a command that the hook rewrote ran in the sandbox, but whether Cursor calls the hook was never tried",
			 file);
	else if (held)
		buf_addf(&why, "commands run in the sandbox, tried with one (%s)%s",
			 shim && !claude ? "by its shim" : file,
			 prefix || shim ? "" : "; prompts show the rewritten line");
	if (json)
		print_json(json_pack("{s:i, s:s, s:b, s:o}", "version", 1,
				     "agent", agent->name, "sandboxed", held, "detail",
				     json_text(buf_str(off.len ? &off : &why))),
			   JSON_COMPACT);
	else if (off.len)
		fputs(buf_str(&off), stdout);
	else
		terminal_line(stdout, "%s: %s", agent->name, buf_str(&why));
	return held ? 0 : 1;
}

/* All agents whose settings are here: 1 if the commands of one run outside */
static int print_all(struct err *err)
{
	auto_buf struct buf names = { 0 };
	const struct agent *agent;
	int worst = 0, found = 0;

	agent_names(&names);
	for (size_t i = 0; worst >= 0 && (agent = agent_at(i)); i++) {
		auto_free char *file = agent_settings_file(agent, err);
		auto_free char *dir = file ? path_parent(file) : NULL;
		int r;

		if (!dir || access(dir, F_OK) < 0)
			continue;
		found++;
		r = print_status(agent, "user", false, err);
		worst = r < 0 || r > worst ? r : worst;
	}
	if (!found)
		printf("There are no settings of %s.\n", buf_str(&names));
	return worst;
}

int cmd_hook_status(struct call *call, struct err *err)
{
	const char *scope = call_flag(call, "scope");
	const struct agent *agent = call->count ? agent_find(call->args[0]) : NULL;

	if (!call->count && !scope && !call_flag(call, "json"))
		return print_all(err);
	if (!agent)
		return fail_hook(call, call->count ? call->args[0] : NULL, err);
	return print_status(agent, scope ? scope : "user", call_flag(call, "json"), err);
}

/* install, print and uninstall */
int cmd_hook_settings(struct call *call, struct err *err)
{
	const char *scope = call_flag(call, "scope");
	const bool session = call_flag(call, "session");
	char session_word[] = "--session";
	char *first[] = { session ? session_word : NULL, NULL };
	auto_free char **words = line_words(call->given.v, first);
	struct hook_target target = {
		.agent = call->count ? agent_find(call->args[0]) : NULL,
		.options = (const char *const *)words, .session = session,
	};
	auto_free char *file = NULL, *prefix = NULL, *dir = NULL, *project = NULL;
	const char *done = NULL;
	auto_free char *self = own_path();
	json_t *settings;

	scope = scope ? scope : "user";
	if (!target.agent)
		return fail_hook(call, call->count ? call->args[0] : NULL, err);
	if (options_has(&call->options, OPTION_SESSION))
		return fail(err, -EINVAL, "--session takes no name here: each session of the agent is one");
	target.file = file = file_for(target.agent, scope, err);
	target.prefix = prefix = file ? prefix_for(target.agent, scope, file) : NULL;
	target.program = self;
	if (file && (!strcmp(scope, "project") || !strcmp(scope, "local"))) {
		dir = path_parent(file);
		target.project = project = path_parent(dir);
	}
	if (file && !strcmp(call->name, "print")) {
		settings = hook_settings(&target, err);
		if (settings)
			print_json(settings, JSON_INDENT(2));
		return settings ? 0 : -EINVAL;
	}
	if (file)
		done = change_settings(&target, !strcmp(call->name, "install"),
				       err);
	if (done)
		terminal_line(stdout, "%s: %s", file, done);
	if (done && !strcmp(call->name, "install"))
		print_conditions(&target, scope);
	return done ? 0 : err->code;
}
