/* SPDX-License-Identifier: Apache-2.0 */
/* compat/applet.c - cloche as NAME: programs that cloche stands in for */

#include "compat/applet.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "base/path.h"

static const struct applet applets[] = {
#define APPLET(id, name, help) { name, help, applet_##id },
#include "compat/applets.def"
#undef APPLET
	{ 0 },
};

const struct applet *applet_table(void)
{
	return applets;
}

const struct applet *applet_find(const char *argv0)
{
	const char *name = path_base(argv0);
	const struct applet *p = applets;

	if (*name == '-')	/* A login shell */
		name++;
	while (p->name && strcmp(p->name, name) != 0)
		p++;
	return p->name ? p : NULL;
}

int cli_as(int argc, char **argv, struct err *err)
{
	const struct applet *p;

	if (argc < 2)
		return fail(err, -EINVAL, "usage: cloche as NAME [ARG...] ('cloche help as' lists the names)");
	p = applet_find(argv[1]);
	if (!p)
		return fail(err, -EINVAL, "cloche cannot stand in for '%s'; 'cloche help as' lists the names",
			    argv[1]);
	return p->run(argc - 1, argv + 1);
}
