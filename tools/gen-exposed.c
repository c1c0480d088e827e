/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tools/gen-exposed.c - docs/deliberately-exposed.md, from the table
 *
 *	gen-exposed			print it
 *	gen-exposed --check FILE	1 if FILE says something else
 */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "policy/home.h"

enum { FILE_MAX = 1 << 20 };

int main(int argc, char **argv)
{
	auto_buf struct buf want = { 0 }, have = { 0 };
	struct err err = { 0 };

	home_print(&want);
	if (argc != 3 || strcmp(argv[1], "--check") != 0) {
		fputs(buf_str(&want), stdout);
		return 0;
	}
	if (fs_read(AT_FDCWD, argv[2], FILE_MAX, &have, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	if (!strcmp(buf_str(&want), buf_str(&have)))
		return 0;
	fprintf(stderr, "%s is out of date: write it with build/src/policy/gen-exposed\n",
		argv[2]);
	return 1;
}
