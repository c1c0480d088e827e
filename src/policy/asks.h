/* SPDX-License-Identifier: Apache-2.0 */
/* policy/asks.h - what a settings file asks for beyond the defaults, as text
 *
 * ask_of() (document.h) makes an ask of each entry. Loading, `cloche trust`, `cloche
 * policy diff`, the message at the start of a run and live reload all use it.
 */

#ifndef POLICY_ASKS_H
#define POLICY_ASKS_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/schema.h"

struct buf;

enum { ASK_DIGEST_SIZE = sizeof("sha256:") + 64 };

/**
 * struct ask - What one entry of a key asks for
 * @closes:	It is a denial, which needs no approval; `policy diff` compares these too
 * @glob:	It is a pattern below @path
 * @text:	The host, the path, "KEY=VALUE"; paths below the repository
 *		start with "./", others with "/"
 * @path:	The absolute path of ASK_READ and ASK_WRITE, else NULL
 * @approved:	By the user; filled in by settings_load()
 * @refused:	Why it is ignored even if it is approved, or NULL; likewise
 */
struct ask {
	enum ask_kind kind;
	bool closes, glob, approved;
	char *text, *path;
	const char *refused;
};

/**
 * struct asks - Of one source
 */
struct asks {
	struct ask *v;
	size_t len, cap;
};

void ask_done(struct ask *ask);

void asks_done(struct asks *asks);

#define auto_asks	__attribute__((cleanup(asks_done)))

/* The line of an approval: "host registry.example.org" */
char *ask_line(const struct ask *ask);

/* "sha256:..." of the sorted lines of what @asks opens */
void asks_digest(const struct asks *asks, char ret[static ASK_DIGEST_SIZE]);

/* "2 hosts and 1 path", without the kinds that no approval grants */
void asks_summary(const struct asks *asks, struct buf *out);

/* What the command could do: "can send anything it reads to registry.example.org" */
void ask_describe(const struct ask *ask, struct buf *out);

/* True if @wide covers @narrow: the same, or a pattern or directory above it */
bool ask_covers(const struct ask *wide, const struct ask *narrow);

/* True if the host pattern @wide covers all that @narrow stands for, ports aside */
bool ask_host_covers(const char *wide, const char *narrow);

/* True if @ask makes @new reach something that @old does not: an opening of @new, or a
 * denial of @old that @new lacks
 */
bool asks_more(const struct asks *new, const struct asks *old, const struct ask *ask);

#endif /* POLICY_ASKS_H */
