/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench/settings.c - how long settings take: few rules, and 100,000
 *
 * Prints the best of some rounds in microseconds: reading, merging and
 * finishing a policy, from files in memory.
 */

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "policy/policy.h"
#include "policy/settings.h"
#include "policy/test-memory.h"

enum { ROUNDS = 20 };

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void measure(unsigned int rules)
{
	struct memory files = { 0 };
	struct file_reader reader = memory_reader(&files);
	const struct settings_request req = {
		.reader = &reader, .cwd = "/home/u/p", .home = "/home/u",
	};
	auto_buf struct buf text = { 0 };
	double best = 1e12;

	buf_adds(&text, "{\"sandbox\":{\"filesystem\":{\"denyRead\":[\"x\"");
	for (unsigned int i = 0; i < rules; i++)
		buf_addf(&text, ",\"%x\"", i);
	buf_adds(&text, "]}}}");
	memory_add(&files, "/home/u/.claude/settings.json", buf_str(&text));
	for (int i = 0; i < ROUNDS; i++) {
		auto_policy struct policy *policy = NULL;
		struct err err = { 0 };
		const double start = now();

		if (settings_load(&req, &policy, NULL, &err) < 0) {
			fprintf(stderr, "bench: %s\n", err.msg);
			exit(1);
		}
		if (now() - start < best)
			best = now() - start;
	}
	printf("%7u rules: %8.0f us\n", rules, best);
	memory_done(&files);
}

int main(void)
{
	measure(10);
	measure(1000);
	measure(100000);
	return 0;
}
