/* SPDX-License-Identifier: Apache-2.0 */
/* firewall/firewall-request.c - the arguments of the command line as addresses */

#include "firewall/firewall.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/sys.h"
#include "gate/address.h"

/* The lists of GitHub's meta document that a command needs to clone, push, fetch
 * packages and call the API. "actions" and "codespaces" are machines that anyone
 * can rent, "hooks" call us, "pages" is what anyone may publish. A document with
 * none of these keys is the user's own: all of its lists count.
 */
static const char *const taken[] = { "web", "api", "git", "packages" };

/**
 * struct document - What is being read
 */
struct document {
	const char *text, *name;
	size_t n;
};

static bool is_taken(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(taken); i++) {
		if (!strcmp(taken[i], key))
			return true;
	}
	return false;
}

static int bad(const struct document *d, const char *key, size_t index,
	       const char *what, struct err *err)
{
	struct json_place place = { .line = 1, .column = 1 };
	auto_buf struct buf path = { 0 };

	json_path_key(&path, key);
	json_path_index(&path, index);
	(void)json_locate(d->text, d->n, buf_str(&path), &place);
	return fail(err, -EINVAL, "%s:%u:%u: %s", d->name, place.line,
		    place.column, what);
}

static int add_list(const struct document *d, const char *key,
		    const json_t *array, struct range_list *list,
		    struct err *err)
{
	size_t i;
	json_t *value;

	json_array_foreach(array, i, value) {
		const char *text = json_string_value(value);
		struct host_range range;

		if (!text || host_range_parse(text, strlen(text), &range) < 0)
			return bad(d, key, i, "not a network like 192.0.2.0/24 (bits beyond the prefix must be 0)",
				   err);
		if (range_list_add(list, &range) < 0)
			return bad(d, key, i, "too many networks", err);
	}
	return 0;
}

static int add_all(const struct document *d, json_t *root,
		   struct range_list *list, struct err *err)
{
	bool known = false;
	size_t count = list->len;
	const char *key;
	json_t *value;

	json_object_foreach(root, key, value)
		known |= is_taken(key);
	json_object_foreach(root, key, value) {
		int r;

		if (known && !is_taken(key))
			continue;
		if (!json_is_array(value) && known)
			return fail(err, -EINVAL, "%s: '%s' is not a list",
				    d->name, key);
		r = json_is_array(value) ?
			add_list(d, key, value, list, err) : 0;
		if (r < 0)
			return r;
	}
	if (list->len == count)
		return fail(err, -EINVAL, "%s: no networks in it; expected an object of lists, as https://api.github.com/meta gives",
			    d->name);
	return 0;
}

int ranges_parse(const char *text, size_t n, const char *name,
		 struct range_list *list, struct err *err)
{
	const struct document d = { .text = text, .name = name, .n = n };
	auto_json json_t *root = json_parse(text, n, name, err);

	if (!root)
		return -EINVAL;
	if (json_is_object(root))
		return add_all(&d, root, list, err);
	return fail(err, -EINVAL, "%s: not an object of lists of networks", name);
}

/* Names that cannot be public may lead to private addresses */
static const char *refuse_address(const struct host *name,
				  const struct host *address)
{
	const struct address_range *range = address_range_of(address);

	return !range || (range->use & RANGE_NOWHERE) ||
	       ((range->use & RANGE_PRIVATE) && address_is_private_name(name)) ?
	       NULL : range->what;
}

const char *names_guard(const struct host *name, const struct host *address)
{
	const char *what = refuse_address(name, address);
	struct host inner;
	size_t next = 0;

	while (!what && address_unwrap(address, &next, &inner))
		what = refuse_address(name, &inner);
	return what;
}

static void targets_done(struct target_list *list)
{
	for (size_t i = 0; i < list->len; i++)
		free(list->v[i].text);
	free(list->v);
}

void firewall_done(struct firewall *f)
{
	strings_done(&f->names);
	range_list_done(&f->ranges);
	range_list_done(&f->resolvers);
	targets_done(&f->must);
	targets_done(&f->must_not);
}

static int allow_name(struct firewall *f, const char *name, struct err *err)
{
	if (strings_have(&f->names, name))
		return 0;
	if (f->names.len == FIREWALL_NAMES_MAX)
		return fail(err, -E2BIG, "too many names: %d at most",
			    FIREWALL_NAMES_MAX);
	*vec_push(&f->names) = mem_strdup(name);
	return 0;
}

int firewall_allow(struct firewall *f, const char *text, struct err *err)
{
	const size_t n = strlen(text);
	struct host_range range;
	struct host host;

	if (host_range_parse(text, n, &range) == 0)
		return range_list_add(&f->ranges, &range) < 0 ?
			fail(err, -E2BIG, "too many networks: %d at most",
			     RULESET_RANGES_MAX) : 0;
	if (strchr(text, '/'))
		return fail(err, -EINVAL, "'%s' is not a network like 192.0.2.0/24 or 2001:db8::/32 (bits beyond the prefix must be 0)",
			    text);
	if (host_parse(text, n, 0, &host) == 0 && host.kind == HOST_NAME)
		return allow_name(f, host.name, err);
	if (strchr(text, '*'))
		return fail(err, -EINVAL, "'%s': a pattern has no addresses; name each host, or use 'cloche run --allow'",
			    text);
	if (host_parse_authority(text, n, 0, &host) == 0)
		return fail(err, -EINVAL, "'%s': the firewall does not distinguish ports; allow '%s'",
			    text, host.name);
	return fail(err, -EINVAL, "'%s' is not a host name, an address or a network",
		    text);
}

/* Hosts for logging in and running, for cloning and pushing, for installing and updating.
 * Hosts where any user can publish a page are left out, and so are those of telemetry.
 */
static const struct {
	const char *name;
	const char *hosts[8];
	const char *fetch;	/* The service's own list of its networks */
} presets[] = {
	{ "anthropic", { "api.anthropic.com", "claude.ai", "console.anthropic.com",
			 "platform.claude.com" }, NULL },
	{ "npm", { "registry.npmjs.org" }, NULL },
	{ "github", { "github.com", "api.github.com", "codeload.github.com",
		      "uploads.github.com", "objects.githubusercontent.com",
		      "raw.githubusercontent.com", "ghcr.io" },
	  "https://api.github.com/meta" },
	{ "debian", { "deb.debian.org", "security.debian.org" }, NULL },
};

int firewall_preset(struct firewall *f, const char *name, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(presets); i++) {
		int r = 0;

		if (strcmp(presets[i].name, name) != 0)
			continue;
		for (size_t k = 0; r == 0 && presets[i].hosts[k]; k++)
			r = firewall_allow(f, presets[i].hosts[k], err);
		if (presets[i].fetch && !f->fetch)
			f->fetch = presets[i].fetch;
		return r;
	}
	return fail(err, -EINVAL, "'%s' is not one of anthropic, npm, github, debian",
		    name);
}

int firewall_allow_file(struct firewall *f, const char *path, struct err *err)
{
	auto_buf struct buf text = { 0 };
	const int r = fs_read(AT_FDCWD, path, JSON_TEXT_MAX, &text, err);

	return r < 0 ? r : ranges_parse(buf_str(&text), text.len, path,
					&f->ranges, err);
}

int firewall_resolver(struct firewall *f, const char *text, struct err *err)
{
	struct host host;

	if (host_parse(text, strlen(text), 0, &host) < 0 ||
	    host.kind == HOST_NAME)
		return fail(err, -EINVAL, "'%s' is not the address of a resolver",
			    text);
	return range_list_add_host(&f->resolvers, &host);
}

int firewall_target(struct target_list *list, const char *text,
		    struct err *err)
{
	struct firewall_target *target;
	struct host host;

	if (host_parse_authority(text, strlen(text), 0, &host) < 0)
		return fail(err, -EINVAL, "'%s' is not HOST:PORT, ADDRESS:PORT or [ADDRESS]:PORT",
			    text);
	if (list->len == FIREWALL_TARGETS_MAX)
		return fail(err, -E2BIG, "too many hosts to verify: %d at most",
			    FIREWALL_TARGETS_MAX);
	target = vec_push(list);
	target->text = mem_strdup(text);
	target->host = host;
	return 0;
}

int firewall_look_up(const struct firewall *f, const char *name,
		     struct ruleset *r, int64_t now, struct err *err)
{
	struct name_addresses answer;
	struct host host;
	int result = host_parse(name, strlen(name), 0, &host);

	if (result == 0)
		result = names_resolve(name, &f->resolvers, &answer, err);
	if (result < 0)
		return result;
	for (size_t i = 0; i < answer.len; i++) {
		const char *what = names_guard(&host, &answer.v[i]);

		if (what && !range_list_has(&r->sets[SET_RANGES], &answer.v[i]) &&
		    !range_list_has(&r->sets[SET_LAN], &answer.v[i]))
			return fail(err, -EACCES, "'%s' leads to %s, %s; if that is meant, allow the address itself with --allow %s",
				    name, answer.v[i].name, what,
				    answer.v[i].name);
	}
	for (size_t i = 0; i < answer.len; i++) {
		if (range_list_note(&r->sets[SET_NAMES], name, &answer.v[i],
				    now) < 0)
			return fail(err, -E2BIG, "the names have too many addresses: %d at most",
				    RULESET_ADDRESSES_MAX);
	}
	return 0;
}

static void copy_ranges(struct range_list *to, const struct range_list *from)
{
	for (size_t i = 0; i < from->len; i++)
		(void)range_list_add(to, &from->v[i].range);
	range_list_tidy(to);
}

void firewall_resolvers(const struct firewall *f, struct ruleset *r)
{
	if (f->resolvers.len)
		copy_ranges(&r->sets[SET_RESOLVERS], &f->resolvers);
	else
		local_resolvers(&r->sets[SET_RESOLVERS]);
}

void firewall_mark(struct ruleset *r, int64_t since)
{
	snprintf(r->id, sizeof(r->id), RULESET_MARK "%lld_%d",
		 (long long)since, (int)getpid());
}

int firewall_plan(const struct firewall *f, struct ruleset *ret,
		  struct err *err)
{
	const int64_t now = now_ms(CLOCK_MONOTONIC);
	int r = 0;

	firewall_mark(ret, time(NULL));
	if (!f->names.len && !f->ranges.len && !f->lan)
		return fail(err, -EINVAL, "nothing is allowed: give --allow HOST, --preset NAME, --ranges FILE or --lan");
	copy_ranges(&ret->sets[SET_RANGES], &f->ranges);
	firewall_resolvers(f, ret);
	if (f->lan)
		r = local_lan(&ret->sets[SET_LAN], err);
	for (size_t i = 0; i < f->names.len && r == 0; i++)
		r = firewall_look_up(f, f->names.v[i], ret, now, err);
	return r;
}
