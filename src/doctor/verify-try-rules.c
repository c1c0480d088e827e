/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/verify-try-rules.c - attempts to stretch a rule that allows something
 *
 * Each has a sandbox of its own: verify-launch.c adds the rule.
 */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"
#include "doctor/verify-row.h"
#include "doctor/verify-try.h"

enum { HELLO_MAX = 512 };

/* Whatever the list is, by itself it opens nothing: straight, then by proxy */
void attempt_empty(const struct world *w, const char *argument,
		   struct found *f)
{
	(void)argument;
	attempt_tcp(w, "127.0.0.1", f);
	if (w->inside)
		attempt_connect(w, "127.0.0.1", f);
}

/* A TLS ClientHello that asks for "row-N.example.net": the listener reads the
 * name as our word
 */
static size_t make_hello(const struct found *f, unsigned char *p)
{
	static const unsigned char start[] = {
		22, 3, 1, 0, 0,			/* Handshake; length */
		1, 0, 0, 0, 3, 3,		/* ClientHello; length */
	};
	char name[64];
	size_t n = sizeof(start), name_len, extensions;

	snprintf(name, sizeof(name), "row-%zu.example.net", f->row);
	name_len = strlen(name);
	extensions = name_len + 9;
	memcpy(p, start, n);
	memset(p + n, 7, 32);			/* Random */
	n += 32;
	memcpy(p + n, "\0\0\2\x13\1\1\0", 7);	/* One cipher */
	n += 7;
	p[n++] = 0;
	p[n++] = (unsigned char)extensions;
	memcpy(p + n, "\0\0\0", 3);		/* server_name */
	n += 3;
	p[n++] = (unsigned char)(name_len + 5);
	p[n++] = 0;
	p[n++] = (unsigned char)(name_len + 3);
	memcpy(p + n, "\0\0", 2);		/* A host name */
	n += 2;
	p[n++] = (unsigned char)name_len;
	memcpy(p + n, name, name_len);
	n += name_len;
	p[4] = (unsigned char)(n - 5);
	p[8] = (unsigned char)(n - 9);
	return n;
}

/* Allowed: the host of CONNECT. Asked for: somebody else. */
void attempt_sni(const struct world *w, const char *argument, struct found *f)
{
	auto_close int fd = try_dial_proxy(w, HTTP_PROXY, "127.0.0.1");
	unsigned char hello[HELLO_MAX];
	char text[256], reply[256];
	ssize_t got = 1;

	snprintf(text, sizeof(text), "CONNECT %s:%d HTTP/1.1\r\nHost: %s:%d\r\n\r\n",
		 argument, w->tcp4, argument, w->tcp4);
	if (fd >= 0 && w->inside)
		got = send(fd, text, strlen(text), MSG_NOSIGNAL) < 0 ? -1 :
		      recv(fd, reply, sizeof(reply), 0);
	if (fd < 0 || got <= 0 ||
	    send(fd, hello, make_hello(f, hello), MSG_NOSIGNAL) < 0) {
		found_result(f, -1);
		return;
	}
	/* It is cut, or answered by nobody: both end the wait */
	got = w->inside ? recv(fd, reply, sizeof(reply), 0) : 1;
	f->error = got > 0 ? 0 : EACCES;
}

static void connect_name(const struct world *w, const char *name, int port,
			 struct found *f)
{
	struct world there = *w;
	char text[256];

	there.tcp4 = port;
	snprintf(text, sizeof(text), "CONNECT %s:%d HTTP/1.1\r\nHost: %s:%d\r\n\r\n",
		 name, port, name, port);
	try_proxy(&there, HTTP_PROXY, name, text, strlen(text), f);
}

/* Names that the host's resolver knows as this machine */
void attempt_rebind(const struct world *w, const char *argument,
		    struct found *f)
{
	char name[HOST_NAME_MAX + 1] = "";

	if (!strcmp(argument, "HOSTNAME"))
		(void)gethostname(name, sizeof(name) - 1);
	else
		snprintf(name, sizeof(name), "%s", argument);
	if (w->own_port)
		connect_name(w, name, w->own_port, f);
	connect_name(w, name, w->tcp4, f);
}

void attempt_wildcard(const struct world *w, const char *argument,
		      struct found *f)
{
	(void)argument;
	attempt_connect(w, "localhost", f);
	attempt_connect(w, "127.0.0.1", f);
}

/* A rule for one port of a host */
void attempt_other_port(const struct world *w, const char *argument,
			struct found *f)
{
	(void)argument;
	attempt_connect(w, "localhost", f);
}

/* In a project whose own files say that everything is allowed */
void attempt_hostile(const struct world *w, const char *argument,
		     struct found *f)
{
	attempt_create(w, argument, f);
}

/* Tried by the launcher: verify-launch.c */
void attempt_lack(const struct world *w, const char *argument,
		  struct found *f)
{
	(void)w, (void)argument, (void)f;
}

/* The file of the rules is overwritten with what no one can read */
void attempt_reload(const struct world *w, const char *argument,
		    struct found *f)
{
	if (w->inside)
		try_after_host(f);
	attempt_empty(w, argument, f);
}
