/* SPDX-License-Identifier: Apache-2.0 */
/* gate/proto/socks5.c - SOCKS version 5 (RFC 1928), CONNECT without authentication */

#include "gate/proto/socks5.h"

#include <errno.h>
#include <string.h>

enum {
	VERSION = 5,
	METHOD_NONE = 0, METHOD_NO_ACCEPTABLE = 0xff,
	COMMAND_CONNECT = 1,
	TYPE_IPV4 = 1, TYPE_NAME = 3, TYPE_IPV6 = 4,
	ADDRESS_AT = 4,		/* Where the address starts in a request */
};

ssize_t socks5_greeting_parse(const uint8_t *p, size_t n, bool *ret)
{
	size_t len;

	if (n && p[0] != VERSION)
		return -EPROTONOSUPPORT;
	if (n < 2)
		return 0;
	len = (size_t)2 + p[1];
	if (n < len)
		return 0;
	*ret = memchr(p + 2, METHOD_NONE, p[1]) != NULL;
	return (ssize_t)len;
}

void socks5_method_reply(bool acceptable,
			 uint8_t ret[SOCKS5_METHOD_REPLY_LEN])
{
	ret[0] = VERSION;
	ret[1] = acceptable ? METHOD_NONE : METHOD_NO_ACCEPTABLE;
}

/* The length of the address at @p + ADDRESS_AT, its length byte included; 0 if
 * that byte is not there yet, or -EAFNOSUPPORT
 */
static ssize_t address_len(const uint8_t *p, size_t n)
{
	switch (p[3]) {
	case TYPE_IPV4:
		return 4;
	case TYPE_IPV6:
		return 16;
	case TYPE_NAME:
		return n > ADDRESS_AT ? 1 + p[ADDRESS_AT] : 0;
	default:
		return -EAFNOSUPPORT;
	}
}

ssize_t socks5_request_parse(const uint8_t *p, size_t n, struct host *ret)
{
	const uint8_t *address = p + ADDRESS_AT;
	uint16_t port;
	ssize_t len;

	if ((n > 0 && p[0] != VERSION) || (n > 2 && p[2] != 0))
		return -EPROTONOSUPPORT;
	if (n < ADDRESS_AT)
		return 0;
	if (p[1] != COMMAND_CONNECT)
		return -EOPNOTSUPP;
	len = address_len(p, n);
	if (len <= 0)
		return len;
	if (n < ADDRESS_AT + (size_t)len + 2)
		return 0;

	port = (uint16_t)(address[len] << 8 | address[len + 1]);
	if (!port)
		return -EINVAL;
	if (p[3] != TYPE_NAME)
		host_of_address(address, (size_t)len, port, ret);
	else if (host_parse((const char *)address + 1, (size_t)len - 1, port,
			    ret) < 0)
		return -EINVAL;
	return ADDRESS_AT + len + 2;
}

enum socks5_rep socks5_rep_of(int error)
{
	return error == -EOPNOTSUPP ? SOCKS5_NO_COMMAND
	       : error == -EAFNOSUPPORT ? SOCKS5_NO_ADDRESS_TYPE
	       : SOCKS5_FAILURE;
}

void socks5_reply(enum socks5_rep rep, uint8_t ret[SOCKS5_REPLY_LEN])
{
	memset(ret, 0, SOCKS5_REPLY_LEN);
	ret[0] = VERSION;
	ret[1] = (uint8_t)rep;
	ret[3] = TYPE_IPV4;
}
