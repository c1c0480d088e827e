/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy/srt-settings.c - check a settings file of srt as srt does
 *
 * Theory of operation: the rows of srt-settings.def give each key's type; after
 * them come the rules about several keys at once. The verdicts are srt's (0.0.83),
 * the messages are ours, and the first problem is the only one that is reported.
 */

#include "policy/srt-settings.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "policy/asks.h"
#include "policy/env-rules.h"

enum srt_kind {
	SRT_OBJECT, SRT_STRICT, SRT_TLS,
	SRT_FLAG, SRT_NUMBER, SRT_ENUM, SRT_CALLBACK,
	SRT_TEXT, SRT_TEXTS,	/* A list of them */
	SRT_WORD,		/* Not empty */
	SRT_BINARY, SRT_URL, SRT_ENTRY, SRT_EXTRACT, SRT_VARIABLE, SRT_SERVICE,
	SRT_ALLOWED, SRT_DENIED, SRT_HOST, SRT_RANGE,
	SRT_KINDS,
};

enum many { ONE, LIST, SOME, MAP };
enum need { OPTIONAL, REQUIRED };

static const struct field {
	const char *parent, *name;
	enum srt_kind kind;
	enum many many;
	enum need need;
	const char *detail;
} fields[] = {
#define FIELD(parent, name, kind, many, need, detail) \
	{ parent, name, SRT_##kind, many, need, detail },
#include "policy/srt-settings.def"
#undef FIELD
};

static const char *const wanted[SRT_KINDS] = {
	[SRT_OBJECT] = "must be an object",
	[SRT_STRICT] = "must be an object",
	[SRT_TLS] = "must be an object with both caCertPath and caKeyPath, or neither",
	[SRT_FLAG] = "must be true or false",
	[SRT_NUMBER] = "must be a whole number in the range",
	[SRT_ENUM] = "must be one of",
	[SRT_CALLBACK] = "must be a function, which only srt's library takes",
	[SRT_TEXT] = "must be text",
	[SRT_TEXTS] = "must be a list of texts",
	[SRT_WORD] = "must be a text that is not empty",
	[SRT_BINARY] = "must be an absolute path",
	[SRT_URL] = "must be a URL",
	[SRT_ENTRY] = "must be a path, or {\"path\": \"...\", \"literal\": true}",
	[SRT_EXTRACT] = "needs a group (...) around the secret",
	[SRT_VARIABLE] = "is not a variable's name",
	[SRT_SERVICE] = "may have '*' only at its end",
	[SRT_ALLOWED] = "must be a host such as example.com, *.example.com or [::1]:443",
	[SRT_DENIED] = "must be a host such as example.com, *.example.com or *",
	[SRT_HOST] = "must be a host such as example.com, *.example.com or [::1]",
	[SRT_RANGE] = "must be an address or a range such as 10.0.0.0/8",
};

/* @at is where the value is: "credentials.files.0.path", "" for all of it */
static int problem(const char *at, struct err *err, const char *what,
		   const char *detail)
{
	return fail(err, -EINVAL, "%s%s%s%s%s", at, *at ? ": " : "", what,
		    detail ? " " : "", detail ? detail : "");
}

/* 1 to 65535, without a zero before it */
static bool is_port(const char *text)
{
	uint64_t port;

	return *text != '0' && text_to_u64(text, UINT16_MAX, &port) == 0;
}

/* No label may be empty, and there is more than one */
static bool has_labels(const char *name)
{
	const size_t n = strlen(name);

	return strchr(name, '.') && *name != '.' && name[n - 1] != '.';
}

static bool is_host(const char *text)
{
	struct in6_addr address;

	if (inet_pton(AF_INET6, text, &address) == 1)
		return true;
	if (strpbrk(text, ":/"))
		return false;
	if (!strncmp(text, "*.", 2))
		return has_labels(text + 2) && !strstr(text + 2, "..");
	return !strcmp(text, "localhost") ||
	       (!strchr(text, '*') && *text && has_labels(text));
}

/* The host of "host:port" and "[address%zone]:port"; the caller frees */
static char *host_of(const char *entry)
{
	const char *end = *entry == '[' ? strchr(entry, ']') :
					  strrchr(entry, ':');
	char *host;

	if (!end || (*entry == '[' ?
		     end[1] && (end[1] != ':' || !is_port(end + 2)) :
		     strchr(entry, ':') != end || !is_port(end + 1)))
		return mem_strdup(entry);
	if (*entry != '[')
		return mem_strndup(entry, (size_t)(end - entry));
	host = mem_strndup(entry + 1, (size_t)(end - entry - 1));
	host[strcspn(host, "%")] = '\0';
	return host;
}

static bool is_entry(const char *text, bool deny)
{
	auto_free char *host = host_of(text);
	const char *colon = strchr(text, ':');

	if (deny && !strcmp(host, "*"))
		return true;
	/* An address of many colons stands in brackets */
	if (colon && strchr(colon + 1, ':') && *text != '[')
		return false;
	return is_host(host);
}

static bool is_range(const char *text)
{
	const size_t n = strcspn(text, "/");
	auto_free char *host = mem_strndup(text, n);
	unsigned char address[sizeof(struct in6_addr)];
	const bool four = inet_pton(AF_INET, host, address) == 1;
	const bool six = inet_pton(AF_INET6, host, address) == 1;
	const char *bits = text + n + (text[n] == '/');
	const size_t digits = strspn(bits, "0123456789");

	if (!four && !six)
		return false;
	return !text[n] || (digits && digits <= 3 && !bits[digits] &&
			    strtoul(bits, NULL, 10) <= (four ? 32u : 128u));
}

static bool is_url(const char *text)
{
	const size_t scheme = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-");
	const char *rest = text + scheme + 1;
	const bool web = !strncasecmp(text, "http", 4) ||
			 !strncasecmp(text, "ws", 2);

	if (!scheme || text[scheme] != ':' || !*rest)
		return false;
	rest += web ? strspn(rest, "/\\") : 0;
	return !web || (*rest && !strchr("?#:", *rest) &&
			strcspn(rest, " <>^|") >= strcspn(rest, "/?#"));
}

/* Capturing groups, as far as the text shows */
static bool has_group(const char *pattern)
{
	bool class = false;

	for (const char *c = pattern; *c; c++) {
		if (*c == '\\' && c[1])
			c++;
		else if (*c == '[')
			class = true;
		else if (*c == ']')
			class = false;
		else if (!class && *c == '(' &&
			 (c[1] != '?' || (c[2] == '<' && c[3] != '=' &&
					  c[3] != '!')))
			return true;
	}
	return false;
}

static bool is_number(const char *bounds, const json_t *value)
{
	const double n = json_number_value(value);
	char *rest;
	const long low = strtol(bounds, &rest, 10);

	return json_is_number(value) && n >= (double)low &&
	       n <= (double)strtol(rest, NULL, 10) && (double)(long)n == n;
}

static bool is_path_entry(const json_t *value)
{
	const bool object = json_is_object(value);
	const char *path = json_string_value(object ?
		json_object_get(value, "path") : value);

	return path && *path &&
	       (!object || (json_object_size(value) == 2 &&
			    json_is_true(json_object_get(value, "literal"))));
}

static bool are_texts(const json_t *list)
{
	json_t *entry;
	size_t i;

	json_array_foreach(list, i, entry) {
		if (!json_is_string(entry))
			return false;
	}
	return json_is_array(list);
}

static bool is_valid(const struct field *f, const json_t *value)
{
	const char *text = json_string_value(value);
	const char *star = text ? strchr(text, '*') : NULL;

	switch (f->kind) {
	case SRT_OBJECT:
	case SRT_STRICT:
		return json_is_object(value);
	case SRT_TLS:
		return json_is_object(value) &&
		       !json_object_get(value, "caCertPath") ==
		       !json_object_get(value, "caKeyPath");
	case SRT_FLAG:
		return json_is_boolean(value);
	case SRT_NUMBER:
		return is_number(f->detail, value);
	case SRT_ENUM:
		return text && text_has_bytes(f->detail, text, strlen(text));
	case SRT_CALLBACK:
		return false;
	case SRT_ENTRY:
		return is_path_entry(value);
	case SRT_TEXTS:
		return are_texts(value);
	case SRT_WORD:
		return text && *text;
	case SRT_BINARY:
		return text && *text == '/';
	case SRT_URL:
		return text && is_url(text);
	case SRT_EXTRACT:
		return text && has_group(text);
	case SRT_VARIABLE:
		return text && env_is_name(text, strlen(text));
	case SRT_SERVICE:
		return text && (!star || !star[1]);
	case SRT_ALLOWED:
	case SRT_DENIED:
		return text && is_entry(text, f->kind == SRT_DENIED);
	case SRT_HOST:
		return text && is_host(text);
	case SRT_RANGE:
		return text && is_range(text);
	default:
		return text;
	}
}

static int check_object(const char *row, const char *at, json_t *object,
			bool strict, struct err *err);

/* One value, or one entry of a list or a map. @row is its path in the table. */
static int check_value(const struct field *f, const char *row,
		       const char *at, json_t *value, struct err *err)
{
	if (!is_valid(f, value))
		return problem(at, err, wanted[f->kind], f->detail);
	return f->kind > SRT_TLS ? 0 :
	       check_object(row, at, value, f->kind == SRT_STRICT, err);
}

static int check_field(const struct field *f, const char *up, json_t *value,
		       struct err *err)
{
	auto_free char *at = mem_printf("%s%s%s", up, *up ? "." : "", f->name);
	auto_free char *row = mem_printf("%s%s%s", f->parent,
					 *f->parent ? "." : "", f->name);
	const bool map = f->many == MAP;
	const char *name;
	json_t *entry;
	size_t i;
	int r = 0;

	if (!value)
		return f->need == OPTIONAL ? 0 :
		       problem(at, err, "is missing", NULL);
	if (f->many == ONE)
		return check_value(f, row, at, value, err);
	if (map ? !json_is_object(value) : !json_is_array(value))
		return problem(at, err, map ? wanted[SRT_OBJECT] :
			       "must be a list", NULL);
	if (f->many == SOME && !json_array_size(value))
		return problem(at, err, "must not be empty", NULL);
	json_object_foreach(value, name, entry) {
		auto_free char *in = mem_printf("%s.%s", at, name);

		if (r == 0)
			r = check_value(f, row, in, entry, err);
	}
	json_array_foreach(value, i, entry) {
		auto_free char *in = mem_printf("%s.%zu", at, i);

		if (r == 0)
			r = check_value(f, row, in, entry, err);
	}
	return r;
}

static bool is_known(const char *row, const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (!strcmp(fields[i].parent, row) &&
		    !strcmp(fields[i].name, key))
			return true;
	}
	return false;
}

/* Keys that srt does not know are taken out, or an error if @strict */
static int check_object(const char *row, const char *at, json_t *object,
			bool strict, struct err *err)
{
	const char *key;
	json_t *value;
	void *next;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(fields); i++) {
		if (!strcmp(fields[i].parent, row))
			r = check_field(&fields[i], at, json_object_get(object,
					fields[i].name), err);
	}
	json_object_foreach_safe(object, next, key, value) {
		if (r < 0 || is_known(row, key))
			continue;
		if (strict)
			return problem(at, err, "has the unknown key", key);
		json_object_del(object, key);
	}
	return r;
}

/* As a pattern, what ends in a slash matches no path */
static bool is_dead_glob(const char *text)
{
	const size_t n = text ? strlen(text) : 0;

	return n && text[n - 1] == '/' && strpbrk(text, "*?[") &&
	       (*text == '/' || *text == '~');
}

static int check_denials(const json_t *filesystem, struct err *err)
{
	static const char *const lists[] = { "denyRead", "denyWrite" };

	for (size_t k = 0; k < ARRAY_SIZE(lists); k++) {
		json_t *entry;
		size_t i;

		json_array_foreach(json_object_get(filesystem, lists[k]), i, entry) {
			if (is_dead_glob(json_string_value(entry)))
				return fail(err, -EINVAL, "filesystem.%s.%zu: a pattern that ends in '/' matches nothing",
					    lists[k], i);
		}
	}
	return 0;
}

/* True if @list covers every one of @hosts, or with @none not a single one */
static bool covers(const json_t *list, const json_t *hosts, bool none)
{
	json_t *host, *entry;
	size_t i, k;

	json_array_foreach(hosts, i, host) {
		bool covered = false;

		json_array_foreach(list, k, entry)
			covered |= ask_host_covers(json_string_value(entry),
						   json_string_value(host));
		if (covered == none)
			return false;
	}
	return true;
}

/* What is wrong with where the masked or denied @entry may go, or NULL */
static const char *hosts_fault(const json_t *entry, const json_t *network,
			       bool mask)
{
	const json_t *hosts = json_object_get(entry, "injectHosts");
	const json_t *allowed = json_object_get(network, "allowedDomains");
	const json_t *exclude = json_object_get(
		json_object_get(network, "tlsTerminate"), "excludeDomains");

	if (!covers(allowed, hosts, false))
		return "injectHosts has a host that network.allowedDomains does not allow";
	if (!mask)
		return NULL;
	if (hosts && !json_array_size(hosts))
		return "injectHosts is empty: the credential would go nowhere";
	if (json_array_size(exclude) &&
	    (hosts ? !covers(exclude, hosts, true) :
	     json_array_size(allowed) && covers(exclude, allowed, false)))
		return "network.tlsTerminate.excludeDomains covers where the credential may go";
	return NULL;
}

static const char *claims_fault(const json_t *entry)
{
	const json_t *claims = json_object_get(entry, "maskClaims");

	if (claims && !json_object_get(entry, "decode"))
		return "maskClaims needs decode";
	return claims && !json_array_size(claims) ? "maskClaims is empty" : NULL;
}

static const char *entry_fault(const json_t *entry, const json_t *network,
			       bool enforced)
{
	const char *fault = claims_fault(entry);
	const bool mask = !strcmp(json_get_text(entry, "mode"), "mask");
	const char *path = json_get_text(entry, "path");

	if (fault)
		return fault;
	if (mask && path && path[strlen(path) - 1] == '/')
		return "a mask needs one file, not a directory";
	if (!mask && enforced && is_dead_glob(path))
		return "a pattern that ends in '/' matches nothing";
	return hosts_fault(entry, network, mask);
}

static const json_t *find_variable(const json_t *variables, const char *name)
{
	json_t *entry;
	size_t i;

	json_array_foreach(variables, i, entry) {
		if (!strcmp(json_get_text(entry, "name"), name))
			return entry;
	}
	return NULL;
}

/* Each variable of a pair is masked as a whole, and in one slot only */
static int check_pairs(const json_t *credentials, struct err *err)
{
	static const char *const slots[] = {
		"accessKeyIdVar", "secretAccessKeyVar", "sessionTokenVar",
	};
	const json_t *pairs = json_object_get(credentials, "awsPairs");
	auto_json json_t *seen = json_object();

	for (size_t i = 0; i < json_array_size(pairs) * ARRAY_SIZE(slots); i++) {
		const char *slot = slots[i % ARRAY_SIZE(slots)];
		const size_t pair = i / ARRAY_SIZE(slots);
		const char *name = json_get_text(json_array_get(pairs, pair), slot);
		const json_t *entry = name ? find_variable(
			json_object_get(credentials, "envVars"), name) : NULL;

		if (name && (json_object_get(seen, name) || !entry ||
			     strcmp(json_get_text(entry, "mode"), "mask") != 0 ||
			     json_object_get(entry, "extract") ||
			     json_object_get(entry, "decode")))
			return fail(err, -EINVAL, "credentials.awsPairs.%zu.%s: '%s' must be a variable that is masked as a whole, in one slot only",
				    pair, slot, name);
		if (name)
			json_object_set_new(seen, name, json_true());
	}
	return 0;
}

static int check_credentials(const json_t *root, const json_t *credentials,
			     bool enforced, struct err *err)
{
	static const char *const lists[] = { "envVars", "files" };
	const json_t *network = json_object_get(root, "network");
	bool masked = false;

	for (size_t k = 0; k < ARRAY_SIZE(lists); k++) {
		json_t *entry;
		size_t i;

		json_array_foreach(json_object_get(credentials, lists[k]), i,
				   entry) {
			const char *fault = entry_fault(entry, network,
							enforced);

			if (fault)
				return fail(err, -EINVAL, "credentials.%s.%zu: %s",
					    lists[k], i, fault);
			masked |= !strcmp(json_get_text(entry, "mode"), "mask");
		}
	}
	if (masked && !json_object_get(network, "tlsTerminate") &&
	    !json_is_true(json_object_get(credentials, "allowPlaintextInject")))
		return fail(err, -EINVAL, "credentials: a mask needs network.tlsTerminate or credentials.allowPlaintextInject");
	return check_pairs(credentials, err);
}

/* Remove what srt ignores on Linux and cloche would apply: Unix sockets by path and
 * ports on the host; and the lists of paths where filesystem.disabled is set
 */
static void drop_unused(json_t *root)
{
	json_t *network = json_object_get(root, "network");
	json_t *filesystem = json_object_get(root, "filesystem");
	static const char *const lists[] = {
		"denyRead", "allowRead", "allowWrite", "denyWrite",
	};

	(void)json_object_del(network, "allowUnixSockets");
	(void)json_object_del(network, "allowLocalBinding");
	if (!json_is_true(json_object_get(filesystem, "disabled")))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		(void)json_object_del(filesystem, lists[i]);
}

int srt_check_part(const char *row, json_t *value, struct err *err)
{
	const char *fault = claims_fault(value);

	if (!json_is_object(value))
		return problem("", err, wanted[SRT_OBJECT], NULL);
	return fault ? fail(err, -EINVAL, "%s", fault) :
	       check_object(row, "", value, true, err);
}

int srt_check(json_t *root, struct err *err)
{
	const json_t *filesystem = json_object_get(root, "filesystem");
	const json_t *credentials = json_object_get(root, "credentials");
	const bool enforced = !json_is_true(json_object_get(filesystem,
							    "disabled"));
	int r;

	if (!json_is_object(root))
		return problem("(root)", err, wanted[SRT_OBJECT], NULL);
	r = check_object("", "", root, false, err);
	if (r == 0 && enforced)
		r = check_denials(filesystem, err);
	if (r == 0 && credentials)
		r = check_credentials(root, credentials, enforced, err);
	if (r == 0)
		drop_unused(root);
	return r;
}
