/* SPDX-License-Identifier: Apache-2.0 */
/* base/program.c - the other programs of this house */

#include "base/program.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

#include "base/own.h"
#include "base/path.h"
#include "installed.h"

static char *beside(const char *name)
{
	char self[PATH_MAX];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	auto_free char *dir = NULL;

	if (n <= 0)
		return NULL;
	self[n] = '\0';
	dir = path_parent(self);
	return path_join(dir, name);
}

int program_exec(const char *name, char *const *argv, char *const *envp)
{
	auto_free char *near = beside(name);
	auto_free char *installed = path_join(CLOCHE_LIBEXECDIR, name);

	if (near)
		(void)execve(near, argv, envp);
	(void)execve(installed, argv, envp);
	return -errno;
}
