/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compat/shell.c - cloche as a shell: the real one, in the sandbox
 *
 * Many programs run commands by "$SHELL -c" or by the first bash on the PATH,
 * and can be given another. All arguments are the shell's own; the policy comes from
 * the settings. The real shell is the next one of that name, so a link of ours
 * may stand before it on the PATH. Inside the sandbox the link is simply the
 * shell.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/terminal.h"
#include "compat/applet.h"
#include "run/choose-tier.h"
#include "run/options.h"
#include "run/output.h"
#include "run/run.h"

static bool is_ourselves(const char *file)
{
	struct stat self, other;

	return stat("/proc/self/exe", &self) == 0 && stat(file, &other) == 0 &&
	       self.st_dev == other.st_dev && self.st_ino == other.st_ino;
}

/* The shell @name in @dir, if it is one and not a link to us; or NULL */
static char *shell_in(const char *dir, const char *name)
{
	char *file = path_join(dir, name);

	if (*dir == '/' && access(file, X_OK) == 0 && !is_ourselves(file))
		return file;
	free(file);
	return NULL;
}

char *shell_find(const char *name)
{
	const char *path = getenv("PATH");
	char *file = NULL, *dir;

	while (!file && (dir = path_next_dir(&path))) {
		file = shell_in(dir, name);
		free(dir);
	}
	if (!file)
		file = shell_in("/usr/bin", name);
	return file ? file : shell_in("/bin", name);
}

/* The shell's argv; a login shell gets an option, for its name is only known
 * outside
 */
static char **words_for(char *shell, bool login, int argc, char **argv)
{
	static char dash_l[] = "-l";
	char **words = mem_zalloc(((size_t)argc + 2) * sizeof(*words));
	size_t n = 0;

	words[n++] = shell;
	if (login)
		words[n++] = dash_l;
	for (int i = 1; i < argc; i++)
		words[n++] = argv[i];
	return words;
}

static int run_shell(char **words)
{
	static struct run one;
	struct options options = { 0 };
	struct err err = { 0 };
	int r;

	one = (struct run){ .options = &options, .output = &output_stderr,
			    .argv = words, .err = &err };
	r = run(&one);
	options_done(&options);
	if (r < 0)
		stderr_line("cloche: %s", err.msg);
	return r < 0 ? EXIT_NOT_BUILT : r;
}

int applet_shell(int argc, char **argv)
{
	const char *name = path_base(argv[0]);
	const bool login = *name == '-';
	auto_free char *shell = shell_find(name + login);
	auto_free char **words = NULL;

	if (!shell) {
		stderr_line("cloche: no %s was found but this one, which is a link to cloche",
			 name + login);
		return EXIT_NOT_FOUND;
	}
	words = words_for(shell, login, argc, argv);
	if (!tier_steps_aside())
		return run_shell(words);
	execv(shell, words);
	stderr_line("cloche: %s: %s", shell, strerror(errno));
	return EXIT_NOT_EXECUTABLE;
}
