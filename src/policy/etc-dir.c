/* SPDX-License-Identifier: Apache-2.0 */
/* policy/etc-dir.c - the directory of the administrator's files: /etc */

#include "policy/settings.h"

const char *etc_dir(void)
{
	return "/etc";
}
