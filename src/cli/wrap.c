/* SPDX-License-Identifier: Apache-2.0 */
/* cli/wrap.c - cloche wrap: one shell line that runs a command in the sandbox */

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/hook.h"
#include "lib/words.h"
#include "lib/options.h"

const char *own_path(char *path, size_t size)
{
	const ssize_t n = readlink("/proc/self/exe", path, size - 1);

	if (n <= 0)
		return "cloche";
	path[n] = '\0';
	return path;
}

/* One line for any shell, whatever the words hold: a newline within quotes is
 * still two lines to who reads lines, and $'..' is not known to all of them
 */
static void print_line(const char *line)
{
	auto_buf struct buf format = { 0 }, quoted = { 0 };

	if (!strchr(line, '\n')) {
		puts(line);
		return;
	}
	for (; *line; line++) {
		if (*line == '\n')
			buf_adds(&format, "\\n");
		else if (*line == '\\' || *line == '%')
			buf_addf(&format, "%c%c", *line, *line);
		else
			buf_addc(&format, *line);
	}
	text_shell_quote(&quoted, buf_str(&format));
	printf("eval \"$(printf %s)\"\n", buf_str(&quoted));
}

int cli_wrap(int argc, char **argv, struct err *err)
{
	struct options options = { 0 };
	auto_free char **command = NULL;
	auto_buf struct buf line = { 0 };
	char path[PATH_MAX];
	const int first = cli_parse_options(argc, argv, &options, err);
	/* Checked here, so that the line does not fail later for this */
	int r = first < 0 ? first : words_command(&options, argv + first, 0,
						  &command, err);

	options_done(&options);
	if (r < 0)
		return r;
	text_shell_quote(&line, own_path(path, sizeof(path)));
	buf_adds(&line, " run");
	for (int i = 1; i < first; i++) {
		if (i == first - 1 && !strcmp(argv[i], "--"))
			break;
		buf_addc(&line, ' ');
		text_shell_quote(&line, argv[i]);
	}
	buf_adds(&line, " --");
	for (int i = first; i < argc; i++) {
		buf_addc(&line, ' ');
		text_shell_quote(&line, argv[i]);
	}
	print_line(buf_str(&line));
	return 0;
}
