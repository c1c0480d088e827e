/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret/select.c - the one back end that keeps a store
 *
 * Theory of operation: the record is read again for every operation, because
 * another process may have moved the store. Data is written before the record
 * and deleted after it, so a crash leaves either a store without a record,
 * which is found by its data, or a copy that the record does not name, which
 * nobody reads.
 */

#include "secret/select.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "secret/bytes.h"
#include "secret/doc.h"
#include "secret/place.h"

enum { RECORD_MAX = 64 };

/**
 * struct op - One operation under way
 * @i:		The back end that is asked, while all of them are
 * @from:	The back end that keeps the store, once known
 * @to:		The back end that will
 * @data:	What to write: the caller's, or @held
 * @deleted:	Something was
 * @found:	Goes on when @from is known, or NULL if there is no data
 */
struct op {
	struct select *s;
	size_t i;
	struct backend *from, *to;
	const struct bytes *data;
	struct bytes held;
	bool deleted;
	unsigned int notes;
	void (*found)(struct op *op);
	answer_fn done;
	void *arg;
};

static struct op *op_new(struct backend *b, const struct bytes *data,
			 answer_fn done, void *arg)
{
	struct op *op = mem_zalloc(sizeof(*op));

	*op = (struct op){ .s = (struct select *)b, .data = data, .done = done,
			   .arg = arg };
	return op;
}

static void op_end(struct op *op, const struct answer *answer)
{
	op->done(op->arg, answer);
	bytes_done(&op->held);
	free(op);
}

static void op_result(struct op *op, int r, const struct err *err)
{
	struct answer answer = { .r = r, .notes = op->notes };

	if (err)
		answer.err = *err;
	op_end(op, &answer);
}

static char *record_name(const struct select *s)
{
	return mem_printf("%s.backend", s->files);
}

int select_recorded(struct select *s, struct backend **ret, struct err *err)
{
	auto_free char *name = record_name(s);
	auto_bytes struct bytes text = { 0 };
	const int r = place_read(s->place, name, RECORD_MAX, &text, err);

	if (r <= 0)
		return r;
	for (size_t i = 0; i < s->count; i++) {
		const char *leaf = s->leaf[i]->ops->name;
		const size_t n = strlen(leaf);

		if (!strncmp(bytes_str(&text), leaf, n) &&
		    !strcmp(bytes_str(&text) + n, "\n")) {
			*ret = s->leaf[i];
			return 1;
		}
	}
	return fail(err, -EBADMSG,
		    "'%s/%s' names no back end: write secret-service, file or plaintext into it",
		    place_path(s->place), name);
}

/* Older versions wrote beside the store which back end's copy is out of date */
static char *outdated_name(const struct select *s, const struct backend *b)
{
	return mem_printf("%s.over-%s", s->files, b->ops->name);
}

static bool is_outdated(const struct select *s, const struct backend *b)
{
	auto_free char *name = outdated_name(s, b);

	return place_has(s->place, name);
}

/* Record @b, or NULL: there is no store any more */
static int record(struct select *s, const struct backend *b, struct err *err)
{
	auto_free char *name = record_name(s);
	auto_free char *text = b ? mem_printf("%s\n", b->ops->name) : NULL;
	struct backend *now = NULL;
	int r = select_recorded(s, &now, NULL);

	if (r == 1 && now == b)
		return 0;
	r = b ? place_write(s->place, name, text, strlen(text), err) :
		place_remove(s->place, name, err);
	for (size_t i = 0; r >= 0 && i < s->count; i++) {
		auto_free char *old = outdated_name(s, s->leaf[i]);

		(void)place_remove(s->place, old, NULL);
	}
	return r < 0 ? r : 0;
}

/* The recorded back end cannot work here: another one must not take over */
static void explain(const struct op *op, struct answer *answer)
{
	struct err why = answer->err;

	if (answer->r == -ENOTSUP && op->from && !op->s->forced)
		fail(&answer->err, -ENOTSUP,
		     "the secrets are kept in %s, which does not work here: %.400s; make it work, or name another store with --service",
		     op->from->ops->name, why.msg);
}

/* Older versions left marks of what was removed */
static void end_read(void *arg, const struct answer *answer)
{
	struct op *op = arg;
	struct answer out = *answer;

	if (answer->r > 0 && answer->data) {
		doc_strip(span_of(answer->data), &op->held);
		out.data = &op->held;
	}
	explain(op, &out);
	op_end(op, &out);
}

static void look(struct op *op);

static void looked(void *arg, const struct answer *answer)
{
	struct op *op = arg;
	struct backend *leaf = op->s->leaf[op->i];
	const bool forced = op->s->forced != NULL;
	struct err err = { 0 };

	if (answer->r == -ECANCELED) {
		op_end(op, answer);
	} else if (answer->r > 0 && !op->found) {
		end_read(op, answer);
	} else if (answer->r > 0 || (forced && answer_is_final(answer->r))) {
		op->from = leaf;
		op->found(op);
	} else if (!answer->r || answer->r == -ENOTSUP || forced) {
		op->i++;
		look(op);
	} else if (answer_is_final(answer->r)) {
		op_end(op, answer);
	} else {
		fail(&err, answer->r,
		     "cannot tell whether %s keeps the secrets: %.400s; make it work, or choose with --backend",
		     leaf->ops->name, answer->err.msg);
		op_result(op, answer->r, &err);
	}
}

/* Ask one back end after the other for data; which one is forced is known */
static void look(struct op *op)
{
	const struct select *s = op->s;

	while (op->i < s->count && (s->leaf[op->i] == s->forced ||
				    is_outdated(s, s->leaf[op->i])))
		op->i++;
	if (op->i < s->count)
		backend_read(s->leaf[op->i], looked, op);
	else if (op->found)
		op->found(op);
	else
		op_result(op, 0, NULL);
}

/* Go on with @op->found when @op->from is known */
static void locate(struct op *op)
{
	struct err err = { 0 };
	const int r = select_recorded(op->s, &op->from, &err);

	if (r < 0)
		op_result(op, r, &err);
	else if (r && op->found)
		op->found(op);
	else if (r)
		backend_read(op->from, end_read, op);
	else
		look(op);
}

static void select_read(struct backend *b, answer_fn done, void *arg)
{
	struct op *op = op_new(b, NULL, done, arg);

	if (op->s->forced)
		backend_read(op->s->forced, end_read, op);
	else
		locate(op);
}

static void try_write(struct op *op);

static void written(void *arg, const struct answer *answer)
{
	struct op *op = arg;
	struct answer out = *answer;
	int r;

	/* Nothing is stored yet: the next best */
	if (answer->r == -ENOTSUP && !op->from && !op->s->forced &&
	    ++op->i < op->s->count) {
		try_write(op);
		return;
	}
	explain(op, &out);
	if (out.r > 0) {
		r = record(op->s, op->to, &out.err);
		if (r < 0)
			out.r = r;
	}
	op_end(op, &out);
}

static void try_write(struct op *op)
{
	op->to = op->from ? op->from : op->s->leaf[op->i];
	backend_update(op->to, op->data, written, op);
}

static void update_found(struct op *op)
{
	struct backend *forced = op->s->forced;
	struct err err = { 0 };

	if (forced && op->from && op->from != forced) {
		fail(&err, -EEXIST,
		     "the secrets are kept in %s; 'cloche secret move --backend %s' moves them",
		     op->from->ops->name, forced->ops->name);
		op_result(op, -EEXIST, &err);
		return;
	}
	if (forced)
		op->from = forced;
	op->i = 0;
	try_write(op);
}

static void select_update(struct backend *b, const struct bytes *data,
			  answer_fn done, void *arg)
{
	struct op *op = op_new(b, data, done, arg);

	op->found = update_found;
	locate(op);
}

static void delete_next(struct op *op);

static void deleted(void *arg, const struct answer *answer)
{
	struct op *op = arg;
	struct answer out = *answer;

	explain(op, &out);
	if (out.r < 0 && (op->from || out.r != -ENOTSUP)) {
		op_end(op, &out);
		return;
	}
	op->deleted = op->deleted || out.r > 0;
	op->i++;
	delete_next(op);
}

/* From the one that keeps it; without a record, wherever something is */
static void delete_next(struct op *op)
{
	struct select *s = op->s;
	struct backend *now = NULL;
	struct err err = { 0 };
	int r = op->deleted;

	if (op->i < (op->from ? 1 : s->count)) {
		backend_delete(op->from ? op->from : s->leaf[op->i], deleted,
			       op);
		return;
	}
	/* A copy that nobody uses takes no record with it */
	if (!s->forced || (select_recorded(s, &now, NULL) > 0 &&
			   now == s->forced))
		r = record(s, NULL, &err) < 0 ? err.code : r;
	op_result(op, r, &err);
}

static void select_delete(struct backend *b, answer_fn done, void *arg)
{
	struct op *op = op_new(b, NULL, done, arg);
	struct err err = { 0 };
	const int r = select_recorded(op->s, &op->from, &err);

	if (op->s->forced)
		op->from = op->s->forced;
	if (r < 0)
		op_result(op, r, &err);
	else
		delete_next(op);
}

static void move_deleted(void *arg, const struct answer *answer)
{
	struct op *op = arg;

	if (answer->r < 0)
		op->notes |= NOTE_LEFTOVER;
	op_result(op, 1, NULL);
}

static void move_written(void *arg, const struct answer *answer)
{
	struct op *op = arg;
	struct err err = { 0 };

	op->notes |= answer->notes;
	if (answer->r < 0)
		op_end(op, answer);
	else if (record(op->s, op->to, &err) < 0)
		op_result(op, err.code, &err);
	else
		backend_delete(op->from, move_deleted, op);
}

static void move_target(void *arg, const struct answer *answer)
{
	struct op *op = arg;
	struct err err = { 0 };

	if (answer->r < 0) {
		op_end(op, answer);
	} else if (answer->r && !bytes_same(answer->data->p, answer->data->len,
					    op->held.p, op->held.len)) {
		fail(&err, -EEXIST,
		     "%s holds other secrets already: 'cloche secret delete --all --backend %s' removes them",
		     op->to->ops->name, op->to->ops->name);
		op_result(op, -EEXIST, &err);
	} else {
		backend_update(op->to, &op->held, move_written, op);
	}
}

static void move_read(void *arg, const struct answer *answer)
{
	struct op *op = arg;
	struct answer out = *answer;

	explain(op, &out);
	if (out.r <= 0) {
		op_end(op, &out);
		return;
	}
	doc_strip(span_of(answer->data), &op->held);
	backend_read(op->to, move_target, op);
}

static void move_found(struct op *op)
{
	struct err err = { 0 };
	int r = 0;

	if (op->from && op->from != op->to) {
		backend_read(op->from, move_read, op);
		return;
	}
	if (op->from)
		r = record(op->s, op->to, &err) < 0 ? err.code : 1;
	op_result(op, r, &err);
}

void select_move(struct select *s, struct backend *to, answer_fn done,
		 void *arg)
{
	struct op *op = op_new(&s->base, NULL, done, arg);

	op->to = to;
	op->found = move_found;
	locate(op);
}

static void select_cancel(struct backend *b)
{
	struct select *s = (struct select *)b;

	for (size_t i = 0; i < s->count; i++)
		backend_cancel(s->leaf[i]);
}

static void select_free(struct backend *b)
{
	(void)b;
}

static const struct backend_ops select_ops = {
	.name = "selected",
	.read = select_read,
	.update = select_update,
	.delete = select_delete,
	.cancel = select_cancel,
	.free = select_free,
};

void select_init(struct select *s)
{
	s->base.ops = &select_ops;
}
