/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell/word.c - words of a shell line: quotes and expansions
 *
 * A word is stored twice: as written, and without its quotes. Nothing is
 * expanded: a word that the shell would expand is marked as not known.
 */

#include "shell/parser.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"

/* In double quotes only some characters are special */
enum quoting { UNQUOTED, QUOTED };

static void parse_dollar(struct shell_parser *p, struct shell_frame *f,
			 enum quoting q);
static void parse_quoted(struct shell_parser *p, struct shell_frame *f);

bool shell_is_meta(char c)
{
	switch (c) {
	case '\0': case ' ': case '\t': case '\n': case ';': case '&':
	case '|': case '<': case '>': case '(': case ')':
		return true;
	default:
		return false;
	}
}

bool shell_is_process(const char *s)
{
	return (*s == '<' || *s == '>') && s[1] == '(';
}

/* Means nothing but itself, wherever it stands in a word */
static bool is_ordinary(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '-' && c <= '9') || c == '_' || c == ',' || c == '%';
}

bool shell_is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_';
}

static bool is_one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

bool shell_skip_continuation(struct shell_parser *p)
{
	if (p->at[0] != '\\' || p->at[1] != '\n')
		return false;
	p->at += 2;
	return true;
}

/* Take the next byte into the word, as written and as meant */
static void take(struct shell_parser *p, struct shell_frame *f)
{
	buf_addc(&f->raw, *p->at);
	buf_addc(&f->plain, *p->at);
	p->at++;
}

/* Take what is written since @from; it means what only a shell can tell */
static void take_expanded(struct shell_parser *p, struct shell_frame *f,
			  const char *from, unsigned int feature)
{
	p->out->features |= feature;
	f->words.v[f->words.len - 1].known = false;
	buf_add(&f->raw, from, (size_t)(p->at - from));
}

/* $( ), <( ) */
static void parse_substitution(struct shell_parser *p, struct shell_frame *f)
{
	const char *from = p->at;
	const size_t heredocs = p->heredocs.len;

	p->at += strlen("$(");
	shell_list_parse(p, ')');
	if (p->heredocs.len != heredocs)
		shell_stop(p, "a here-document that outlives its substitution");
	take_expanded(p, f, from, SHELL_SUBSTITUTION);
}

static void parse_all(struct shell_parser *p)
{
	shell_list_parse(p, '\0');
}

static void parse_backticks(struct shell_parser *p, struct shell_frame *f)
{
	const char *from = p->at++;
	auto_buf struct buf inner = { 0 };

	while (*p->at && *p->at != '`') {
		if (*p->at == '\\' && is_one_of(p->at[1], "`\\$"))
			p->at++;
		buf_addc(&inner, *p->at++);
	}
	if (!*p->at) {
		p->at = from;
		shell_stop(p, "a backtick is not closed");
		return;
	}
	p->at++;
	take_expanded(p, f, from, SHELL_SUBSTITUTION);
	shell_inner_parse(p, buf_str(&inner), parse_all);
}

/* The word behind an operator in ${name-word}, up to the "}" */
static void parse_parameter_word(struct shell_parser *p, struct shell_frame *f,
				 enum quoting q)
{
	while (*p->at && *p->at != '}') {
		const char c = *p->at;

		if (c == '\'' || (c == '"' && q == QUOTED)) {
			/* Shells differ in whether this quotes */
			shell_stop(p, "a quote inside ${ }");
		} else if (is_one_of(c, "<>(")) {
			/* bash runs <( ) here, zsh what qualifies a pattern */
			shell_stop(p, "<, > or ( inside ${ }");
		} else if (c == '"') {
			parse_quoted(p, f);
		} else if (c == '$') {
			parse_dollar(p, f, q);
		} else if (c == '`') {
			parse_backticks(p, f);
		} else {
			take(p, f);
			if (c == '\\' && *p->at)
				take(p, f);
		}
	}
}

/* Behind "${": only forms that can't run code. No indirection, subscript,
 * transformation, arithmetic or assignment.
 */
static void parse_parameter(struct shell_parser *p, struct shell_frame *f,
			    enum quoting q)
{
	if (*p->at == '#' && p->at[1] != '}')
		take(p, f);
	if (!shell_is_name(*p->at) && is_one_of(*p->at, "@*#?-$"))
		take(p, f);
	else
		while (shell_is_name(*p->at))
			take(p, f);
	if (*p->at == ':' && is_one_of(p->at[1], "-+?"))
		take(p, f);
	if (is_one_of(*p->at, "-+?#%/^,"))
		parse_parameter_word(p, f, q);
	if (*p->at == '}')
		take(p, f);
	else
		shell_stop(p, "this kind of ${ }");
}

static void parse_braces(struct shell_parser *p, struct shell_frame *f,
			 enum quoting q)
{
	if (p->braces == SHELL_DEPTH_MAX) {
		shell_stop(p, "nested too deeply");
		return;
	}
	take(p, f);
	take(p, f);
	take_expanded(p, f, p->at, SHELL_EXPANSION);
	p->braces++;
	parse_parameter(p, f, q);
	p->braces--;
}

static void parse_single_quotes(struct shell_parser *p, struct shell_frame *f)
{
	const char *end = strchr(p->at + 1, '\'');

	if (!end) {
		shell_stop(p, "a quote is not closed");
		return;
	}
	buf_add(&f->raw, p->at, (size_t)(end + 1 - p->at));
	buf_add(&f->plain, p->at + 1, (size_t)(end - p->at - 1));
	p->at = end + 1;
}

/* $'...': where a "\" is in it, a shell that doesn't know it sees other ends */
static void parse_ansi_quotes(struct shell_parser *p, struct shell_frame *f)
{
	const char *end = strpbrk(p->at + 2, "\\'");

	if (end && *end == '\\') {
		shell_stop(p, "a backslash in $' '");
		return;
	}
	take(p, f);
	take_expanded(p, f, p->at, SHELL_EXPANSION);
	parse_single_quotes(p, f);
}

/* On a "$" */
static void parse_dollar(struct shell_parser *p, struct shell_frame *f,
			 enum quoting q)
{
	const char *from = p->at, c = from[1];

	if (c == '[' || (c == '(' && from[2] == '(')) {
		shell_stop(p, "arithmetic");
	} else if (c == '(') {
		parse_substitution(p, f);
	} else if (c == '{') {
		parse_braces(p, f, q);
	} else if (shell_is_name(c) || is_one_of(c, "@*#?-$!")) {
		p->at += 2;
		while (shell_is_name(c) && shell_is_name(*p->at))
			p->at++;
		take_expanded(p, f, from, SHELL_EXPANSION);
	} else if (q == UNQUOTED && c == '\'') {
		parse_ansi_quotes(p, f);
	} else if (q == UNQUOTED && c == '"') {
		take(p, f);
		take_expanded(p, f, p->at, SHELL_EXPANSION);
		parse_quoted(p, f);
	} else if (shell_is_meta(c) || is_one_of(c, "\"'/.,%")) {
		take(p, f);	/* Stands for itself */
	} else {
		shell_stop(p, "this kind of $");	/* zsh knows more */
	}
}

/* One step in double quotes or in a here-document */
static void parse_quoted_char(struct shell_parser *p, struct shell_frame *f)
{
	if (shell_skip_continuation(p))
		return;
	if (*p->at == '$') {
		parse_dollar(p, f, QUOTED);
	} else if (*p->at == '`') {
		parse_backticks(p, f);
	} else if (*p->at == '\\' && is_one_of(p->at[1], "$`\"\\")) {
		buf_addc(&f->raw, *p->at++);
		take(p, f);
	} else {
		take(p, f);
	}
}

static void parse_quoted(struct shell_parser *p, struct shell_frame *f)
{
	const char *from = p->at;

	buf_addc(&f->raw, *p->at++);
	while (*p->at && *p->at != '"')
		parse_quoted_char(p, f);
	if (*p->at) {
		buf_addc(&f->raw, *p->at++);
		return;
	}
	p->at = from;
	shell_stop(p, "a quote is not closed");
}

static void parse_escaped(struct shell_parser *p, struct shell_frame *f)
{
	if (shell_skip_continuation(p)) {
		/* "2" and ">&1" would be one redirection, "i" and "f" "if" */
		if (!is_one_of(*p->at, " \t\n"))
			shell_stop(p, "a line that is broken inside a word");
		return;
	}
	buf_addc(&f->raw, *p->at++);
	if (*p->at)
		take(p, f);
	else
		shell_stop(p, "a backslash at the end");
}

/* A word that is broken here must end, or parse_escaped() stops */
static bool is_end(const char *s)
{
	return shell_is_meta(*s) || !strncmp(s, "\\\n", 2);
}

/* Unquoted: a run of ordinary bytes, or one that may have a meaning. "[" and
 * "{}" alone have none: the test command, and what find and xargs replace.
 */
static void parse_unquoted(struct shell_parser *p, struct shell_frame *f)
{
	const size_t start = f->words.v[f->words.len - 1].raw;
	const bool first = f->raw.len == start;
	const char *from = p->at, c = *from;

	while (is_ordinary(*p->at))
		p->at++;
	if (p->at > from) {
		buf_add(&f->raw, from, (size_t)(p->at - from));
		buf_add(&f->plain, from, (size_t)(p->at - from));
		return;
	}
	if ((unsigned char)c < ' ' || c == 0x7f) {
		shell_stop(p, "a control character");
		return;
	}
	if (c == '}' && !first && !strchr(f->raw.p + start, '{')) {
		shell_stop(p, "a } that some shells end a group with");
		return;
	}
	if (first && c == '{' && from[1] == '}' && is_end(from + 2)) {
		take(p, f);
	} else if (c == '*' || c == '?' ||
		   (is_one_of(c, "[{") && !(first && is_end(from + 1))) ||
		   (first && is_one_of(c, "~="))) {
		p->at++;
		take_expanded(p, f, from, SHELL_EXPANSION);
		return;
	}
	take(p, f);
}

static void parse_pieces(struct shell_parser *p, struct shell_frame *f)
{
	for (;;) {
		if (shell_is_process(p->at))
			parse_substitution(p, f);
		else if (shell_is_meta(*p->at))
			return;
		else if (*p->at == '\'')
			parse_single_quotes(p, f);
		else if (*p->at == '"')
			parse_quoted(p, f);
		else if (*p->at == '\\')
			parse_escaped(p, f);
		else if (*p->at == '$')
			parse_dollar(p, f, UNQUOTED);
		else if (*p->at == '`')
			parse_backticks(p, f);
		else
			parse_unquoted(p, f);
	}
}

void shell_word_parse(struct shell_parser *p, struct shell_frame *f)
{
	struct shell_word *w;

	if (f->words.len) {
		buf_addc(&f->raw, ' ');
		buf_addc(&f->plain, ' ');
	}
	w = vec_push(&f->words);
	w->raw = (uint32_t)f->raw.len;
	w->plain = (uint32_t)f->plain.len;
	w->known = true;
	parse_pieces(p, f);

	w->raw_len = (uint32_t)f->raw.len - w->raw;
	if (!w->known) {
		f->plain.len = w->plain;
		buf_add(&f->plain, f->raw.p + w->raw, w->raw_len);
	}
	w->plain_len = (uint32_t)f->plain.len - w->plain;
}

void shell_body_parse(struct shell_parser *p)
{
	struct shell_frame *f = shell_frame_enter(p);

	if (!f)
		return;
	shell_frame_clear(f);
	vec_push(&f->words);	/* What is expanded needs a word to be in */
	while (*p->at)
		parse_quoted_char(p, f);
	shell_frame_clear(f);
	p->depth--;
}

/* Offset past the last word: the NUL of the command's text */
static size_t end_of(const struct shell_word *last, bool raw)
{
	return raw ? last->raw + last->raw_len : last->plain + last->plain_len;
}

const char *shell_raw_from(const struct shell_script *script,
			   const struct shell_command *command, size_t from)
{
	const struct shell_word *w = script->words.v + command->first;

	return script->raw.p + (from < command->count ? w[from].raw :
				end_of(&w[command->count - 1], true));
}

const char *shell_plain_from(const struct shell_script *script,
			     const struct shell_command *command, size_t from)
{
	const struct shell_word *w = script->words.v + command->first;

	return script->plain.p + (from < command->count ? w[from].plain :
				  end_of(&w[command->count - 1], false));
}

bool shell_word_is(const struct shell_script *script,
		   const struct shell_command *command, size_t i,
		   const char *texts)
{
	const struct shell_word *w = script->words.v + command->first + i;

	return i < command->count && w->known &&
	       text_has_bytes(texts, script->plain.p + w->plain, w->plain_len);
}
