/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret/cloche-secret.c - the program behind `cloche secret`
 *
 * A program of its own, so that `cloche` links no cryptographic library. It
 * hardens itself before it looks at anything. Under the names
 * docker-credential-cloche and git-credential-cloche it is their helper.
 */

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "secret/credential-store.h"
#include "secret/harden.h"
#include "secret/secret-verbs.h"

static const struct verb {
	const char *name, *synopsis;
	int fewest, most;
	int (*run)(struct store *s, const struct arguments *args,
		   struct err *err);
} verbs[] = {
#define SECRET_COMMAND(id, name, synopsis, fewest, most, help) \
	{ name, synopsis, fewest, most, secret_##id },
#include "secret/secret-verbs.def"
#undef SECRET_COMMAND
};

static const struct {
	const char *name, *argument, *verbs;
	size_t field;
} options[] = {
#define SECRET_OPTION(field, name, argument, verbs, help) \
	{ name, argument, verbs, offsetof(struct arguments, field) },
#include "secret/secret-options.def"
#undef SECRET_OPTION
};

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (!strcmp(verbs[i].name, name))
			return &verbs[i];
	}
	return NULL;
}

/* The options, wherever they stand: 0 with @ret, or -EINVAL */
static int parse_options(int argc, char **argv, struct arguments *ret,
			 struct err *err)
{
	struct option longs[ARRAY_SIZE(options) + 1] = { 0 };
	int c, i;

	for (size_t o = 0; o < ARRAY_SIZE(options); o++)
		longs[o] = (struct option){ options[o].name,
			options[o].argument ? required_argument : no_argument,
			NULL, 0 };
	opterr = 0;
	while ((c = getopt_long(argc, argv, ":", longs, &i)) >= 0) {
		if (c == ':' || (!c && optarg && !*optarg))
			return fail(err, -EINVAL, "%s needs an argument",
				    argv[optind - 1]);
		if (c == '?')
			return fail(err, -EINVAL, "unknown option '%.*s'",
				    (int)strcspn(argv[optind - 1], "="),
				    argv[optind - 1]);
		*(const char **)(void *)((char *)ret + options[i].field) =
			optarg ? optarg : "";
	}
	return 0;
}

/* The options that were given are some that @verb takes, and so are the other
 * arguments. 0 or -EINVAL; they are not shown, because one may be a value.
 */
static int check_usage(const struct verb *verb, const struct arguments *args,
		       int count, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		if (*(const char *const *)(const void *)
		    ((const char *)args + options[i].field) &&
		    !text_has_word(options[i].verbs, verb->name))
			return fail(err, -EINVAL,
				    "unknown option '--%s' of 'secret %s'",
				    options[i].name, verb->name);
	}
	if (count < verb->fewest)
		return fail(err, -EINVAL, "usage: cloche secret %s %s",
			    verb->name, verb->synopsis);
	if (count > verb->most && verb->run == secret_set)
		return fail(err, -EINVAL,
			    "'secret set' takes one NAME; the value comes from standard input, never from the command line");
	if (count > verb->most)
		return fail(err, -EINVAL, "too many arguments after 'secret %s'",
			    verb->name);
	return 0;
}

static void report_slow(void)
{
	fprintf(stderr,
		"cloche: waiting for the keyring (secret-service), %d s at most\n",
		STORE_KEYRING_MS / 1000);
}

static void print_warnings(unsigned int warnings)
{
	static const struct {
		unsigned int bit;
		const char *text;
	} texts[] = {
		{ WARN_PLAINTEXT, "Storing credentials in plaintext." },
		{ WARN_LEFTOVER, "The old copy could not be removed; it is no longer used." },
		{ WARN_ROLLBACK, "The store is older than the one last seen here: was a backup restored?" },
		{ WARN_LOOSE_KEY, "Others can read the file with the passphrase or key: run chmod 600 on it." },
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (warnings & texts[i].bit)
			fprintf(stderr, "Warning: %s\n", texts[i].text);
	}
	if (locked_failures())
		fputs("Warning: The memory cannot be locked (see ulimit -l): a secret may be swapped out.\n",
		      stderr);
}

static int open_and_run(const struct verb *verb, const struct arguments *args,
			struct err *err)
{
	const bool move = verb->run == secret_move;
	struct key_source key = {
		.passphrase_file = args->passphrase_file,
		.key_file = args->key_file,
		.keyring = args->keyring,
		.may_make = args->backend != NULL,
	};
	struct store s;
	int r;

	if (isatty(STDERR_FILENO) &&
	    (move || !args->backend || !strcmp(args->backend, "file")))
		key.ask = input_passphrase;
	r = store_open(&s, args->service, move ? NULL : args->backend, &key,
		       err);
	if (r < 0)
		return r;
	s.slow = report_slow;
	r = verb->run(&s, args, err);
	if (r == EXIT_YES)
		print_warnings(s.warnings);
	store_close(&s);
	return r;
}

static int run_verb(int argc, char **argv, struct err *err)
{
	struct arguments args = { 0 };
	const int r = parse_options(argc, argv, &args, err);
	const char *name = optind < argc ? argv[optind] : NULL;
	const struct verb *verb = name ? find_verb(name) : NULL;

	if (r < 0)
		return r;
	if (!verb)
		return fail(err, -EINVAL, "%s%s%s; 'cloche help secret' lists them",
			    name ? "unknown command 'secret " :
				   "secret needs a command",
			    name ? name : "", name ? "'" : "");
	args.word = optind + 1 < argc ? argv[optind + 1] : NULL;
	if (check_usage(verb, &args, argc - optind - 1, err) < 0)
		return -EINVAL;
	return open_and_run(verb, &args, err);
}

int main(int argc, char **argv)
{
	const char *name = argc > 0 ? path_base(argv[0]) : "";
	const char *verb = !strncmp(name, "docker-credential-", 18) ? "docker-credential" :
			   !strncmp(name, "git-credential-", 15) ? "git-credential" : NULL;
	auto_free char *word = verb ? mem_strdup(verb) : NULL;
	char *helper[] = { argv[0], word, argc > 1 ? argv[1] : NULL, NULL };
	struct err err = { 0 };
	int r = harden_process(&err);

	if (r >= 0)
		r = verb ? run_verb(argc > 1 ? 3 : 2, helper, &err) :
			   run_verb(argc, argv, &err);
	if (r >= 0 && (fflush(stdout) == EOF || ferror(stdout)))
		r = fail_errno(&err, "cannot write to standard output");
	if (r >= 0)
		return r;
	fprintf(stderr, "cloche: %s\n", err.msg);
	return r == -EINVAL ? EXIT_USAGE : EXIT_NO;
}
