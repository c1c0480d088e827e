/* SPDX-License-Identifier: Apache-2.0 */
/* cli/opts.c - command-line options, from the table in lib/options.def */

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "cli/command.h"
#include "lib/options.h"

/* "--name", "--name=value" or "--name value"; returns the words used */
static int parse_long(int argc, char **argv, int i, struct options *options,
		      struct err *err)
{
	const char *name = argv[i] + 2;
	const size_t n = strcspn(name, "=");
	const enum option_id id = option_find(name, n);
	const char *value = name[n] ? name + n + 1 : NULL;
	int used = 1, r;

	if (id == OPTION_COUNT)
		return fail(err, -EINVAL, "unknown option '--%.*s'; 'cloche help run' lists them",
			    (int)n, name);
	if (!value && option_row(id)->argument && i + 1 < argc) {
		value = argv[i + 1];
		used = 2;
	}
	r = options_add(options, id, value, err);
	return r < 0 ? r : used;
}

/* "-s value" or "-svalue" */
static int parse_short(int argc, char **argv, int i, struct options *options,
		       struct err *err)
{
	const enum option_id id = option_find_letter(argv[i][1]);
	const char *value = argv[i][2] ? argv[i] + 2 : NULL;
	int used = 1, r;

	if (id == OPTION_COUNT)
		return fail(err, -EINVAL, "unknown option '-%c'; 'cloche help run' lists them",
			    argv[i][1]);
	if (!value && option_row(id)->argument && i + 1 < argc) {
		value = argv[i + 1];
		used = 2;
	}
	r = options_add(options, id, value, err);
	return r < 0 ? r : used;
}

int cli_parse_query(int argc, char **argv, struct options *options, int *json,
		    struct err *err)
{
	int i = 1;

	while (i < argc && argv[i][0] == '-' && argv[i][1]) {
		int used;

		if (!strcmp(argv[i], "--"))
			return i + 1;
		if (json && !strcmp(argv[i], "--json")) {
			*json = 1;
			i++;
			continue;
		}
		used = argv[i][1] == '-' ?
			parse_long(argc, argv, i, options, err) :
			parse_short(argc, argv, i, options, err);
		if (used < 0)
			return used;
		i += used;
	}
	return i;
}

int cli_parse_options(int argc, char **argv, struct options *options,
		      struct err *err)
{
	return cli_parse_query(argc, argv, options, NULL, err);
}
