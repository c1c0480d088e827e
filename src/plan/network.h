/* SPDX-License-Identifier: Apache-2.0 */
/* plan/network.h - the ports that a sandbox's network needs */

#ifndef PLAN_NETWORK_H
#define PLAN_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct policy;

enum { NETWORK_PORTS_MAX = 32 };	/* Of each kind */

/* Where the sandbox finds the HTTP proxy, in the full tier */
#define NETWORK_HTTP_URL	"http://localhost:3128"

/* Ports of one kind, each once */
struct network_ports {
	uint16_t v[NETWORK_PORTS_MAX];
	size_t len;
};

/**
 * struct network - What is listened on beside the built-in ports
 * @capture:	Inside, because a rule names that port; the first of
 *		them; others are captured when a process connects
 * @host_ports:	Inside, for the host's loopback
 * @publish:	On the host's loopback, for a server inside
 * @publish_any: The same for whatever port is listened on inside
 */
struct network {
	struct network_ports capture, host_ports, publish;
	bool publish_any;
};

/* Where the proxies are, on the loopback */
struct network_proxies {
	uint16_t http, socks;
};

/* 0, or -E2BIG with a message */
int network_plan(const struct policy *policy, struct network *ret,
		 struct err *err);

/* The variables that tell programs of the proxies: @put is called for each.
 * @proxies is NULL for the ports of a private network; @any_port: a program
 * that connects without a proxy reaches allowed hosts on every port.
 */
void network_env(const struct policy *policy,
		 const struct network_proxies *proxies, bool any_port,
		 void (*put)(void *arg, const char *name, const char *value),
		 void *arg);

/* What git is to call instead of ssh, where @program is cloche as the command
 * sees it. False if that is no name for a shell and for ssh: plain ssh works
 * as well, for its connections are captured.
 */
bool network_ssh(const char *program, struct buf *out);

#endif /* PLAN_NETWORK_H */
