/* SPDX-License-Identifier: Apache-2.0 */
/* watch/annotate.c - what a person or an agent reads after the command */

#include "watch/annotate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/violation.h"
#include "watch/ring.h"

static const char *const mode_names[ANNOTATE_COUNT] = {
	[ANNOTATE_AUTO] = "auto",
	[ANNOTATE_TEXT] = "text",
	[ANNOTATE_TAGS] = "tags",
	[ANNOTATE_NEVER] = "never",
};

int annotate_parse(const char *name, enum annotate_mode *ret)
{
	for (int i = 0; i < ANNOTATE_COUNT; i++) {
		if (!strcmp(mode_names[i], name)) {
			*ret = (enum annotate_mode)i;
			return 0;
		}
	}
	return -EINVAL;
}

enum annotate_mode annotate_choose(enum annotate_mode mode,
				   const char *claudecode)
{
	if (mode != ANNOTATE_AUTO)
		return mode;
	return claudecode && *claudecode ? ANNOTATE_TAGS : ANNOTATE_TEXT;
}

/* Append @s made harmless: no controls, and no tag can be opened or closed */
static void add_safe(struct buf *out, const char *s, size_t max)
{
	const size_t start = out->len;
	char shown[5];

	for (const char *p = s; *p;) {
		size_t n;

		if (*p == '<' || *p == '>') {
			buf_adds(out, *p == '<' ? "\\x3c" : "\\x3e");
			p++;
		} else {
			n = text_escape_char(&p, shown);
			buf_add(out, shown, n);
		}
		if (out->len - start > max && *p) {
			buf_adds(out, "...");
			return;
		}
	}
}

/* "fs-write" is called file-write, "net-dns" network-dns */
static void add_kind(struct buf *out, enum violation_kind kind)
{
	const char *name = violation_kind_name(kind);

	if (!strncmp(name, "fs-", 3))
		buf_addf(out, "file-%s", name + 3);
	else if (!strncmp(name, "net-", 4))
		buf_addf(out, "network-%s", name + 4);
	else
		buf_adds(out, name);
}

static void add_why(const struct violation *v, struct buf *out)
{
	const char *how = v->suggest_command ? v->suggest_command
					     : v->suggest_edit;

	if (!v->reason && !how)
		return;
	buf_adds(out, " (");
	if (v->reason)
		add_safe(out, v->reason, ANNOTATE_TARGET_MAX);
	if (v->reason && how)
		buf_adds(out, "; ");
	if (how) {
		buf_adds(out, "allow: ");
		add_safe(out, how, VIOLATION_TEXT_MAX);
	}
	buf_addc(out, ')');
}

void annotate_line(const struct violation *v, struct buf *out)
{
	buf_adds(out, "deny ");
	add_kind(out, v->kind);
	buf_addc(out, ' ');
	add_safe(out, v->target ? v->target : "(unknown)", VIOLATION_TEXT_MAX);
	add_why(v, out);
	if (v->count > 1)
		buf_addf(out, " x%" PRIu64, v->count);
}

/**
 * struct lines - The records, one for each thing that was refused: who tried
 * does not matter to whoever reads the footer
 */
struct lines {
	struct violation *v;
	size_t len, cap;
};

static bool is_same(const struct violation *a, const struct violation *b)
{
	return a->kind == b->kind && a->target && b->target &&
	       !strcmp(a->target, b->target);
}

/* A person has read of it already, in a line of its own */
static bool was_said(const struct violation *v)
{
	return v->kind == VIOLATION_LIMIT && v->op &&
	       !strcmp(v->op, VIOLATION_OP_LIMIT);
}

/* Only a question whether it is there, and the answer was no: many programs look
 * for settings in the home, or above where they work, that nobody misses. Nor does
 * one miss a system call who does without, or a datagram socket: it is mostly for
 * the log. Python keeps what it has compiled, where it can.
 */
static bool may_be_nothing(const struct violation *v)
{
	if (v->kind == VIOLATION_SYSCALL)
		return true;
	if (v->kind == VIOLATION_UNIX_SOCKET)
		return v->op && !strcmp(v->op, "socket");
	if (v->kind == VIOLATION_FS_WRITE)
		return v->target && strstr(v->target, "/__pycache__");
	return v->kind == VIOLATION_FS_READ && v->error == ENOENT && v->op &&
	       (strstr(v->op, "stat") || strstr(v->op, "access") ||
		strstr(v->op, "readlink"));
}

/* Strings stay the ring's. Returns how many were left out: as @said, or because
 * the command has not @failed.
 */
static uint64_t merge(const struct ring *ring, bool said, bool failed,
		      struct lines *ret)
{
	uint64_t left_out = 0;

	for (size_t i = 0; i < ring->len; i++) {
		const struct violation *v = &ring->v[i]->v;
		size_t k = 0;

		if ((said && was_said(v)) || (!failed && may_be_nothing(v))) {
			left_out += v->count;
			continue;
		}
		while (k < ret->len && !is_same(&ret->v[k], v))
			k++;
		if (k < ret->len)
			ret->v[k].count += v->count;
		else
			*vec_push(ret) = *v;
	}
	return left_out;
}

static void add_more(uint64_t more, const char *run, struct buf *out)
{
	buf_addf(out, "%" PRIu64 " more: cloche violations list", more);
	if (run) {
		buf_adds(out, " --run ");
		add_safe(out, run, ANNOTATE_TARGET_MAX);
	}
	buf_addc(out, '\n');
}

static void add_tags(const struct lines *lines, uint64_t gone, const char *run,
		     const char *missing, struct buf *out)
{
	buf_adds(out, ANNOTATE_OPEN "\n");
	for (size_t i = 0; i < lines->len; i++) {
		annotate_line(&lines->v[i], out);
		buf_addc(out, '\n');
	}
	if (gone) {
		buf_adds(out, "note ");
		add_more(gone, run, out);
	}
	if (missing) {
		buf_adds(out, "note ");
		add_safe(out, missing, VIOLATION_TEXT_MAX);
		buf_addc(out, '\n');
	}
	buf_adds(out, ANNOTATE_CLOSE "\n");
}

static void add_text_line(const struct violation *v, struct buf *out)
{
	buf_addf(out, "cloche:   %s ", violation_kind_words(v->kind));
	add_safe(out, v->target ? v->target : "(unknown)",
		 ANNOTATE_TARGET_MAX);
	add_why(v, out);
	if (v->count > 1)
		buf_addf(out, " x%" PRIu64, v->count);
	buf_addc(out, '\n');
}

static void add_text(const struct lines *lines, uint64_t total, uint64_t gone,
		     const char *run, const char *missing, struct buf *out)
{
	/* The head, perhaps the note, perhaps "and more" */
	const size_t room = ANNOTATE_LINES_MAX - 1 - (missing ? 1 : 0);
	const size_t full = gone ? room - 1 : room;
	const size_t shown = lines->len <= full ? lines->len : room - 1;
	const uint64_t more = lines->len - shown + gone;

	buf_addf(out, "cloche: refused %" PRIu64 " thing%s\n", total,
		 total == 1 ? "" : "s");
	for (size_t i = 0; i < shown; i++)
		add_text_line(&lines->v[i], out);
	if (more) {
		buf_adds(out, "cloche:   and ");
		add_more(more, run, out);
	}
	if (missing) {
		buf_adds(out, "cloche:   note: ");
		add_safe(out, missing, VIOLATION_TEXT_MAX);
		buf_addc(out, '\n');
	}
}

void annotate_footer(const struct ring *ring, enum annotate_mode mode,
		     bool failed, const char *run, const char *missing,
		     struct buf *out)
{
	struct lines lines = { 0 };
	uint64_t left_out;

	if (!ring->len || mode == ANNOTATE_NEVER)
		return;
	left_out = merge(ring, mode != ANNOTATE_TAGS, failed, &lines);
	if (mode == ANNOTATE_TAGS && (lines.len || ring->gone))
		add_tags(&lines, ring->gone, run, missing, out);
	else if (lines.len)
		add_text(&lines, ring->total - left_out, ring->gone, run,
			 missing, out);
	free(lines.v);
}
