/* SPDX-License-Identifier: Apache-2.0 */
/* secret/helper-serve.c - a store behind a helper program: the helper's side */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "secret/bytes.h"
#include "secret/doc.h"
#include "secret/helper-words.h"
#include "secret/helper.h"

static int write_answer(int out, int r, const struct bytes *data,
			unsigned int notes, const struct err *err)
{
	auto_bytes struct bytes text = { 0 };
	const char *word = helper_word(r);
	char number[16];

	(void)snprintf(number, sizeof(number), "%u", notes);
	doc_open(&text);
	doc_add(&text, "version", span_str("1"));
	doc_add_string(&text, "result", word, strlen(word));
	doc_add(&text, "notes", span_str(number));
	if (r < 0)
		doc_add_string(&text, "message", err->msg, strlen(err->msg));
	if (data->len)
		doc_add_string(&text, "data", data->p, data->len);
	doc_close(&text);
	bytes_addc(&text, '\n');
	return fs_write_all(out, text.p, text.len) < 0 ? 1 : 0;
}

static int dispatch(const struct helper_ops *ops, struct span request,
		    struct bytes *ret, unsigned int *notes, struct err *err)
{
	auto_bytes struct bytes verb = { 0 }, data = { 0 };
	int r;

	(void)doc_find_string(request, "verb", &verb);
	if (!strcmp(bytes_str(&verb), "read"))
		return ops->read(request, ret, notes, err);
	if (!strcmp(bytes_str(&verb), "delete"))
		return ops->delete(request, err);
	if (strcmp(bytes_str(&verb), "update") != 0 ||
	    !doc_find_string(request, "data", &data))
		return fail(err, -EINVAL, "not a request");
	r = doc_check(span_of(&data), "request", err);
	return r < 0 ? r : ops->update(request, &data, notes, err);
}

int helper_serve(const struct helper_ops *ops, int in, int out)
{
	auto_bytes struct bytes request = { 0 }, data = { 0 };
	struct err err = { 0 };
	unsigned int notes = 0;
	int r = bytes_read_fd(&request, in, DOC_QUOTED_MAX, &err);

	if (!r)
		r = doc_check_upto(span_of(&request), DOC_QUOTED_MAX,
				   "request", &err);
	if (!r)
		r = dispatch(ops, span_of(&request), &data, &notes, &err);
	return write_answer(out, r, &data, notes, &err);
}
