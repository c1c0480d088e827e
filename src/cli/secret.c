/* SPDX-License-Identifier: Apache-2.0 */
/* cli/secret.c - cloche secret: hand over to the program that has the crypto */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/program.h"
#include "cli/command.h"
#include "installed.h"

#define PROGRAM "cloche-secret"

int cli_secret_as(char **argv, struct err *err)
{
	const int r = program_exec(PROGRAM, argv, environ);

	return fail(err, r, "cannot run '%s/%s': %s; install all of cloche (make install, or the package)", CLOCHE_LIBEXECDIR,
		    PROGRAM, strerror(-r));
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
