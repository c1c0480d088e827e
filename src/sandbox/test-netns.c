/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox/test-netns.c - captured connections in namespaces of the test */

#include "test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/proc.h"
#include "ipc/listener.h"
#include "ipc/socket.h"
#include "sandbox/netns-helper.h"
#include "sandbox/netns.h"

static void set_up(const struct netns_config *config, struct listener_set *set)
{
	struct err err = { 0 };

	test_enter(CLONE_NEWNET);
	if (netns_setup(config, set, &err) < 0)
		test_fail(__FILE__, __LINE__, "%s", err.msg);
}

static int row_of(const struct listener_set *set, uint16_t port)
{
	for (size_t i = 0; i < set->len; i++) {
		if (set->v[i].port == port)
			return (int)i;
	}
	return -1;
}

static int fd_of(const struct listener_set *set, uint16_t port)
{
	const int row = row_of(set, port);

	return row < 0 ? -1 : set->fds[row];
}

/* Connect to the numeric @address; the descriptor or -errno */
static int dial(const char *address, const char *port)
{
	const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST,
	};
	struct addrinfo *list;
	int fd, r;

	CHECK_INT(getaddrinfo(address, port, &hints, &list), 0);
	fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(fd >= 0);
	r = connect(fd, list->ai_addr, list->ai_addrlen) < 0 ? -errno : fd;
	freeaddrinfo(list);
	return r;
}

/* The address that a connection waiting on @listener was meant for */
static const char *meant_for(int listener)
{
	static char text[INET6_ADDRSTRLEN];
	struct sockaddr_in6 a;
	socklen_t len = sizeof(a);
	auto_close int fd = accept(listener, NULL, NULL);

	CHECK(fd >= 0);
	CHECK_INT(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	CHECK_INT(a.sin6_family, AF_INET6);
	CHECK(inet_ntop(AF_INET6, &a.sin6_addr, text, sizeof(text)));
	return text;
}

TEST(connections_to_any_address_are_captured_with_their_destination)
{
	struct listener_set set;

	set_up(&(struct netns_config){ .filtered = true }, &set);
	CHECK(dial("93.184.216.34", "443") >= 0);
	CHECK_STR(meant_for(fd_of(&set, 443)), "::ffff:93.184.216.34");
	CHECK(dial("2606:2800::1", "80") >= 0);
	CHECK_STR(meant_for(fd_of(&set, 80)), "2606:2800::1");
	CHECK(dial("127.0.0.1", "3128") >= 0);
	CHECK_STR(meant_for(fd_of(&set, 3128)), "::ffff:127.0.0.1");
	CHECK(dial("::1", "1080") >= 0);
	CHECK_STR(meant_for(fd_of(&set, 1080)), "::1");
	CHECK_INT(dial("93.184.216.34", "8080"), -ECONNREFUSED);
}

TEST(a_dns_datagram_to_any_resolver_is_captured)
{
	struct listener_set set;
	const struct sockaddr_in to = {
		.sin_family = AF_INET, .sin_port = htons(53),
		.sin_addr.s_addr = htonl(0x08080808),
	};
	char in[8];
	int fd = -1, udp = -1;

	set_up(&(struct netns_config){ .filtered = true }, &set);
	for (size_t i = 0; i < set.len; i++) {
		if (set.v[i].role == LISTENER_DNS_UDP)
			udp = set.fds[i];
	}
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CHECK_INT(sendto(fd, "q", 1, 0, (const struct sockaddr *)&to,
			 sizeof(to)), 1);
	CHECK_INT(recv(udp, in, sizeof(in), 0), 1);
}

/* Without an address beside loopback, this fails even for localhost */
TEST(names_resolve_for_programs_that_ask_for_configured_families)
{
	const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM, .ai_family = AF_INET,
		.ai_flags = AI_ADDRCONFIG,
	};
	struct addrinfo *list = NULL;
	struct listener_set set;

	set_up(&(struct netns_config){ .filtered = true }, &set);
	CHECK_INT(getaddrinfo("localhost", "80", &hints, &list), 0);
	freeaddrinfo(list);
}

TEST(an_unfiltered_namespace_has_only_loopback)
{
	struct listener_set set;

	set_up(&(struct netns_config){ .filtered = false }, &set);
	CHECK_INT(set.len, 0);
	CHECK_INT(dial("127.0.0.1", "443"), -ECONNREFUSED);
	CHECK_INT(dial("93.184.216.34", "443"), -ENETUNREACH);
}

TEST(every_listed_port_is_captured_once)
{
	static const uint16_t capture[] = { 5432, 443, 5432 };
	static const uint16_t host[] = { 6379 };
	struct listener_set set;

	set_up(&(struct netns_config){
		.filtered = true, .capture = capture, .n_capture = 3,
		.host_ports = host, .n_host_ports = 1, .publish = true,
	}, &set);
	CHECK_INT(set.v[row_of(&set, 5432)].role, LISTENER_CAPTURE);
	CHECK_INT(set.v[row_of(&set, 6379)].role, LISTENER_HOST_PORT);
	CHECK_INT(set.v[set.len - 2].role, LISTENER_SEED);
	CHECK_INT(set.v[set.len - 1].role, LISTENER_SEED_SOCKET);
	CHECK_INT(set.len, 13);
}

TEST(too_many_ports_are_refused_without_leaking_descriptors)
{
	uint16_t capture[LISTENERS_MAX];
	struct listener_set set;
	struct err err = { 0 };

	for (size_t i = 0; i < LISTENERS_MAX; i++)
		capture[i] = (uint16_t)(2000 + i);
	test_enter(CLONE_NEWNET);
	CHECK_INT(netns_setup(&(struct netns_config){
		.filtered = true, .capture = capture,
		.n_capture = LISTENERS_MAX,
	}, &set, &err), -ENOSPC);
	CHECK_INT(set.len, 0);
	CHECK_CONTAINS(err.msg, "more than");
}

TEST(one_address_of_either_family_is_captured_on_demand)
{
	const struct sockaddr_in6 six = {
		.sin6_family = AF_INET6, .sin6_port = htons(9001),
		.sin6_addr.s6_addr = { 0x26, 0x06, [15] = 1 },
	};
	const struct sockaddr_un other = { .sun_family = AF_UNIX };
	struct listener_set set;
	int fd;

	set_up(&(struct netns_config){ .filtered = true }, &set);
	fd = netns_listen((const struct sockaddr *)&six, sizeof(six));
	CHECK(fd >= 0);
	CHECK(dial("2606::1", "9001") >= 0);
	CHECK_STR(meant_for(fd), "2606::1");
	CHECK_INT(dial("2606::2", "9001"), -ECONNREFUSED);
	CHECK_INT(netns_listen((const struct sockaddr *)&other, sizeof(other)),
		  -EAFNOSUPPORT);
}

static int open_ns(pid_t pid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	return fd;
}

TEST(a_keeper_captures_a_port_on_demand)
{
	const struct sockaddr_in a = {
		.sin_family = AF_INET, .sin_port = htons(9001),
		.sin_addr.s_addr = htonl(0x5db8d822),
	};
	const struct sockaddr_in next = {
		.sin_family = AF_INET, .sin_port = htons(9002),
		.sin_addr.s_addr = htonl(0x5db8d822),
	};
	const struct sockaddr *sa = (const struct sockaddr *)&a;
	struct proc helper;
	struct listener_set set;
	struct err err = { 0 };
	int pair[2], status, fd, again;
	pid_t sandbox;
	char c;

	CHECK_INT(socket_pair(pair), 0);
	sandbox = fork();
	if (!sandbox) {
		set_up(&(struct netns_config){ .filtered = true }, &set);
		CHECK_INT(dial("93.184.216.34", "9001"), -ECONNREFUSED);
		CHECK_INT(socket_send(pair[1], "r", 1, NULL, 0), 0);
		CHECK_INT(socket_recv(pair[1], &c, 1, NULL, NULL), 1);
		_exit(dial("93.184.216.34", "9001") < 0);
	}
	if (socket_recv(pair[0], &c, 1, NULL, NULL) != 1) {
		CHECK_INT(waitpid(sandbox, &status, 0), sandbox);
		_exit(WEXITSTATUS(status));
	}
	CHECK_INT(netns_helper_start(open_ns(sandbox, "user"),
				  open_ns(sandbox, "net"), &helper, &err), 0);
	fd = netns_helper_listen(&helper, sa, sizeof(a));
	CHECK(fd >= 0);
	/* The place of one that is given up, but not closed yet */
	again = netns_helper_listen(&helper, sa, sizeof(a));
	CHECK(again >= 0);
	CHECK_INT(close(again), 0);
	/* With its next answer the helper has closed its own copy, too */
	again = netns_helper_listen(&helper, (const struct sockaddr *)&next,
				 sizeof(next));
	CHECK(again >= 0);
	CHECK_INT(socket_send(pair[0], "g", 1, NULL, 0), 0);
	CHECK_INT(waitpid(sandbox, &status, 0), sandbox);
	CHECK_INT(status, 0);
	CHECK(accept(fd, NULL, NULL) >= 0);
	proc_end(&helper, true);
}

static uint64_t inode_of(int fd)
{
	struct stat st;

	CHECK_INT(fstat(fd, &st), 0);
	return st.st_ino;
}

static struct listener_client ends_of(int fd, bool udp)
{
	struct sockaddr_in own, peer;
	socklen_t len = sizeof(own);
	struct listener_client c = { .family = 4, .udp = udp };

	CHECK_INT(getsockname(fd, (struct sockaddr *)&own, &len), 0);
	CHECK_INT(getpeername(fd, (struct sockaddr *)&peer, &len), 0);
	c.port = ntohs(own.sin_port);
	c.to_port = ntohs(peer.sin_port);
	memcpy(c.address, &own.sin_addr, 4);
	memcpy(c.to, &peer.sin_addr, 4);
	return c;
}

TEST(a_socket_is_found_by_its_addresses)
{
	const struct sockaddr_in dns = {
		.sin_family = AF_INET, .sin_port = htons(53),
		.sin_addr.s_addr = htonl(0x5db8d822),
	};
	struct listener_client c;
	struct listener_set set;
	int fd, udp;

	set_up(&(struct netns_config){ .filtered = true }, &set);
	fd = dial("93.184.216.34", "443");
	CHECK(fd >= 0);
	c = ends_of(fd, false);
	CHECK_INT(netns_inode(&c), inode_of(fd));
	c.port++;
	CHECK_INT(netns_inode(&c), 0);
	c.family = 0;
	CHECK_INT(netns_inode(&c), 0);

	udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CHECK_INT(connect(udp, (const struct sockaddr *)&dns, sizeof(dns)), 0);
	c = ends_of(udp, true);
	CHECK_INT(netns_inode(&c), inode_of(udp));
	CHECK_INT(close(fd), 0);
}
