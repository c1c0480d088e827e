/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret/fallback.c - two stores as one: carries the steps of the plan out
 *
 * Theory of operation: advance() asks fallback_next() for the next step and
 * starts it; the answer is written into the facts and advance() runs again,
 * until the plan says DONE and conclude() makes one answer of all the facts.
 */

#include "secret/fallback.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/own.h"
#include "secret/backend.h"
#include "secret/bytes.h"
#include "secret/doc.h"
#include "secret/fallback-plan.h"

/**
 * struct fallback - The two stores
 * @tombstone:	What a patch of the first says of a removed member
 */
struct fallback {
	struct backend base;
	struct backend *store[2];
	char *tombstone;
	const struct claim_ops *claim;
	void *claim_arg;
};

/**
 * struct op - One operation under way
 * @facts:	What is known so far
 * @step:	The one that was started
 * @input:	The caller's document for an update, or NULL
 * @read:	What the two stores held
 * @view:	What a reader sees: both, by the claim
 * @made:	What an edit made of it
 * @why:	The last failure of each store
 * @other:	A failure of the claim or of the change
 * @inner:	Why the second, a fallback itself, used its second
 */
struct op {
	struct fallback *f;
	enum verb verb;
	struct fallback_facts facts;
	enum step step;
	const struct bytes *input;
	edit_fn change;
	void *change_arg;
	struct bytes read[2], view, made;
	struct err why[2], other, inner;
	unsigned int notes;
	answer_fn done;
	void *arg;
};

static void advance(struct op *op);

static const struct bytes *new_document(const struct op *op)
{
	return op->input ? op->input : &op->made;
}

/* What a reader sees now, into op->view: 1, or 0 if there is nothing */
static int make_view(struct op *op)
{
	const int *did = op->facts.did;
	const bool first = did[STEP_READ_1] == 1 &&
			   op->facts.claim != CLAIM_WHOLE;
	const bool second = did[STEP_READ_2] == 1;

	if (first && second && op->facts.claim == CLAIM_PATCH)
		doc_merge(span_of(&op->read[0]), span_of(&op->read[1]),
			  op->f->tombstone, &op->view);
	else if (first)
		bytes_copy(&op->view, &op->read[0]);
	else if (second)	/* Without what a patch took out */
		doc_merge(span_str("{}"), span_of(&op->read[1]),
			  op->f->tombstone, &op->view);
	else
		return 0;
	return 1;
}

static int fail_both(struct op *op, struct answer *out)
{
	const char *names[] = { op->f->store[0]->ops->name,
				op->f->store[1]->ops->name };

	if (!op->why[1].code || op->why[1].code == -ENOTSUP)
		out->err = op->why[0];
	else if (!op->why[0].code || op->why[0].code == -ENOTSUP)
		out->err = op->why[1];
	else
		return fail(&out->err, op->why[0].code, "%s: %.400s; %s: %.400s",
			    names[0], op->why[0].msg, names[1],
			    op->why[1].msg);
	return out->err.code;
}

/* The second store was used although the first should have been: say why,
 * unless the first just does not exist here
 */
static void note_fallback(struct op *op, struct answer *out)
{
	const bool absent = !op->why[0].code || op->why[0].code == -ENOTSUP;

	if (absent && !(op->notes & NOTE_FALLBACK))
		return;
	out->notes |= NOTE_FALLBACK;
	out->err = absent ? op->inner : op->why[0];
}

static void conclude_read(struct op *op, struct answer *out)
{
	const int *did = op->facts.did;

	if (answer_is_final(did[STEP_READ_1])) {
		out->r = op->why[0].code;
		out->err = op->why[0];
		return;
	}
	/* A claim that cannot be read may hold what is newer */
	if (op->facts.claim != CLAIM_NONE && did[STEP_READ_2] < 0 &&
	    did[STEP_READ_2] != NOT_YET) {
		out->r = fail_both(op, out);
		return;
	}
	out->r = make_view(op);
	if (out->r) {
		out->data = &op->view;
		if (did[STEP_READ_2] == 1)
			note_fallback(op, out);
	} else if (op->why[0].code && op->why[0].code != -ENOTSUP) {
		out->r = fail_both(op, out);
	} else if (op->why[1].code &&
		   (op->why[0].code || op->why[1].code != -ENOTSUP)) {
		out->r = op->why[1].code;
		out->err = op->why[1];
	}
}

static bool failed(const struct op *op, enum step step)
{
	return op->facts.did[step] < 0 && op->facts.did[step] != NOT_YET &&
	       op->facts.did[step] != -ENOTSUP;
}

static bool done(const struct op *op, enum step step)
{
	return op->facts.did[step] >= 0;
}

static void conclude_delete(struct op *op, struct answer *out)
{
	const int *did = op->facts.did;

	out->r = did[STEP_DELETE_1] == 1 || did[STEP_DELETE_2] == 1;
	if (op->other.code) {
		out->r = op->other.code;
		out->err = op->other;
	} else if (failed(op, STEP_DELETE_2)) {
		out->r = op->why[1].code;
		out->err = op->why[1];
	} else if (failed(op, STEP_DELETE_1)) {
		out->r = fail(&out->err, op->why[0].code,
			      "the copy in %s is no longer used, but could not be deleted: %.400s",
			      op->f->store[0]->ops->name, op->why[0].msg);
	}
}

static void conclude_update(struct op *op, struct answer *out)
{
	const bool written_1 = done(op, STEP_UPDATE_1);
	const bool written_2 = done(op, STEP_UPDATE_2) ||
			       done(op, STEP_PATCH_2);
	/* An old copy that is neither deleted nor claimed over would win */
	const bool shadowed = !written_1 && !done(op, STEP_DELETE_1) &&
		(failed(op, STEP_CLAIM_WHOLE) || failed(op, STEP_CLAIM_PATCH));

	if (op->facts.did[STEP_CHANGE] == 0 ||
	    op->facts.did[STEP_PATCH_2] == 0) {
		out->r = 0;
	} else if (failed(op, STEP_CHANGE) || shadowed ||
		   (!written_1 && !written_2 && op->other.code)) {
		out->r = op->other.code;
		out->err = op->other;
	} else if (written_1) {
		out->r = 1;
		if (failed(op, STEP_DELETE_2))
			out->notes |= NOTE_LEFTOVER;
	} else if (written_2) {
		out->r = 1;
		note_fallback(op, out);
	} else {
		out->r = fail_both(op, out);
	}
	if (out->r == 1 && !done(op, STEP_PATCH_2))
		out->data = new_document(op);
}

static void finish(struct op *op, const struct answer *out)
{
	op->done(op->arg, out);
	for (int i = 0; i < 2; i++)
		bytes_done(&op->read[i]);
	bytes_done(&op->view);
	bytes_done(&op->made);
	free(op);
}

static void conclude(struct op *op)
{
	struct answer out = { .notes = op->notes };

	if (op->verb == VERB_READ)
		conclude_read(op, &out);
	else if (op->verb == VERB_DELETE)
		conclude_delete(op, &out);
	else
		conclude_update(op, &out);
	finish(op, &out);
}

static int which_store(enum step step)
{
	return step == STEP_READ_2 || step == STEP_UPDATE_2 ||
	       step == STEP_PATCH_2 || step == STEP_DELETE_2;
}

static void on_answer(void *arg, const struct answer *answer)
{
	struct op *op = arg;
	const int which = which_store(op->step);

	if (answer->r == -ECANCELED) {
		finish(op, answer);
		return;
	}
	op->facts.did[op->step] = answer->r > 0 ? 1 : answer->r;
	op->notes |= answer->notes;
	if (answer->r < 0)
		op->why[which] = answer->err;
	else if (answer->notes & NOTE_FALLBACK)
		op->inner = answer->err;
	if (answer->r > 0 && answer->data &&
	    (op->step == STEP_READ_1 || op->step == STEP_READ_2))
		bytes_copy(&op->read[which], answer->data);
	advance(op);
}

/* A step that is done at once, by ourselves */
static void record(struct op *op, int r)
{
	op->facts.did[op->step] = r;
}

static void do_claim(struct op *op, enum claim claim)
{
	const int r = op->f->claim->set(op->f->claim_arg, claim, &op->other);

	record(op, r);
}

static void do_change(struct op *op)
{
	const struct span old = make_view(op) ? span_of(&op->view) :
						span_str("{}");

	record(op, op->change(op->change_arg, old, NULL, &op->made,
			      &op->other));
}

/* For the second store. If that is a fallback which can only patch, too, it is
 * still our tombstone that goes in: to it, that is a value like any other.
 */
static int change_as_patch(void *arg, struct span old, const char *tombstone,
			   struct bytes *ret, struct err *err)
{
	struct op *op = arg;

	(void)tombstone;
	return op->change(op->change_arg, old, op->f->tombstone, ret, err);
}

/* Start a step of the stores; its answer may come before this returns */
static void start(struct op *op)
{
	struct backend *store = op->f->store[which_store(op->step)];

	switch (op->step) {
	case STEP_READ_1:
	case STEP_READ_2:
		backend_read(store, on_answer, op);
		break;
	case STEP_MERGE_1:
		(void)make_view(op);
		backend_update(store, &op->view, on_answer, op);
		break;
	case STEP_UPDATE_1:
	case STEP_UPDATE_2:
		backend_update(store, new_document(op), on_answer, op);
		break;
	case STEP_PATCH_2:
		backend_edit(store, change_as_patch, op, on_answer, op);
		break;
	default:
		backend_delete(store, on_answer, op);
		break;
	}
}

static void advance(struct op *op)
{
	for (;;) {
		op->step = fallback_next(op->verb, &op->facts);
		switch (op->step) {
		case STEP_DONE:
			conclude(op);
			return;
		case STEP_CHANGE:
			do_change(op);
			break;
		case STEP_CLAIM_NONE:
			do_claim(op, CLAIM_NONE);
			break;
		case STEP_CLAIM_PATCH:
			do_claim(op, CLAIM_PATCH);
			break;
		case STEP_CLAIM_WHOLE:
			do_claim(op, CLAIM_WHOLE);
			break;
		default:
			start(op);
			return;
		}
	}
}

static void begin(struct backend *b, enum verb verb, struct op fields)
{
	struct fallback *f = (struct fallback *)b;
	struct op *op = mem_zalloc(sizeof(*op));
	struct err err = { 0 };
	const int claim = f->claim->get(f->claim_arg, &err);

	*op = fields;
	op->f = f;
	op->verb = verb;
	if (claim < 0) {
		const struct answer out = { .r = claim, .err = err };

		finish(op, &out);
		return;
	}
	op->facts.claim = (enum claim)claim;
	for (size_t i = 0; i < STEP_COUNT; i++)
		op->facts.did[i] = NOT_YET;
	advance(op);
}

static void fallback_read(struct backend *b, answer_fn fn, void *arg)
{
	begin(b, VERB_READ, (struct op){ .done = fn, .arg = arg });
}

static void fallback_update(struct backend *b, const struct bytes *data,
			    answer_fn fn, void *arg)
{
	begin(b, VERB_UPDATE,
	      (struct op){ .input = data, .done = fn, .arg = arg });
}

static void fallback_delete(struct backend *b, answer_fn fn, void *arg)
{
	begin(b, VERB_DELETE, (struct op){ .done = fn, .arg = arg });
}

static void fallback_edit(struct backend *b, edit_fn change, void *change_arg,
			  answer_fn fn, void *arg)
{
	begin(b, VERB_EDIT, (struct op){ .change = change,
					 .change_arg = change_arg,
					 .done = fn, .arg = arg });
}

static void fallback_cancel(struct backend *b)
{
	struct fallback *f = (struct fallback *)b;

	backend_cancel(f->store[0]);
	backend_cancel(f->store[1]);
}

static void fallback_free(struct backend *b)
{
	struct fallback *f = (struct fallback *)b;

	backend_free(f->store[0]);
	backend_free(f->store[1]);
	free(f->tombstone);
	free(f);
}

static const struct backend_ops fallback_ops = {
	.name = "fallback",
	.read = fallback_read,
	.update = fallback_update,
	.delete = fallback_delete,
	.edit = fallback_edit,
	.cancel = fallback_cancel,
	.free = fallback_free,
};

struct backend *fallback_new(struct backend *first, struct backend *second,
			     const struct claim_ops *claim, void *claim_arg)
{
	struct fallback *f = mem_zalloc(sizeof(*f));

	*f = (struct fallback){ .base = { &fallback_ops },
				.store = { first, second },
				.claim = claim, .claim_arg = claim_arg };
	f->tombstone = mem_printf(DOC_TOMBSTONE "\"%s\"}", first->ops->name);
	return &f->base;
}
