/* SPDX-License-Identifier: Apache-2.0 */
/* net/publish.c - a port of a sandbox's server, on the host's loopback */

#include "net/gatekeeper.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/own.h"
#include "plan/listener.h"

int gatekeeper_publish(struct gatekeeper *k, uint16_t port, struct err *err)
{
	static const int on = 1;
	const struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC |
				   SOCK_NONBLOCK, 0);
	int r;

	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, (const struct sockaddr *)&a, sizeof(a)) < 0 ||
	    listen(fd, SOMAXCONN) < 0)
		return fail_errno(err, "cannot listen on 127.0.0.1:%u", port);
	r = gatekeeper_add(k, &(struct gatekeeper_listener){
		LISTENER_PUBLISH, port, 0 }, take_fd(&fd));
	return r < 0 ? fail(err, r, "cannot publish port %u: %s", port,
			    strerror(-r)) : 0;
}
