/* SPDX-License-Identifier: Apache-2.0 */
/* ipc/test-wire.c - messages between a run's supervisor and the library */

#include "test.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "ipc/wire.h"

static struct loop *loop;
static struct wire a, b;
static char got[256];
static size_t bytes;
static int messages, gone;

static void take(void *arg, enum wire_verb verb, const char *const *words)
{
	(void)arg;
	messages++;
	bytes += strlen(words[0]);
	if (verb == WIRE_FAILED)
		snprintf(got, sizeof(got), "%s|%s", words[0], words[1]);
}

static void on_gone(void *arg)
{
	(void)arg;
	gone++;
}

/* a speaks, b listens */
static void set_up(void)
{
	int pair[2];

	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	CHECK_INT(loop_new(&loop, NULL), 0);
	wire_init(&a, pair[0]);
	wire_init(&b, pair[1]);
	b.take = take;
	b.gone = on_gone;
	CHECK_INT(wire_attach(&b, loop), 0);
}

static void tear_down(void)
{
	wire_done(&a);
	wire_done(&b);
	loop_free(loop);
}

static int say(struct wire *wire, const char *text)
{
	return wire_send(wire, WIRE_SAY, (const char *const[]){ text });
}

TEST(arguments_arrive_as_they_were_sent)
{
	set_up();
	CHECK_INT(wire_send(&a, WIRE_FAILED,
			    (const char *const[]){ "22", "caf\303\251\n\377" }), 0);
	CHECK_INT(loop_turn(loop), 0);
	CHECK_STR(got, "22|caf\303\251\n\377");
	CHECK_INT(wire_send(&a, WIRE_FAILED, (const char *const[]){ NULL, "" }), 0);
	CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(messages, 2);
	CHECK_STR(got, "|");
	tear_down();
}

TEST(a_fragmented_message_is_reassembled)
{
	const uint32_t head[2] = { 6, WIRE_SAY };
	char frame[14];

	set_up();
	memcpy(frame, head, sizeof(head));
	memcpy(frame + 8, "hello", 6);
	for (size_t i = 0; i < sizeof(frame); i++) {
		CHECK_INT(messages, 0);
		CHECK_INT(write(a.source.fd, frame + i, 1), 1);
		CHECK_INT(loop_turn(loop), 0);
	}
	CHECK_INT(messages, 1);
	CHECK_INT(bytes, 5);
	tear_down();
}

TEST(messages_are_limited_to_WIRE_FRAME_MAX)
{
	char *text = mem_zalloc(WIRE_FRAME_MAX + 1);

	set_up();
	memset(text, 'x', WIRE_FRAME_MAX);
	CHECK_INT(say(&a, text), -EMSGSIZE);
	text[WIRE_FRAME_MAX - 1] = '\0';	/* The NUL counts */
	CHECK_INT(say(&a, text), 0);
	CHECK_INT(wire_attach(&a, loop), 0);
	while (!messages)
		CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(bytes, WIRE_FRAME_MAX - 1);
	tear_down();
	free(text);
}

TEST(a_stalled_reader_fills_the_queue_up_to_its_limit)
{
	char *text = mem_zalloc(WIRE_FRAME_MAX / 2);
	int r = 0, sent = 0;

	set_up();
	memset(text, 'x', WIRE_FRAME_MAX / 2 - 1);
	while (r == 0 && sent < 100) {
		r = say(&a, text);
		sent += r == 0;
	}
	CHECK_INT(r, -ENOBUFS);
	CHECK(a.out.len <= WIRE_QUEUE_MAX + 100);
	/* A message that the peer waits for is queued all the same */
	while (say(&a, "x") == 0)
		sent++;
	CHECK_INT(wire_send(&a, WIRE_UPDATED,
			    (const char *const[]){ "1", "0", "" }), 0);
	CHECK_INT(wire_send(&a, WIRE_ENDED, (const char *const[]){ "0" }), 0);
	CHECK_INT(say(&a, "x"), -ENOBUFS);
	/* And it is all there when it reads */
	CHECK_INT(wire_attach(&a, loop), 0);
	while (messages < sent + 2)
		CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(a.out.len, 0);
	tear_down();
	free(text);
}

static void is_refused(const void *frame, size_t n)
{
	set_up();
	messages = gone = 0;
	CHECK_INT(write(a.source.fd, frame, n), n);
	CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(messages, 0);
	CHECK_INT(gone, 1);
	CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(gone, 1);
	tear_down();
}

TEST(malformed_frames_close_the_connection)
{
	const uint32_t verb[2] = { 0, WIRE_VERBS };
	const uint32_t length[2] = { WIRE_FRAME_MAX + 1, WIRE_SAY };
	const struct { uint32_t head[2]; char text[4]; } few = {
		{ 4, WIRE_FAILED }, "abc",
	}, many = { { 4, WIRE_SAY }, { 'a', 0, 'b', 0 } },
	endless = { { 4, WIRE_SAY }, { 'a', 'b', 'c', 'd' } };

	is_refused(verb, sizeof(verb));
	is_refused(length, sizeof(length));
	is_refused(&few, sizeof(few));
	is_refused(&many, sizeof(many));
	is_refused(&endless, sizeof(endless));
}

TEST(end_of_file_is_reported_once_and_sending_fails)
{
	set_up();
	CHECK_INT(say(&a, "last"), 0);
	wire_done(&a);
	CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(messages, 1);
	CHECK_INT(loop_turn(loop), 0);
	CHECK_INT(gone, 1);
	CHECK_INT(say(&b, "x"), -EPIPE);
	tear_down();
}
