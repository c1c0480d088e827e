/* SPDX-License-Identifier: Apache-2.0 */
/* agent/edit-record.c - what an edit of an agent's settings has replaced, to undo it */

#include "agent/edit-record.h"

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
#include "report/violation-store.h"

void edit_record_done(struct edit_record *record)
{
	free(record->old);
	free(record->new);
	json_decref(record->more);
	*record = (struct edit_record){ 0 };
}

static char *record_name(const char *kind, const char *subject)
{
	return mem_printf("%s-%016" PRIx64 ".json", kind, text_hash(subject));
}

static int open_records(struct err *err)
{
	auto_free char *state = violation_store_default_dir();
	auto_free char *dir = state ? path_join(state, "hooks") : NULL;

	if (!dir)
		return fail(err, -ENOENT,
			    "there is no home directory; set $HOME");
	return fs_open_private_dir(dir, err);
}

int edit_record_save(const char *kind, const char *subject,
		     const struct edit_record *record, struct err *err)
{
	auto_close int dir = open_records(err);
	auto_free char *name = record_name(kind, subject);
	auto_json json_t *root = json_pack("{s:i, s:s, s:b, s:b, s:I, s:s, s:s, s:O?}",
		"version", 1, "file", subject, "created", record->created,
		"made_dir", record->made_dir, "at", (json_int_t)record->at,
		"old", record->old, "new", record->new, "more", record->more);
	auto_free char *text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;

	if (dir < 0)
		return dir;
	if (!text)
		return fail(err, -EINVAL, "'%s' is not UTF-8", subject);
	return fs_replace(dir, name, text, strlen(text), 0600, err);
}

/* The name of a record is a hash, and texts that collide can be found */
static bool is_about(const json_t *root, const char *subject)
{
	const char *file = json_get_text(root, "file");

	return file && !strcmp(file, subject);
}

bool edit_record_load(const char *kind, const char *subject,
		      struct edit_record *ret)
{
	auto_close int dir = open_records(NULL);
	auto_free char *name = record_name(kind, subject);
	auto_json json_t *root = dir < 0 ? NULL : json_read(dir, name, NULL);
	const char *old = json_get_text(root, "old");
	const char *new = json_get_text(root, "new");

	*ret = (struct edit_record){ 0 };
	if (old && new && is_about(root, subject))
		*ret = (struct edit_record){
			.created = json_is_true(json_object_get(root, "created")),
			.made_dir = json_is_true(json_object_get(root,
								 "made_dir")),
			.at = (size_t)json_integer_value(
				json_object_get(root, "at")),
			.old = mem_strdup(old), .new = mem_strdup(new),
			.more = json_incref(json_object_get(root, "more")),
		};
	return ret->new;
}

void edit_record_forget(const char *kind, const char *subject)
{
	auto_close int dir = open_records(NULL);
	auto_free char *name = record_name(kind, subject);

	if (dir >= 0)
		(void)unlinkat(dir, name, 0);
}

static bool is_inside_character(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

void edit_record_piece(struct edit_record *record, const struct buf *before,
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
	record->at = head;
	record->old = mem_strndup(a + head, before->len - tail - head);
	record->new = mem_strndup(b + head, after->len - tail - head);
}

bool edit_record_undo(const struct edit_record *record, const struct buf *text,
		      struct buf *ret)
{
	const size_t n = strlen(record->new);
	const char *s = buf_str(text), *at = s + record->at;

	if (record->at > text->len || text->len - record->at < n ||
	    memcmp(at, record->new, n) != 0) {
		at = n ? strstr(s, record->new) : NULL;
		if (!at || strstr(at + 1, record->new))
			return false;
	}
	buf_add(ret, s, (size_t)(at - s));
	buf_adds(ret, record->old);
	buf_adds(ret, at + n);
	return true;
}
