/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/cmd-learn.c - cloche learn: the fewest rules that a command needs
 *
 * The command runs with the policy in force, and its changes are staged and forgotten.
 * Each refusal that a rule may lift becomes a line, and the command runs again with
 * the lines so far, until nothing new is refused. Then each line is left out once: it
 * is kept if the command does something else without it.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/proc.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/command-line.h"
#include "ephemeral/ephemeral.h"
#include "learn/needs.h"
#include "learn/trial.h"
#include "plan/plan.h"
#include "policy/policy.h"
#include "run/decision.h"
#include "run/options.h"

enum {
	ROUNDS = 5,
	ROUNDS_MAX = 20,
	SIBLINGS_SHOWN = 3,	/* Names that a directory would open as well */
};

/**
 * struct learning - One use of the verb
 * @first, @last: The run without any line, and with all of them
 * @rounds:	How many there may be
 * @complete:	Nothing new was refused in the last one
 */
struct learning {
	struct call *call;
	struct policy *policy;
	struct needs needs;
	struct trial first, last;
	unsigned long rounds;
	bool complete;
};

/* What is missing cannot be staged: a directory stands there until the command makes it */
static void make_missing(struct learning *l)
{
	for (size_t i = 0; i < l->needs.lines.len; i++) {
		struct need *line = &l->needs.lines.v[i];

		if (line->kind == NEED_WRITE && !line->dropped &&
		    mkdir(line->value, 0777) == 0) {
			line->made = true;
			(void)setxattr(line->value, PLACEHOLDER_ATTRIBUTE, "", 0, 0);
		}
	}
}

static void remove_made(struct learning *l)
{
	for (size_t i = l->needs.lines.len; i-- > 0;) {
		if (l->needs.lines.v[i].made)
			(void)rmdir(l->needs.lines.v[i].value);
	}
}

/* How the command is run again: the options as they were typed, ours, the lines but
 * @without, and the command
 */
static int try(struct learning *l, const struct need *without, struct needs *needs,
	       struct trial *ret, struct err *err)
{
	static const char *const ours[] = {
		"--ephemeral", "--observe=full", "--annotate=never", "--no-record",
		"--events=3",
	};
	struct strings argv = { 0 };
	struct ephemeral staged = EPHEMERAL_NONE;
	int r;

	*vec_push(&argv) = mem_strdup("cloche");
	*vec_push(&argv) = mem_strdup("run");
	for (size_t i = 0; i < l->call->given.len && l->call->given.v[i]; i++)
		*vec_push(&argv) = mem_strdup(l->call->given.v[i]);
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		*vec_push(&argv) = mem_strdup(ours[i]);
	for (size_t i = 0; i < l->needs.lines.len; i++) {
		const struct need *line = &l->needs.lines.v[i];

		if (line != without && !line->dropped)
			*vec_push(&argv) = mem_printf("--%s=%s",
						      need_rows[line->kind].option,
						      line->value);
	}
	*vec_push(&argv) = mem_strdup("--");
	for (int i = 0; i < l->call->count; i++)
		*vec_push(&argv) = mem_strdup(l->call->args[i]);
	*vec_push(&argv) = NULL;
	make_missing(l);
	r = trial_run(argv.v, needs, ret, err);
	strings_done(&argv);
	if (r == 0 && ret->status == EXIT_NOT_BUILT) {
		stderr_write(ret->words.p, ret->words.len);
		r = fail(err, -ECANCELED, "the command could not be run in the sandbox");
	}
	/* Each run starts from the same files */
	if (ephemeral_find(l->policy, &staged, err) > 0 && r == 0)
		r = ephemeral_drop(&staged, NULL, err);
	ephemeral_done(&staged);
	return r;
}

static int check_options(struct learning *l, struct err *err)
{
	static const enum option_id not_here[] = {
		OPTION_ASK, OPTION_EVENTS, OPTION_CONTROL_FD, OPTION_OBSERVE,
	};
	const char *rounds = call_flag(l->call, "rounds");
	auto_free char **command = NULL;
	char *end = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(not_here); i++) {
		if (options_has(&l->call->options, not_here[i]))
			return fail(err, -EINVAL, "--%s is not for trial runs; leave it out",
				    option_row(not_here[i])->name);
	}
	l->rounds = rounds ? strtoul(rounds, &end, 10) : ROUNDS;
	if (rounds && (*end || !l->rounds || l->rounds > ROUNDS_MAX))
		return fail(err, -EINVAL, "--rounds is 1 to %d", ROUNDS_MAX);
	return options_command(&l->call->options, l->call->args, false, &command,
			       err);
}

/* What the user has staged is neither shown to the command nor forgotten */
static int check_staged(struct learning *l, struct err *err)
{
	struct ephemeral staged = EPHEMERAL_NONE;
	const int r = ephemeral_find(l->policy, &staged, err);

	ephemeral_done(&staged);
	return r <= 0 ? r : fail(err, -EBUSY, "there are staged changes; 'cloche apply' or 'cloche discard' first");
}

static size_t count_lines(const struct needs *needs)
{
	size_t n = 0;

	for (size_t i = 0; i < needs->lines.len; i++)
		n += !needs->lines.v[i].dropped;
	return n;
}

static int try_rounds(struct learning *l, struct err *err)
{
	while (!l->complete && l->needs.round < l->rounds) {
		int r;

		trial_done(&l->last);
		l->needs.round++;
		r = try(l, NULL, &l->needs, &l->last, err);
		if (r < 0)
			return r;
		l->complete = !needs_end_round(&l->needs);
		if (l->needs.round == 1) {
			l->first = l->last;
			l->last.out = l->last.words = (struct buf){ 0 };
			buf_add(&l->last.out, buf_str(&l->first.out), l->first.out.len);
			buf_add(&l->last.words, buf_str(&l->first.words),
				l->first.words.len);
		}
		stderr_line("round %u: exit status %d, %zu rule%s found so far",
			    l->needs.round, l->last.status,
			    count_lines(&l->needs),
			    count_lines(&l->needs) == 1 ? "" : "s");
	}
	return 0;
}

/* Leave out what changes nothing. The output counts where the command prints the same
 * in two runs with the same policy.
 */
static int drop_needless(struct learning *l, struct err *err)
{
	static const char needless[] = "the command ends the same without it";
	struct trial again;
	bool output, none;
	int r;

	if (!count_lines(&l->needs))
		return 0;
	r = try(l, NULL, NULL, &again, err);
	output = r == 0 && trial_is_same(&l->last, &again, true);
	trial_done(&again);
	none = r == 0 && trial_is_same(&l->first, &l->last, output);
	for (size_t i = 0; r == 0 && i < l->needs.lines.len; i++) {
		struct need *line = &l->needs.lines.v[i];
		struct trial trial = { 0 };

		if (line->dropped)
			continue;
		if (!none)
			r = try(l, line, NULL, &trial, err);
		if (r == 0 && (none || trial_is_same(&l->last, &trial, output)))
			line->dropped = needless;
		if (r == 0 && !none)
			terminal_line(stderr, "without %s %s: %s",
				      need_rows[line->kind].name, line->value,
				      line->dropped ? "the same" : "needed");
		trial_done(&trial);
	}
	return r;
}

static void add_command(const struct learning *l, const struct need *line,
			struct buf *out)
{
	const char *save = call_flag(l->call, "write");

	buf_adds(out, "cloche policy allow ");
	if (save && !strcmp(save, "user"))
		buf_adds(out, "--scope user ");
	buf_addf(out, "%s ", need_rows[line->kind].name);
	text_shell_quote(out, line->value);
}

static void print_need(const struct learning *l, const struct need *line)
{
	auto_buf struct buf command = { 0 }, also = { 0 };

	add_command(l, line, &command);
	if (line->kind == NEED_WRITE || line->kind == NEED_READ)
		add_names(line->value, NULL, SIBLINGS_SHOWN, &also);
	terminal_line(stdout, "  %s", buf_str(&command));
	if (line->program || also.len)
		terminal_line(stdout, "      (%s%s%s%s%s)",
			      line->program ? "wanted by " : "",
			      line->program ? line->program : "",
			      line->program && also.len ? "; " : "",
			      also.len ? "it opens also " : "", buf_str(&also));
}

static void print_lines(const struct learning *l)
{
	const struct needs *needs = &l->needs;

	puts(count_lines(needs) ? "The command needs:" : l->last.status ?
	     "No rule was found that helps." : "The command needs no rule.");
	for (size_t i = 0; i < needs->lines.len; i++) {
		if (!needs->lines.v[i].dropped)
			print_need(l, &needs->lines.v[i]);
	}
	if (count_lines(needs) < needs->lines.len)
		puts("Not needed:");
	for (size_t i = 0; i < needs->lines.len; i++) {
		const struct need *line = &needs->lines.v[i];

		if (line->dropped)
			terminal_line(stdout, "  %s %s (%s)",
				      need_rows[line->kind].name, line->value,
				      line->dropped);
	}
	if (needs->refused.len)
		puts("Refused on purpose:");
	for (size_t i = 0; i < needs->refused.len; i++)
		terminal_line(stdout, "  %s", needs->refused.v[i]);
	if (needs->untried.len)
		puts("Not tried: a single file, which cannot be staged, or a service of the host. If the command may use it:");
	for (size_t i = 0; i < needs->untried.len; i++)
		terminal_line(stdout, "  %s", needs->untried.v[i]);
	if (needs->unsaid)
		printf("and %zu more\n", needs->unsaid);
	(void)fflush(stdout);
	if (l->last.status) {
		stderr_write(l->last.words.p, l->last.words.len);
		stderr_line("cloche: the command still ends with exit status %d%s",
			    l->last.status,
			    l->last.words.len ? "; the lines above are its own" : "");
	}
	if (!l->complete)
		stderr_line("cloche: the last of %u rounds still met new refusals; --rounds %lu goes on",
			    needs->round, l->rounds * 2);
}

static void print_document(const struct learning *l)
{
	json_t *lines = json_array(), *dropped = json_array(), *refused = json_array();
	json_t *untried = json_array();
	const struct needs *needs = &l->needs;

	for (size_t i = 0; i < needs->lines.len; i++) {
		const struct need *line = &needs->lines.v[i];
		auto_buf struct buf command = { 0 };

		add_command(l, line, &command);
		if (line->dropped)
			json_array_append_new(dropped, json_pack("{s:s, s:o, s:s}",
				"kind", need_rows[line->kind].name, "value",
				json_text(line->value), "reason", line->dropped));
		else
			json_array_append_new(lines, json_pack("{s:s, s:o, s:o, s:o}",
				"kind", need_rows[line->kind].name, "value",
				json_text(line->value), "program",
				json_text(line->program), "command",
				json_text(buf_str(&command))));
	}
	for (size_t i = 0; i < needs->refused.len; i++)
		json_array_append_new(refused, json_text(needs->refused.v[i]));
	for (size_t i = 0; i < needs->untried.len; i++)
		json_array_append_new(untried, json_text(needs->untried.v[i]));
	print_json(json_pack("{s:i, s:i, s:b, s:i, s:o, s:o, s:o, s:o}", "version", 1,
		"rounds", (int)needs->round, "complete", l->complete, "status",
		l->last.status, "lines", lines, "notNeeded", dropped,
		"refusedOnPurpose", refused, "notTried", untried), JSON_COMPACT);
}

/* Where to write the lines: what --write says, or the user; NULL if nowhere */
static const char *choose_file(const struct learning *l)
{
	const char *file = call_flag(l->call, "write");
	char line[16] = "";

	if (file || !count_lines(&l->needs) || call_flag(l->call, "json") ||
	    !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return file;
	printf("Write these rules to the project's .cloche.json (p), to your own policy (u), or nowhere (n)? ");
	(void)fflush(stdout);
	if (fgets(line, sizeof(line), stdin) && !strcmp(line, "p\n"))
		return "project";
	if (!strcmp(line, "u\n"))
		return "user";
	puts("nothing was written");
	return NULL;
}

/* As if the user had typed the lines that were printed */
static int save_line(const struct learning *l, const struct need *line,
		     const char *file, struct err *err)
{
	const char *dir = options_get(&l->call->options, OPTION_CWD);
	auto_free char *cwd = mem_printf("--cwd=%s", dir ? dir : ".");
	auto_free char *scope = mem_printf("--scope=%s", file);
	auto_free char *self = own_path();
	char *const argv[] = {
		(char[]){ "cloche" }, (char[]){ "policy" }, (char[]){ "allow" },
		scope, cwd, (char[]){ "--" }, mem_strdup(need_rows[line->kind].name),
		line->value, NULL,
	};
	const pid_t pid = fork();

	if (pid == 0) {
		/* Standard output is the document's */
		if (call_flag(l->call, "json") && dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
			_exit(EXIT_NOT_BUILT);
		(void)execv(self, argv);
		_exit(EXIT_NOT_BUILT);
	}
	free(argv[6]);
	return reap_wait(pid) == 0 ? 0 :
	       fail(err, -ECANCELED, "the rule could not be written; type the lines above");
}

static int save(const struct learning *l, struct err *err)
{
	const char *file = choose_file(l);
	int r = 0;

	for (size_t i = 0; file && r == 0 && i < l->needs.lines.len; i++) {
		if (!l->needs.lines.v[i].dropped)
			r = save_line(l, &l->needs.lines.v[i], file, err);
	}
	return r;
}

int cli_learn(struct call *call, struct err *err)
{
	struct learning l = { .call = call };
	int r = check_options(&l, err);

	if (r == 0)
		r = decision_policy(&call->options, &l.policy, err);
	if (r == 0)
		r = check_staged(&l, err);
	l.needs.policy = l.policy;
	if (r == 0)
		r = try_rounds(&l, err);
	if (r == 0)
		r = drop_needless(&l, err);
	if (r == 0 && call_flag(call, "json"))
		print_document(&l);
	else if (r == 0)
		print_lines(&l);
	if (r == 0)
		r = save(&l, err);
	if (r == 0)
		r = !l.complete || l.last.status;
	remove_made(&l);
	trial_done(&l.first);
	trial_done(&l.last);
	needs_done(&l.needs);
	policy_unref(l.policy);
	return r;
}
