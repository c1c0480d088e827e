/* SPDX-License-Identifier: Apache-2.0 */
/* cli/bwrap/bwrap.h - bubblewrap's command line, to a frame */

#ifndef CLI_BWRAP_BWRAP_H
#define CLI_BWRAP_BWRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "plan/frame.h"

struct err;

enum {
	BWRAP_WORDS_MAX = 9000,		/* As in bubblewrap */
	BWRAP_ARGS_BYTES = 64 << 20,	/* What --args may hold */
	BWRAP_HELP = 1,			/* bwrap_parse(): asked for that */
	BWRAP_VERSION = 2,
	RDONLY_DATA = 1 << 16,		/* Beside a kind, in a row's value */
};

/**
 * struct bwrap - A command line, as far as it is read
 * @frame:	What it asks for
 * @perms, @size: From --perms and --size, for the next option; -1 and 0
 * @layers:	From --overlay-src, for the next option
 * @words:	Read so far
 * @in_args:	From --args
 * @one_filter:	It came by --seccomp
 * @level_prefix: Messages begin with their level
 * @warned:	Options that were given twice: a message a line
 * @asked:	BWRAP_HELP or BWRAP_VERSION
 */
struct bwrap {
	struct frame frame;
	int perms;
	uint64_t size;
	size_t layers;
	size_t words;
	bool in_args, level_prefix;
	bool one_filter;
	struct buf warned;
	int asked;
};

/**
 * struct bwrap_row - One option
 * @words:	What follows it, for people
 * @count:	How many words that are
 * @set:	Takes them; 0, or -EINVAL with words
 */
struct bwrap_row {
	const char *name, *words;
	int count;
	int (*set)(struct bwrap *b, const struct bwrap_row *row,
		   char *const *words, struct err *err);
	uint64_t value;
	const char *help;
};

/* Each function takes what it needs of the row, its words and room for an error */
#define OPTION(id)							\
	int bwrap_set_##id(struct bwrap *b, const struct bwrap_row *row, \
			   char *const *w, struct err *err)
#define UNUSED(...)	((void)(b), (void)(row), (void)(w), (void)(err))

#define BWRAP(name, words, count, id, value, help) OPTION(id);
#include "cli/bwrap/options.def"
#undef BWRAP

/* A descriptor's number; 0, or -EINVAL with words */
int bwrap_fd(const char *word, int *ret, struct err *err);

/* The whole table, ending with an empty row */
const struct bwrap_row *bwrap_table(void);

/* Read options from @words, which ends with NULL; what is left is the command.
 * @caps are the capabilities that --cap-add and --cap-drop change.
 * 0, BWRAP_HELP or BWRAP_VERSION, or -EINVAL with words. Done with
 * frame_done(&b->frame) and buf_done(&b->warned) in any case.
 */
int bwrap_parse(struct bwrap *b, char *const *words, char *const *env,
		uint64_t caps, struct err *err);

/* The same for the words of --args, within a command line */
int bwrap_read(struct bwrap *b, char *const *words, size_t n, size_t *ret_used,
	       struct err *err);

/* CAP_NET_ADMIN, net_admin or a number; -EINVAL if it is none */
int bwrap_capability(const char *name, unsigned int *ret);

#endif /* CLI_BWRAP_BWRAP_H */
