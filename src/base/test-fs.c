/* SPDX-License-Identifier: Apache-2.0 */
/* base/test-fs.c - files: what a failure is, and where */

#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "test.h"

/* A shortage must not look like a file that is odd, whoever reads the words */
TEST(a_file_that_cannot_be_read_says_why_with_and_without_words)
{
	auto_buf struct buf b = { 0 };
	struct err err = { 0 };

	CHECK_INT(fs_read(AT_FDCWD, "/proc/self/status", 8, &b, &err), -EFBIG);
	CHECK(strstr(err.msg, "/proc/self/status: larger than 8 bytes"));
	CHECK_INT(fs_read(AT_FDCWD, "/proc/self/status", 8, &b, NULL), -EFBIG);
	CHECK_INT(fs_read(AT_FDCWD, "/proc/self/status", 1 << 16, &b, NULL), 0);
}
