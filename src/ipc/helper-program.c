/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/helper-program.c - cloche's other programs: start one, be one */

#include "ipc/helper-program.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/path.h"
#include "base/terminal.h"
#include "installed.h"

static char *beside(const char *name)
{
	auto_free char *self = fs_link("/proc/self/exe");
	auto_free char *dir = self ? path_parent(self) : NULL;

	return dir ? path_join(dir, name) : NULL;
}

int helper_program_exec(const char *name, char *const *argv, char *const *envp)
{
	auto_free char *near = beside(name);
	auto_free char *installed = path_join(CLOCHE_LIBEXECDIR, name);

	if (near)
		(void)execve(near, argv, envp);
	(void)execve(installed, argv, envp);
	return -errno;
}

int helper_program_main(int argc, char **argv,
			int (*run)(int argc, char **argv, struct err *err))
{
	struct err err = { 0 };
	int r = -EPERM;

	/* Its caller would act with another user's rights */
	if (getauxval(AT_SECURE))
		(void)fail(&err, r, "this copy is set-user-id or has capabilities, and refuses to run; install it without");
	else
		r = run(argc, argv, &err);
	if (r < 0)
		stderr_line("cloche: %s", err.msg);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return r < 0 ? 2 : r;
	stderr_line("cloche: cannot write to standard output: %s",
		    strerror(errno));
	return r <= 0 ? 2 : r;
}
