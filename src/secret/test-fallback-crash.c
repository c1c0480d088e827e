/* SPDX-License-Identifier: Apache-2.0 */
/* secret/test-fallback-crash.c - a crash at any write of two stores */

#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "secret/backend.h"
#include "secret/test-pair.h"
#include "test.h"

static int writes_left;

static void crash_in_time(void)
{
	if (writes_left-- == 0)
		_exit(77);
}

/* Do it in a child that dies before its write number @n, on memory that both
 * share. True if it got to the end.
 */
static bool crashed_at(struct pair *p, int n, void (*act_it)(struct pair *))
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		writes_left = n;
		fake_before_write = crash_in_time;
		act_it(p);
		_exit(0);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	return !WEXITSTATUS(status);
}

static void set_n(struct pair *p)
{
	pair_edit(p, false);
}

static void update_all(struct pair *p)
{
	pair_act(p, VERB_UPDATE);
}

/**
 * struct crash - A beginning, an operation, and all that may be seen after
 */
static const struct crash {
	const char *one, *two;
	enum claim claim;
	bool locked;
	void (*act)(struct pair *p);
	const char *old, *new;
} crashes[] = {
	{ "", "", CLAIM_NONE, false, update_all, "", NEW },
	{ OLD1, "", CLAIM_NONE, false, update_all, OLD1, NEW },
	{ "", OLD2, CLAIM_NONE, false, update_all, OLD2, NEW },
	{ OLD1, "", CLAIM_NONE, true, update_all, OLD1, NEW },
	{ OLD1, OLD2, CLAIM_WHOLE, false, update_all, OLD2, NEW },
	{ OLD1, OLD2, CLAIM_PATCH, false, update_all, OLD2, NEW },
	{ OLD1, "{\"p\":4,\"o\":{\"$removed\":\"fake\"}}", CLAIM_PATCH, false, update_all,
	  "{\"p\":4}", NEW },
	{ OLD1, "{\"p\":4}", CLAIM_PATCH, false, set_n,
	  "{\"o\":1,\"p\":4}", "{\"o\":1,\"p\":4,\"n\":3}" },
	{ OLD1, "{\"p\":4}", CLAIM_WHOLE, false, set_n,
	  "{\"p\":4}", "{\"p\":4,\"n\":3}" },
	{ OLD1, "", CLAIM_NONE, true, set_n,
	  OLD1, "{\"o\":1,\"n\":3}" },
	{ OLD1, "{\"p\":4}", CLAIM_PATCH, true, set_n,
	  "{\"o\":1,\"p\":4}", "{\"o\":1,\"p\":4,\"n\":3}" },
};

TEST(a_crash_at_any_write_shows_old_or_new)
{
	struct pair *p = mmap(NULL, sizeof(*p), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	for (size_t i = 0; i < ARRAY_SIZE(crashes); i++) {
		const struct crash *c = &crashes[i];
		bool finished = false;

		for (int n = 0; !finished; n++) {
			const char *after;

			pair_init(p, c->one, c->two);
			p->claim = c->claim;
			if (c->locked)
				fake_break(&p->one, -EACCES);
			finished = crashed_at(p, n, c->act);
			fake_break(&p->one, 0);	/* Unlocked later */
			after = pair_seen(p);
			printf("# case %zu, write %d: %s\n", i, n, after);
			if (finished || strcmp(after, c->old) != 0)
				CHECK_STR(after, c->new);
			backend_free(p->both);
		}
	}
}
