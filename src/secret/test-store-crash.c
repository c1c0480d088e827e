/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writers that are killed, and writers that are many. The counts are those of
 * an ordinary test run; CLOCHE_LONG makes them ten times as many.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "secret/credential-store.h"
#include "test.h"

enum { KILLS = 500, WRITERS = 64, PADDING = 20000 };

/* Updates of each writer in an ordinary run: each waits for the disk */
enum { UPDATES = 10 };

/**
 * struct shared - What the writer tells, in memory that both see
 * @trying:	The number that is being written
 * @done:	The number whose write has returned
 */
struct shared {
	volatile int trying, done;
};

static char key[512];
static struct store store;
static struct err err;

static int repeat(int n)
{
	return getenv("CLOCHE_LONG") ? 10 * n : n;
}

static void begin(void)
{
	test_home();
	snprintf(key, sizeof(key), "%s/key", test_dir());
	test_write(key, "0123456789abcdef0123456789abcdef");
	CHECK_INT(chmod(key, 0600), 0);
}

static void open_store(const char *key_file)
{
	const struct key_source source = { .key_file = key_file };

	CHECK_INT(store_open(&store, NULL, NULL, &source, &err), 0);
	store.lock_ms = 120000;
}

/**
 * struct member - A member to set
 */
struct member {
	const char *name;
	json_t *value;
};

static int set_member(json_t *doc, void *arg, struct err *why)
{
	const struct member *m = arg;

	(void)why;
	document_put(doc, m->name, m->value);
	return 1;
}

static int set(const char *name, json_t *value)
{
	struct member m = { name, value };

	return store_edit(&store, false, set_member, &m, &err);
}

/* {"n":NUMBER,"padding":"..."}: large enough to be killed in the middle of */
static _Noreturn void write_forever(const char *key_file, struct shared *told,
				    int ready)
{
	auto_bytes struct bytes padding = { 0 };

	open_store(key_file);
	while (padding.len < PADDING)
		bytes_add(&padding, "x", 1);
	CHECK_INT(set("padding", json_string(padding.p)), 1);
	CHECK_INT(write(ready, "", 1), 1);
	for (;;) {
		told->trying = told->done + 1;
		CHECK_INT(set("n", json_integer(told->trying)), 1);
		told->done = told->trying;
	}
}

static int number_in(const char *key_file)
{
	json_auto_t *doc = NULL;
	const json_t *value;

	open_store(key_file);
	if (store_read(&store, &doc, &err) < 0)
		test_fail(__FILE__, __LINE__, "%s", err.msg);
	store_close(&store);
	value = json_object_get(doc, "n");
	return value ? (int)json_integer_value(value) : -1;
}

/* No file may be left that other users can read, or that no store uses */
static void check_files(void)
{
	const char *path = test_path(".local/state/cloche/secrets");
	auto_closedir DIR *dir = opendir(path);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)) != NULL) {
		struct stat st;

		if (entry->d_name[0] == '.')
			continue;
		CHECK_INT(fstatat(dirfd(dir), entry->d_name, &st,
				  AT_SYMLINK_NOFOLLOW), 0);
		CHECK_INT(st.st_mode & 07777, 0600);
		CHECK(!strncmp(entry->d_name, "credentials", 11));
	}
}

static void wait_randomly(void)
{
	unsigned int chance = 0;
	struct timespec moment = { 0 };

	CHECK(getrandom(&chance, sizeof(chance), 0) == sizeof(chance));
	moment.tv_nsec = (long)(chance % 8000000);
	(void)nanosleep(&moment, NULL);
}

static void kill_writers(const char *key_file)
{
	struct shared *told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int neither = 0, advanced = 0;

	CHECK(told != MAP_FAILED);
	for (int i = 0; i < repeat(KILLS); i++) {
		const int before = told->done;
		int n, ready[2];
		char byte;
		pid_t pid;

		CHECK_INT(pipe(ready), 0);
		pid = fork();
		if (!pid)
			write_forever(key_file, told, ready[1]);
		CHECK_INT(read(ready[0], &byte, 1), 1);
		close(ready[0]);
		close(ready[1]);
		wait_randomly();
		CHECK_INT(kill(pid, SIGKILL), 0);
		CHECK_INT(waitpid(pid, NULL, 0), pid);
		n = number_in(key_file);
		neither += n >= 0 && n != told->done && n != told->trying;
		neither += n < 0 && told->done > 0;
		check_files();
		told->done = n > 0 ? n : 0;
		advanced += told->done > before;
	}
	printf("# %d kills, %d of them after a finished write\n",
	       repeat(KILLS), advanced);
	CHECK_INT(neither, 0);
	CHECK(advanced > repeat(KILLS) / 20);	/* It did write */
}

TEST(a_killed_writer_leaves_the_old_or_new_encrypted_file)
{
	begin();
	kill_writers(key);
}

TEST(a_killed_writer_leaves_the_old_or_new_plaintext_file)
{
	begin();
	kill_writers(NULL);
}

static _Noreturn void write_own(int writer)
{
	open_store(key);
	for (int i = 0; i < repeat(UPDATES); i++) {
		auto_free char *name = mem_printf("w%d-%d", writer, i);

		if (set(name, json_string("x")) != 1)
			_exit(1);
	}
	store_close(&store);
	_exit(0);
}

TEST(sixty_four_writers_lose_no_value)
{
	json_auto_t *doc = NULL;
	int good = 0, status;

	begin();
	for (int i = 0; i < WRITERS; i++) {
		if (!fork())
			write_own(i);
	}
	while (wait(&status) > 0)
		good += !status;
	CHECK_INT(good, WRITERS);
	open_store(key);
	CHECK_INT(store_read(&store, &doc, &err), 1);
	CHECK_INT(json_object_size(doc), WRITERS * repeat(UPDATES));
	store_close(&store);
}
