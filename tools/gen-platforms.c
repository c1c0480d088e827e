/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tools/gen-platforms.c - documents made from the doctor's tables
 *
 *	gen-platforms			print docs/platforms.md
 *	gen-platforms --check FILE	1 if FILE says something else
 *	gen-platforms --apparmor PATH	print the profile of the program at PATH
 */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "doctor/doctor.h"

enum { FILE_MAX = 1 << 20 };

static int check(const char *path, const char *want)
{
	auto_buf struct buf have = { 0 };
	struct err err = { 0 };

	if (fs_read(AT_FDCWD, path, FILE_MAX, &have, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	if (!strcmp(want, buf_str(&have)))
		return 0;
	fprintf(stderr, "%s is out of date: write it with build/src/doctor/gen-platforms\n",
		path);
	return 1;
}

int main(int argc, char **argv)
{
	auto_buf struct buf text = { 0 };

	if (argc == 3 && !strcmp(argv[1], "--apparmor"))
		doctor_print_apparmor(argv[2], &text);
	else
		doctor_print_platforms(&text);
	if (argc == 3 && !strcmp(argv[1], "--check"))
		return check(argv[2], buf_str(&text));
	fputs(buf_str(&text), stdout);
	return 0;
}
