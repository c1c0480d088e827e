/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/attack/probe.c - tries forbidden things and says how each ended
 *
 *	probe NAME [ARG...]	one attempt
 *	probe -			attempts from standard input, one a line
 *	probe walk		see probe-walk.c
 *	probe list		the attempts there are
 *
 * For each attempt one line "NAME ARG...: RESULT": OK, an errno's name, or the
 * name of the signal that ended it. The tool judges nothing; the tests do.
 */

#include "probe.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MAX = 16, EXIT_USAGE = 2 };

static const struct {
	const char *name;
	int (*fn)(char **argv);
	int args;
	const char *what;
} attempts[] = {
#define PROBE(name, fn, args, what) { name, fn, args, what },
#include "probe.def"
#undef PROBE
};

long probe_number(const char *text)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 0);
	if (errno || *end || end == text) {
		fprintf(stderr, "probe: '%s' is not a number\n", text);
		exit(EXIT_USAGE);
	}
	return n;
}

int probe_result(long r)
{
	return r < 0 ? -errno : 0;
}

/* Run @fn in a child; its result through a shared page, as it may be killed */
static int run_attempt(int (*fn)(char **argv), char **argv, int *status)
{
	int *const result = mmap(NULL, sizeof(*result),
				    PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;
	int r;

	if (result == MAP_FAILED)
		return -errno;
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		*result = fn(argv);
		fflush(stdout);
		_exit(0);
	}
	while (waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
	r = *result;
	munmap(result, sizeof(*result));
	return r;
}

static int attempt(int argc, char **argv)
{
	int status = 0, r;

	for (size_t i = 0; i < sizeof(attempts) / sizeof(*attempts); i++) {
		if (strcmp(attempts[i].name, argv[0]) != 0)
			continue;
		if (argc - 1 != attempts[i].args)
			break;
		r = run_attempt(attempts[i].fn, argv + 1, &status);
		for (int j = 0; j < argc; j++)
			printf("%s%s", j ? " " : "", argv[j]);
		if (WIFSIGNALED(status))
			printf(": SIG%s\n", sigabbrev_np(WTERMSIG(status)));
		else if (WEXITSTATUS(status))
			printf(": exit %d\n", WEXITSTATUS(status));
		else
			printf(": %s\n", r ? strerrorname_np(-r) : "OK");
		fflush(stdout);
		return 0;
	}
	fprintf(stderr, "probe: wrong name or arguments: %s\n", argv[0]);
	return EXIT_USAGE;
}

static int attempts_from_stdin(void)
{
	char line[8192], *words[WORDS_MAX];
	int n, r = 0;

	while (fgets(line, sizeof(line), stdin)) {
		char *save = NULL;

		n = 0;
		for (char *w = strtok_r(line, " \n", &save); w && n < WORDS_MAX;
		     w = strtok_r(NULL, " \n", &save))
			words[n++] = w;
		if (n)
			r |= attempt(n, words);
	}
	return r;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "-"))
		return attempts_from_stdin();
	if (argc == 2 && !strcmp(argv[1], "walk"))
		return probe_walk();
	if (argc == 2 && !strcmp(argv[1], "list")) {
		for (size_t i = 0; i < sizeof(attempts) / sizeof(*attempts); i++)
			printf("%-16s %s\n", attempts[i].name,
			       attempts[i].what);
		return 0;
	}
	if (argc > 1)
		return attempt(argc - 1, argv + 1);
	fprintf(stderr, "probe: name an attempt; 'probe list' lists them\n");
	return EXIT_USAGE;
}
