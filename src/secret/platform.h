/* SPDX-License-Identifier: Apache-2.0 */
/* secret/platform.h - the backends of this platform, the best first */

#ifndef SECRET_PLATFORM_H
#define SECRET_PLATFORM_H

/* Names as in --backend, ended by NULL; one file per platform */
extern const char *const platform_backends[];

#endif /* SECRET_PLATFORM_H */
