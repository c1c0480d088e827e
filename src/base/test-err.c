/* SPDX-License-Identifier: Apache-2.0 */
/* base/test-err.c - error codes and messages */

#include "base/err.h"

#include <errno.h>
#include <string.h>

#include "test.h"

TEST(fail_in_prepends_context_and_keeps_the_code)
{
	struct err err = { 0 };

	CHECK_INT(fail(&err, -EINVAL, "'%s' is odd", "x"), -EINVAL);
	CHECK_INT(fail_in(&err, -EINVAL, "%s", "file"), -EINVAL);
	CHECK_INT(err.code, -EINVAL);
	CHECK_STR(err.msg, "file: 'x' is odd");
}

/* The number is the same with and without a place for the message */
TEST(fail_returns_the_code_without_an_err_struct)
{
	CHECK_INT(fail(NULL, -EPERM, "nobody reads this"), -EPERM);
	CHECK_INT(fail_in(NULL, -ENOMEM, "nor this"), -ENOMEM);
}

TEST(errno_is_in_the_message_and_survives)
{
	struct err err = { 0 };

	errno = ENOENT;
	CHECK_INT(fail_errno(&err, "cannot open"), -ENOENT);
	CHECK_INT(errno, ENOENT);
	CHECK(strstr(err.msg, "cannot open: No such"));
}

/* A caller goes on after 0, as if all were well */
TEST(fail_errno_returns_EIO_when_errno_is_0)
{
	errno = 0;
	CHECK_INT(fail_errno(NULL, "cannot"), -EIO);
}

TEST(control_characters_in_messages_are_escaped_and_cut)
{
	char name[2 * ERR_MSG_MAX];
	struct err err = { 0 };

	memset(name, '\033', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	fail(&err, -EINVAL, "%s", name);
	CHECK(!strncmp(err.msg, "\\x1b\\x1b", 8));
	CHECK(strlen(err.msg) < sizeof(err.msg));
}
