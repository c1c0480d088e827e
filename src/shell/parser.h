/* SPDX-License-Identifier: Apache-2.0 */
/* shell/parser.h - what parser.c (lists, commands, redirections) and word.c (words,
 * quotes, expansions) share
 */

#ifndef SHELL_PARSER_H
#define SHELL_PARSER_H

#include <stdbool.h>
#include <stddef.h>

#include "shell/parse.h"

struct heredoc {
	char *delimiter;
	bool strip_tabs, quoted;
};

/**
 * struct shell_frame - The command that is being read at one depth
 */
struct shell_frame {
	struct buf raw, plain;
	struct {
		struct shell_word *v;
		size_t len, cap;
	} words;
};

/**
 * struct shell_parser - One text being read
 * @text:	All of it; NULL for a text inside another, which has no columns
 * @at:		The next byte; moved to the end by shell_stop()
 * @depth:	Frames in use
 * @braces:	${ } in each other
 * @frames:	By depth; shared with the parsers of texts inside this one
 * @heredocs:	Announced, not read yet
 */
struct shell_parser {
	const char *text, *at;
	unsigned int depth, braces;
	struct shell_script *out;
	struct shell_frame *frames;
	struct {
		struct heredoc *v;
		size_t len, cap;
	} heredocs;
};

/* Stop the parse: store the first reason, and move to the end of the text */
void shell_stop(struct shell_parser *p, const char *why);

/* Ends an unquoted word: blank, newline, operator, end of the text */
bool shell_is_meta(char c);

/* A letter, a digit or "_" */
bool shell_is_name(char c);

/* True on "<(" and ">(", which are words and not redirections */
bool shell_is_process(const char *s);

/* Step over a backslash and a newline, if that is what comes */
bool shell_skip_continuation(struct shell_parser *p);

/* Step over blanks and line breaks that a backslash takes away */
void shell_skip_blanks(struct shell_parser *p);

/* Read one word to the end of @f; something that is no end of a word comes */
void shell_word_parse(struct shell_parser *p, struct shell_frame *f);

/* Read all as the body of a here-document: for the commands in it */
void shell_body_parse(struct shell_parser *p);

/* Commands up to @close, or all of them if it is NUL */
void shell_list_parse(struct shell_parser *p, char close);

/* A text of its own inside this one, read by @parse */
void shell_inner_parse(struct shell_parser *p, const char *text,
		       void (*parse)(struct shell_parser *));

struct shell_frame *shell_frame_enter(struct shell_parser *p);
void shell_frame_clear(struct shell_frame *f);

/* Back to so many bytes and words */
void shell_frame_cut(struct shell_frame *f, size_t raw, size_t plain,
		     size_t words);

#endif /* SHELL_PARSER_H */
