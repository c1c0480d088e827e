/* SPDX-License-Identifier: Apache-2.0 */
/* secret/platform-darwin.c - the backends of macOS, the best first */

#include "secret/platform.h"

#include <stddef.h>

const char *const platform_backends[] = {
	"keychain", "file", "plaintext", NULL,
};
