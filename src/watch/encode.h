/* SPDX-License-Identifier: Apache-2.0 */
/* watch/encode.h - names, which are bytes, in JSON, which is UTF-8 */

#ifndef WATCH_ENCODE_H
#define WATCH_ENCODE_H

/* What is not plain ASCII becomes %XX, and "%" too; and back. The caller
 * frees.
 */
char *encode_bytes(const char *bytes);
char *decode_bytes(const char *text);

#endif /* WATCH_ENCODE_H */
