/* SPDX-License-Identifier: Apache-2.0 */
/* cli/main.c - find the verb, run it, say once what went wrong */

#include <errno.h>
#include <stdbool.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "cage/cage.h"
#include "cli/command.h"
#include "cli/persona.h"
#include "cli/words.h"
#include "lib/job.h"
#include "lib/embed.h"
#include "lib/session.h"
#include "lib/startable.h"
#include "plan/exit.h"

static const struct command commands[] = {
#define COMMAND(id, name, synopsis, help) { name, synopsis, help, cli_##id },
#include "cli/commands.def"
#undef COMMAND
	{ 0 },
};

static const struct command hidden[] = {
	{ "ssh-connect", "HOST PORT", "ssh's ProxyCommand", cli_ssh_connect },
	{ 0 },
};

static const char *verb = "help";

const char *cli_verb(void)
{
	return verb;
}

const struct command *command_table(void)
{
	return commands;
}

static const struct command *find_in(const struct command *c, const char *name)
{
	while (c->name && strcmp(c->name, name) != 0)
		c++;
	return c->name ? c : NULL;
}

const struct command *command_find(const char *name)
{
	return find_in(commands, name);
}

int cli_fail_verb(const char *name, struct err *err)
{
	struct text_near near = { .word = name };

	for (const struct command *c = commands; c->name; c++)
		(void)text_near_try(&near, c->name);
	if (near.best)
		return fail(err, -EINVAL, "no command '%s'; did you mean 'cloche %s'?",
			    name, near.best);
	return fail(err, -EINVAL, "no command '%s'; 'cloche help' lists them",
		    name);
}

/* "cloche npm test" is probably "cloche run -- npm test" */
static int fail_unknown(int argc, char **argv, struct err *err)
{
	const char *path = getenv("PATH");
	auto_free char *cwd = getcwd(NULL, 0);
	auto_free char *program = NULL;
	auto_buf struct buf line = { 0 };
	const int first = strcmp(argv[1], "--") ? 1 : 2;

	if (first < argc && cwd)
		program = startable_find(argv[first], path ? path : "", cwd);
	for (int i = first; program && i < argc; i++) {
		buf_addc(&line, ' ');
		text_shell_quote(&line, argv[i]);
	}
	if (program)
		return fail(err, -EINVAL, "no command '%s'; to run a program in the sandbox: cloche run --%s",
			    argv[1], buf_str(&line));
	return cli_fail_verb(argv[1], err);
}

/* Wrong usage is 2 for verbs that answer questions; for verbs that run
 * something 125 says that nothing ran
 */
static int exit_code(int r)
{
	if (r >= 0)
		return r;
	if (!strcmp(verb, "run") || !strcmp(verb, "as"))
		return EXIT_NOT_BUILT;
	return 2;
}

static bool is_help(const char *word)
{
	return !strcmp(word, "--help") || !strcmp(word, "-h");
}

/* "cloche run --help", "cloche policy why --help"; secret tells its own */
static bool asks_for_help(const struct command *c, int argc, char **argv)
{
	return c->run != cli_secret &&
	       ((argc > 1 && is_help(argv[1])) ||
		(argc > 2 && word_first(c) && is_help(argv[2])));
}

static int run_command(const struct command *c, int argc, char **argv,
		       struct err *err)
{
	char *help[] = { argv[0], argv[0], argc > 1 ? argv[1] : NULL, NULL };

	if (asks_for_help(c, argc, argv))
		return cli_help(3, help, err);
	return c->run(argc, argv, err);
}

/* What was not written was not said: whoever reads it must not take the half of
 * an answer, or none, for the whole one
 */
static int say_all(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	cli_tell("cloche: cannot write to standard output: %s",
		 strerror(errno));
	return code ? code : 2;
}

int main(int argc, char **argv)
{
	struct err err = { 0 };
	const struct command *c;
	int r;

	/* Its caller would choose the policy of another user's sandbox */
	if (getauxval(AT_SECURE)) {
		cli_tell("cloche: this copy is set-user-id or has capabilities, and does nothing so; install it without");
		return EXIT_NOT_BUILT;
	}
	if (argc > 1)
		verb = argv[1];
	/* Ignored, no child could be waited for */
	(void)signal(SIGCHLD, SIG_DFL);
	cage_set_image(argv, environ);
	session_set_program("/proc/self/exe");
	if (argc > 0 && persona_find(argv[0])) {
		r = persona_find(argv[0])->run(argc, argv);
		job_end(r);
		return r;
	}
	if (argc > 0 && strstr(path_base(argv[0]), "-credential-")) {
		/* docker-credential-cloche and git-credential-cloche */
		r = cli_secret_as(argv, &err);
		cli_tell("cloche: %s", err.msg);
		return r < 0 ? 1 : r;
	}
	if (!strcmp(verb, EMBED_VERB)) {
		r = cli_embedded(argc - 1, argv + 1, &err);
		return r < 0 ? EXIT_NOT_BUILT : r;
	}
	if (!strcmp(verb, "--version") || !strcmp(verb, "-V") ||
	    !strcmp(verb, "version")) {
		printf("cloche %s\n", CLOCHE_VERSION);
		return say_all(0);
	}
	if (!strcmp(verb, "--help") || !strcmp(verb, "-h"))
		verb = "help";
	c = command_find(verb);
	if (!c)
		c = find_in(hidden, verb);
	if (c && argc > 1)
		r = run_command(c, argc - 1, argv + 1, &err);
	else if (c)
		r = c->run(0, argv, &err);
	else
		r = fail_unknown(argc, argv, &err);
	if (r < 0)
		cli_tell("cloche: %s", err.msg);
	r = say_all(exit_code(r));
	job_end(r);
	return r;
}
