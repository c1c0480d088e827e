/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/asks.c - what a settings file asks for beyond the defaults, as text
 *
 * An approval is stored as the line of its ask. Lines are canonical: two different
 * places never have the same line.
 */

#include "policy/asks.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/sha256.h"
#include "base/text.h"

static const struct {
	const char *name, *one, *many, *reach;
} kinds[ASK_KINDS] = {
	[ASK_HOST] = { "host", "host", "hosts",
		"can send anything it reads to %s" },
	[ASK_ADDRESS] = { "address", "address", "addresses",
		"can send anything it reads to %s, by address" },
	[ASK_HOST_PORT] = { "host-port", "port", "ports",
		"can talk to what listens on port %s of this machine" },
	[ASK_PUBLISH] = { "publish", "port", "ports",
		"programs of this machine can connect to its port %s" },
	[ASK_SOCKET] = { "socket", "socket", "sockets",
		"can do what the server behind %s lets you do" },
	[ASK_READ] = { "read", "path", "paths", "can read %s" },
	[ASK_WRITE] = { "write", "path", "paths",
		"can read and change %s and all below it" },
	[ASK_MODE] = { "mode", "weaker mode", "weaker modes",
		"runs with %s" },
	[ASK_RULE] = { "rule", "agent rule", "agent rules",
		"the agent need not ask before %s" },
	[ASK_OFF] = { "off", NULL, NULL, "would run without a sandbox: %s" },
	[ASK_COMMAND] = { "command", NULL, NULL,
		"would run '%s' without a sandbox" },
	[ASK_PLATFORM] = { "platform", NULL, NULL,
		"would be sandboxed on %s only" },
	[ASK_PROXY] = { "proxy", NULL, NULL,
		"would reach all hosts by a proxy of its own: %s" },
	[ASK_NAME] = { "name", NULL, NULL,
		"could write the protected %s" },
	[ASK_VARIABLE] = { "variable", NULL, NULL,
		"would see or choose the variable %s" },
	[ASK_IGNORE] = { "ignore", NULL, NULL,
		"would hide reports of refusals: %s" },
	[ASK_TIER] = { "tier", NULL, NULL,
		"would accept a weaker sandbox: %s" },
	[ASK_SETTING] = { "setting", NULL, NULL, "would loosen %s" },
};

void ask_done(struct ask *ask)
{
	free(ask->text);
	free(ask->path);
	*ask = (struct ask){ 0 };
}

void asks_done(struct asks *asks)
{
	for (size_t i = 0; i < asks->len; i++)
		ask_done(&asks->v[i]);
	free(asks->v);
	*asks = (struct asks){ 0 };
}

char *ask_line(const struct ask *ask)
{
	return mem_printf("%s%s %s", ask->closes ? "no " : "",
			  kinds[ask->kind].name, ask->text);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void asks_digest(const struct asks *asks, char ret[static ASK_DIGEST_SIZE])
{
	auto_free char **lines = mem_zalloc((asks->len + 1) * sizeof(*lines));
	unsigned char hash[SHA256_BYTES];
	auto_buf struct buf all = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < asks->len; i++) {
		if (!asks->v[i].closes)
			lines[n++] = ask_line(&asks->v[i]);
	}
	qsort(lines, n, sizeof(*lines), by_text);
	for (size_t i = 0; i < n; i++) {
		if (!i || strcmp(lines[i], lines[i - 1]) != 0)
			buf_add(&all, lines[i], strlen(lines[i]) + 1);
	}
	for (size_t i = 0; i < n; i++)
		free(lines[i]);
	sha256(buf_str(&all), all.len, hash);
	memcpy(ret, "sha256:", 7);
	text_hex(hash, sizeof(hash), ret + 7);
}

void asks_summary(const struct asks *asks, struct buf *out)
{
	struct { const char *one, *many; size_t count; } found[ASK_NEVER];
	size_t n = 0;

	for (enum ask_kind kind = ASK_NOTHING + 1; kind < ASK_NEVER; kind++) {
		size_t count = 0, at = 0;

		for (size_t i = 0; i < asks->len; i++)
			count += asks->v[i].kind == kind && !asks->v[i].closes;
		while (at < n && strcmp(found[at].one, kinds[kind].one) != 0)
			at++;
		if (!count)
			continue;
		if (at == n) {
			found[n].one = kinds[kind].one;
			found[n].many = kinds[kind].many;
			found[n++].count = 0;
		}
		found[at].count += count;
	}
	for (size_t i = 0; i < n; i++)
		buf_addf(out, "%s%zu %s", !i ? "" : i + 1 < n ? ", " : " and ",
			 found[i].count, found[i].count == 1 ? found[i].one
							     : found[i].many);
}

void ask_describe(const struct ask *ask, struct buf *out)
{
	const char *format = kinds[ask->kind].reach;
	const char *at = strstr(format, "%s");

	buf_add(out, format, (size_t)(at - format));
	buf_adds(out, ask->text);
	buf_adds(out, at + 2);
}

/* Length of the host in "host:port", and in "[::1]:port" */
static size_t host_length(const char *text)
{
	const char *colon = strrchr(text, ':');

	return colon && !strchr(colon, ']') && (*text == '[' || strchr(text, ':') == colon) ?
	       (size_t)(colon - text) : strlen(text);
}

bool ask_host_covers(const char *wide, const char *narrow)
{
	size_t n = host_length(wide), m = host_length(narrow);

	if (n == 1 && *wide == '*')
		return true;
	if (!strncmp(wide, "*.", 2)) {
		wide++;
		n--;
		if (m <= n)
			return false;
		narrow += m - n;
		m = n;
	}
	return n == m && !strncasecmp(wide, narrow, n);
}

static bool host_covers(const char *wide, const char *narrow)
{
	const char *port = wide + host_length(wide);

	return (!*port || !strcmp(port, narrow + host_length(narrow))) &&
	       ask_host_covers(wide, narrow);
}

/* The hosts that both patterns cover, as a pattern; or NULL. The caller frees. */
static char *host_overlap(const char *a, const char *b)
{
	const char *port = a + host_length(a), *other = b + host_length(b);
	const char *name = ask_host_covers(a, b) ? b : ask_host_covers(b, a) ? a : NULL;

	if (!name || (*port && *other && strcmp(port, other) != 0))
		return NULL;
	return mem_printf("%.*s%s", (int)host_length(name), name, *port ? port : other);
}

bool ask_covers(const struct ask *wide, const struct ask *narrow)
{
	if (wide->closes != narrow->closes)
		return false;
	/* What may be written may be read */
	if (wide->kind != narrow->kind &&
	    !(wide->kind == (wide->closes ? ASK_READ : ASK_WRITE) &&
	      narrow->kind == (wide->closes ? ASK_WRITE : ASK_READ)))
		return false;
	if (!strcmp(wide->text, narrow->text))
		return true;
	if (wide->kind == ASK_HOST)
		return host_covers(wide->text, narrow->text);
	return (wide->kind == ASK_READ || wide->kind == ASK_WRITE) &&
	       !strpbrk(wide->text, "*?[(") &&
	       path_is_within(wide->text, narrow->text);
}

static bool is_covered(const struct asks *asks, const struct ask *ask)
{
	for (size_t i = 0; i < asks->len; i++) {
		if (ask_covers(&asks->v[i], ask))
			return true;
	}
	return false;
}

/* True unless a denial beside it takes all of it back */
static bool is_open(const struct asks *asks, const struct ask *ask)
{
	struct ask denial = *ask;

	denial.closes = true;
	return !is_covered(asks, &denial);
}

/* True if @asks opens something of what @denial closes elsewhere; what is hidden is open
 * without a line
 */
static bool opens_part(const struct asks *asks, const struct ask *denial)
{
	struct ask part = *denial;

	if (denial->kind != ASK_HOST && denial->kind != ASK_WRITE)
		return true;
	part.closes = false;
	for (size_t i = 0; i < asks->len; i++) {
		const struct ask *ask = &asks->v[i];
		auto_free char *text = ask->closes || ask->kind != part.kind ? NULL :
			ask->kind == ASK_HOST ? host_overlap(ask->text, denial->text) :
			ask_covers(ask, &part) ? mem_strdup(denial->text) :
			ask_covers(&part, ask) ? mem_strdup(ask->text) : NULL;

		if (text && is_open(asks, &(struct ask){ .kind = ask->kind, .text = text }))
			return true;
	}
	return false;
}

bool asks_more(const struct asks *new, const struct asks *old, const struct ask *ask)
{
	if (ask->closes)
		return !is_covered(new, ask) && opens_part(new, ask);
	return !is_covered(old, ask) && is_open(new, ask);
}
