/* SPDX-License-Identifier: Apache-2.0 */
/* lib/words.c - the command to run: words, or a string for the shell */

#include "lib/words.h"

#include <errno.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "lib/options.h"

static char *default_shell(void)
{
	static char bash[] = "/bin/bash", sh[] = "/bin/sh";

	return access(bash, X_OK) == 0 ? bash : sh;
}

int words_command(const struct options *options, char **words,
		  int may_be_empty, char ***ret, struct err *err)
{
	static char dash_c[] = "-c", name[] = "cloche";
	const char *string = options_get(options, OPTION_COMMAND);
	const char *shell = options_get(options, OPTION_SHELL);
	size_t n = 0, at = 0;
	char **argv;

	while (words[n])
		n++;
	if (!string && !n && !may_be_empty)
		return fail(err, -EINVAL, "no command; write it after the options, or give -c 'STRING'");
	argv = mem_zalloc((n + 5) * sizeof(*argv));
	if (string) {
		/* argv of execve() is not const, but nobody writes to it */
		argv[at++] = shell ? (char *)(size_t)shell : default_shell();
		argv[at++] = dash_c;
		argv[at++] = (char *)(size_t)string;
		if (n)
			argv[at++] = name;
	}
	for (size_t i = 0; i < n; i++)
		argv[at++] = words[i];
	*ret = argv;
	return 0;
}
