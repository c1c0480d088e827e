/* SPDX-License-Identifier: Apache-2.0 */
/* secret/platform-linux.c - the backends of Linux, the best first */

#include "secret/platform.h"

#include <stddef.h>

const char *const platform_backends[] = {
	"secret-service", "file", "plaintext", NULL,
};
