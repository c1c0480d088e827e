/* SPDX-License-Identifier: Apache-2.0 */
/* cli/main.c - find the verb, run it, print one message if it fails */

#include <errno.h>
#include <stdbool.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/command-line.h"
#include "compat/applet.h"
#include "embed/embedded.h"
#include "ipc/wire.h"
#include "run/decision.h"
#include "run/exec-error.h"
#include "run/job.h"
#include "run/options.h"
#include "sandbox/sandbox.h"

static const struct verb commands[] = {
#define COMMAND(id, name, synopsis, help) \
	{ name, synopsis, help, .run = cli_##id },
#define PARENT(id, name, synopsis, help) { name, synopsis, help, .run = NULL },
#define PROGRAM(id, name, synopsis, help) \
	{ name, synopsis, help, .raw = cli_##id },
#include "cli/verbs.def"
#undef COMMAND
#undef PARENT
#undef PROGRAM
	{ 0 },
};

static const struct verb ssh_connect = {
	.name = "ssh-connect", .raw = cli_ssh_connect,
};

const struct verb *verb_table(void)
{
	return commands;
}

const struct verb *verb_find(const char *name)
{
	const struct verb *c = commands;

	while (c->name && strcmp(c->name, name) != 0)
		c++;
	return c->name ? c : NULL;
}

int verb_fail(const char *name, struct err *err)
{
	struct text_near near = { .word = name };

	for (const struct verb *c = commands; c->name; c++)
		(void)text_near_try(&near, c->name);
	(void)text_near_try(&near, "--version");
	(void)text_near_try(&near, "--help");
	if (near.best)
		return fail(err, -EINVAL, "no command '%s'; did you mean 'cloche %s'?",
			    name, near.best);
	return fail(err, -EINVAL, "no command '%s'; 'cloche help' lists them",
		    name);
}

/* True if @word is an option of run: --allow, --allow=HOST, -c */
static bool is_run_option(const char *word)
{
	if (word[0] != '-' || word[1] != '-')
		return !strcmp(word, "-c") || !strcmp(word, "-s") || !strcmp(word, "-v");
	return option_find(word + 2, strcspn(word + 2, "=")) < OPTION_COUNT;
}

/* "cloche npm test" is probably "cloche run -- npm test", and "cloche --allow HOST -- npm ci"
 * lacks its verb
 */
static int fail_unknown(int argc, char **argv, struct err *err)
{
	auto_free char *cwd = getcwd(NULL, 0);
	auto_free char *program = NULL;
	auto_buf struct buf line = { 0 };
	const int first = strcmp(argv[1], "--") ? 1 : 2;

	if (first < argc && cwd)
		program = exec_error_find(argv[first], getenv("PATH"), cwd);
	text_shell_words(&line, (const char *const *)argv + first, SIZE_MAX);
	if (program)
		return fail(err, -EINVAL, "no command '%s'; to run a program in the sandbox: cloche run -- %s",
			    argv[1], buf_str(&line));
	if (first == 1 && is_run_option(argv[1]))
		return fail(err, -EINVAL, "the command of cloche comes before its options: cloche run %s",
			    buf_str(&line));
	return verb_fail(argv[1], err);
}

/* Wrong usage is 2 for verbs that answer questions; for verbs that run something
 * 125 says that nothing ran. Preflight never fails: an agent switches a start hook
 * off that does.
 */
static int exit_code(int r)
{
	if (!strcmp(options_verb, "preflight"))
		return 0;
	if (r >= 0)
		return r;
	if (!strcmp(options_verb, "run"))
		return EXIT_NOT_BUILT;
	return 2;
}

static bool is_help(const char *word)
{
	return !strcmp(word, "--help") || !strcmp(word, "-h");
}

/* "cloche run --help", "cloche policy help", "cloche policy why --help" */
static bool asks_for_help(const struct verb *c, int argc, char **argv)
{
	return (argc > 1 && is_help(argv[1])) ||
	       (argc > 1 && word_first(c) &&
		(!strcmp(argv[1], "help") || (argc > 2 && is_help(argv[2]))));
}

static int run_verb(const struct verb *c, int argc, char **argv,
		    struct err *err)
{
	char *help[] = { argv[0], argv[0], argc > 1 ? argv[1] : NULL, NULL };

	if (asks_for_help(c, argc, argv))
		return cli_help(3, help, err);
	return c->raw ? c->raw(argc, argv, err) : call_run(c, argc, argv, err);
}

/* Fail if standard output did not take all of the answer, so that a reader does not
 * take a part for the whole
 */
static int flush_output(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	stderr_line("cloche: cannot write to standard output: %s",
		 strerror(errno));
	return code ? code : 2;
}

int main(int argc, char **argv)
{
	struct err err = { 0 };
	const struct verb *c;
	int r;

	/* With set-user-id the caller would choose the policy of another user */
	if (getauxval(AT_SECURE)) {
		stderr_line("cloche: this copy is set-user-id or has capabilities and refuses to run; install it without");
		return EXIT_NOT_BUILT;
	}
	if (argc > 1)
		options_verb = argv[1];
	/* While SIGCHLD is ignored, waitpid() fails */
	(void)signal(SIGCHLD, SIG_DFL);
	sandbox_set_image(argv);
	decision_set_program("/proc/self/exe");
	if (argc > 0 && applet_find(argv[0])) {
		r = applet_find(argv[0])->run(argc, argv);
		job_end(r);
		return r;
	}
	if (argc > 0 && strstr(path_base(argv[0]), "-credential-")) {
		/* docker-credential-cloche and git-credential-cloche */
		r = cli_secret_as(argv, &err);
		stderr_line("cloche: %s", err.msg);
		return r < 0 ? 1 : r;
	}
	if (!strcmp(options_verb, EMBED_VERB)) {
		r = cli_embedded(argc - 1, argv + 1, &err);
		return r < 0 ? EXIT_NOT_BUILT : r;
	}
	if (!strcmp(options_verb, "--version") || !strcmp(options_verb, "-V") ||
	    !strcmp(options_verb, "version")) {
		printf("cloche %s\n", CLOCHE_VERSION);
		return flush_output(0);
	}
	if (!strcmp(options_verb, "--help") || !strcmp(options_verb, "-h"))
		options_verb = "help";
	c = strcmp(options_verb, ssh_connect.name) ? verb_find(options_verb) :
						     &ssh_connect;
	if (c && argc > 1)
		r = run_verb(c, argc - 1, argv + 1, &err);
	else if (c)
		r = c->raw(0, argv, &err);	/* help */
	else
		r = fail_unknown(argc, argv, &err);
	if (r < 0)
		stderr_line("cloche: %s", err.msg);
	r = exit_code(flush_output(exit_code(r)));
	job_end(r);
	return r;
}
