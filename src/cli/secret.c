/* SPDX-License-Identifier: Apache-2.0 */
/* cli/secret.c - cloche secret: hand over to the program that has the crypto */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/path.h"
#include "cli/command.h"

#define PROGRAM "cloche-secret"

/* Beside this very program, as it lies in a build directory. The caller frees.
 */
static char *beside(void)
{
	char self[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	auto_free char *dir = NULL;

	if (n <= 0)
		return NULL;
	self[n] = '\0';
	dir = path_parent(self);
	return path_join(dir, PROGRAM);
}

/* Never by PATH: what it is given is secret */
int cli_secret_as(char **argv, struct err *err)
{
	auto_free char *path = beside();

	if (path)
		(void)execv(path, argv);
	(void)execv(CLOCHE_LIBEXECDIR "/" PROGRAM, argv);
	return fail(err, -errno, "cannot run '%s/%s': %s", CLOCHE_LIBEXECDIR,
		    PROGRAM, strerror(errno));
}

int cli_secret(int argc, char **argv, struct err *err)
{
	char name[] = PROGRAM;

	(void)argc;
	argv[0] = name;
	(void)cli_secret_as(argv, err);
	fprintf(stderr, "cloche: %s\n", err->msg);
	return 1;	/* Not wrong usage */
}
