/* SPDX-License-Identifier: Apache-2.0 */
/* secret/test-pair.c - two fakes joined by fallback */

#include "secret/test-pair.h"

#include <errno.h>

#include "secret/backend.h"
#include "secret/bytes.h"
#include "secret/doc.h"
#include "secret/fallback.h"
#include "test.h"

static int get_claim(void *arg, struct err *err)
{
	(void)err;
	return (int)((struct pair *)arg)->claim;
}

static int set_claim(void *arg, enum claim claim, struct err *err)
{
	struct pair *p = arg;

	if (fake_before_write)
		fake_before_write();
	if (p->claim_fails)
		return fail(err, p->claim_fails, "the claim fails");
	p->claim = claim;
	return 0;
}

const struct claim_ops pair_claim_ops = { get_claim, set_claim };

void pair_set(struct fake *fake, const char *state)
{
	fake_init(fake, *state == '!' ? NULL : state);
	if (*state == '!')
		fake_break(fake, -EIO);
}

void pair_init(struct pair *p, const char *one, const char *two)
{
	*p = (struct pair){ 0 };
	pair_set(&p->one, one);
	pair_set(&p->two, two);
	p->both = fallback_new(&p->one.base, &p->two.base, &pair_claim_ops, p);
}

static void on_answer(void *arg, const struct answer *answer)
{
	struct pair *p = arg;

	p->answers++;
	p->r = answer->r;
	p->notes = answer->notes;
	p->err = answer->err;
	snprintf(p->data, sizeof(p->data), "%s",
		 answer->data ? bytes_str(answer->data) : "");
}

void pair_act(struct pair *p, enum verb verb)
{
	auto_bytes struct bytes data = { 0 };

	bytes_adds(&data, NEW);
	memset(p->one.log, 0, sizeof(p->one.log));
	memset(p->two.log, 0, sizeof(p->two.log));
	p->answers = 0;
	if (verb == VERB_READ)
		backend_read(p->both, on_answer, p);
	else if (verb == VERB_UPDATE)
		backend_update(p->both, &data, on_answer, p);
	else
		backend_delete(p->both, on_answer, p);
	CHECK_INT(p->answers, 1);
}

const char *pair_seen(struct pair *p)
{
	pair_act(p, VERB_READ);
	return p->r > 0 ? p->data : "";
}

/* Set "n", or with @remove take "o" out */
static int change(void *arg, struct span old, const char *tombstone,
		  struct bytes *ret, struct err *err)
{
	const bool remove = *(const bool *)arg;
	struct span value;

	(void)err;
	if (!remove)
		doc_put(old, "n", span_str("3"), ret);
	else if (tombstone)
		doc_put(old, "o", span_str(tombstone), ret);
	else if (doc_find(old, "o", &value))
		doc_drop(old, "o", ret);
	else
		return 0;
	return 1;
}

void pair_edit(struct pair *p, bool remove)
{
	p->answers = 0;
	backend_edit(p->both, change, &remove, on_answer, p);
	CHECK_INT(p->answers, 1);
}
