/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd-program.c - verbs that are programs of their own: firewall, secret, verify
 *
 * They link what a run does not need.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "cli/command-line.h"
#include "installed.h"
#include "ipc/helper-program.h"

static int exec_program(const char *name, char **argv, struct err *err)
{
	const int r = helper_program_exec(name, argv, environ);

	return fail(err, r, "cannot run '%s/%s': %s; install all of cloche (make install, or the package)",
		    CLOCHE_LIBEXECDIR, name, strerror(-r));
}

int cli_secret_as(char **argv, struct err *err)
{
	return exec_program("cloche-secret", argv, err);
}

/* cloche secret bind NAME HOST... is a rule of the user's policy */
static int bind_secret(int argc, char **argv, struct err *err)
{
	char policy[] = "policy", allow[] = "allow", secret[] = "secret";
	auto_buf struct buf value = { 0 };
	char *words[6] = { argv[0], policy, allow, secret };

	if (argc < 4)
		return fail(err, -EINVAL, "usage: cloche secret bind NAME HOST...");
	for (int i = 2; i < argc; i++)
		buf_addf(&value, "%s%s", i == 2 ? "" : i == 3 ? "@" : ",", argv[i]);
	words[4] = buf_take(&value);
	(void)execv("/proc/self/exe", words);
	return fail_errno(err, "cannot start this program again");
}

int cli_secret(int argc, char **argv, struct err *err)
{
	char name[] = "cloche-secret";

	if (argc > 1 && !strcmp(argv[1], "bind"))
		return bind_secret(argc, argv, err);
	argv[0] = name;
	(void)cli_secret_as(argv, err);
	fprintf(stderr, "cloche: %s\n", err->msg);
	return 1;	/* Not wrong usage */
}

int cli_firewall(int argc, char **argv, struct err *err)
{
	char name[] = "cloche-firewall";

	(void)argc;
	argv[0] = name;
	return exec_program(name, argv, err);
}

/* It starts this very program for each of its sandboxes */
int cli_verify(int argc, char **argv, struct err *err)
{
	char name[] = "cloche-verify", option[] = "--program";
	auto_free char *self = fs_link("/proc/self/exe");
	auto_free char **words = mem_zalloc(((size_t)argc + 3) *
					    sizeof(*words));

	if (!self)
		return fail_errno(err, "cannot tell where this program is");
	words[0] = name;
	words[1] = option;
	words[2] = self;
	for (int i = 1; i < argc; i++)
		words[i + 2] = argv[i];
	return exec_program(name, words, err);
}
