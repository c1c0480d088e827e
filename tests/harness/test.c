/* SPDX-License-Identifier: Apache-2.0 */
/* tests/harness/test.c - one forked child per TEST(), TAP on stdout */

#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "ns.h"

enum { EXIT_SKIPPED = 77, TEST_SECONDS = 240, SANITIZED_TIMES = 3 };

static struct test *first, **last = &first;
static char dir[4096];		/* Made before the fork, so that it is removed */

void test_register(struct test *test)
{
	*last = test;
	last = &test->next;
}

void test_skip(const char *fmt, ...)
{
	va_list ap;

	printf("# ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	_exit(EXIT_SKIPPED);
}

void test_fail(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	printf("# %s:%d: ", file, line);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	fflush(stdout);
	_exit(1);
}

const char *test_dir(void)
{
	return dir;
}

/* Reachable for the leak checker */
static const char *keep(char *text)
{
	static struct { char **v; size_t len, cap; } kept;

	return *vec_push(&kept) = text;
}

const char *test_path(const char *name)
{
	return keep(path_join(dir, name));
}

void test_home(void)
{
	static const char *const elsewhere[] = {
		"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
		"DBUS_SESSION_BUS_ADDRESS", "CLOCHE_PASSPHRASE_FILE",
		"CLOCHE_KEY_FILE",
	};

	CHECK_INT(setenv("HOME", dir, 1), 0);
	for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++)
		unsetenv(elsewhere[i]);
}

void test_enter(int flags)
{
	const int r = ns_enter(flags);

	if (r < 0)
		test_skip("no user namespaces here: %s", strerror(-r));
}

int test_in_child(void (*fn)(void))
{
	const pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (!pid) {
		fn();
		_exit(0);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	return status;
}

void test_write(const char *path, const char *text)
{
	auto_free char *parent = path_parent(path);
	auto_close int up = fs_open_dir_p(parent, 0755, NULL);
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
				 0644);

	CHECK(up >= 0);
	CHECK(fd >= 0);
	CHECK_INT(fs_write_all(fd, text, strlen(text)), 0);
}

const char *test_read(const char *path)
{
	struct buf b = { 0 };

	if (fs_read(AT_FDCWD, path, 1 << 24, &b, NULL) < 0)
		return NULL;
	return keep(buf_take(&b));
}

uint32_t test_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	if (type == FTW_DNR)
		(void)chmod(path, 0700);
	(void)remove(path);
	return 0;
}

static void make_dir(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%s/cloche-test-XXXXXX",
		 tmp && *tmp == '/' ? tmp : "/tmp");
	if (!mkdtemp(dir)) {
		perror(dir);
		exit(1);
	}
}

static int run_one(const struct test *test)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return -1;
	if (!pid) {
		setpgid(0, 0);
		alarm(getenv("ASAN_OPTIONS") ? SANITIZED_TIMES * TEST_SECONDS : TEST_SECONDS);
		test->fn();
		fflush(stdout);
		exit(0);	/* With sanitizers, leaks are looked for here */
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	(void)kill(-pid, SIGKILL);	/* What it left running */
	return status;
}

/* TAP for one result; returns 1 if it counts as a failure */
static int report(int number, const struct test *test, int status)
{
	const bool skipped = WIFEXITED(status) &&
			     WEXITSTATUS(status) == EXIT_SKIPPED;
	const bool must = getenv("CLOCHE_MUST_WORK") != NULL;
	const bool good = WIFEXITED(status) && !WEXITSTATUS(status);

	if (WIFSIGNALED(status))
		printf("# ended by signal %d\n", WTERMSIG(status));
	printf("%s %d - %s%s\n", good || (skipped && !must) ? "ok" : "not ok",
	       number, test->name, skipped && !must ? " # SKIP" : "");
	fflush(stdout);
	return !(good || (skipped && !must));
}

int main(void)
{
	const char *filter = getenv("TEST_FILTER");
	int number = 0, failed = 0;

	for (const struct test *t = first; t; t = t->next) {
		if (filter && !strstr(t->name, filter))
			continue;
		make_dir();
		failed += report(++number, t, run_one(t));
		(void)nftw(dir, remove_one, 16, FTW_PHYS);
		(void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	}
	printf("1..%d\n", number);
	return failed ? 1 : 0;
}
