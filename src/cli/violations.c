/* SPDX-License-Identifier: Apache-2.0 */
/* cli/violations.c - cloche violations: what was refused, here and before */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/command.h"
#include "policy/violation.h"
#include "watch/annotate.h"
#include "watch/quarantine.h"
#include "watch/store.h"
#include "watch/strip.h"

/**
 * struct query - What is asked for
 * @run:	Only this run, or NULL
 * @since_ms:	Only later ones
 * @kind:	Only those of this word or name; or NULL
 * @option:	The last option that was given, or NULL
 * @word:	What is left of the command line, or NULL
 */
struct query {
	const char *run, *kind, *option, *word;
	int64_t since_ms;
	bool json;
};

/**
 * struct records - Those found, each once; the last line of one counts
 * @slots:	Open addressing over @v, by run, kind, target and program
 */
struct records {
	const struct query *query;
	struct violation *v;
	size_t len, cap;
	size_t *slots;
	size_t nslots;
};

/* The word that rules use, or the name that records have */
static bool is_kind(enum violation_kind kind, const char *name)
{
	return !strcmp(violation_kind_words(kind), name) ||
	       !strcmp(violation_kind_name(kind), name);
}

static int set_option(struct query *q, const char *name, const char *value,
		      struct err *err)
{
	struct text_near near = { .word = value };
	uint64_t ms;

	if (!strcmp(name, "--run")) {
		q->run = value;
		return 0;
	}
	if (!strcmp(name, "--since")) {
		if (text_to_duration_ms(value, &ms) < 0)
			return fail(err, -EINVAL, "--since: '%s' is not a time like 30m, 1h or 2d",
				    value);
		q->since_ms = now_ms(CLOCK_REALTIME) - (int64_t)ms;
		return 0;
	}
	for (enum violation_kind kind = 0; kind < VIOLATION_KINDS; kind++) {
		if (is_kind(kind, value))
			q->kind = value;
		(void)text_near_try(&near, violation_kind_words(kind));
	}
	if (q->kind)
		return 0;
	if (near.best)
		return fail(err, -EINVAL, "--kind: '%s' is no kind of refusal; did you mean %s?",
			    value, near.best);
	return fail(err, -EINVAL, "--kind: '%s' is not one of host, read, write, socket, syscall, limit, quarantine",
		    value);
}

static bool is_known(const char *name)
{
	return !strcmp(name, "--run") || !strcmp(name, "--since") ||
	       !strcmp(name, "--kind");
}

static int unexpected(const char *word, struct err *err)
{
	return fail(err, -EINVAL, "violations: '%s' is not expected here; 'cloche help violations' shows what is",
		    word);
}

/* "--name value" and "--name=value" */
static int parse(int argc, char **argv, struct query *q, struct err *err)
{
	*q = (struct query) { 0 };
	for (int i = 2; i < argc; i++) {
		const size_t n = strcspn(argv[i], "=");
		auto_free char *name = mem_strndup(argv[i], n);
		const char *value = argv[i][n] ? argv[i] + n + 1 : NULL;
		int r;

		if (argv[i][0] != '-') {
			if (q->word)
				return unexpected(argv[i], err);
			q->word = argv[i];
			continue;
		}
		q->option = argv[i];
		if (!strcmp(argv[i], "--json")) {
			q->json = true;
			continue;
		}
		if (!is_known(name))
			return fail(err, -EINVAL, "unknown option '%s' of violations",
				    name);
		if (!value)
			value = i + 1 < argc ? argv[++i] : NULL;
		if (!value)
			return fail(err, -EINVAL, "%s needs a value", name);
		r = set_option(q, name, value, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool is_wanted(const struct query *q, const struct violation *v)
{
	return (!q->run || (v->run && !strcmp(v->run, q->run))) &&
	       v->time_ms >= q->since_ms &&
	       (!q->kind || is_kind(v->kind, q->kind));
}

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static size_t hash_text(size_t hash, const char *s)
{
	for (; s && *s; s++)
		hash = (hash ^ (unsigned char)*s) * 1099511628211u;
	return hash * 31;
}

/* Where @v is, or where it belongs */
static size_t *find_slot(const struct records *r, const struct violation *v)
{
	size_t at = hash_text(hash_text(hash_text(v->kind, v->run), v->target),
			      v->exe) % r->nslots;

	while (r->slots[at]) {
		const struct violation *o = &r->v[r->slots[at] - 1];

		if (o->kind == v->kind && same(o->run, v->run) &&
		    same(o->target, v->target) && same(o->exe, v->exe))
			break;
		at = (at + 1) % r->nslots;
	}
	return &r->slots[at];
}

static void grow_slots(struct records *r)
{
	free(r->slots);
	r->nslots = r->nslots ? r->nslots * 2 : 1024;
	r->slots = mem_zalloc(r->nslots * sizeof(*r->slots));
	for (size_t i = 0; i < r->len; i++)
		*find_slot(r, &r->v[i]) = i + 1;
}

static int collect(void *arg, const struct violation *v)
{
	struct records *r = arg;
	size_t *slot;

	if (!is_wanted(r->query, v))
		return 0;
	if (r->len * 2 >= r->nslots)
		grow_slots(r);
	slot = find_slot(r, v);
	if (*slot) {
		violation_done(&r->v[*slot - 1]);
	} else {
		(void)vec_push(r);
		*slot = r->len;
	}
	violation_copy(&r->v[*slot - 1], v);
	return 0;
}

/* Those of one run stand together, below its id and command */
static void print_text(const struct violation *v, const struct violation *before)
{
	auto_buf struct buf text = { 0 };
	char when[VIOLATION_TIME_SIZE];

	violation_time(v->time_ms, when);
	if (!before || !same(before->run, v->run))
		cli_say(stdout, "%.19sZ run %s  %s", when, v->run ? v->run : "?",
			v->command ? v->command : "");
	annotate_text(v, "    ", &text);
	printf("  %s", buf_str(&text));
}

static void print_json(const struct violation *v)
{
	auto_buf struct buf line = { 0 };

	violation_to_json(v, &line);
	fputs(buf_str(&line), stdout);
}

static void print_records(const struct records *r)
{
	if (!r->query->json) {
		for (size_t i = 0; i < r->len; i++)
			print_text(&r->v[i], i ? &r->v[i - 1] : NULL);
		return;
	}
	fputs("{\"version\":1,\"violations\":[\n", stdout);
	for (size_t i = 0; i < r->len; i++) {
		fputs(i ? "," : "", stdout);
		print_json(&r->v[i]);
	}
	fputs("]}\n", stdout);
}

static int do_list(struct store *store, const struct query *q,
		   struct err *err)
{
	struct records r = { .query = q };
	const int result = store ? store_each(store, collect, &r, err) : 0;

	if (result == 0)
		print_records(&r);
	for (size_t i = 0; i < r.len; i++)
		violation_done(&r.v[i]);
	free(r.v);
	free(r.slots);
	return result;
}

static int show(void *arg, const struct violation *v)
{
	const struct query *q = arg;

	if (!is_wanted(q, v))
		return 0;
	if (q->json)
		print_json(v);
	else
		print_text(v, NULL);
	return fflush(stdout) ? 1 : 0;	/* The reader is gone */
}

static int do_follow(struct store *store, const struct query *q,
		     struct err *err)
{
	void *arg = (void *)(uintptr_t)q;
	int r = q->since_ms ? store_each(store, show, arg, err) : 0;

	if (r == 0)
		r = store_follow(store, show, arg, err);
	return r < 0 ? r : 0;
}

static int do_clear(struct store *store, const struct query *q,
		    struct err *err)
{
	(void)q;
	return store ? store_clear(store, err) : 0;
}

/* Standard input to standard output, without the blocks of footers */
static int strip_stream(struct err *err)
{
	struct strip strip = { 0 };
	char chunk[16384];
	ssize_t n;
	int r = 0;

	do {
		auto_buf struct buf out = { 0 };

		n = read(STDIN_FILENO, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			r = fail_errno(err, "cannot read standard input");
		else if (n > 0)
			strip_feed(&strip, chunk, (size_t)n, &out);
		else
			strip_finish(&strip, &out);
		if (r == 0 && out.len)
			r = fs_write_all(STDOUT_FILENO, out.p, out.len);
	} while (n != 0 && r == 0);
	return r < 0 ? fail(err, r, "cannot copy: %s", strerror(-r)) : 0;
}

/* Who looks makes nothing: without records @fn gets NULL, unless it waits */
static int with_store(const struct query *q, struct err *err,
		      int (*fn)(struct store *, const struct query *,
				struct err *))
{
	auto_free char *dir = store_default_dir();
	struct store *store = NULL;
	int r;

	if (!dir)
		return fail(err, -ENOENT, "no home directory; set XDG_STATE_HOME");
	r = fn != do_follow && access(dir, F_OK) < 0 && errno == ENOENT ? 0 :
	    store_new(dir, STORE_FILE_MAX, &store, err);
	if (r == 0)
		r = fn(store, q, err);
	store_free(store);
	return r;
}

static int restore(const struct query *q, struct err *err)
{
	auto_free char *dir = store_default_dir();

	if (!q->word)
		return fail(err, -EINVAL, "restore needs an id; 'cloche violations list --kind quarantine' names them");
	if (!dir)
		return fail(err, -ENOENT, "no home directory; set XDG_STATE_HOME");
	return quarantine_restore(dir, q->word, err);
}

enum verb { LIST, FOLLOW, STRIP, CLEAR, RESTORE, VERBS };

static enum verb find_verb(const char *name, struct text_near *near)
{
	static const char *const names[VERBS] = {
		"list", "follow", "strip", "clear", "restore",
	};
	enum verb verb = LIST;

	for (; verb < VERBS && strcmp(names[verb], name) != 0; verb++)
		(void)text_near_try(near, names[verb]);
	return verb;
}

int cli_violations(int argc, char **argv, struct err *err)
{
	struct text_near near = { .word = argc > 1 ? argv[1] : "" };
	const enum verb verb = argc > 1 ? find_verb(argv[1], &near) : LIST;
	struct query q;
	int r;

	if (verb == VERBS && near.best)
		return fail(err, -EINVAL, "violations: no command '%s'; did you mean 'cloche violations %s'?",
			    argv[1], near.best);
	if (verb == VERBS)
		return fail(err, -EINVAL, "violations: '%s' is not one of list, follow, strip, clear, restore",
			    argv[1]);
	r = parse(argc, argv, &q, err);
	if (r < 0)
		return r;
	/* Who chooses some must not lose all */
	if (q.option && verb != LIST && verb != FOLLOW)
		return unexpected(q.option, err);
	if (q.word && verb != RESTORE)
		return unexpected(q.word, err);
	switch (verb) {
	case LIST:
		return with_store(&q, err, do_list);
	case FOLLOW:
		return with_store(&q, err, do_follow);
	case CLEAR:
		return with_store(&q, err, do_clear);
	case STRIP:
		return strip_stream(err);
	default:
		return restore(&q, err);
	}
}
