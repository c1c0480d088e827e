/* SPDX-License-Identifier: Apache-2.0 */
/* shell/parse.h - which commands a line of shell runs, or "not understood"
 *
 * The parser splits only what all common shells split alike, and stops at the first
 * construct that they may read differently. A line that is not understood is no error:
 * no rule allows it, and it is not excluded from the sandbox.
 */

#ifndef SHELL_PARSE_H
#define SHELL_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum {
	SHELL_TEXT_MAX = 10000,	/* Bytes in one line; longer ones are asked */
	SHELL_DEPTH_MAX = 16,	/* Substitutions and subshells in each other */
};

/* What a line holds besides plain commands */
enum shell_feature {
	SHELL_SUBSTITUTION = 1 << 0,	/* $( ), backticks, <( ) */
	SHELL_REDIRECT_FILE = 1 << 1,	/* To or from a file; here-strings */
	SHELL_REDIRECT_NULL = 1 << 2,	/* To or from /dev/null */
	SHELL_REDIRECT_FD = 1 << 3,	/* 2>&1, <&-: moves what is open */
	SHELL_HEREDOC = 1 << 4,
	SHELL_COMPOUND = 1 << 5,	/* ( ), { }, !, [[ ]], if, for, while */
	SHELL_EXPANSION = 1 << 6,	/* $x, ${x}, *, ?, [ ], { }, ~ */
};

/**
 * struct shell_word - One word of a command
 * @raw:	Offset in the script's raw text: as written, quotes and all
 * @plain:	Offset in its plain text: what the command would get
 * @raw_len:	Bytes of it
 * @plain_len:	Bytes of it
 * @known:	Nothing in it is expanded, so @plain is the word; otherwise
 *		@plain is @raw
 */
struct shell_word {
	uint32_t raw, plain, raw_len, plain_len;
	bool known;
};

/**
 * struct shell_command - A simple command
 * @first:	Its first word
 * @count:	Its words, with leading assignments, without redirections
 * @assignments: How many words are leading assignments
 */
struct shell_command {
	uint32_t first, count, assignments;
};

/**
 * struct shell_script - All that a line runs; each text is at most the line
 * times the depth, so that 32 bits are enough for a place in it
 * @features:	Mask of enum shell_feature
 * @why:	NULL, or why it was not understood: words with a column; the
 *		commands before that place are there
 * @raw:	Words of each command as written, one blank between them, each
 *		command ended by a NUL
 * @plain:	The same without quotes
 */
struct shell_script {
	struct {
		struct shell_command *v;
		size_t len, cap;
	} commands;
	struct {
		struct shell_word *v;
		size_t len, cap;
	} words;
	unsigned int features;
	char *why;
	struct buf raw, plain;
};

/* Split @text into a zeroed @ret. Time is linear. False if not understood. */
bool shell_parse(const char *text, struct shell_script *ret);
/* Append what @text runs, which is inside a line that @script holds already */
bool shell_parse_more(const char *text, struct shell_script *script);
void shell_script_done(struct shell_script *script);

#define auto_shell	__attribute__((cleanup(shell_script_done)))

/* The command's text from its word @from on, NUL-terminated */
const char *shell_raw_from(const struct shell_script *script,
			   const struct shell_command *command, size_t from);
const char *shell_plain_from(const struct shell_script *script,
			     const struct shell_command *command, size_t from);

/* True if @command has a word @i, it is known, and is one of @texts, which have blanks
 * between them
 */
bool shell_word_is(const struct shell_script *script,
		   const struct shell_command *command, size_t i,
		   const char *texts);

#endif /* SHELL_PARSE_H */
