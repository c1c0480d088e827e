/* SPDX-License-Identifier: Apache-2.0 */
/* tests/live/gate-names.c - what names resolve to, for gate-driver */

#include "gate-names.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 32 };

static const char *names[NAMES_MAX];
static unsigned int turns[NAMES_MAX];
static size_t n_names;

void gate_names_add(const char *text)
{
	if (n_names == NAMES_MAX)
		abort();
	names[n_names++] = text;
}

/* One of two lists, in turns: however many helpers share the names, each begins
 * with the first
 */
static char *take_turns(char *lists, unsigned int *turn)
{
	char *one = strsep(&lists, "|");

	return lists && (*turn)++ % 2 ? lists : one;
}

void gate_names_find(const char *name, struct resolve_answer *ret)
{
	const size_t n = strlen(name);

	ret->error = -ENOENT;
	for (size_t i = 0; i < n_names; i++) {
		char list[512], *save = NULL;

		if (strncmp(names[i], name, n) != 0 || names[i][n] != '=')
			continue;
		if (!strcmp(names[i] + n + 1, "hang"))
			(void)poll(NULL, 0, -1);
		snprintf(list, sizeof(list), "%s", names[i] + n + 1);
		for (char *a = strtok_r(take_turns(list, &turns[i]), ",",
				  &save);
		     a && ret->count < RESOLVE_ADDRESSES_MAX;
		     a = strtok_r(NULL, ",", &save)) {
			struct resolve_address *r = &ret->v[ret->count];

			r->len = strchr(a, ':') ? 16 : 4;
			if (inet_pton(r->len == 16 ? AF_INET6 : AF_INET, a,
				      r->bytes) == 1)
				ret->count++;
		}
		ret->error = ret->count ? 0 : -ENOENT;
		return;
	}
}
