/* SPDX-License-Identifier: Apache-2.0 */
/* policy/asks.h - what a settings file asks for beyond the defaults
 *
 * One function says it of each entry of each key; load, `cloche trust`,
 * `cloche policy diff`, the message at the start and live reload go by it.
 */

#ifndef POLICY_ASKS_H
#define POLICY_ASKS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct buf;
struct fact;
struct facts;
struct policy;
struct reader;

enum ask_kind {
	ASK_NOTHING,
	/* From a repository: when the user approves */
	ASK_HOST, ASK_ADDRESS, ASK_HOST_PORT, ASK_PUBLISH, ASK_SOCKET,
	ASK_READ, ASK_WRITE, ASK_MODE, ASK_RULE,
	/* From a repository: never */
	ASK_NEVER,
	ASK_OFF = ASK_NEVER, ASK_COMMAND, ASK_PLATFORM, ASK_PROXY, ASK_NAME,
	ASK_VARIABLE, ASK_IGNORE, ASK_TIER, ASK_SETTING,
	ASK_KINDS,
};

enum { ASK_DIGEST_SIZE = sizeof("sha256:") + 64 };

/**
 * struct ask - What one entry of a key asks for
 * @closes:	Nothing: it denies this, which may matter to whoever compares
 * @glob:	It is a pattern below @path
 * @text:	The host, the path, "KEY=VALUE"; paths below the repository
 *		start with "./", others with "/"
 * @path:	The absolute path of ASK_READ and ASK_WRITE, else NULL
 * @approved:	The user has; filled in by settings_load()
 * @refused:	Why it does not count even then, or NULL; likewise
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

/**
 * struct ask_context - What the answer depends on, beside the entry
 * @top:	The repository's directory; paths below it are told from there
 * @open:	A directory that is writable anyway, or NULL
 * @hides:	True if the defaults hide this path; may be NULL: all are asked for
 */
struct ask_context {
	const struct policy *policy;
	const struct reader *reader;
	const char *top, *open;
	bool (*hides)(void *arg, const char *path);
	void *arg;
};

/* What @entry asks for, which is a member of @fact's list, or its whole value.
 * False and nothing to release if that is nothing. An entry that cannot be
 * understood asks for nothing: whoever applies it says so.
 */
bool ask_of(const struct ask_context *ctx, const struct facts *facts,
	    const struct fact *fact, json_t *entry, struct ask *ret);
void ask_done(struct ask *ask);

/* True if the entries of @fact are asked about one by one */
bool ask_is_list(const struct fact *fact);

void asks_add(struct asks *asks, struct ask ask);
void asks_done(struct asks *asks);

/* The line of an approval: "host registry.example.org" */
char *ask_line(const struct ask *ask);
/* ASK_NOTHING if @line is not one; *@ret_text points into it */
enum ask_kind ask_kind_of(const char *line, const char **ret_text);

/* "sha256:..." of the sorted lines of what @asks opens */
void asks_digest(const struct asks *asks, char ret[static ASK_DIGEST_SIZE]);

/* "2 hosts and 1 path"; kinds that never count are not counted */
void asks_summary(const struct asks *asks, struct buf *out);

/* One line about reach: "can send anything it reads to registry.example.org" */
void ask_describe(const struct ask *ask, struct buf *out);

/* True if @wide covers @narrow: the same, or a pattern or directory above it */
bool ask_covers(const struct ask *wide, const struct ask *narrow);

#endif /* POLICY_ASKS_H */
