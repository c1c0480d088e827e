/* SPDX-License-Identifier: Apache-2.0 */
/* policy/roots-test.c - the same, for tests: never part of what is installed */

#include "policy/settings.h"

#include <stdlib.h>

const char *roots_etc(void)
{
	const char *etc = getenv("CLOCHE_ROOT_ETC");

	return etc && *etc == '/' ? etc : "/etc";
}
