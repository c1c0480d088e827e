/* SPDX-License-Identifier: Apache-2.0 */
/* net/resolve-start.c - the resolver's first steps: confined, or another program
 */

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/nsswitch.h"
#include "base/program.h"
#include "net/confine.h"
#include "net/resolve.h"

/* Where names need more than is built in, a program of its own has the system's
 * library
 */
static void use_library(int sock)
{
	static char name[] = RESOLVE_PROGRAM, *none[] = { NULL };
	char number[16];
	char *const argv[] = { name, number, NULL };

	if (nss_will_do())
		return;
	snprintf(number, sizeof(number), "%d", sock);
	if (fcntl(sock, F_SETFD, 0) == 0)
		(void)program_exec(RESOLVE_PROGRAM, argv, none);
	nss_stay_inside();
}

void resolve_main(int sock, resolve_fn fn)
{
	if (confine_inherit(&sock, 1, RESOLVE_PROGRAM, NULL) < 0)
		_exit(1);
	if (!fn)
		use_library(sock);
	if (confine_seal(CONFINED_RESOLVER, NULL) < 0)
		_exit(1);
	resolve_serve(sock, fn ? fn : resolve_system);
}
