/* SPDX-License-Identifier: Apache-2.0 */
/* learn/proposal.c - hosts that a project's tools need, each with its reason */

#include "learn/proposal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "policy/host.h"

/* The ports that an entry need not name */
static const struct scheme {
	const char *name;
	uint16_t port;
} schemes[] = {
	{ "https", 443 }, { "http", 80 }, { "ssh", 22 }, { "git", 9418 },
};

void proposal_done(struct proposal *p)
{
	for (size_t i = 0; i < p->hosts.len; i++) {
		free(p->hosts.v[i].entry);
		free(p->hosts.v[i].reason);
	}
	free(p->hosts.v);
	strings_done(&p->notes);
	strings_done(&p->scopes);
	strings_done(&p->modules);
	for (size_t i = 0; i < TOOL_COUNT; i++)
		free(p->used[i]);
	*p = (struct proposal){ 0 };
}

void proposal_note(struct proposal *p, const char *fmt, ...)
{
	auto_free char *line = NULL;
	va_list ap;

	va_start(ap, fmt);
	line = mem_vprintf(fmt, ap);
	va_end(ap);
	if (strings_have(&p->notes, line))
		return;
	if (p->notes.len < PROPOSAL_NOTES_MAX)
		*vec_push(&p->notes) = take_ptr(line);
	else
		p->unsaid++;
}

/* The port of the scheme in the @n bytes before "://", of which "git+https" has two;
 * 0 if it is not one that fetches
 */
static uint16_t scheme_port(const char *text, size_t n)
{
	const char *plus = memrchr(text, '+', n);
	const size_t start = plus ? (size_t)(plus - text) + 1 : 0;

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		if (strlen(schemes[i].name) == n - start &&
		    !strncasecmp(schemes[i].name, text + start, n - start))
			return schemes[i].port;
	}
	return 0;
}

/* What of @n bytes is "name" or "name:port" */
static size_t authority_length(const char *text, size_t n)
{
	size_t len = 0;

	while (len < n && text[len] && !strchr("/?#", text[len]))
		len++;
	return len;
}

int proposal_host_of(const char *url, size_t n, char **ret, const char **ret_why)
{
	const char *mark = memmem(url, n, "://", 3);
	const size_t scheme = mark ? (size_t)(mark - url) : 0;
	const char *name = mark ? mark + 3 : url, *at;
	size_t len = authority_length(name, n - (size_t)(name - url));
	uint16_t port = 22;
	struct host host;

	*ret_why = "is not the address of a host";
	if (mark)
		port = scheme_port(url, scheme);
	if (!port || !len)
		return -EINVAL;
	at = memrchr(name, '@', len);
	if (at) {
		len -= (size_t)(at + 1 - name);
		name = at + 1;
	}
	if (!mark) {		/* git's user@name:path */
		const char *colon = memchr(name, ':', len);

		if (!colon)
			return -EINVAL;
		len = (size_t)(colon - name);
	}
	if (host_parse_authority(name, len, port, &host) < 0)
		return -EINVAL;
	*ret_why = "is an address, not the name of a host";
	if (host.kind != HOST_NAME)
		return -EINVAL;
	*ret_why = "is this machine, which a sandbox reaches with --host-port";
	if (host_is_localhost(&host))
		return -EINVAL;
	*ret = host.port == port ? mem_strdup(host.name) :
	       mem_printf("%s:%u", host.name, (unsigned int)host.port);
	return 0;
}

static struct proposed_host *find_entry(struct proposal *p, const char *entry)
{
	for (size_t i = 0; i < p->hosts.len; i++) {
		if (!strcmp(p->hosts.v[i].entry, entry))
			return &p->hosts.v[i];
	}
	return NULL;
}

void proposal_add(struct proposal *p, enum tool tool, const char *url, size_t n,
		  const char *where, bool own)
{
	auto_free char *entry = NULL;
	struct proposed_host *host;
	const char *why;

	if (proposal_host_of(url, n, &entry, &why) < 0) {
		proposal_note(p, "%s: %s: a value %s; it was left out", where,
			      tool_name(tool), why);
		return;
	}
	host = find_entry(p, entry);
	if (!host && p->hosts.len == PROPOSAL_HOSTS_MAX) {
		proposal_note(p, "%s: more than %d hosts; the rest was left out",
			      where, PROPOSAL_HOSTS_MAX);
		return;
	}
	if (host) {
		host->own |= own;
		return;
	}
	host = vec_push(&p->hosts);
	host->entry = take_ptr(entry);
	host->reason = mem_printf("%s: %s", tool_name(tool), where);
	host->own = own;
}

void proposal_vouch(struct proposal *p, const char *url, size_t n)
{
	auto_free char *entry = NULL;
	struct proposed_host *host;
	const char *why;

	if (proposal_host_of(url, n, &entry, &why) < 0)
		return;
	host = find_entry(p, entry);
	if (host)
		host->own = true;
}

/* One file */
struct reading {
	struct proposal *p;
	const struct marker *marker;
	const char *where;
	bool own;
};

static void keep_name(struct strings *names, const char *name, size_t n)
{
	auto_free char *copy = mem_strndup(name, n);

	if (!strings_have(names, copy) && names->len < PROPOSAL_NAMES_MAX)
		*vec_push(names) = take_ptr(copy);
}

static void take(void *arg, enum marker_what what, const char *value, size_t n)
{
	const struct reading *r = arg;

	switch (what) {
	case MARKER_REGISTRY:
		/* A part of the project that names one leaves the others theirs */
		r->p->settled[r->marker->tool] |= r->own || !strchr(r->where, '/') ||
						  !strcmp(r->where, r->marker->name);
		proposal_add(r->p, r->marker->tool, value, n, r->where, r->own);
		break;
	case MARKER_URL:
		proposal_add(r->p, r->marker->tool, value, n, r->where, r->own);
		break;
	case MARKER_SCOPE:
		keep_name(&r->p->scopes, value, n);
		break;
	case MARKER_MODULE:
		keep_name(&r->p->modules, value, n);
		break;
	case MARKER_BAD:
		proposal_note(r->p, "%s: %s could not read this either; nothing was taken from it",
			      r->where, tool_name(r->marker->tool));
		break;
	}
}

void proposal_read(struct proposal *p, const struct marker *marker,
		   const char *where, const char *text, size_t n, bool own)
{
	struct reading reading = { p, marker, where, own };

	if (!p->used[marker->tool])
		p->used[marker->tool] = mem_strdup(where);
	marker_scan(marker, text, n, take, &reading);
}
