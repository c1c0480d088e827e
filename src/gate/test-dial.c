/* SPDX-License-Identifier: Apache-2.0 */
/* gate/test-dial.c - the order in which several addresses are tried */

#include "test.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/loop.h"
#include "gate/address.h"
#include "gate/conn-timer.h"
#include "gate/dial.h"
#include "gate/splice.h"

static struct host address(const char *text, uint16_t port)
{
	struct host h;

	CHECK_INT(host_parse(text, strlen(text), port, &h), 0);
	return h;
}

static void add(struct dial *d, const char *text)
{
	const struct host h = address(text, 80);

	dial_add(d, &h);
}

TEST(addresses_of_both_families_are_tried_in_turn)
{
	struct dial d = { 0 };

	add(&d, "2001:4860::1");
	add(&d, "2001:4860::2");
	add(&d, "2001:4860::3");
	add(&d, "2001:4860::4");
	add(&d, "2001:4860::5");
	CHECK_INT(d.count, DIAL_ADDRESSES_MAX);
	add(&d, "8.8.8.8");
	add(&d, "8.8.4.4");
	CHECK_INT(d.count, DIAL_ADDRESSES_MAX);
	CHECK_STR(d.v[0].name, "2001:4860::1");
	CHECK_STR(d.v[1].name, "8.8.8.8");
	CHECK_STR(d.v[3].name, "2001:4860::3");
}

TEST(families_alternate_in_the_resolvers_order)
{
	struct dial d = { 0 };

	add(&d, "8.8.8.8");
	add(&d, "8.8.4.4");
	add(&d, "2001:4860::1");
	add(&d, "2001:4860::2");
	CHECK_STR(d.v[0].name, "8.8.8.8");
	CHECK_STR(d.v[1].name, "2001:4860::1");
	CHECK_STR(d.v[2].name, "8.8.4.4");
	CHECK_STR(d.v[3].name, "2001:4860::2");
}

static struct loop *loop;
static struct timers *timers;
static int outcome = 1;

static void on_dialled(void *arg, int error)
{
	(void)arg;
	outcome = error;
	loop_stop(loop, 0);
}

/* A socket that listens at @text, on *@port or one that is put there */
static int listen_at(const char *text, uint16_t *port, int backlog)
{
	const struct host h = address(text, *port);
	struct sockaddr_storage sa;
	socklen_t len;
	int fd;

	CHECK_INT(address_to_sockaddr(&h, &sa, &len), 0);
	fd = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, len) < 0)
		test_skip("no port that both families have");
	CHECK_INT(listen(fd, backlog), 0);
	CHECK_INT(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	*port = ntohs(((struct sockaddr_in *)&sa)->sin_port);
	return fd;
}

/* Fill the backlog, so that the next connection gets no answer */
static void fill(uint16_t port)
{
	const struct host h = address("::1", port);
	struct sockaddr_storage sa;
	socklen_t len;

	CHECK_INT(address_to_sockaddr(&h, &sa, &len), 0);
	for (int i = 0; i < 8; i++) {
		const int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC |
				      SOCK_NONBLOCK, 0);

		CHECK(connect(fd, (struct sockaddr *)&sa, len) == 0 ||
		      errno == EINPROGRESS);
	}
}

/* Connect to either of both; the family that was tried first */
static enum host_kind dial_both(uint16_t port)
{
	struct splice_end end = { .source.fd = -1 };
	struct dial d = {
		.loop = loop, .timers = timers, .end = &end,
		.fn = on_dialled,
	};
	const struct host six = address("::1", port);
	const struct host four = address("127.0.0.1", port);

	dial_add(&d, &six);
	dial_add(&d, &four);
	outcome = 1;
	dial_start(&d);
	if (outcome == 1)
		CHECK_INT(loop_run(loop), 0);
	CHECK_INT(outcome, 0);
	CHECK_INT(d.v[d.next - 1].kind, HOST_IPV4);
	splice_end_close(loop, &end);
	return d.v[0].kind;
}

TEST(a_family_without_an_answer_is_tried_last_next_time)
{
	static const unsigned int ms[TIMER_KINDS] = { [TIMER_ATTEMPT] = 30 };
	uint16_t port = 0;

	if (socket(AF_INET6, SOCK_STREAM, 0) < 0)
		test_skip("no IPv6 here");
	CHECK_INT(loop_new(&loop, NULL), 0);
	CHECK_INT(timers_new(loop, ms, &timers), 0);
	(void)listen_at("::1", &port, 0);
	(void)listen_at("127.0.0.1", &port, 64);
	fill(port);
	CHECK_INT(dial_both(port), HOST_IPV6);
	CHECK_INT(dial_both(port), HOST_IPV4);
}
