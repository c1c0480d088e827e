/* SPDX-License-Identifier: Apache-2.0 */
/* secret/test-fake.c - a backend in memory that fails as it is told */

#include "secret/test-fake.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void note_call(struct fake *fake, char c)
{
	const size_t n = strlen(fake->log);

	if (n < FAKE_LOG - 1)
		fake->log[n] = c;
}

static void answer(int code, const char *data, unsigned int notes,
		   answer_fn done, void *arg)
{
	auto_bytes struct bytes bytes = { 0 };
	struct answer a = { .r = code, .notes = notes };

	if (code < 0)
		fail(&a.err, code, "the fake fails");
	else if (data && *data) {
		bytes_adds(&bytes, data);
		a.data = &bytes;
	}
	done(arg, &a);
}

static void read_now(int code, const char *data, unsigned int notes,
		     answer_fn done, void *arg)
{
	answer(code ? code : *data != '\0', data, notes, done, arg);
}

static void fake_read(struct backend *b, answer_fn done, void *arg)
{
	struct fake *fake = (struct fake *)b;
	const size_t i = fake->held_count;

	note_call(fake, 'r');
	if (!fake->hold) {
		read_now(fake->fail_read, fake->data, fake->notes, done, arg);
		return;
	}
	fake->held[i].done = done;
	fake->held[i].arg = arg;
	fake->held[i].fail = fake->fail_read;
	snprintf(fake->held[i].then, sizeof(fake->held[i].then), "%s",
		 fake->data);
	fake->held_count++;
}

void fake_release(struct fake *fake)
{
	const answer_fn done = fake->held[0].done;
	void *arg = fake->held[0].arg;
	const int code = fake->held[0].fail;
	char then[256];

	memcpy(then, fake->held[0].then, sizeof(then));
	fake->held_count--;
	memmove(fake->held, fake->held + 1,
		fake->held_count * sizeof(fake->held[0]));
	read_now(code, then, fake->notes, done, arg);
}

static void fake_update(struct backend *b, const struct bytes *data,
			answer_fn done, void *arg)
{
	struct fake *fake = (struct fake *)b;

	note_call(fake, 'u');
	if (!fake->fail_update)
		snprintf(fake->data, sizeof(fake->data), "%s",
			 bytes_str(data));
	answer(fake->fail_update ? fake->fail_update : 1, NULL, fake->notes,
	       done, arg);
}

static void fake_delete(struct backend *b, answer_fn done, void *arg)
{
	struct fake *fake = (struct fake *)b;
	const int had = fake->data[0] != '\0';

	note_call(fake, 'd');
	if (!fake->fail_delete)
		fake->data[0] = '\0';
	answer(fake->fail_delete ? fake->fail_delete : had, NULL, 0, done, arg);
}

static void fake_cancel(struct backend *b)
{
	struct fake *fake = (struct fake *)b;

	while (fake->held_count) {
		fake->held[0].fail = -ECANCELED;
		fake_release(fake);
	}
}

static void fake_free(struct backend *b)
{
	(void)b;
}

static const struct backend_ops fake_ops = {
	.name = "fake",
	.read = fake_read,
	.update = fake_update,
	.delete = fake_delete,
	.cancel = fake_cancel,
	.free = fake_free,
};

struct backend *fake_init(struct fake *fake, const char *data)
{
	*fake = (struct fake){ .base = { &fake_ops } };
	snprintf(fake->data, sizeof(fake->data), "%s", data ? data : "");
	return &fake->base;
}

void fake_set(struct fake *fake, const char *data)
{
	snprintf(fake->data, sizeof(fake->data), "%s", data);
}

void fake_break(struct fake *fake, int code)
{
	fake->fail_read = fake->fail_update = fake->fail_delete = code;
}
