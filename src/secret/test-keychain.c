/* SPDX-License-Identifier: Apache-2.0 */
/* secret/test-keychain.c - the keychain by its program, here a stand-in */

#include "secret/keychain.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/loop.h"
#include "base/own.h"
#include "secret/backend.h"
#include "secret/bytes.h"
#include "secret/sync.h"
#include "test.h"

static struct loop *loop;
static struct backend *keychain;
static struct sync last;

static void begin(unsigned int ms)
{
	CHECK_INT(setenv("HOME", test_dir(), 1), 0);
	CHECK_INT(loop_new(&loop, NULL), 0);
	keychain = keychain_new(loop, STAND_IN, "cloche", "user", ms);
	last.loop = loop;
}

static void end(void)
{
	sync_done(&last);
	backend_free(keychain);
	loop_free(loop);
}

static void mood(const char *word)
{
	const char *path = test_path("mood");

	test_write(path, word);
}

static int get(void)
{
	last.answered = false;
	backend_read(keychain, sync_answer, &last);
	return sync_wait(&last);
}

static int put(const struct bytes *data)
{
	last.answered = false;
	backend_update(keychain, data, sync_answer, &last);
	return sync_wait(&last);
}

static int drop(void)
{
	last.answered = false;
	backend_delete(keychain, sync_answer, &last);
	return sync_wait(&last);
}

static const char *spawns(void)
{
	const char *path = test_path("spawns");

	return test_read(path);
}

/* A document whose line to `security -i` has @n bytes */
static void make_line(size_t n, struct bytes *data)
{
	const size_t around =
		strlen("add-generic-password -U -a \"user\" -s \"cloche\" -X \"\"\n");
	const size_t hex = n - around;

	bytes_adds(data, "{\"a\":\"");
	while (data->len < hex / 2 - 2)
		bytes_addc(data, 'v');
	bytes_adds(data, "\"}");
	CHECK_INT(2 * data->len + around, n);
}

TEST(a_document_is_stored_found_and_deleted)
{
	auto_bytes struct bytes data = { 0 };

	begin(30000);
	CHECK_INT(get(), 0);
	bytes_adds(&data, "{\"a\":\"x\"}");
	CHECK_INT(put(&data), 1);
	CHECK_INT(last.answer.notes, 0);
	CHECK_INT(get(), 1);
	CHECK_STR(bytes_str(&last.data), "{\"a\":\"x\"}");
	CHECK_INT(drop(), 1);
	CHECK_INT(drop(), 0);
	CHECK_INT(get(), 0);
	end();
}

TEST(a_document_that_is_not_ascii_comes_back_whole)
{
	auto_bytes struct bytes data = { 0 };

	begin(30000);
	bytes_adds(&data, "{\"a\":\"caf\303\251\"}");
	CHECK_INT(put(&data), 1);
	CHECK_INT(get(), 1);
	CHECK_STR(bytes_str(&last.data), "{\"a\":\"caf\303\251\"}");
	end();
}

TEST(lines_of_4032_and_4033_bytes_are_stored_intact)
{
	/* The lengths have to match the parity of the hexadecimal digits */
	static const size_t lengths[] = { 4031, 4032, 4033, 4034, 4200, 9000 };
	int tried = 0;

	begin(30000);
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		auto_bytes struct bytes data = { 0 };
		const bool line = lengths[i] <= KEYCHAIN_LINE_MAX;
		/* The account takes up the odd byte */
		const size_t odd = (lengths[i] -
			strlen("add-generic-password -U -a \"user\" -s \"cloche\" -X \"\"\n")) % 2;

		backend_free(keychain);
		keychain = keychain_new(loop, STAND_IN, "cloche",
					odd ? "user1" : "user", 30000);
		make_line(lengths[i] - odd, &data);
		CHECK_INT(put(&data), 1);
		CHECK_INT((last.answer.notes & NOTE_ARGV) != 0, !line);
		CHECK_INT(get(), 1);
		CHECK_STR(bytes_str(&last.data), data.p);
		tried++;
	}
	CHECK_INT(tried, 6);
	CHECK_STR(spawns(), "-i\nfind-generic-password\n"
		  "-i\nfind-generic-password\n"
		  "add-generic-password\nfind-generic-password\n"
		  "add-generic-password\nfind-generic-password\n"
		  "add-generic-password\nfind-generic-password\n"
		  "add-generic-password\nfind-generic-password\n");
	end();
}

/* The control: a line beyond the buffer does corrupt the entry, as it does
 * with the real program. If the stand-in were kinder, the test above would
 * show nothing.
 */
TEST(the_stand_in_corrupts_what_does_not_fit)
{
	auto_bytes struct bytes data = { 0 };
	auto_buf struct buf script = { 0 };
	const char *path = test_path("line");
	int status;
	pid_t pid;

	begin(30000);
	make_line(4200, &data);
	buf_adds(&script, "add-generic-password -U -a \"user\" -s \"cloche\" -X \"");
	for (size_t i = 0; i < data.len; i++)
		buf_addf(&script, "%02x", (unsigned char)data.p[i]);
	buf_adds(&script, "\"\n");
	test_write(path, buf_str(&script));
	pid = fork();
	if (!pid) {
		(void)dup2(open(path, O_RDONLY | O_CLOEXEC), 0);
		execl(STAND_IN, STAND_IN, "-i", NULL);
		_exit(127);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) != 127);
	CHECK_INT(get(), -EBADMSG);
	end();
}

TEST(a_locked_keychain_says_so)
{
	auto_bytes struct bytes data = { 0 };

	begin(30000);
	mood("locked");
	bytes_adds(&data, "{}");
	CHECK_INT(get(), -EACCES);
	CHECK_CONTAINS(last.answer.err.msg, "unlock-keychain");
	CHECK_INT(put(&data), -EACCES);
	CHECK_INT(drop(), -EACCES);
	end();
}

TEST(a_program_that_misbehaves_is_a_failure)
{
	begin(100);
	mood("hang");
	CHECK_INT(get(), -ETIMEDOUT);
	end();
	begin(30000);
	mood("crash");
	CHECK_INT(get(), -EPIPE);
	mood("garbage");
	CHECK_INT(get(), -EBADMSG);
	CHECK(!strstr(last.answer.err.msg, "not json"));
	mood("flood");
	CHECK_INT(get(), -EMSGSIZE);
	mood("mute");
	CHECK_INT(get(), -EBADMSG);
	end();
}

TEST(without_the_program_it_does_not_exist_here)
{
	begin(1000);
	backend_free(keychain);
	keychain = keychain_new(loop, "/nonexistent/security", "cloche", "user",
				1000);
	CHECK_INT(get(), -ENOTSUP);
	end();
}

TEST(too_much_for_one_entry_is_refused)
{
	auto_bytes struct bytes data = { 0 };

	begin(30000);
	make_line(2 * (KEYCHAIN_ARGUMENT_MAX / 2) + 200, &data);
	CHECK_INT(put(&data), -E2BIG);
	end();
}
