/* SPDX-License-Identifier: Apache-2.0 */
/* run/run-report.c - what the user reads when a run has ended */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "plan/plan.h"
#include "policy/env-rules.h"
#include "report/command-text.h"
#include "report/report.h"
#include "report/violation.h"
#include "run/command-stdio.h"
#include "run/exec-error.h"
#include "run/options.h"
#include "run/output.h"
#include "run/policy-why.h"
#include "run/resource-limits.h"
#include "run/run.h"
#include "shell/command-pattern.h"
#include "shell/parse.h"

enum { NAMES_MAX = 8 };		/* Of variables, in one line */

/* What a limit is called: in messages, in a record, on the command line */
static const struct limit_name {
	const char *text, *target, *option;
	int error;
} names[NUMBER_COUNT] = {
	[NUMBER_TIMEOUT_MS] = { "time", "time", "--timeout", 0 },
	[NUMBER_MEMORY] = { "memory", "memory", "--memory", ENOMEM },
	[NUMBER_PIDS] = { "process", "pids", "--pids", EAGAIN },
	[NUMBER_FILE_SIZE] = { "file size", "file-size", "--file-size", EFBIG },
	[NUMBER_OUTPUT] = { "output", "output", "limits.output", EPIPE },
};

static void record_limit(const struct run *run, enum policy_number number,
			 const char *reason)
{
	const struct origin *origin = &run->decision.policy->numbers[number].origin;
	auto_violation struct violation v = {
		.kind = VIOLATION_LIMIT, .error = names[number].error,
		.op = mem_strdup(VIOLATION_OP_LIMIT),
		.target = mem_strdup(names[number].target),
		.reason = mem_strdup(reason),
		.rule_key = mem_strdup(origin->key ? origin->key
						   : names[number].option),
		.count = 1,
	};

	if (origin->source && origin->source->text)
		v.rule_file = mem_printf("%s:%u", origin->source->name,
					 origin_line(origin));
	violation_report(monitor_sink(run->monitor), &v);
}

void run_report_limit(struct run *run, enum policy_number number, bool sure,
		      const char *fmt, ...)
{
	auto_free char *reason = NULL;
	va_list ap;

	va_start(ap, fmt);
	reason = mem_vprintf(fmt, ap);
	va_end(ap);
	output_say(run->output, "%s limit: %s (%s)", names[number].text, reason,
		   names[number].option);
	if (sure)
		record_limit(run, number, reason);
}

void run_report_command(struct run *run)
{
	const struct number *numbers = run->decision.policy->numbers;
	const uint64_t ms = numbers[NUMBER_TIMEOUT_MS].value;

	if (command_stdio_cut_off(run->stdio))
		run_report_limit(run, NUMBER_OUTPUT, run->monitor,
				 "the command printed more than %" PRIu64 " bytes",
				 numbers[NUMBER_OUTPUT].value);
	if (run->job.timed_out)
		run_report_limit(run, NUMBER_TIMEOUT_MS, run->monitor,
				 "the command was ended after %" PRIu64 ".%03" PRIu64 " s",
				 ms / 1000, ms % 1000);
	else if (run->status == 128 + SIGSYS)
		output_say(run->output, "the command made a system call that ends it; a 32-bit program cannot run in the sandbox");
}

static void report_limits(struct run *run)
{
	/* With a known reason there is no need to guess at others */
	limits_explain(run->limits, run, run->job.timed_out ||
		       command_stdio_cut_off(run->stdio) ? 0 : run->status);
	run_report_command(run);
}

/* "A, B and 3 more" of the variables that were not passed; those that look like
 * secrets, or the others
 */
static void add_withheld(const struct policy *policy, bool secret,
			 struct buf *out)
{
	size_t more = 0, shown = 0;

	for (char **e = environ; *e; e++) {
		const size_t n = strcspn(*e, "=");
		const struct env_verdict v = env_decide(policy, *e, n);

		if (!n || v.pass || v.replaced || v.secret != secret ||
		    options_is_agents_key(*e, n))
			continue;
		if (shown == NAMES_MAX) {
			more++;
			continue;
		}
		buf_addf(out, "%s%.*s", shown++ ? ", " : "", (int)n, *e);
	}
	if (more)
		buf_addf(out, " and %zu more", more);
}

static void record_variables(const struct run *run)
{
	for (char **e = environ; *e; e++) {
		const size_t n = strcspn(*e, "=");
		const struct env_verdict verdict = env_decide(run->decision.policy, *e, n);
		auto_violation struct violation v = {
			.kind = VIOLATION_VARIABLE, .count = 1,
			.op = mem_strdup("execve"), .target = mem_strndup(*e, n),
			.reason = mem_strdup("looks like a secret, so it was not passed"),
			.rule_key = mem_strdup("sandbox.env"),
		};

		if (n && !verdict.pass && verdict.secret && !options_is_agents_key(*e, n))
			violation_report(monitor_sink(run->monitor), &v);
	}
}

/* "A, B" of the background jobs that ended with the command, and a record of each */
static void report_jobs(const struct run *run)
{
	auto_buf struct buf shown = { 0 };

	for (const char *at = run->jobs; *at == '\n';) {
		const size_t n = strcspn(++at, "\n");
		auto_free char *name = mem_strndup(at, n);
		auto_violation struct violation v = {
			.kind = VIOLATION_JOB, .count = 1,
			.op = mem_strdup("exit"), .target = mem_strdup(name),
			.reason = mem_strdup("a background job ends with the command that started it"),
		};

		violation_report(monitor_sink(run->monitor), &v);
		buf_adds(&shown, shown.len ? ", " : "");
		text_escape(&shown, name);
		at += n;
	}
	if (shown.len && !options_has(run->options, OPTION_QUIET))
		output_say(run->output, "note: still running in the background, so ended with the command: %s",
			   buf_str(&shown));
}

/* True unless the command succeeded, or its reader went away: git has the status of
 * SIGPIPE when its pager is left early
 */
static bool has_failed(const struct run *run)
{
	return run->status && run->status != 128 + SIGPIPE;
}

/* Those that look like secrets where the command failed, which may be why; all of
 * them with -v
 */
static void report_variables(const struct run *run)
{
	const bool verbose = options_has(run->options, OPTION_VERBOSE);
	const struct policy *policy = run->decision.policy;
	auto_buf struct buf secrets = { 0 }, others = { 0 }, safe = { 0 };

	if (options_has(run->options, OPTION_QUIET) ||
	    (!verbose && (!has_failed(run) || run->job.timed_out ||
			  run->status == 128 + SIGINT)))
		return;
	add_withheld(policy, true, &secrets);
	text_escape(&safe, buf_str(&secrets));
	if (secrets.len)
		output_say(run->output, "not passed, as they look like secrets: %s (--env NAME passes one)",
			   buf_str(&safe));
	if (verbose)
		add_withheld(policy, false, &others);
	if (others.len)
		output_say(run->output, "not passed, as they belong to the session: %s (--env NAME passes one)",
			   buf_str(&others));
}

/* False if @v cannot be printed. A secret's name and where its value is are none. */
static bool repeat_one(const struct option_value *v, const char *cwd, struct buf *out)
{
	const char *value = v->id == OPTION_CWD ? cwd : v->value;
	auto_buf struct buf text = { 0 };

	if (v->id == OPTION_COMMAND || v->id == OPTION_SHELL || v->id == OPTION_EVENTS ||
	    v->id == OPTION_CONTROL_FD || v->id == OPTION_DEBUG)
		return true;
	if ((v->id == OPTION_SETTINGS && *value == '{') ||
	    (v->id == OPTION_SECRET_FROM && strstr(value, "=command:")) ||
	    (v->id == OPTION_ENV &&
	     command_text((const char *const []){ value, NULL }, SIZE_MAX, &text)))
		return false;
	buf_addf(out, " --%s", option_row(v->id)->name);
	if (value) {
		buf_addc(out, ' ');
		text_shell_quote(out, value);
	}
	return true;
}

/* Append to @out what the user gave, as words of a shell, each behind a blank, for a line
 * that starts the run again; without -c and what only a program that started the run can
 * use. False if that cannot be printed: it holds a secret, or the text of a pipe.
 */
static bool repeat_options(const struct run *run, struct buf *out)
{
	const struct options *options = run->options;
	bool all = true;

	for (size_t i = 0; i < options->given; i++)
		all = repeat_one(&options->v[i], run->decision.policy->cwd, out) && all;
	return all;
}

bool run_report_command_text(const struct run *run, char *const *argv, size_t max,
			     struct buf *out)
{
	const char *const shown[] = { run->shown, NULL };

	return command_text(run->shown ? shown : (const char *const *)argv, max, out);
}

struct rerun run_report_rerun(const struct run *run, struct buf *options,
			      struct buf *command)
{
	const char *cwd = run->decision.policy->cwd;
	const bool cut = run_report_command_text(run, run->command, REPORT_LINE_MAX, command);
	const bool all = repeat_options(run, options);

	return (struct rerun){
		/* A session's holder has no command, and reports those of several */
		.options = buf_str(options),
		.line = all && !cut && !run->shown && !run->serve &&
			command->len < REPORT_LINE_MAX ? buf_str(command) : NULL,
		.project = options_has(run->options, OPTION_CWD) ||
			   options_reports_inside(run->options) ? cwd : NULL,
		.no_settings = options_has(run->options, OPTION_NO_SETTINGS),
	};
}

/* The command that would allow it, below a message */
static void print_fix(const struct run *run, const struct policy_why *why)
{
	auto_buf struct buf options = { 0 }, command = { 0 }, line = { 0 };
	const struct rerun how = run_report_rerun(run, &options, &command);
	auto_free char *fix = suggestion_for(why->suggest, &how);

	if (!fix)
		return;
	buf_addf(&line, "            %s\n", fix);
	output_print(run->output, line.p, line.len);
}

/* A command that failed and names a file of the host's /tmp, or in profile home of the
 * home, got the sandbox's own directory instead, which no refusal reports: the file was
 * just not there. Nor is there a report of what is hidden where /dev/fuse does not open.
 * True if @path is such a file.
 */
static bool report_missed(const struct run *run, const char *path)
{
	const struct policy *policy = run->decision.policy;
	const bool tmp = path_is_below("/tmp", path);
	const bool own = tmp || (policy->profile == PROFILE_HOME && policy->home &&
				 path_is_below(policy->home, path));
	auto_buf struct buf safe = { 0 };
	auto_why struct policy_why why = { 0 };
	bool told;

	if ((!own && (!run->monitor || !monitor_misses_reads(run->monitor))) ||
	    access(path, F_OK) < 0 ||
	    policy_why_ask(run->decision.policy, POLICY_WHY_READ, path, &why, NULL) < 0)
		return false;
	told = !why.allowed && why.suggest;
	text_escape(&safe, path);
	if (told && !own)
		output_say(run->output, "%s is hidden from the command; allow it only if the command is to have it",
			   buf_str(&safe));
	else if (told)
		output_say(run->output, "%s is the sandbox's own: the host's %s is not in it%s",
			   tmp ? "/tmp" : "the home", buf_str(&safe),
			   tmp ? "" : "; allow it only if the command is to have it");
	if (told && !strcmp(buf_str(&safe), path))
		print_fix(run, &why);
	return told;
}

/* report_missed() of the @n bytes at @text, which may begin with ~/ */
static bool report_path(const struct run *run, const char *text, size_t n)
{
	const char *home = run->decision.policy->home;
	auto_free char *path = NULL;

	while (n > 1 && text[n - 1] == '/')
		n--;
	path = home && *text == '~' ? mem_printf("%s%.*s", home, (int)n - 1, text + 1) :
				      mem_strndup(text, n);
	return *path == '/' && report_missed(run, path);
}

/* report_missed() of the paths in @text, also in the text of a program and behind an equals
 * sign; the first
 */
static bool report_paths(const struct run *run, const char *text)
{
	static const char ends[] = " \t\n\"'`,;:=()<>[]{}|&";

	for (size_t n; *text; text += n + (text[n] != 0)) {
		n = strcspn(text, ends);
		if ((*text == '/' || !strncmp(text, "~/", 2)) &&
		    (report_path(run, text, n) ||
		     report_path(run, text, strcspn(text, " \n"))))
			return true;
	}
	return false;
}

/* sudo, su: the kernel ignores the bit without a word, and the program complains of
 * something else
 */
static bool report_setuid(const struct run *run, const char *name)
{
	auto_free char *file = exec_error_find(name, getenv("PATH"),
					       run->decision.policy->cwd);
	struct stat st;

	if (!file || stat(file, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != 0 ||
	    !(st.st_mode & S_ISUID) || geteuid() == 0)
		return false;
	output_say(run->output, "%s has root's rights by its set-user-id bit, which has no effect inside; this cannot be allowed",
		   file);
	return true;
}

/* Its variable is not passed, so it knows of no agent and tries none */
static bool report_agent(const struct run *run, const char *name)
{
	struct policy *policy = run->decision.policy;
	const char *agent = getenv("SSH_AUTH_SOCK");
	auto_why struct policy_why why = { 0 };

	if (strcmp(name, "ssh-add") != 0 || !agent || access(agent, F_OK) < 0 ||
	    policy_why_ask(policy, POLICY_WHY_SOCKET, agent, &why, NULL) < 0)
		return false;
	if (!why.allowed && why.suggest) {
		output_say(run->output, "SSH_AUTH_SOCK is not passed: an agent signs for every program that asks");
		print_fix(run, &why);
	}
	return true;
}

/* What failing programs do not say themselves: once, of the first one */
static void report_programs(const struct run *run)
{
	auto_shell struct shell_script script = { 0 };
	auto_buf struct buf line = { 0 };
	bool done = false;

	for (char *const *word = run->command; !done && *word; word++)
		done = report_path(run, *word, strlen(*word)) ||
		       report_paths(run, *word);
	text_shell_words(&line, (const char *const *)run->command, SIZE_MAX);
	if (done || !shell_parse(buf_str(&line), &script))
		return;
	(void)command_unfold(&script);
	for (size_t i = 0; !done && i < script.commands.len; i++) {
		const struct shell_command *c = &script.commands.v[i];
		const char *text = c->assignments < c->count ?
			shell_plain_from(&script, c, c->assignments) : "";
		auto_free char *name = mem_strndup(text, strcspn(text, " "));

		done = *name && (report_paths(run, text) || report_setuid(run, name) ||
				 report_agent(run, name));
	}
}

/* Count the changes of --ephemeral, once no process can write there any more */
static void report_changes(struct run *run)
{
	struct ephemeral changes = run->changes;
	size_t n;

	run->changes = EPHEMERAL_NONE;
	run_release(run);
	n = ephemeral_finish(&changes);
	if (n && !options_has(run->options, OPTION_QUIET))
		output_say(run->output, "%zu change%s staged: cloche diff, cloche apply, cloche discard",
			   n, n == 1 ? "" : "s");
	ephemeral_done(&changes);
}

void run_report_hints(const struct run *run)
{
	report_variables(run);
	if (run->status != 0 && !options_has(run->options, OPTION_QUIET))
		report_programs(run);
}

void run_report_unstarted(struct run *run)
{
	auto_buf struct buf options = { 0 };

	(void)repeat_options(run, &options);
	exec_error_explain(run->decision.plan, buf_str(&options), run->err);
	output_say(run->output, "%s", run->err->msg);
}

void run_report(struct run *run)
{
	if (run->failed) {
		run_report_unstarted(run);
	} else {
		report_limits(run);
		run_network_finish(run->network);
		if (run->status != 0) {
			run_network_explain(run->network);
			record_variables(run);
		}
		/* A signal that ends the command is meant for its jobs as well */
		if (!run->job.timed_out && run->status < 128)
			report_jobs(run);
		monitor_finish(run->monitor, has_failed(run));
		run_report_hints(run);
	}
	if (run->decision.plan->ephemeral)
		report_changes(run);
}
