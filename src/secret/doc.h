/* SPDX-License-Identifier: Apache-2.0 */
/* secret/doc.h - a JSON object full of secrets, read and edited as text
 *
 * A JSON library would copy every value into a heap that nobody wipes. Here
 * the text stays in its locked buffer, a look-up answers with a place in it,
 * and an edit copies the members over into a new locked buffer: what it does
 * not touch stays byte for byte as it was. No message ever quotes the text.
 */

#ifndef SECRET_DOC_H
#define SECRET_DOC_H

#include <stdbool.h>
#include <stddef.h>

struct bytes;
struct err;

enum {
	DOC_MAX = 512 << 10,		/* Bytes of one document */
	DOC_QUOTED_MAX = 6 * DOC_MAX + 4096,	/* One quoted inside another */
	DOC_DEPTH_MAX = 32,		/* Objects and arrays in each other */
	DOC_MEMBERS_MAX = 16384,	/* Members of the document itself */
};

/**
 * struct span - Some bytes of a text that somebody else owns
 */
struct span {
	const char *p;
	size_t n;
};

struct span span_of(const struct bytes *b);
struct span span_str(const char *s);

/**
 * struct doc_member - One member of an object, as it is written
 * @key:	With its quotes
 * @value:	Without the blanks around it
 */
struct doc_member {
	struct span key, value;
};

/* Is it one JSON object: UTF-8, no NUL (not even \u0000), within the limits, no
 * member twice? 0, -EFBIG, or -EBADMSG with "@what: ..." in @err.
 */
int doc_check(struct span text, const char *what, struct err *err);

/* As doc_check(), with a limit of its own */
int doc_check_upto(struct span text, size_t max, const char *what,
		   struct err *err);

/* Everything below expects text that was checked */

/* Step through the members: *@cursor starts at 0; false after the last */
bool doc_next(struct span doc, size_t *cursor, struct doc_member *ret);

/* The value of member @name; false (*@ret untouched) if there is none. A value
 * that is not an object has no members.
 */
bool doc_find(struct span doc, const char *name, struct span *ret);

size_t doc_count(struct span doc);

/* Append what the JSON string @string says. 0, or -EINVAL if it is none. */
int doc_unquote(struct span string, struct bytes *out);

/* Append the string member @name of @doc; false if there is no such string */
bool doc_find_string(struct span doc, const char *name, struct bytes *out);

/* Append @n bytes of UTF-8 as a JSON string, all ASCII */
void doc_quote(struct bytes *out, const char *s, size_t n);

bool doc_is_null(struct span value);

/* Build an object: open, add members (the caller sees to it that no name comes
 * twice), close
 */
void doc_open(struct bytes *out);
void doc_add(struct bytes *out, const char *name, struct span value);
void doc_add_string(struct bytes *out, const char *name, const char *s,
		    size_t n);
void doc_close(struct bytes *out);

/* Each of these puts a new document into @out in place of what it held; @out
 * must not be what @doc is part of
 */

/* @doc with @name set to the JSON text @value */
void doc_put(struct span doc, const char *name, struct span value,
	     struct bytes *out);

/* @doc without @name */
void doc_drop(struct span doc, const char *name, struct bytes *out);

/* @base with the members of @over; those of @over win */
void doc_merge(struct span base, struct span over, struct bytes *out);

/* Older versions stored this (and the rest of an object) as the value of a member
 * that was removed
 */
#define DOC_REMOVED "{\"$removed\":"

/* @doc without such members */
void doc_strip(struct span doc, struct bytes *out);

#endif /* SECRET_DOC_H */
