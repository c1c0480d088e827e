/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/secret/main.c - the program behind `cloche secret`
 *
 * A program of its own, so that `cloche` links no cryptographic library. It
 * hardens itself before it looks at anything. Under the names
 * docker-credential-cloche and git-credential-cloche it is their helper.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "cli/secret/secret.h"
#include "secret/bytes.h"
#include "secret/harden.h"
#include "secret/store.h"

static const struct secret_command commands[] = {
#define SECRET_COMMAND(id, name, synopsis, fewest, most, help) \
	{ name, synopsis, fewest, most, help, secret_##id },
#include "cli/secret/commands.def"
#undef SECRET_COMMAND
};

static const struct secret_command *find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	}
	return NULL;
}

/* The help of all verbs, or with @name of that one */
static void print_help(const char *name)
{
	const struct secret_command *only = name ? find_command(name) : NULL;

	if (only)
		printf("Usage: cloche secret %s [OPTIONS] %s\n%s\n", only->name,
		       only->synopsis, only->help);
	else
		puts("Usage: cloche secret COMMAND [OPTIONS] [NAME]\n\nCommands:");
	for (size_t i = 0; !only && i < ARRAY_SIZE(commands); i++)
		printf("  %-17s %-21s %s\n", commands[i].name,
		       commands[i].synopsis, commands[i].help);
	secret_help_options(only ? name : NULL);
}

/* The directory of this program if the helper is there too, else NULL: where
 * it was installed. The caller frees.
 */
static char *programs_dir(void)
{
	char self[4096];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	auto_free char *dir = NULL, *helper = NULL;

	if (n <= 0)
		return NULL;
	self[n] = '\0';
	dir = path_parent(self);
	helper = path_join(dir, "cloche-secret-service");
	return access(helper, X_OK) < 0 ? NULL : take_ptr(dir);
}

/* Somebody is there to be asked for the passphrase: only where the encrypted
 * file was asked for, or already exists
 */
static bool may_ask(const struct arguments *args, bool move)
{
	return isatty(STDERR_FILENO) &&
	       (move || !args->backend || !strcmp(args->backend, "file"));
}

static void tell_slow(const char *backend)
{
	fprintf(stderr, "cloche: waiting for the keyring (%s), %d s at most\n",
		backend, STORE_KEYRING_MS / 1000);
}

static int open_and_run(const struct secret_command *command,
			const struct arguments *args, struct err *err)
{
	auto_free char *programs = programs_dir();
	const bool move = command->run == secret_move;
	bool make_by_asking = args->backend != NULL;
	struct store_options options = {
		.backend = move ? NULL : args->backend,
		.service = args->service,
		.programs = programs,
		.slow = tell_slow,
		.key = {
			.passphrase_file = args->passphrase_file,
			.key_file = args->key_file,
			.keyring = args->keyring,
			.ask = may_ask(args, move) ? input_passphrase : NULL,
			.ask_arg = &make_by_asking,
		},
	};
	struct secret_session s = { .args = args };
	int r = loop_new(&s.loop, err);

	if (r < 0)
		return r;
	r = secret_store_open(s.loop, &options, &s.store, err);
	if (!r) {
		r = command->run(&s, err);
		secret_store_free(s.store);
	}
	loop_free(s.loop);
	if (r >= 0 && bytes_unlocked())
		fputs("Warning: The memory cannot be locked (see ulimit -l): a secret may reach the swap.\n",
		      stderr);
	return r;
}

static int run(int argc, char **argv, struct err *err)
{
	const struct secret_command *command;
	struct arguments args = { 0 };
	const char *verb;
	int r;

	if (argc < 2)
		return fail(err, -EINVAL, "secret needs a command; 'cloche secret --help' lists them");
	secret_verb_first(argc, argv);
	verb = argv[1];
	command = find_command(verb);

	if (!strcmp(verb, "--help") || !strcmp(verb, "-h") ||
	    !strcmp(verb, "help")) {
		print_help(NULL);
		return EXIT_YES;
	}
	if (!command)
		return fail(err, -EINVAL,
			    "unknown command 'secret %s'; 'cloche secret --help' lists them",
			    verb);
	for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			print_help(verb);
			return EXIT_YES;
		}
	}
	r = secret_parse(argc - 1, argv + 1, command, &args, err);
	return r < 0 ? r : open_and_run(command, &args, err);
}

/* As docker-credential-cloche or git-credential-cloche: the verb, or NULL */
static const char *verb_of(const char *program)
{
	static const char *const verbs[] = { "docker-credential",
					     "git-credential" };
	const char *name = path_base(program);

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		const size_t n = strlen(verbs[i]);

		if (!strncmp(name, verbs[i], n) && name[n] == '-')
			return verbs[i];
	}
	return NULL;
}

/* ACTION under one of those names */
static int run_helper(const char *verb, int argc, char **argv,
		      struct err *err)
{
	auto_free char *word = mem_strdup(verb);
	char *full[] = { argv[0], word, argc > 1 ? argv[1] : NULL, NULL };

	return run(argc > 1 ? 3 : 2, full, err);
}

int main(int argc, char **argv)
{
	const char *verb = argc > 0 ? verb_of(argv[0]) : NULL;
	struct err err = { 0 };
	int r = harden_process(&err);

	if (r >= 0 && argc == 2 && !strcmp(argv[1], "helper"))
		return secret_helper();
	if (r >= 0)
		r = verb ? run_helper(verb, argc, argv, &err) :
			   run(argc, argv, &err);
	if (r >= 0 && (fflush(stdout) == EOF || ferror(stdout)))
		r = fail_errno(&err, "cannot write to standard output");
	if (r >= 0)
		return r;
	fprintf(stderr, "cloche: %s\n", err.msg);
	return r == -EINVAL ? EXIT_USAGE : EXIT_NO;
}
