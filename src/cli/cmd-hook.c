/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/cmd-hook.c - cloche hook: an agent asks before it runs something
 *
 * Theory of operation: agents take a hook that crashes, hangs or fails in any
 * way but one for consent. The one way is exit status 2. So the work is done
 * in a child, and the parent does nothing that could go wrong: it waits for the
 * whole answer, and unless the child ends well in time, it ends with 2. Signals
 * that ask it to end do the same.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/hook.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/path.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/cmd-hook.h"
#include "cli/command-line.h"
#include "policy/settings.h"

enum { EXIT_BLOCK = 2 };
enum { HOOK_REPLY_MAX = 16 << 20 };	/* A call is 1 MiB, quoted twice */

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
	r = hook_answer(agent, event, call, &out, &err);
	if (r == 0 && fs_write_all(to, buf_str(&out), out.len) < 0)
		r = fail_errno(&err, "cannot hand the answer over");
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
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return fail_errno(err, "hook: cannot wait");
	}
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

int cmd_hook_agent(struct call *call, struct err *err)
{
	const struct agent *agent = agent_find(call->name);
	const struct agent_event *event = NULL;
	auto_buf struct buf names = { 0 };
	uint64_t ms = HOOK_WATCHDOG_MS;
	const char *watchdog;
	int r;

	if (!agent) {
		agent_names(&names);
		return fail(err, -EINVAL, "hook needs an agent (%s), or install, print, uninstall",
			    buf_str(&names));
	}
	arm(ms);
	r = call_parse(call, err);
	if (r < 0)
		return r;
	event = call->count ? agent_event_find(agent, call->args[0]) : NULL;
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

/* Call @fn for the settings file that install, print and uninstall are about */
static int with_target(struct call *call,
		       int (*fn)(const struct hook_target *t, struct err *err),
		       struct err *err)
{
	const char *scope = call_flag(call, "scope");
	struct hook_target target = { 0 };
	auto_buf struct buf names = { 0 };
	auto_free char *file = NULL;
	char path[PATH_MAX];

	target.agent = call->count ? agent_find(call->args[0]) : NULL;
	if (!target.agent) {
		agent_names(&names);
		return fail(err, -EINVAL, "hook %s needs an agent: %s",
			    call->name, buf_str(&names));
	}
	target.file = file = file_for(target.agent, scope ? scope : "user", err);
	target.program = own_path(path, sizeof(path));
	target.options = (const char *const *)call->given.v;
	return file ? fn(&target, err) : err->code;
}

static int install_settings(const struct hook_target *t, struct err *err)
{
	const int r = hook_install(t, err);

	if (r >= 0)
		terminal_line(stdout, "%s: %s", t->file,
			r ? "installed" : "is installed already");
	return r < 0 ? r : 0;
}

static int uninstall_settings(const struct hook_target *t, struct err *err)
{
	const int r = hook_uninstall(t, err);

	if (r >= 0)
		terminal_line(stdout, "%s: %s", t->file,
			r ? "uninstalled" : "has no hooks of cloche");
	return r < 0 ? r : 0;
}

static int print_settings(const struct hook_target *t, struct err *err)
{
	json_t *settings = hook_settings(t, err);

	if (!settings)
		return -EINVAL;
	print_json(settings, JSON_INDENT(2));
	return 0;
}

int cmd_hook_install(struct call *call, struct err *err)
{
	return with_target(call, install_settings, err);
}

int cmd_hook_print(struct call *call, struct err *err)
{
	return with_target(call, print_settings, err);
}

int cmd_hook_uninstall(struct call *call, struct err *err)
{
	return with_target(call, uninstall_settings, err);
}
