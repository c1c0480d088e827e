/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/cmd-ssh-connect.c - ssh's ProxyCommand inside a sandbox
 *
 * cloche ssh-connect HOST PORT
 *
 * $GIT_SSH_COMMAND in the sandbox names it (plan/network.c). Plain ssh works
 * as well, for what it connects to is captured; but then a refusal is only "no
 * such name". Here the gate is asked by name, and its reason is printed.
 *
 * With ProxyUseFdpass ssh gets the connected socket itself over stdout, so
 * there is no process between the two.
 */

#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/command-line.h"
#include "gate/proto/http.h"
#include "ipc/listener.h"
#include "ipc/socket.h"
#include "policy/host.h"

/* The gate's port: the same in every sandbox with a network of its own */
static uint16_t gate_port(void)
{
	const char *url = getenv("HTTP_PROXY");
	const char *colon = url ? strrchr(url, ':') : NULL;
	uint64_t port;

	return colon && text_to_u64(colon + 1, UINT16_MAX, &port) == 0
	       ? (uint16_t)port : LISTENER_HTTP_PORT;
}

static int dial(uint16_t port)
{
	const struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0 ?
	       -1 : take_fd(&fd);
}

/* A server in the sandbox, or a port of --host-port: the gate knows neither */
static int dial_own(const struct host *host)
{
	return strcmp(host->name, "localhost") && strcmp(host->name, "127.0.0.1") ?
	       -1 : dial(host->port);
}

static int ask(int fd, const struct host *host, struct err *err)
{
	auto_buf struct buf out = { 0 };
	int r;

	http_connect_write(host, NULL, &out);
	r = fs_tell(fd, out.p, out.len);
	return r < 0 ? fail(err, r, "cannot ask the network gate: %s", strerror(-r)) : 0;
}

/* Byte by byte: what follows the head is for ssh */
static int read_head(int fd, struct buf *head, struct err *err)
{
	while (head->len < HTTP_HEAD_MAX &&
	       (head->len < 4 || memcmp(head->p + head->len - 4,
					"\r\n\r\n", 4) != 0)) {
		char c;
		const ssize_t n = recv(fd, &c, 1, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail(err, -ECONNRESET, "the network gate did not answer");
		buf_addc(head, c);
	}
	return 0;
}

/* "HTTP/1.1 403 words" to 0 or an error with those words */
static int check_reply(const char *head, const struct host *host, struct err *err)
{
	static const char version[] = "HTTP/1.1 ";
	const size_t skip = sizeof(version) - 1 + 4;	/* And "403 " */
	const size_t n = strcspn(head, "\r\n");
	char words[128];
	size_t len = 0;

	if (n > skip && !strncmp(head, version, sizeof(version) - 1) &&
	    head[sizeof(version) - 1] == '2')
		return 0;
	for (size_t i = skip; i < n && len < sizeof(words) - 1; i++)
		words[len++] = head[i] >= ' ' && head[i] <= '~' ? head[i] : '?';
	words[len] = '\0';
	return fail(err, -EACCES, "%s:%u: %s", host->name, host->port, words);
}

/* Connected to @host through the gate, or a negative errno */
static int dial_gate(const struct host *host, struct err *err)
{
	auto_buf struct buf head = { 0 };
	auto_close int fd = dial(gate_port());
	int r;

	if (fd < 0)
		return fail_errno(err, "no network gate here, 'ssh-connect' is for the inside of a sandbox");
	r = ask(fd, host, err);
	if (r >= 0)
		r = read_head(fd, &head, err);
	if (r >= 0)
		r = check_reply(buf_str(&head), host, err);
	return r < 0 ? r : take_fd(&fd);
}

int cli_ssh_connect(int argc, char **argv, struct err *err)
{
	auto_close int fd = -1;
	struct host host;
	uint64_t port;
	int r;

	if (argc != 3 || text_to_u64(argv[2], UINT16_MAX, &port) < 0 || !port ||
	    host_parse(argv[1], strlen(argv[1]), (uint16_t)port, &host) < 0)
		return fail(err, -EINVAL, "usage: cloche ssh-connect HOST PORT");
	fd = dial_own(&host);
	if (fd < 0)
		fd = dial_gate(&host, err);
	if (fd < 0)
		return fd;
	r = socket_send(STDOUT_FILENO, "", 1, &fd, 1);
	return r < 0 ? fail(err, r, "cannot hand the connection to ssh (ProxyUseFdpass=yes?): %s",
			    strerror(-r)) : 0;
}
