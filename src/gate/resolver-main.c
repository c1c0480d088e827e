/* SPDX-License-Identifier: Apache-2.0 */
/* gate/resolver-main.c - cloche-resolve: names as the system's library knows them
 *
 * cloche is linked statically and has only the modules "files" and "dns". Where
 * /etc/nsswitch.conf wants others, the gate's resolver becomes this program. It
 * gets one argument, the number of a socket, and confines itself as the other
 * would.
 */

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/auxv.h>

#include "base/err.h"
#include "base/text.h"
#include "gate/gate-confine.h"
#include "gate/resolver.h"

int main(int argc, char **argv)
{
	uint64_t number = 0;
	struct err err = { 0 };
	int sock;

	if (getauxval(AT_SECURE) || argc != 2 || text_to_u64(argv[1], INT_MAX, &number) < 0 ||
	    number < 3) {
		fprintf(stderr, RESOLVE_PROGRAM ": only cloche itself can call this\n");
		return 2;
	}
	sock = (int)number;
	if (confine_inherit(&sock, 1, RESOLVE_PROGRAM, &err) < 0 ||
	    confine_seal(CONFINED_RESOLVER, &err) < 0)
		return 1;
	resolve_serve(sock, resolve_system);
}
