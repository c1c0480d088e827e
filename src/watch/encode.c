/* SPDX-License-Identifier: Apache-2.0 */
/* watch/encode.c - names, which are bytes, in JSON, which is UTF-8 */

#include "watch/encode.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

char *encode_bytes(const char *path)
{
	auto_buf struct buf b = { 0 };

	for (; *path; path++) {
		const unsigned char c = (unsigned char)*path;

		if (c < 0x80 && c >= 0x20 && c != '%')
			buf_addc(&b, *path);
		else
			buf_addf(&b, "%%%02x", c);
	}
	return buf_take(&b);
}

char *decode_bytes(const char *text)
{
	auto_buf struct buf b = { 0 };

	for (; *text; text++) {
		char hex[3] = { 0 };

		if (*text != '%' || !text[1] || !text[2]) {
			buf_addc(&b, *text);
			continue;
		}
		memcpy(hex, text + 1, 2);
		buf_addc(&b, (char)strtoul(hex, NULL, 16));
		text += 2;
	}
	return buf_take(&b);
}
