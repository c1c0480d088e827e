/* SPDX-License-Identifier: Apache-2.0 */
/* policy/srt-settings.h - check a settings file of srt as srt does
 *
 * Our own grammar accepts more than srt's (single labels, ranges, further keys).
 * Called as srt, cloche must refuse what srt refuses and ignore what srt ignores, so
 * that a file means the same to both.
 */

#ifndef POLICY_SRT_SETTINGS_H
#define POLICY_SRT_SETTINGS_H

#include <jansson.h>

struct err;

/* Check @root, a parsed settings file, and take out the keys that srt does not
 * know or does not look at. 0, or -EINVAL with "KEY: what is wrong" for the first
 * problem; @root is then of no use.
 */
int srt_check(json_t *root, struct err *err);

/* Check @value alone, the object or entry of a list at @row ("credentials.files") of
 * any settings file; a key that srt does not know is an error too
 */
int srt_check_part(const char *row, json_t *value, struct err *err);

#endif /* POLICY_SRT_SETTINGS_H */
