/* SPDX-License-Identifier: Apache-2.0 */
/* policy/proxy.h - where a proxy is: "http://[user:password@]host[:port][/]" */

#ifndef POLICY_PROXY_H
#define POLICY_PROXY_H

#include <stddef.h>

struct err;
struct host;

/* Take @url apart; the scheme may be missing. *@ret_user are the *@ret_n bytes
 * before the "@", as they are written, or NULL without one. 0; or -EINVAL with
 * words, which never hold the URL: it may hold a password.
 */
int proxy_parse(const char *url, struct host *ret_host, const char **ret_user,
		size_t *ret_n, struct err *err);

#endif /* POLICY_PROXY_H */
