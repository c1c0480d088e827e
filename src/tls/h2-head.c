/* SPDX-License-Identifier: Apache-2.0 */
/* tls/h2-head.c - heads of HTTP/2 as heads of HTTP/1.1, and back */

#include "tls/h2-head.h"

#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/own.h"
#include "gate/proto/http.h"

/* nghttp2 checks this as well; a line break here would make two fields of one */
static bool is_line(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if ((p[i] < ' ' && p[i] != '\t') || p[i] == 0x7f)
			return false;
	}
	return true;
}

static struct buf *pseudo_of(struct h2_head *head, const char *name, size_t n)
{
	const struct {
		const char *name;
		struct buf *to;
	} pseudo[] = {
		{ ":method", &head->method },
		{ ":scheme", &head->scheme },
		{ ":authority", &head->authority },
		{ ":path", &head->path },
		{ ":status", &head->status },
	};

	for (size_t i = 0; i < ARRAY_SIZE(pseudo); i++) {
		if (strlen(pseudo[i].name) == n &&
		    !memcmp(pseudo[i].name, name, n))
			return pseudo[i].to;
	}
	return NULL;
}

void h2_head_add(struct h2_head *head, const uint8_t *name, size_t n,
		 const uint8_t *value, size_t len)
{
	struct buf *to = pseudo_of(head, (const char *)name, n);

	if (head->fields.len > HTTP_HEAD_LONG_MAX)
		return;
	if (!n || !is_line(name, n) || !is_line(value, len) ||
	    (*name == ':' && (!to || to->len))) {
		head->malformed = true;
	} else if (to) {
		buf_add(to, value, len);
	} else if (n == 4 && !memcmp(name, "host", 4) &&
		   (!head->authority.len ||
		    (head->authority.len == len &&
		     !memcmp(head->authority.p, value, len)))) {
		head->authority.len = 0;
		buf_add(&head->authority, value, len);
	} else {
		buf_add(&head->fields, name, n);
		buf_adds(&head->fields, ": ");
		buf_add(&head->fields, value, len);
		buf_adds(&head->fields, "\r\n");
	}
}

bool h2_head_write(const struct h2_head *head, struct buf *out)
{
	if (head->malformed || strcmp(buf_str(&head->scheme), "https") != 0)
		return false;
	buf_addf(out, "%s %s HTTP/1.1\r\n", buf_str(&head->method),
		 buf_str(&head->path));
	if (head->authority.len)
		buf_addf(out, "host: %s\r\n", head->authority.p);
	buf_add(out, head->fields.p, head->fields.len);
	buf_adds(out, "\r\n");
	return true;
}

void h2_head_done(struct h2_head *head)
{
	buf_done(&head->method);
	buf_done(&head->scheme);
	buf_done(&head->authority);
	buf_done(&head->path);
	buf_done(&head->status);
	buf_done(&head->fields);
	*head = (struct h2_head){ 0 };
}

void h2_fields_add(struct h2_fields *fields, const char *name,
		   const char *value, size_t n)
{
	nghttp2_nv *nv = vec_push(fields);

	/* nghttp2 writes to neither */
	nv->name = (uint8_t *)(uintptr_t)name;
	nv->namelen = strlen(name);
	nv->value = (uint8_t *)(uintptr_t)value;
	nv->valuelen = n;
}

static size_t line_length(const char *p, size_t n)
{
	const char *end = memmem(p, n, "\r\n", 2);

	return end ? (size_t)(end - p) + 2 : n;
}

static void add_field_line(struct h2_fields *fields, char *p, size_t n,
			   bool known)
{
	const char *colon = memchr(p, ':', n);
	const size_t name = colon ? (size_t)(colon - p) : 0;
	nghttp2_nv *nv;

	if (!name || (name == 4 && !strncasecmp(p, "host", 4)) ||
	    (name == 10 && !strncasecmp(p, "connection", 10)))
		return;
	for (size_t i = 0; i < name; i++) {
		if (p[i] >= 'A' && p[i] <= 'Z')
			p[i] = (char)(p[i] - 'A' + 'a');
	}
	nv = vec_push(fields);
	nv->name = (uint8_t *)p;
	nv->namelen = name;
	nv->value = (uint8_t *)p + name + 2;
	nv->valuelen = n - name - 4;
	nv->flags = known ? NGHTTP2_NV_FLAG_NONE : NGHTTP2_NV_FLAG_NO_INDEX;
}

void h2_fields_add_lines(struct h2_fields *fields, char *p, size_t n,
			 const char *before, size_t before_n)
{
	while (n > 2) {
		const size_t line = line_length(p, n);
		const size_t old = before ? line_length(before, before_n) : 0;

		if (line <= 2)
			return;
		add_field_line(fields, p, line,
			       !before || (line == old &&
					   !memcmp(p, before, line)));
		p += line;
		n -= line;
		before = before ? before + old : NULL;
		before_n -= old;
	}
}
