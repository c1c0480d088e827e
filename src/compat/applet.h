/* SPDX-License-Identifier: Apache-2.0 */
/* compat/applet.h - programs whose command line cloche accepts, by name */

#ifndef COMPAT_APPLET_H
#define COMPAT_APPLET_H

struct err;

/**
 * struct applet - One name
 * @name:	Of the program; installed in the libexec directory
 * @help:	One line
 * @run:	argv[0] is as it was called (a login shell's has a dash before
 *		it). Returns the exit status, with messages printed.
 */
struct applet {
	const char *name, *help;
	int (*run)(int argc, char **argv);
};

#define APPLET(id, name, help) int applet_##id(int argc, char **argv);
#include "compat/applets.def"
#undef APPLET

/* The one that @argv0 names, a path or not; NULL if it names none */
const struct applet *applet_find(const char *argv0);
/* The whole table, ending with an empty row */
const struct applet *applet_table(void);

/* The shell @name on the PATH that is not a link to us, else the system's; NULL if
 * there is none. The caller frees.
 */
char *shell_find(const char *name);

/* The verb 'as' (cli/command-line.h) */
int cli_as(int argc, char **argv, struct err *err);

#endif /* COMPAT_APPLET_H */
