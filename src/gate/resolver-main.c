/* SPDX-License-Identifier: Apache-2.0 */
/* gate/resolver-main.c - cloche-resolve: resolve names with the system's C library
 *
 * cloche is linked statically and has only the modules "files" and "dns". Where
 * /etc/nsswitch.conf names others, the gate's resolver executes this program. Its one
 * argument is the number of a socket. It confines itself like the gate's own resolver.
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
