/* SPDX-License-Identifier: Apache-2.0 */
/* base/test-arena.c - memory that is shared with a child forked earlier */

#include "base/arena.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

TEST(a_child_forked_earlier_reads_later_copies_in_the_arena)
{
	char *words[] = { (char[]){ "one" }, (char[]){ "" }, NULL };
	struct arena arena;
	char **copy;
	int go[2], status;
	pid_t pid;

	CHECK_INT(arena_open(&arena, 4096), 0);
	CHECK_INT(pipe(go), 0);
	pid = fork();
	if (!pid) {
		if (read(go[0], &copy, sizeof(copy)) != sizeof(copy))
			_exit(1);
		_exit(strcmp(copy[0], "one") || *copy[1] || copy[2]);
	}
	copy = arena_strings(&arena, words);
	CHECK(copy != NULL && !arena.full);
	words[0][0] = 'x';
	CHECK_INT(write(go[1], &copy, sizeof(copy)), sizeof(copy));
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
	arena_close(&arena);
	CHECK(arena.p == NULL);
}

TEST(a_copy_beyond_the_size_marks_the_arena_as_failed)
{
	static const char data[4096];
	struct arena arena;

	CHECK_INT(arena_open(&arena, 4096), 0);
	CHECK(arena_copy(&arena, data, 4000) != NULL);
	CHECK(arena_copy(&arena, data, 97) == NULL);
	CHECK(arena.full);
	CHECK(arena_copy(&arena, data, 1) == NULL);	/* Though it would fit */
	CHECK(arena_strdup(&arena, NULL) == NULL);
	arena_close(&arena);

	CHECK_INT(arena_open(&arena, 4096), 0);
	CHECK(arena_copy(&arena, data, 4096) == arena.p);
	CHECK(!arena.full);
	CHECK(arena_strdup(&arena, "") == NULL);
	arena_close(&arena);
}

TEST(copies_are_aligned)
{
	struct arena arena;

	CHECK_INT(arena_open(&arena, 4096), 0);
	CHECK(arena_strdup(&arena, "a") == arena.p);
	CHECK_INT((char *)arena_strdup(&arena, "b") - arena.p, 16);
	arena_close(&arena);
}
