/* SPDX-License-Identifier: Apache-2.0 */
/* lib/hook-note.c - what installing hooks did to a file */

#include "lib/hook-note.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "lib/hook.h"
#include "watch/store.h"

void note_done(struct note *note)
{
	for (size_t i = 0; i < note->pieces.len; i++) {
		free(note->pieces.v[i].old);
		free(note->pieces.v[i].new);
	}
	free(note->pieces.v);
}

/* "agent-NUMBER.json": one note for a file and an agent */
static char *note_name(const struct hook_target *t)
{
	return mem_printf("%s-%016" PRIx64 ".json", t->agent->name,
			  text_hash(t->file));
}

static int open_notes(struct err *err)
{
	auto_free char *state = store_default_dir();
	auto_free char *dir = state ? path_join(state, "hooks") : NULL;

	if (!dir)
		return fail(err, -ENOENT,
			    "there is no home directory; set $HOME");
	return fs_open_private_dir(dir, err);
}

int note_save(const struct hook_target *t, const struct note *note,
	      struct err *err)
{
	auto_close int dir = open_notes(err);
	auto_free char *name = note_name(t);
	auto_free char *text = NULL;
	json_t *pieces = json_array();
	json_t *root;

	for (size_t i = 0; i < note->pieces.len; i++) {
		const struct piece *p = &note->pieces.v[i];

		json_array_append_new(pieces, json_pack("{s:I, s:s, s:s}",
			"at", (json_int_t)p->at, "old", p->old,
			"new", p->new));
	}
	root = json_pack("{s:i, s:s, s:b, s:b, s:o}", "version", 1,
			 "file", t->file, "created", note->created,
			 "made_dir", note->made_dir, "pieces", pieces);
	text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;
	json_decref(root);
	if (dir < 0)
		return dir;
	if (!text)
		return fail(err, -EINVAL, "'%s' is not UTF-8", t->file);
	return fs_replace(dir, name, text, strlen(text), 0600, err);
}

bool note_load(const struct hook_target *t, struct note *ret)
{
	auto_close int dir = open_notes(NULL);
	auto_free char *name = note_name(t);
	auto_buf struct buf text = { 0 };
	json_t *root, *piece;
	size_t i;

	*ret = (struct note){ 0 };
	if (dir < 0 || fs_read(dir, name, JSON_TEXT_MAX, &text, NULL) < 0)
		return false;
	root = json_parse(buf_str(&text), text.len, name, NULL);
	ret->created = json_is_true(json_object_get(root, "created"));
	ret->made_dir = json_is_true(json_object_get(root, "made_dir"));
	json_array_foreach(json_object_get(root, "pieces"), i, piece) {
		const char *old = json_string_value(
			json_object_get(piece, "old"));
		const char *new = json_string_value(
			json_object_get(piece, "new"));

		if (old && new)
			*vec_push(&ret->pieces) = (struct piece){
				.at = (size_t)json_integer_value(
					json_object_get(piece, "at")),
				.old = mem_strdup(old), .new = mem_strdup(new),
			};
	}
	json_decref(root);
	return ret->pieces.len > 0;
}

void note_forget(const struct hook_target *t)
{
	auto_close int dir = open_notes(NULL);
	auto_free char *name = note_name(t);

	if (dir >= 0)
		(void)unlinkat(dir, name, 0);
}

static bool is_inside_character(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* What differs between two texts, cut between characters */
void note_piece(struct note *note, const struct buf *before,
		const struct buf *after)
{
	const char *a = buf_str(before), *b = buf_str(after);
	size_t head = 0, tail = 0, most;

	most = before->len < after->len ? before->len : after->len;
	while (head < most && a[head] == b[head])
		head++;
	while (head && (is_inside_character(a[head]) ||
			is_inside_character(b[head])))
		head--;
	while (tail < most - head &&
	       a[before->len - tail - 1] == b[after->len - tail - 1])
		tail++;
	while (tail && is_inside_character(a[before->len - tail]))
		tail--;
	*vec_push(&note->pieces) = (struct piece){
		.at = head,
		.old = mem_strndup(a + head, before->len - tail - head),
		.new = mem_strndup(b + head, after->len - tail - head),
	};
}

/* Where @piece stands in @text: at its place, or at the only other one */
static const char *find_piece(const struct buf *text,
			      const struct piece *piece)
{
	const size_t n = strlen(piece->new);
	const char *s = buf_str(text);
	const char *found;

	if (piece->at <= text->len && text->len - piece->at >= n &&
	    !memcmp(s + piece->at, piece->new, n))
		return s + piece->at;
	found = n ? strstr(s, piece->new) : NULL;
	return found && !strstr(found + 1, piece->new) ? found : NULL;
}

bool note_undo(const struct note *note, const struct buf *text,
	       struct buf *ret)
{
	struct buf now = { 0 };

	buf_add(&now, buf_str(text), text->len);
	for (size_t i = note->pieces.len; i-- > 0;) {
		const struct piece *p = &note->pieces.v[i];
		const char *at = find_piece(&now, p);
		struct buf next = { 0 };

		if (!at) {
			buf_done(&now);
			return false;
		}
		buf_add(&next, now.p, (size_t)(at - now.p));
		buf_adds(&next, p->old);
		buf_adds(&next, at + strlen(p->new));
		buf_done(&now);
		now = next;
	}
	*ret = now;
	return true;
}
