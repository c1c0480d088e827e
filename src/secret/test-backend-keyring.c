/* SPDX-License-Identifier: Apache-2.0 */
/* secret/test-backend-keyring.c - the keyring's helper, and faults of it */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "secret/backend.h"
#include "test.h"

static struct store s;
static struct err err;
static int slow;

static void on_slow(void)
{
	slow++;
}

/* The helper is a shell script; $1 is the verb */
static void begin(const char *script, unsigned int ms)
{
	const char *path = test_path("helper");

	test_home();
	CHECK_INT(setenv("DBUS_SESSION_BUS_ADDRESS", "unix:", 1), 0);
	test_write(path, script);
	CHECK_INT(chmod(path, 0700), 0);
	s = (struct store){ .helper = path, .helper_ms = ms, .slow = on_slow,
			    .entry = "service" };
	slow = 0;
}

/* Nothing of the helper is left to wait for */
static void check_gone(void)
{
	CHECK(waitpid(-1, NULL, __WALL | WNOHANG) < 0 && errno == ECHILD);
}

static int get(const char *script, unsigned int ms, const char *want)
{
	json_auto_t *doc = NULL;
	auto_bytes struct bytes text = { 0 };
	int r;

	begin(script, ms);
	r = backend_keyring.read(&s, &doc, &err);
	if (doc)
		document_print(doc, &text);
	CHECK_STR(bytes_str(&text), want);
	check_gone();
	return r;
}

static int put(const char *script, size_t n)
{
	auto_bytes struct bytes text = { 0 };
	int r;

	begin(script, 60000);
	while (text.len < n)
		bytes_add(&text, "x", 1);
	r = backend_keyring.write(&s, &text, &err);
	check_gone();
	return r;
}

TEST(exit_statuses_of_the_helper_map_to_results)
{
	CHECK_INT(get("#!/bin/sh\n[ \"$*\" = 'read service' ] && echo '{\"a\":1}'",
		      60000, "{\"a\":1}"), 1);
	CHECK_INT(get("#!/bin/sh\nexit 10", 60000, ""), 0);
	CHECK_INT(get("#!/bin/sh\necho no service >&2; exit 11", 60000, ""),
		  -ENOTSUP);
	CHECK_STR(err.msg, "no service");
	CHECK_INT(get("#!/bin/sh\necho it is locked >&2; exit 12", 60000, ""),
		  -EACCES);
	CHECK_STR(err.msg, "it is locked");
	for (int i = 1; i < 3; i++) {
		CHECK_INT(get(i == 1 ? "#!/bin/sh\necho why >&2; exit 1" :
			      "#!/bin/sh\necho why >&2; exit 99", 60000, ""),
			  -EIO);
		CHECK_CONTAINS(err.msg, "cloche-secret-service");
		CHECK_CONTAINS(err.msg, ": why");
	}
	CHECK_INT(slow, 0);
}

TEST(a_large_document_is_written_completely)
{
	CHECK_INT(put("#!/bin/sh\n[ $(wc -c) = 500000 ]", 500000), 0);
	CHECK_INT(put("#!/bin/sh\n[ $(wc -c) = 500001 ]", 500000), -EIO);
	CHECK_INT(put("#!/bin/sh\nexit 10", 10), -EIO);
}

TEST(a_helper_that_closes_its_input_is_no_error)
{
	CHECK_INT(put("#!/bin/sh\nexec <&-; exit 0", 1 << 19), 0);
}

TEST(large_input_and_output_do_not_deadlock)
{
	CHECK_INT(put("#!/bin/sh\nhead -c 500000 /dev/zero; [ $(wc -c) = 500000 ]",
		      500000), 0);
}

TEST(a_hanging_helper_is_killed_with_its_children)
{
	CHECK_INT(get("#!/bin/sh\nsleep 1000 & echo '{}'; sleep 1000", 50, ""),
		  -ETIMEDOUT);
	CHECK_CONTAINS(err.msg, "did not answer in time");
	CHECK_INT(slow, 0);
	CHECK_INT(get("#!/bin/sh\nexec sleep 1000", 1100, ""), -ETIMEDOUT);
	CHECK_INT(slow, 1);
	CHECK_INT(backend_keyring.remove(&s, &err), -ETIMEDOUT);
	CHECK_INT(slow, 1);		/* It was not waited for again */
}

TEST(a_crashed_helper_is_an_error)
{
	CHECK_INT(get("#!/bin/sh\necho '{}'; kill -9 $$", 60000, ""), -EPIPE);
	CHECK_CONTAINS(err.msg, "crashed");
}

TEST(a_helper_with_endless_output_is_killed)
{
	CHECK_INT(get("#!/bin/sh\nexec yes", 60000, ""), -EMSGSIZE);
	CHECK_INT(get("#!/bin/sh\nhead -c 524289 /dev/zero", 60000, ""),
		  -EMSGSIZE);
	CHECK_INT(get("#!/bin/sh\nhead -c 524288 /dev/zero", 60000, ""),
		  -EPROTO);	/* The limit itself is read, and is no JSON */
}

TEST(a_missing_helper_is_reported_with_its_package)
{
	begin("", 60000);
	CHECK_INT(unlink(s.helper), 0);
	CHECK_INT(backend_keyring.remove(&s, &err), -ENOTSUP);
	CHECK_CONTAINS(err.msg, "package cloche-keyring");
	check_gone();
}

TEST(without_a_session_bus_the_helper_is_not_started)
{
	const char *mark = test_path("mark");

	begin("#!/bin/sh\n>$HOME/mark", 60000);
	CHECK_INT(unsetenv("DBUS_SESSION_BUS_ADDRESS"), 0);
	CHECK_INT(unsetenv("XDG_RUNTIME_DIR"), 0);
	CHECK_INT(backend_keyring.remove(&s, &err), -ENOTSUP);
	CHECK(access(mark, F_OK) < 0);
	CHECK_INT(setenv("DBUS_SESSION_BUS_ADDRESS", "unix:", 1), 0);
	CHECK_INT(backend_keyring.remove(&s, &err), 1);	/* The control */
	CHECK_INT(access(mark, F_OK), 0);
}

TEST(a_grandchild_with_the_pipe_open_does_not_delay_the_result)
{
	const char *pid = test_path("pid");

	CHECK_INT(get("#!/bin/sh\nsetsid sleep 1000 & echo $! >$HOME/pid; echo '{}'",
		      60000, "{}"), 1);
	CHECK_INT(kill((pid_t)strtoul(test_read(pid), NULL, 10), SIGKILL), 0);
}

TEST(the_helper_gets_listed_variables_and_no_descriptors)
{
	const char *env = test_path("env"), *fds = test_path("fds");

	CHECK_INT(setenv("GITHUB_TOKEN", "leak", 1), 0);
	CHECK_INT(setenv("LD_PRELOAD", "", 1), 0);
	CHECK_INT(dup2(1, 77), 77);
	CHECK_INT(get("#!/bin/sh\nenv >$HOME/env; ls /proc/self/fd >$HOME/fds; exit 10",
		      60000, ""), 0);
	CHECK(!strstr(test_read(env), "TOKEN"));
	CHECK(!strstr(test_read(env), "LD_PRELOAD"));
	CHECK_CONTAINS(test_read(env), "PATH=");
	CHECK_CONTAINS(test_read(fds), "2\n");
	CHECK(!strstr(test_read(fds), "77"));
}
