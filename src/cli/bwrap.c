/* SPDX-License-Identifier: Apache-2.0 */
/* cli/bwrap.c - cloche as bwrap: bubblewrap's command line */

#include <stdio.h>
#include <string.h>

#include "cli/persona.h"

/* The release whose options we have; clients compare it */
static const char release[] = "bubblewrap 0.11.0";

int persona_bwrap(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--version")) {
		puts(release);
		return 0;
	}
	fprintf(stderr, "bwrap: this version of cloche cannot stand in for bubblewrap yet\n");
	return 1;
}
