/* SPDX-License-Identifier: Apache-2.0 */
/* compat/bwrap-main.c - bwrap as a program of its own: small, quick to start,
 * and found again by callers that run /proc/self/exe
 */

#include <stdio.h>
#include <sys/auxv.h>

#include "compat/applet.h"

int main(int argc, char **argv)
{
	if (getauxval(AT_SECURE)) {
		fputs("bwrap: this copy is set-user-id or has capabilities, and refuses to run; install it without\n", stderr);
		return 1;
	}
	return applet_bwrap(argc, argv);
}
