/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell/parser.c - which commands a line of shell runs, or "not understood"
 *
 * Theory of operation: one pass of recursive descent, one function per
 * construct. Each nesting level has a frame where the current command's words
 * grow; a finished command is copied to the end of the script, so that the
 * words of commands inside a substitution never mix with those around it.
 *
 * A construct whose extent differs from shell to shell, or that we don't read,
 * ends the parse: shell_stop() remembers why and moves to the end of the text,
 * where every loop ends by itself. Keywords are not matched with each other: a
 * line that holds any is never trusted, and to find its commands this is
 * enough.
 */

#include "shell/parse.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "shell/parser.h"

/* What may come after a part of a list */
enum after { AFTER_COMMAND, AFTER_KEYWORD };

enum keyword {
	KEYWORD_NONE,
	KEYWORD_OPEN,		/* A command follows */
	KEYWORD_CLOSE,		/* Only redirections follow */
	KEYWORD_WORDS,		/* Plain words follow */
	KEYWORD_TEST,		/* "[[": its own grammar up to "]]" */
	KEYWORD_REFUSED,
};

static const struct {
	const char *text;
	enum keyword keyword;
} keywords[] = {
	{ "!", KEYWORD_OPEN }, { "{", KEYWORD_OPEN }, { "if", KEYWORD_OPEN },
	{ "then", KEYWORD_OPEN }, { "elif", KEYWORD_OPEN },
	{ "else", KEYWORD_OPEN }, { "while", KEYWORD_OPEN },
	{ "until", KEYWORD_OPEN }, { "do", KEYWORD_OPEN },
	{ "}", KEYWORD_CLOSE }, { "fi", KEYWORD_CLOSE },
	{ "done", KEYWORD_CLOSE },
	{ "for", KEYWORD_WORDS }, { "select", KEYWORD_WORDS },
	{ "[[", KEYWORD_TEST },
	{ "case", KEYWORD_REFUSED }, { "esac", KEYWORD_REFUSED },
	{ "function", KEYWORD_REFUSED }, { "coproc", KEYWORD_REFUSED },
	/* Of zsh; elsewhere there is no such command */
	{ "nocorrect", KEYWORD_REFUSED }, { "-", KEYWORD_REFUSED },
	{ "repeat", KEYWORD_REFUSED }, { "foreach", KEYWORD_REFUSED },
};

void shell_stop(struct shell_parser *p, const char *why)
{
	if (p->out->why)
		;	/* The first reason is the one to show */
	else if (p->text)
		p->out->why = mem_printf("column %zu: %s",
					 (size_t)(p->at - p->text) + 1, why);
	else
		p->out->why = mem_printf("in a text inside it: %s", why);
	p->at += strlen(p->at);
}

struct shell_frame *shell_frame_enter(struct shell_parser *p)
{
	if (p->depth == SHELL_DEPTH_MAX) {
		shell_stop(p, "nested too deeply");
		return NULL;
	}
	return &p->frames[p->depth++];
}

static void end_text(struct buf *b, size_t len)
{
	if (!b->p)
		buf_add(b, "", 0);
	b->len = len;
	b->p[len] = '\0';
}

void shell_frame_cut(struct shell_frame *f, size_t raw, size_t plain,
		     size_t words)
{
	end_text(&f->raw, raw);
	end_text(&f->plain, plain);
	f->words.len = words;
}

void shell_frame_clear(struct shell_frame *f)
{
	shell_frame_cut(f, 0, 0, 0);
}

void shell_inner_parse(struct shell_parser *p, const char *text,
		       void (*parse)(struct shell_parser *))
{
	struct shell_parser inner = {
		.at = text, .depth = p->depth,
		.out = p->out, .frames = p->frames,
	};

	parse(&inner);
	if (inner.heredocs.len)
		shell_stop(p, "a here-document is not closed");
	for (size_t i = 0; i < inner.heredocs.len; i++)
		free(inner.heredocs.v[i].delimiter);
	free(inner.heredocs.v);
	if (p->out->why)
		p->at += strlen(p->at);
}

static bool is_assignment(const char *s)
{
	const char *end = s;

	while (shell_is_name(*end))
		end++;
	return end > s && !(*s >= '0' && *s <= '9') &&
	       (end[0] == '=' || (end[0] == '+' && end[1] == '='));
}

/* The command in @f is complete: move it to the script */
static void finish_command(struct shell_parser *p, struct shell_frame *f)
{
	struct shell_script *out = p->out;
	struct shell_command *c;

	if (!f->words.len)
		return;
	c = vec_push(&out->commands);
	c->first = (uint32_t)out->words.len;
	c->count = (uint32_t)f->words.len;
	for (size_t i = 0; i < f->words.len; i++) {
		struct shell_word w = f->words.v[i];

		if (c->assignments == i && is_assignment(f->raw.p + w.raw))
			c->assignments++;
		w.raw += (uint32_t)out->raw.len;
		w.plain += (uint32_t)out->plain.len;
		*vec_push(&out->words) = w;
	}
	buf_add(&out->raw, f->raw.p, f->raw.len + 1);
	buf_add(&out->plain, f->plain.p, f->plain.len + 1);
	shell_frame_clear(f);
}

void shell_skip_blanks(struct shell_parser *p)
{
	while (*p->at == ' ' || *p->at == '\t' || shell_skip_continuation(p))
		p->at += *p->at == ' ' || *p->at == '\t';
}

static void skip_comment(struct shell_parser *p)
{
	if (*p->at == '#')
		p->at += strcspn(p->at, "\n");
}

/* Read the body of @h into @body. False if it has no end. */
static bool read_body(struct shell_parser *p, const struct heredoc *h,
		      struct buf *body)
{
	while (*p->at) {
		const char *line = p->at;
		size_t n;

		if (h->strip_tabs)
			line += strspn(line, "\t");
		n = strcspn(line, "\n");
		p->at = line + n + (line[n] == '\n');
		if (strlen(h->delimiter) == n &&
		    !strncmp(line, h->delimiter, n))
			return true;
		/* Shells differ in whether the next line can be the end */
		if (!h->quoted && n && line[n - 1] == '\\')
			return false;
		buf_add(body, line, n);
		buf_addc(body, '\n');
	}
	return false;
}

/* On a newline: here-documents that were announced on this line follow */
static void parse_newline(struct shell_parser *p)
{
	p->at++;
	for (size_t i = 0; i < p->heredocs.len; i++) {
		struct heredoc *h = &p->heredocs.v[i];
		auto_buf struct buf body = { 0 };

		if (!read_body(p, h, &body))
			shell_stop(p, "a here-document without a sure end");
		else if (!h->quoted)
			shell_inner_parse(p, buf_str(&body), shell_body_parse);
		free(h->delimiter);
	}
	p->heredocs.len = 0;
}

static bool is_fd(const char *s, size_t len)
{
	return len && (!strcmp(s, "-") || strspn(s, "0123456789") == len);
}

static void announce_heredoc(struct shell_parser *p, struct shell_frame *f,
			     const struct shell_word *w, bool strip_tabs)
{
	const char *raw = f->raw.p + w->raw;

	p->out->features |= SHELL_HEREDOC;
	if (!w->known) {
		shell_stop(p, "a here-document's end that is expanded");
		return;
	}
	*vec_push(&p->heredocs) = (struct heredoc){
		.delimiter = mem_strdup(f->plain.p + w->plain),
		.quoted = strpbrk(raw, "'\"\\") != NULL,
		.strip_tabs = strip_tabs,
	};
}

/* The operators, longest first */
static const char *const operators[] = {
	"<<<", "<<-", "&>>", "<<", "<&", "<>", ">>", ">&", ">|", "&>", "<", ">",
};

/* The redirection that comes next, or NULL */
static const char *find_operator(const char *s)
{
	if (*s == '&' ? s[1] != '>' : *s != '<' && *s != '>')
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
		if (!strncmp(s, operators[i], strlen(operators[i])))
			return operators[i];
	}
	return NULL;
}

static void classify_target(struct shell_parser *p, struct shell_frame *f,
			 const char *op)
{
	const struct shell_word *w = &f->words.v[f->words.len - 1];
	const char *plain = f->plain.p + w->plain;

	if (!strcmp(op, "<<") || !strcmp(op, "<<-"))
		announce_heredoc(p, f, w, op[2] == '-');
	else if (op[1] == '&' && f->raw.p[w->raw] == '-' && w->raw_len > 1)
		shell_stop(p, "a word that some shells see behind <&-");
	else if (op[1] == '&' && w->known && is_fd(plain, w->plain_len))
		p->out->features |= SHELL_REDIRECT_FD;
	else if (strcmp(op, "<<<") && w->known && !strcmp(plain, "/dev/null"))
		p->out->features |= SHELL_REDIRECT_NULL;
	else
		p->out->features |= SHELL_REDIRECT_FILE;
}

/* Read a redirection, if one comes. Its target is no word of the command. */
static bool parse_redirection(struct shell_parser *p, struct shell_frame *f)
{
	const char *s = p->at;
	const size_t raw = f->raw.len, plain = f->plain.len;
	const size_t words = f->words.len;
	const char *op;

	while (*s >= '0' && *s <= '9')
		s++;
	op = find_operator(s);
	if (!op || (*s == '&' && s != p->at) ||
	    (s == p->at && shell_is_process(s)))
		return false;
	if (s > p->at + 1)	/* In dash and zsh "10" is a word */
		shell_stop(p, "a descriptor of more than one digit");
	else
		p->at = s + strlen(op);
	if (*p->at == '(' || *p->at == '!')	/* zsh: ">!" is ">|" */
		shell_stop(p, "this kind of redirection");
	shell_skip_blanks(p);
	if (shell_is_meta(*p->at) && !shell_is_process(p->at)) {
		shell_stop(p, "a redirection to nothing");
		return true;
	}
	shell_word_parse(p, f);
	classify_target(p, f, op);
	shell_frame_cut(f, raw, plain, words);
	return true;
}

/* Behind "[[", whose operators are not ours */
static void parse_test(struct shell_parser *p, struct shell_frame *f)
{
	bool closed = false;

	while (*p->at && !closed) {
		shell_frame_clear(f);
		shell_skip_blanks(p);
		if (shell_is_meta(*p->at) && !shell_is_process(p->at)) {
			p->at += *p->at != '\0';
			continue;
		}
		shell_word_parse(p, f);
		closed = !strcmp(f->raw.p, "]]");
	}
	shell_frame_clear(f);
	if (!closed)
		shell_stop(p, "[[ is not closed");
}

/* Behind ")" or a closing keyword */
static void parse_end(struct shell_parser *p, struct shell_frame *f)
{
	shell_frame_clear(f);
	do
		shell_skip_blanks(p);
	while (parse_redirection(p, f));
}

static enum keyword find_keyword(const char *raw)
{
	for (size_t i = 0; i < ARRAY_SIZE(keywords); i++) {
		if (*raw == *keywords[i].text && !strcmp(raw, keywords[i].text))
			return keywords[i].keyword;
	}
	return KEYWORD_NONE;
}

/* The first word of a command is in @f. False if it makes the command end. */
static bool parse_keyword(struct shell_parser *p, struct shell_frame *f,
			  bool redirected, enum after *after)
{
	const enum keyword keyword = find_keyword(f->raw.p);

	if (keyword == KEYWORD_NONE)
		return true;
	if (redirected)		/* Shells differ in whether it still is one */
		shell_stop(p, "a keyword behind a redirection");
	p->out->features |= SHELL_COMPOUND;
	switch (keyword) {
	case KEYWORD_OPEN:
		shell_frame_clear(f);
		*after = AFTER_KEYWORD;
		return false;
	case KEYWORD_CLOSE:
		parse_end(p, f);
		return false;
	case KEYWORD_TEST:
		parse_test(p, f);
		parse_end(p, f);
		return false;
	case KEYWORD_REFUSED:
		shell_stop(p, "case, function and coproc are not read");
		return false;
	default:
		return true;
	}
}

static bool is_brace(const struct shell_frame *f)
{
	return !strcmp(f->raw.p + f->words.v[f->words.len - 1].raw, "}");
}

/* The last word stands behind "time", which is a keyword: what it takes for an
 * option is a command in zsh, and a keyword behind it still is one
 */
static bool is_timed(const struct shell_frame *f)
{
	const char *last = f->raw.p + f->words.v[f->words.len - 1].raw;
	const char *at = f->raw.p;

	while (at < last && !strncmp(at, "time ", 5))
		at += 5;
	return at > f->raw.p && at == last &&
	       (*last == '-' || find_keyword(last) != KEYWORD_NONE);
}

static enum after parse_command(struct shell_parser *p, struct shell_frame *f)
{
	enum after after = AFTER_COMMAND;
	bool redirected = false;

	shell_frame_clear(f);
	for (;;) {
		shell_skip_blanks(p);
		if (parse_redirection(p, f)) {
			redirected = true;
			continue;
		}
		skip_comment(p);
		if (shell_is_meta(*p->at) && !shell_is_process(p->at))
			break;
		shell_word_parse(p, f);
		if (f->words.len > 1 && is_brace(f))
			shell_stop(p, "a } that some shells end a group with");
		if (is_timed(f))
			shell_stop(p, "an option or a keyword behind time");
		if (f->words.len == 1 &&
		    !parse_keyword(p, f, redirected, &after))
			break;
	}
	/* zsh runs a program of its own here */
	if (redirected && !f->words.len)
		shell_stop(p, "a redirection without a command");
	finish_command(p, f);
	return after;
}

static enum after parse_part(struct shell_parser *p, struct shell_frame *f)
{
	if (p->at[0] == '(' && p->at[1] == '(') {
		shell_stop(p, "arithmetic");
	} else if (p->at[0] == '(') {
		p->out->features |= SHELL_COMPOUND;
		p->at++;
		shell_list_parse(p, ')');
		parse_end(p, f);
	} else if (shell_is_meta(*p->at) && !find_operator(p->at)) {
		shell_stop(p, "nothing before this operator");
	} else {
		return parse_command(p, f);
	}
	return AFTER_COMMAND;
}

/* Step over what separates two parts. True if a command must follow. */
static bool parse_separator(struct shell_parser *p, char close)
{
	const char *s = p->at;

	if (!*s || *s == '\n' || *s == close)
		return false;
	if (*s == '|' || !strncmp(s, "&&", 2)) {
		p->at += s[1] == *s || s[1] == '&' ? 2 : 1;
		return true;
	}
	/* "&!" is an operator in zsh, the others in more shells */
	if ((*s == '&' || *s == ';') && (!s[1] || !strchr(";&|!", s[1])))
		p->at++;
	else
		shell_stop(p, "cannot be here");
	return false;
}

void shell_list_parse(struct shell_parser *p, char close)
{
	struct shell_frame *f = shell_frame_enter(p);
	const char *from = p->at;
	bool need = false;

	if (!f)
		return;
	for (;;) {
		shell_skip_blanks(p);
		skip_comment(p);
		if (*p->at == '\n') {
			parse_newline(p);
			continue;
		}
		if (!*p->at || *p->at == close)
			break;
		need = parse_part(p, f) == AFTER_KEYWORD ||
		       parse_separator(p, close);
	}
	if (need)
		shell_stop(p, "nothing behind the last operator");
	if (close && *p->at == close) {
		p->at++;
	} else if (close) {
		p->at = from;
		shell_stop(p, "( is not closed");
	}
	p->depth--;
}

static void frames_free(struct shell_frame *frames)
{
	for (size_t i = 0; i < SHELL_DEPTH_MAX; i++) {
		buf_done(&frames[i].raw);
		buf_done(&frames[i].plain);
		free(frames[i].words.v);
	}
}

static bool parse_line(const char *text, bool nested, struct shell_script *ret)
{
	struct shell_frame frames[SHELL_DEPTH_MAX] = { 0 };
	struct shell_parser p = {
		.text = nested ? NULL : text, .at = text, .out = ret,
		.frames = frames,
	};

	if (strnlen(text, SHELL_TEXT_MAX + 1) > SHELL_TEXT_MAX) {
		ret->why = mem_printf("more than %d characters",
				      SHELL_TEXT_MAX);
		return false;
	}
	shell_list_parse(&p, '\0');
	if (p.heredocs.len)
		shell_stop(&p, "a here-document is not closed");
	for (size_t i = 0; i < p.heredocs.len; i++)
		free(p.heredocs.v[i].delimiter);
	free(p.heredocs.v);
	frames_free(frames);
	return !ret->why;
}

bool shell_parse(const char *text, struct shell_script *ret)
{
	return parse_line(text, false, ret);
}

bool shell_parse_more(const char *text, struct shell_script *script)
{
	return parse_line(text, true, script);
}

void shell_script_done(struct shell_script *script)
{
	free(script->commands.v);
	free(script->words.v);
	free(script->why);
	buf_done(&script->raw);
	buf_done(&script->plain);
	*script = (struct shell_script){ 0 };
}
