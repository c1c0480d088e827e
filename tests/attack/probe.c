/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/attack/probe.c - tries forbidden things and says how each ended
 *
 *	probe NAME [ARG...]	one attempt
 *	probe -			attempts from standard input, one a line
 *	probe walk		see probe-walk.c
 *	probe list		the attempts that only this program has
 *
 * Most attempts are those of cloche-verify (src/attack). For each one line "NAME ARG...: RESULT": OK, an errno's name, or the
 * name of the signal that ended it. The tool judges nothing; the tests do.
 */

#include "probe.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attack/attack.h"

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

/* Calls that take nothing useful: what gets through does nothing */
static const struct {
	const char *name;
	long number;
} calls[] = {
	{ "swapon", SYS_swapon },
	{ "reboot", SYS_reboot },
	{ "kexec", SYS_kexec_load },
	{ "init-module", SYS_init_module },
	{ "sethostname", SYS_sethostname },
	{ "settime", SYS_clock_settime },
	{ "acct", SYS_acct },
	{ "syslog", SYS_syslog },
};

static int (*own)(char **argv);	/* Of probe.def, if it is one of those */
static long number;

static int run_own(struct attack *a)
{
	return own(a->argv);
}

static int run_call(struct attack *a)
{
	(void)a;
	return attack_result(syscall(number, -1L, -1L, -1L, -1L, -1L, -1L));
}

static const struct attempt *find(const char *name)
{
	static struct attempt found;

	for (size_t i = 0; i < sizeof(attempts) / sizeof(*attempts); i++) {
		if (strcmp(attempts[i].name, name) != 0)
			continue;
		own = attempts[i].fn;
		found = (struct attempt){ name, run_own, attempts[i].args };
		return &found;
	}
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (strcmp(calls[i].name, name) != 0)
			continue;
		number = calls[i].number;
		found = (struct attempt){ name, run_call, 0 };
		return &found;
	}
	return attack_find(name);
}

static int attempt(int argc, char **argv)
{
	const struct attempt *row = find(argv[0]);
	static struct attack a;

	if (!row || (row->args >= 0 && row->args != argc - 1)) {
		fprintf(stderr, "probe: wrong name or arguments: %s\n",
			argv[0]);
		return EXIT_USAGE;
	}
	a = (struct attack){ .name = argv[0], .argv = argv + 1, .print = true,
			     .control = true };
	attack_run(row, &a, 0);
	for (int i = 0; i < argc; i++)
		printf("%s%s", i ? " " : "", argv[i]);
	if (a.found.error == ATTACK_NOTHING)
		printf(": exit\n");
	else if (a.found.error & ATTACK_SIGNAL)
		printf(": SIG%s\n", sigabbrev_np(a.found.error & ~ATTACK_SIGNAL));
	else
		printf(": %s\n", a.found.error ? strerrorname_np(a.found.error) : "OK");
	fflush(stdout);
	return 0;
}

static int attempts_from_stdin(void)
{
	char line[8192], *words[WORDS_MAX + 1];
	int n, r = 0;

	while (fgets(line, sizeof(line), stdin)) {
		char *save = NULL;

		n = 0;
		for (char *w = strtok_r(line, " \n", &save); w && n < WORDS_MAX;
		     w = strtok_r(NULL, " \n", &save))
			words[n++] = w;
		words[n] = NULL;
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
