/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/timer.c - times many commands, interleaved
 *
 * Reads variants from standard input, one a line: a name, a number of rounds,
 * and the command's words, separated by tabs. In every round each variant that
 * has rounds left runs once, in a new random order, so that whatever the
 * machine does meanwhile hits all of them. Time is posix_spawn to wait4 in
 * this process, on the monotonic clock. Prints, for each run, "name<TAB>wall
 * us<TAB>cpu us<TAB>exit status". Input and output of the commands are
 * /dev/null.
 */

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { VARIANTS_MAX = 64, WORDS_MAX = 4096, LINE_MAX_BYTES = 1 << 20 };

struct variant {
	char *name;
	long rounds;
	char **argv;
};

static struct variant variants[VARIANTS_MAX];
static size_t count;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static long long now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static void add_variant(char *line)
{
	struct variant *v = &variants[count];
	char *save = NULL;
	size_t n = 0;

	if (count == VARIANTS_MAX)
		exit(2);
	v->name = strdup(strtok_r(line, "\t\n", &save));
	v->rounds = strtol(strtok_r(NULL, "\t\n", &save), NULL, 10);
	v->argv = calloc(WORDS_MAX, sizeof(*v->argv));
	if (!v->argv)
		die("timer");
	for (char *w = strtok_r(NULL, "\t\n", &save); w && n < WORDS_MAX - 1;
	     w = strtok_r(NULL, "\t\n", &save))
		v->argv[n++] = strdup(w);
	count++;
}

static void time_one(const struct variant *v, posix_spawn_file_actions_t *to)
{
	extern char **environ;
	struct rusage usage;
	long long start, end;
	int status;
	pid_t pid;

	start = now_us();
	errno = posix_spawnp(&pid, v->argv[0], to, NULL, v->argv, environ);
	if (errno)
		die(v->argv[0]);
	while (wait4(pid, &status, 0, &usage) < 0 && errno == EINTR)
		;
	end = now_us();
	printf("%s\t%lld\t%lld\t%d\n", v->name, end - start,
	       (long long)usage.ru_utime.tv_sec * 1000000 +
	       usage.ru_utime.tv_usec +
	       (long long)usage.ru_stime.tv_sec * 1000000 +
	       usage.ru_stime.tv_usec, WIFEXITED(status) ?
	       WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void shuffle(size_t *order, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		const size_t j = (size_t)random() % i, t = order[i - 1];

		order[i - 1] = order[j];
		order[j] = t;
	}
}

int main(void)
{
	posix_spawn_file_actions_t to_null;
	size_t order[VARIANTS_MAX];
	char *line = malloc(LINE_MAX_BYTES);
	long most = 0;

	while (line && fgets(line, LINE_MAX_BYTES, stdin))
		add_variant(line);
	free(line);
	posix_spawn_file_actions_init(&to_null);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&to_null, fd, "/dev/null",
						 O_RDWR, 0);
	srandom((unsigned int)getpid());
	for (size_t i = 0; i < count; i++) {
		order[i] = i;
		most = variants[i].rounds > most ? variants[i].rounds : most;
	}
	for (long round = 0; round < most; round++) {
		shuffle(order, count);
		for (size_t i = 0; i < count; i++) {
			/* Few rounds are spread over the whole run */
			const long n = variants[order[i]].rounds;

			if ((round + 1) * n / most > round * n / most)
				time_one(&variants[order[i]], &to_null);
		}
	}
	return 0;
}
