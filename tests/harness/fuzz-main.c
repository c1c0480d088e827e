/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/harness/fuzz-main.c - runs a fuzz target over its corpus as a test
 *
 * Each file of each directory named on the command line is fed to the target,
 * as it is and then with a fixed number of small, reproducible damages, so
 * that an ordinary test run already looks a little beyond the corpus.
 */

#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/own.h"

enum { DAMAGES = 64, INPUT_MAX = 1 << 22 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* An exact-size copy, so that a sanitizer sees a read past the end */
static void feed(const char *data, size_t n)
{
	uint8_t *copy = malloc(n ? n : 1);

	if (!copy)
		abort();
	memcpy(copy, data, n);
	LLVMFuzzerTestOneInput(copy, n);
	free(copy);
}

static void feed_damaged(const struct buf *b, uint32_t seed)
{
	uint32_t state = seed * 2654435761u + 1;

	for (int i = 0; i < DAMAGES && b->len; i++) {
		auto_buf struct buf copy = { 0 };
		const size_t at = next_random(&state) % b->len;

		buf_add(&copy, b->p, b->len);
		switch (next_random(&state) % 4) {
		case 0:
			copy.p[at] = (char)next_random(&state);
			break;
		case 1:
			copy.p[at] ^= (char)(1 << next_random(&state) % 8);
			break;
		case 2:
			copy.len = at;
			break;
		default:
			buf_add(&copy, b->p + at, b->len - at);
			break;
		}
		feed(copy.p, copy.len);
	}
}

static int run_dir(const char *path, unsigned int *count)
{
	auto_closedir DIR *dir = opendir(path);
	struct dirent *entry;

	if (!dir) {
		perror(path);
		return -1;
	}
	while ((entry = readdir(dir)) != NULL) {
		auto_buf struct buf b = { 0 };

		if (entry->d_name[0] == '.')
			continue;
		if (fs_read(dirfd(dir), entry->d_name, INPUT_MAX, &b, NULL) < 0)
			return -1;
		feed(buf_str(&b), b.len);
		feed_damaged(&b, (uint32_t)b.len + 1);
		++*count;
	}
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int count = 0;

	for (int i = 1; i < argc; i++) {
		if (run_dir(argv[i], &count) < 0)
			return 1;
	}
	printf("%u inputs\n", count);
	return count ? 0 : 1;	/* A corpus that is not there tests nothing */
}
