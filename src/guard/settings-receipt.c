/* SPDX-License-Identifier: Apache-2.0 */
/* guard/settings-receipt.c - settings files that cloche itself wrote, by their content */

#include "guard/settings-receipt.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"

enum { NAME_SIZE = 17, NOTE_MAX = JSON_TEXT_MAX + 8192 };

/* A note is the path, a NUL, and the text; its name is a hash of the path.
 * Two paths of one hash take turns, which costs the older one its note.
 */
static void note_name(const char *path, char ret[NAME_SIZE])
{
	snprintf(ret, NAME_SIZE, "%016llx",
		 (unsigned long long)text_hash(path));
}

int settings_receipt_note(const char *state, const char *path, const char *text, size_t n)
{
	auto_close int dir = fs_open_private_below(state, "edits", NULL);
	auto_buf struct buf note = { 0 };
	char name[NAME_SIZE];

	if (dir < 0)
		return -ENOENT;
	note_name(path, name);
	buf_add(&note, path, strlen(path) + 1);
	buf_add(&note, text, n);
	return fs_replace(dir, name, note.p, note.len, 0600, NULL);
}

bool settings_receipt_holds(const char *state, const char *path, const char *text,
		 size_t n)
{
	auto_free char *where = path_join(state, "edits");
	auto_close int dir = open(where, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const size_t head = strlen(path) + 1;
	auto_buf struct buf note = { 0 };
	char name[NAME_SIZE];

	if (dir < 0)
		return false;
	note_name(path, name);
	return !fs_read(dir, name, NOTE_MAX, &note, NULL) &&
	       note.len == head + n && !memcmp(note.p, path, head) &&
	       (!n || !memcmp(note.p + head, text, n));
}

bool settings_receipt_has(const char *state, const char *path)
{
	auto_close int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
				 O_NOCTTY | O_CLOEXEC);
	auto_buf struct buf now = { 0 };

	return fd >= 0 && !fs_read_fd(fd, JSON_TEXT_MAX, &now, NULL) &&
	       settings_receipt_holds(state, path, buf_str(&now), now.len);
}
