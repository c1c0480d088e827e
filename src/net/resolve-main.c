/* SPDX-License-Identifier: Apache-2.0 */
/* net/resolve-main.c - cloche-resolve: names as the system's library knows them
 *
 * cloche is linked statically and has only the modules "files" and "dns". Where
 * /etc/nsswitch.conf wants others, the gate's resolver becomes this program. It
 * gets one argument, the number of a socket, and confines itself as the other
 * would.
 */

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "net/confine.h"
#include "net/resolve.h"

int main(int argc, char **argv)
{
	int sock = argc == 2 ? atoi(argv[1]) : -1;
	struct err err = { 0 };

	if (sock < 3) {
		fprintf(stderr, RESOLVE_PROGRAM ": only cloche itself can call this\n");
		return 2;
	}
	if (confine_inherit(&sock, 1, RESOLVE_PROGRAM, &err) < 0 ||
	    confine_seal(CONFINED_RESOLVER, &err) < 0)
		return 1;
	resolve_serve(sock, resolve_system);
}
