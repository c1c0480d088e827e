/* SPDX-License-Identifier: Apache-2.0 */
/* session/test-session-directory.c - the name of a session and its socket */

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"
#include "session/session-wire.h"
#include "test.h"

static int listen_in_home(const char *name)
{
	struct err err = { 0 };
	int dir, fd;

	CHECK_INT(setenv("HOME", test_dir(), 1), 0);
	CHECK_INT(unsetenv("XDG_STATE_HOME"), 0);
	dir = session_directory_locked(&err);
	CHECK(dir >= 0);
	fd = session_listen(dir, name, &err);
	CHECK(fd >= 0);
	fs_unlock(&dir);
	return fd;
}

static bool has_name(const char *name)
{
	auto_close int dir = session_directory(NULL);
	struct stat st;

	return fstatat(dir, name, &st, 0) == 0;
}

static pid_t start_holder_of_copy(void)
{
	const pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		pause();
		_exit(0);
	}
	return pid;
}

TEST(closing_removes_the_name_while_a_child_has_the_socket)
{
	int fd = listen_in_home("web");
	const pid_t child = start_holder_of_copy();

	CHECK(has_name("web"));
	session_unlisten(&fd, "web");
	CHECK_INT(fd, -1);
	CHECK(!has_name("web"));
	CHECK_INT(kill(child, SIGKILL), 0);
	CHECK_INT(waitpid(child, NULL, 0), child);
}

TEST(the_name_of_a_listening_session_is_kept)
{
	int old = listen_in_home("web"), other = listen_in_home("web");

	session_unlisten(&old, "web");
	CHECK(has_name("web"));
	session_unlisten(&other, "web");
	CHECK(!has_name("web"));
}
