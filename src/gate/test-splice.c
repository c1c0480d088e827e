/* SPDX-License-Identifier: Apache-2.0 */
/* gate/test-splice.c - bytes from one socket to another, with back-pressure */

#include "test.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "gate/splice.h"

enum { TOTAL = 3 << 20 };

/**
 * struct bench - left | a ... flow ... b | right
 */
static struct {
	int left, right;
	struct splice_end a, b;
	struct splice flow;
} bench;

static void set_up(void)
{
	int one[2], two[2];

	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, one), 0);
	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, two), 0);
	bench.left = one[0];
	bench.right = two[1];
	bench.a = (struct splice_end){ .source.fd = one[1], .readable = true };
	bench.b = (struct splice_end){ .source.fd = two[0], .writable = true };
	splice_init(&bench.flow, &bench.a, &bench.b);
}

/* As the loop would: everything may have changed */
static ssize_t pump(void)
{
	splice_end_note(&bench.a, EPOLLIN);
	splice_end_note(&bench.b, EPOLLOUT);
	return splice_pump(&bench.flow);
}

static char byte_at(size_t i)
{
	return (char)(i * 31 + i / 251);
}

/* Move TOTAL bytes through, the reader taking at most @gulp at a time */
static void carry(size_t gulp)
{
	char *out = mem_zalloc(TOTAL), *in = mem_zalloc(gulp);
	const uint64_t before = bench.flow.total;
	size_t sent = 0, got = 0;

	for (size_t i = 0; i < TOTAL; i++)
		out[i] = byte_at(i);
	while (got < TOTAL) {
		const ssize_t put = sent == TOTAL ? 0 :
			send(bench.left, out + sent, TOTAL - sent, 0);
		ssize_t n;

		sent += put > 0 ? (size_t)put : 0;
		CHECK(pump() >= 0);
		CHECK(splice_waiting(&bench.flow) <= (bench.flow.wide
						    ? SPLICE_WIDE : SPLICE_PENDING_MAX));
		n = recv(bench.right, in, gulp, 0);
		for (ssize_t i = 0; i < n; i++)
			CHECK(in[i] == byte_at(got + (size_t)i));
		got += n > 0 ? (size_t)n : 0;
	}
	CHECK_INT(bench.flow.total - before, TOTAL);
	free(out);
	free(in);
}

TEST(bytes_arrive_in_order_at_a_fast_reader)
{
	set_up();
	carry(1 << 20);
	CHECK(bench.flow.pipe[0] >= 0);		/* It was worth a pipe */
}

TEST(a_slow_reader_limits_the_buffered_bytes)
{
	set_up();
	carry(1000);
}

TEST(without_descriptors_for_a_pipe_bytes_are_copied)
{
	int first, last;

	set_up();
	first = last = dup(0);
	for (int fd = first; fd >= 0; fd = dup(0))
		last = fd;
	CHECK(last > 0);
	carry(1 << 16);
	CHECK_INT(bench.flow.pipe[0], -1);
	/* A leak checker needs some descriptors afterwards */
	(void)close_range((unsigned int)first, (unsigned int)last, 0);
}

TEST(a_flow_stops_at_its_limit_to_the_byte)
{
	char in[64];

	set_up();
	CHECK_INT(send(bench.left, "abcdefgh", 8, 0), 8);
	bench.flow.limit = 5;
	CHECK_INT(pump(), 5);
	CHECK_INT(bench.flow.limit, 0);
	CHECK_INT(pump(), 0);
	CHECK_INT(recv(bench.right, in, sizeof(in), 0), 5);
}

TEST(end_of_file_is_reported_after_the_last_byte)
{
	char in[64];

	set_up();
	CHECK_INT(send(bench.left, "last", 4, 0), 4);
	close_fd(&bench.left);
	splice_end_note(&bench.a, EPOLLIN | EPOLLRDHUP);
	CHECK_INT(pump(), 4);
	CHECK(bench.a.eof);
	splice_end_shut(&bench.b);
	CHECK_INT(recv(bench.right, in, sizeof(in), 0), 4);
	CHECK_INT(recv(bench.right, in, sizeof(in), 0), 0);
}

TEST(queued_bytes_are_sent_first)
{
	char in[64] = "";

	set_up();
	CHECK_INT(send(bench.left, "second", 6, 0), 6);
	splice_queue(&bench.flow, "fi", 2);
	splice_queue(&bench.flow, "rst ", 4);
	CHECK_INT(splice_waiting(&bench.flow), 6);
	CHECK_INT(pump(), 6);
	CHECK_INT(recv(bench.right, in, sizeof(in) - 1, 0), 12);
	CHECK_STR(in, "first second");
	CHECK(!bench.flow.pending);
}

TEST(a_closed_reader_is_an_error)
{
	set_up();
	CHECK_INT(send(bench.left, "x", 1, 0), 1);
	close_fd(&bench.right);
	CHECK(pump() < 0);
	CHECK(bench.b.failed);
}

/* A flow that has moved much already, and moves on */
static bool is_wide(void)
{
	set_up();
	bench.flow.total = SPLICE_WIDE_AFTER;
	carry(64 << 10);
	return bench.flow.wide;
}

TEST(wide_pipes_are_limited_and_returned)
{
	struct splice kept[SPLICE_WIDE_MAX];

	for (size_t i = 0; i < SPLICE_WIDE_MAX; i++) {
		CHECK(is_wide());
		kept[i] = bench.flow;
	}
	CHECK(!is_wide());
	splice_done(&kept[0]);
	CHECK(is_wide());
	CHECK(!is_wide());
}
