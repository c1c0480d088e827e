/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run/exec-error.c - find a program, and the rule that prevented its
 * start
 *
 * The kernel returns the same error whether the program itself is hidden, the
 * interpreter in its first line, or its loader. So these are looked up outside,
 * in that order.
 */

#include "run/exec-error.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "plan/plan.h"
#include "view/realpath.h"
#include "view/view.h"

enum {
	CHAIN_MAX = 6,		/* Interpreters of interpreters, and a loader */
	HEAD_SIZE = 256,	/* What the kernel looks at (BINPRM_BUF_SIZE) */
	SEGMENTS_MAX = 64,
};

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       access(path, X_OK) == 0;
}

char *exec_error_find(const char *name, const char *path, const char *cwd)
{
	char *word;

	if (strchr(name, '/'))
		path = ".";
	while ((word = path_next_dir(&path))) {
		auto_free char *owned = word;
		auto_free char *dir = path_resolve(cwd, owned);
		auto_free char *own = path_resolve(dir, name);

		if (is_program(own))
			return take_ptr(own);
	}
	return NULL;
}

/* The loader of a dynamic program; NULL for any other file */
static char *loader_of(int fd, const Elf64_Ehdr *head)
{
	for (size_t i = 0; i < head->e_phnum && i < SEGMENTS_MAX; i++) {
		char path[PATH_MAX] = "";
		Elf64_Phdr p;

		if (pread(fd, &p, sizeof(p), (off_t)(head->e_phoff +
			  i * sizeof(p))) != (ssize_t)sizeof(p))
			return NULL;
		if (p.p_type != PT_INTERP)
			continue;
		if (p.p_filesz >= sizeof(path) ||
		    pread(fd, path, p.p_filesz, (off_t)p.p_offset) <= 0)
			return NULL;
		return mem_strdup(path);
	}
	return NULL;
}

/* What the kernel starts in the place of @path, or with it; NULL if nothing */
static char *needs(const char *path)
{
	union {
		Elf64_Ehdr elf;
		char text[HEAD_SIZE + 1];
	} head = { 0 };
	auto_close int fd = is_program(path) ?
		open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	const char *word;

	if (fd < 0 || pread(fd, head.text, HEAD_SIZE, 0) <= 0)
		return NULL;
	if (!memcmp(head.elf.e_ident, ELFMAG, SELFMAG))
		return head.elf.e_ident[EI_CLASS] == ELFCLASS64
			       ? loader_of(fd, &head.elf) : NULL;
	if (strncmp(head.text, "#!", 2) != 0)
		return NULL;
	word = head.text + 2 + strspn(head.text + 2, " \t");
	return mem_strndup(word, strcspn(word, " \t\n"));
}

/* Say which rule hides @path, if one does */
static bool name_rule(const struct view *view, const char *path, bool itself,
		      struct err *err)
{
	struct realpath *resolver = realpath_new();
	auto_free char *link = NULL;
	auto_free char *real = NULL;
	auto_free char *before = mem_strdup(err->msg);
	auto_buf struct buf by = { 0 };
	struct stat st, link_st;
	struct verdict v;

	real = realpath_follow_both(resolver, path, &st, &link, &link_st);
	realpath_free(resolver);
	v = view_verdict(view, VIEW_READ, real);
	if (v.allowed && link)
		v = view_verdict(view, VIEW_READ, link);
	if (v.allowed || !v.rule)
		return false;
	origin_describe(&v.rule->origin, &by);
	fail(err, err->code, "%s; '%s'%s is hidden by '%s' (%s)%s", before,
	     path, itself ? "" : ", which it starts with,", v.rule->text,
	     buf_str(&by),
	     v.final ? "" : ": deny less, or give it back with --read");
	return true;
}

void exec_error_explain(const struct plan *plan, const char *options, struct err *err)
{
	const char *path = "";
	auto_free char *at = NULL;

	for (char **e = plan->env; e && *e; e++) {
		if (!strncmp(*e, "PATH=", 5))
			path = *e + 5;
	}
	if (!plan->argv[1] && strpbrk(plan->argv[0], " \t;|&")) {
		auto_free char *before = mem_strdup(err->msg);
		auto_buf struct buf line = { 0 };

		text_shell_quote(&line, plan->argv[0]);
		fail(err, err->code, "%s; a line for the shell goes behind -c: cloche run%s -c %s",
		     before, options, buf_str(&line));
		return;
	}
	at = exec_error_find(plan->argv[0], path, plan->cwd);
	for (int i = 0; at && i < CHAIN_MAX; i++) {
		char *next;

		if (name_rule(plan->view, at, !i, err))
			return;
		next = needs(at);
		free(at);
		at = next && *next == '/' ? next : NULL;
		if (!at)
			free(next);
	}
}
