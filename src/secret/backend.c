/* SPDX-License-Identifier: Apache-2.0 */
/* secret/backend.c - what all backends share */

#include "secret/backend.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "secret/bytes.h"
#include "secret/doc.h"

const char *note_text(enum note number)
{
	static const char *const texts[] = {
#define NOTE(id, text) text,
#include "secret/notes.def"
#undef NOTE
	};

	return texts[number];
}

bool answer_is_final(int r)
{
	return r == -EKEYREJECTED || r == -EBADMSG || r == -EPERM ||
	       r == -ENOKEY || r == -EFBIG || r == -EINVAL || r == -ECANCELED;
}

void answer_fail(answer_fn done, void *arg, const struct err *err)
{
	const struct answer answer = { .r = err->code, .err = *err };

	done(arg, &answer);
}

void backend_read(struct backend *b, answer_fn done, void *arg)
{
	b->ops->read(b, done, arg);
}

void backend_update(struct backend *b, const struct bytes *data,
		    answer_fn done, void *arg)
{
	b->ops->update(b, data, done, arg);
}

void backend_delete(struct backend *b, answer_fn done, void *arg)
{
	b->ops->delete(b, done, arg);
}

void backend_cancel(struct backend *b)
{
	if (b && b->ops->cancel)
		b->ops->cancel(b);
}

void backend_free(struct backend *b)
{
	if (!b)
		return;
	backend_cancel(b);
	b->ops->free(b);
}

/**
 * struct edit - An edit under way
 */
struct edit {
	struct backend *b;
	edit_fn change;
	void *change_arg;
	struct bytes made;
	answer_fn done;
	void *arg;
};

static void end_edit(struct edit *e, const struct answer *answer)
{
	const answer_fn done = e->done;
	void *arg = e->arg;
	struct answer with = *answer;

	if (with.r > 0)
		with.data = &e->made;
	done(arg, &with);
	bytes_done(&e->made);
	free(e);
}

static void edit_written(void *arg, const struct answer *answer)
{
	end_edit(arg, answer);
}

static void edit_read(void *arg, const struct answer *answer)
{
	struct edit *e = arg;
	struct answer out = { .r = answer->r, .err = answer->err };

	if (out.r >= 0)
		out.r = e->change(e->change_arg,
				  answer->data ? span_of(answer->data) :
						 span_str("{}"),
				  &e->made, &out.err);
	if (out.r <= 0)
		end_edit(e, &out);
	else
		backend_update(e->b, &e->made, edit_written, e);
}

void backend_edit(struct backend *b, edit_fn change, void *change_arg,
		  answer_fn done, void *arg)
{
	struct edit *e = mem_zalloc(sizeof(*e));

	*e = (struct edit){ .b = b, .change = change, .change_arg = change_arg,
			    .done = done, .arg = arg };
	backend_read(b, edit_read, e);
}
