/* SPDX-License-Identifier: Apache-2.0 */
/* view/fuzz-walk-cache.c - records that are not whole are nothing */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/fs.h"
#include "view/walk-cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The directory that the first record is about, if there is one */
static void first_directory(const uint8_t *data, size_t size, struct stat *st)
{
	uint64_t words[3] = { 0 };
	uint32_t nsec = 0;

	memset(st, 0, sizeof(*st));
	if (size < sizeof(words) + sizeof(nsec))
		return;
	memcpy(words, data, sizeof(words));
	memcpy(&nsec, data + sizeof(words), sizeof(nsec));
	st->st_dev = words[0];
	st->st_ino = words[1];
	st->st_ctim.tv_sec = (time_t)words[2];
	st->st_ctim.tv_nsec = nsec;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf text = { 0 };
	struct walk_cache *cache;
	struct walk_names names;
	struct dir_entry entry;
	struct stat st;
	size_t n = 0;

	walk_cache_free(walk_cache_new(data, size));
	walk_cache_seal(NULL, 0, data, size, &text);
	cache = walk_cache_new(text.p, text.len);
	first_directory(data, size, &st);
	if (walk_cache_find(cache, &st, &names)) {
		while (walk_names_next(&names, &entry))
			n += strlen(entry.name) + 2;
		if (n > size)
			abort();
	}
	walk_cache_free(cache);
	buf_done(&text);
	return 0;
}
