/* SPDX-License-Identifier: Apache-2.0 */
/* observe/test-attack.c - races against the observer */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "test.h"
#include "observe/test-watched.h"

enum { THREADS = 32, EACH = 4 };

/* A million in the long run */
static unsigned int swaps_wanted(void)
{
	return getenv("CLOCHE_LONG") ? 1000000 : 100000;
}

static atomic_bool stop;
static atomic_uint wrote_plain;
static atomic_uint *swaps;	/* Shared with other processes */
static char text[64];

/* Rewrite the path in memory while the kernel and the observer read it */
static void *swap_text(void *arg)
{
	static const char *const texts[] = { "plain", "fixed", "../out/f" };

	(void)arg;
	for (unsigned int i = 0; !stop; i++) {
		const char *from = texts[i % ARRAY_SIZE(texts)];

		for (size_t k = 0; k < sizeof("../out/f"); k++)
			((volatile char *)text)[k] =
				k <= strlen(from) ? from[k] : 0;
		++*swaps;
	}
	return NULL;
}

/* Exchange a file and links to what must not be written. From outside,
 * where no call is observed: faster than the sandbox could ever do it itself.
 */
static void swap_names(void)
{
	const unsigned int wanted = swaps_wanted();

	CHECK_INT(chdir(test_path("work")), 0);
	while (*swaps < wanted) {
		(void)syscall(SYS_renameat2, AT_FDCWD, "slot", AT_FDCWD,
			      *swaps % 2 ? "tofixed" : "toout",
			      RENAME_EXCHANGE);
		++*swaps;
	}
	_exit(0);
}

static void scribble(const char *path)
{
	auto_close int fd = open(path, O_WRONLY | O_TRUNC);
	struct stat st;

	if (fd < 0)
		return;
	CHECK_INT(write(fd, "evil", 4), 4);
	CHECK_INT(fstat(fd, &st), 0);
	wrote_plain++;
}

static int attack_text(void *arg)
{
	const unsigned int wanted = swaps_wanted();
	pthread_t thread;

	CHECK_INT(pthread_create(&thread, NULL, swap_text, NULL), 0);
	for (unsigned int i = 0; i < wanted / 10 || *swaps < wanted; i++)
		scribble(text);
	stop = true;
	pthread_join(thread, NULL);
	(void)arg;
	return wrote_plain ? 0 : 1;
}

static int attack_names(void *arg)
{
	const unsigned int wanted = swaps_wanted();

	(void)arg;
	while (*swaps < wanted)
		scribble("slot");
	return wrote_plain ? 0 : 1;
}

static void make_targets(void)
{
	test_write(test_path("work/plain"), "plain");
	test_write(test_path("work/slot"), "slot");
	test_write(test_path("out/f"), "out");
	CHECK_INT(symlink("fixed", test_path("work/tofixed")), 0);
	CHECK_INT(symlink("../out/f", test_path("work/toout")), 0);
	swaps = mmap(NULL, sizeof(*swaps), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(swaps != MAP_FAILED);
}

static void check_targets(const struct watched *w)
{
	CHECK(WIFEXITED(w->status));
	CHECK_INT(WEXITSTATUS(w->status), 0);	/* The allowed was written */
	CHECK_STR(test_read(test_path("work/fixed")), "fixed");
	CHECK_STR(test_read(test_path("out/f")), "out");
	CHECK(w->stats.refused > 0);		/* The others were tried */
	printf("# %llu asked, %llu quick, %llu refused, %llu unseen\n",
	       (unsigned long long)w->stats.asked,
	       (unsigned long long)w->stats.quick,
	       (unsigned long long)w->stats.refused,
	       (unsigned long long)w->stats.failed);
}

TEST(swapping_a_path_in_memory_never_bypasses_the_decision)
{
	static struct watched w;

	make_targets();
	watched_run(&w, attack_text, NULL);
	check_targets(&w);
}

TEST(swapping_files_and_symlinks_never_bypasses_the_decision)
{
	static struct watched w;

	make_targets();
	if (!fork())
		swap_names();
	watched_run(&w, attack_names, NULL);
	check_targets(&w);
}

/* The control: a policy that knows "plain" alone, and no mount over the other
 * file. The observer answers, the race is won, the file is written: the tests
 * above do try hard enough, and it is the floor that holds.
 */
static void only_plain(enum observer_op op, const char *path,
		       struct observer_verdict *ret)
{
	(void)op;
	*ret = (struct observer_verdict) { .reason = "test" };
	if (!strstr(path, "plain"))
		ret->answer = OBSERVER_DENIED;
}

static void *swap_weak(void *arg)
{
	(void)arg;
	while (!stop) {
		memcpy(text, "weak0", 6);
		atomic_signal_fence(memory_order_seq_cst);
		memcpy(text, "plain", 6);
		atomic_signal_fence(memory_order_seq_cst);
	}
	return NULL;
}

static int attack_weak(void *arg)
{
	pthread_t thread;
	struct stat st = { .st_size = 1 };

	(void)arg;
	CHECK_INT(pthread_create(&thread, NULL, swap_weak, NULL), 0);
	for (unsigned int i = 0; i < 5000 || (i < swaps_wanted() && st.st_size != 4);
	     i++) {
		scribble(text);
		(void)stat("weak0", &st);
	}
	stop = true;
	pthread_join(thread, NULL);
	return 0;
}

TEST(without_mounts_the_swap_race_succeeds)
{
	static struct watched w = { .rules.verdict = only_plain,
				    .slow = true };

	make_targets();
	test_write(test_path("work/weak0"), "");
	watched_run(&w, attack_weak, NULL);
	CHECK_INT(w.status, 0);
	CHECK_STR(test_read(test_path("work/weak0")), "evil");
	CHECK(w.stats.refused > 0);
}

static void *write_outside(void *arg)
{
	char path[64];

	for (int i = 0; i < EACH; i++) {
		snprintf(path, sizeof(path), "../out/t%d-%d",
			 (int)(intptr_t)arg, i);
		if (open(path, O_WRONLY | O_CREAT, 0600) >= 0 ||
		    errno != EROFS)
			return (void *)1;
	}
	return NULL;
}

static int many_threads(void *arg)
{
	pthread_t threads[THREADS];
	void *bad = NULL;

	(void)arg;
	for (intptr_t i = 0; i < THREADS; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, write_outside,
					 (void *)i), 0);
	for (int i = 0; i < THREADS; i++) {
		void *result;

		pthread_join(threads[i], &result);
		if (result)
			bad = result;
	}
	return bad ? 1 : 0;
}

TEST(refused_calls_of_32_threads_are_reported_under_one_process)
{
	static struct watched w;
	bool seen[THREADS][EACH] = { 0 };

	watched_run(&w, many_threads, NULL);
	CHECK_INT(w.status, 0);
	CHECK_INT(w.len, THREADS * EACH);
	for (size_t i = 0; i < w.len; i++) {
		char *rest;
		const long t = strtol(strrchr(w.v[i].target, '/') + 2, &rest,
				      10);
		const long n = strtol(rest + 1, NULL, 10);

		CHECK_INT(w.v[i].pid, w.v[0].pid);
		CHECK_INT(w.v[i].error, EROFS);
		CHECK(t >= 0 && t < THREADS && n >= 0 && n < EACH);
		CHECK(!seen[t][n]);
		seen[t][n] = true;
	}
}
