/* SPDX-License-Identifier: Apache-2.0 */
/* policy/shell-redirect.c - redirections of a shell line, and here-documents */

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "policy/shell-parser.h"

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

void shell_newline_parse(struct shell_parser *p)
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

const char *shell_find_operator(const char *s)
{
	if (*s == '&' ? s[1] != '>' : *s != '<' && *s != '>')
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
		if (!strncmp(s, operators[i], strlen(operators[i])))
			return operators[i];
	}
	return NULL;
}

static void judge_target(struct shell_parser *p, struct shell_frame *f,
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

bool shell_redirection_parse(struct shell_parser *p, struct shell_frame *f)
{
	const char *s = p->at;
	const size_t raw = f->raw.len, plain = f->plain.len;
	const size_t words = f->words.len;
	const char *op;

	while (*s >= '0' && *s <= '9')
		s++;
	op = shell_find_operator(s);
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
	judge_target(p, f, op);
	shell_frame_cut(f, raw, plain, words);
	return true;
}
