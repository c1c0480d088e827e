/* SPDX-License-Identifier: Apache-2.0 */
/* policy/etc-dir-test.c - the directory of the administrator's files in tests; not installed */

#include "policy/settings.h"

#include <stdlib.h>

const char *etc_dir(void)
{
	const char *etc = getenv("CLOCHE_ROOT_ETC");

	return etc && *etc == '/' ? etc : "/etc";
}
