/* SPDX-License-Identifier: Apache-2.0 */
/* policy/roots.c - where the administrator's files are */

#include "policy/settings.h"

const char *roots_etc(void)
{
	return "/etc";
}
