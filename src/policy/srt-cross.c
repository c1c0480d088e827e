/* SPDX-License-Identifier: Apache-2.0 */
/* policy/srt-cross.c - settings of srt: what concerns several keys at once */

#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "policy/srt.h"

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* As a pattern, what ends in a slash matches no path */
static void check_slash(struct srt_issues *issues, const char *path,
			const char *text)
{
	size_t n = text ? strlen(text) : 0;

	if (!n || text[n - 1] != '/' || !strpbrk(text, "*?[") ||
	    (*text != '/' && *text != '~'))
		return;
	while (n && text[n - 1] == '/')
		n--;
	srt_issue(issues, path, "Deny glob \"%s\" ends in a separator, so as a pattern it can match no path. Write \"%.*s\", which is also read as the path of that name where it exists, or add a \"**\" segment to match at any depth.",
		  text, (int)n, text);
}

static void check_slashes(struct srt_issues *issues, const json_t *filesystem,
			  const char *name)
{
	json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(filesystem, name), i, entry) {
		auto_free char *path = mem_printf("filesystem.%s.%zu", name,
						  i);

		check_slash(issues, path, json_string_value(entry));
	}
}

/* Do names that end in @base end in @other as well? */
static bool ends_below(const char *base, const char *other)
{
	const size_t n = strlen(base), m = strlen(other);

	return !strcasecmp(base, other) ||
	       (n > m && base[n - m - 1] == '.' &&
		!strcasecmp(base + n - m, other));
}

/* True if an entry of @list covers all that @host stands for */
static bool is_covered(const char *host, const json_t *list)
{
	const bool below = !strncmp(host, "*.", 2);
	json_t *entry;
	size_t i;

	json_array_foreach(list, i, entry) {
		auto_free char *p = srt_host_of(json_string_value(entry));
		const bool wild = !strncmp(p, "*.", 2);

		if (below ? wild && ends_below(host + 2, p + 2) :
		    !strcasecmp(host, p) || !strcmp(p, "*") ||
		    (wild && ends_below(host, p + 2) &&
		     strcasecmp(host, p + 2) != 0))
			return true;
	}
	return false;
}

static bool all_covered(const json_t *hosts, const json_t *list)
{
	json_t *entry;
	size_t i;

	json_array_foreach(hosts, i, entry) {
		auto_free char *host = srt_host_of(json_string_value(entry));

		if (!is_covered(host, list))
			return false;
	}
	return json_array_size(hosts) > 0;
}

static void check_hosts(struct srt_issues *issues, const char *path,
			const json_t *hosts, const json_t *list, bool within)
{
	json_t *entry;
	size_t i;

	json_array_foreach(hosts, i, entry) {
		const char *host = json_string_value(entry);
		auto_free char *at = mem_printf("%s.injectHosts.%zu", path, i);

		if (is_covered(host, list) == within)
			continue;
		if (within)
			srt_issue(issues, at, "injectHosts entry \"%s\" is not reachable via network.allowedDomains — add \"%s\" (or a covering wildcard) to allowedDomains, or remove it from injectHosts.",
				  host, host);
		else
			srt_issue(issues, at, "injectHosts entry \"%s\" is entirely covered by network.tlsTerminate.excludeDomains. Credential injection only runs on TLS-terminated connections, so this host would receive the placeholder instead of the credential. Remove it from one of the two lists.",
				  host);
	}
}

/* Where the credential could go; true if it is masked */
static bool check_masked(struct srt_issues *issues, const char *path,
			 const json_t *entry, const json_t *network)
{
	const json_t *hosts = json_object_get(entry, "injectHosts");
	const json_t *allowed = json_object_get(network, "allowedDomains");
	const json_t *exclude = json_object_get(
		json_object_get(network, "tlsTerminate"), "excludeDomains");

	check_hosts(issues, path, hosts, allowed, true);
	if (strcmp(text_of(entry, "mode"), "mask") != 0)
		return false;
	if (json_array_size(exclude) && hosts)
		check_hosts(issues, path, hosts, exclude, false);
	else if (json_array_size(exclude) && all_covered(allowed, exclude))
		srt_issue(issues, path, "This masked credential has no injectHosts, so it defaults to network.allowedDomains — but network.tlsTerminate.excludeDomains covers every allowed domain, so it could never be injected anywhere. Credential injection only runs on TLS-terminated connections.");
	if (hosts && !json_array_size(hosts))
		srt_issue(issues, path, "injectHosts is explicitly empty — the credential would be masked but never injected. Omit injectHosts to default to network.allowedDomains, or list the intended hosts.");
	return true;
}

static void check_claims(struct srt_issues *issues, const char *path,
			 const json_t *entry, const char *what)
{
	const json_t *claims = json_object_get(entry, "maskClaims");
	auto_free char *at = mem_printf("%s.maskClaims", path);

	if (claims && !json_object_get(entry, "decode"))
		srt_issue(issues, at, "maskClaims requires decode — it names claims inside the decoded payload. Set decode (e.g. \"jwt\"), or remove maskClaims to mask the %s.",
			  what);
	if (claims && !json_array_size(claims))
		srt_issue(issues, at, "maskClaims is explicitly empty — no claim would ever be masked. Omit maskClaims to mask the whole token, or list the claims to protect.");
}

static void check_file(struct srt_issues *issues, const char *path,
		       const json_t *entry, bool enforced)
{
	const char *name = text_of(entry, "path");
	const bool mask = !strcmp(text_of(entry, "mode"), "mask");
	auto_free char *at = mem_printf("%s.path", path);
	const size_t n = strlen(name);

	if (mask && n && name[n - 1] == '/')
		srt_issue(issues, at, "Credential mode \"mask\" applies to a single file, not a directory. Use mode \"deny\" for \"%s\", or point at the credential file inside it.",
			  name);
	if (!mask && enforced)
		check_slash(issues, at, name);
}

static const json_t *find_variable(const json_t *variables, const char *name)
{
	json_t *entry;
	size_t i;

	json_array_foreach(variables, i, entry) {
		if (!strcmp(text_of(entry, "name"), name))
			return entry;
	}
	return NULL;
}

static void check_slot(struct srt_issues *issues, const char *path,
		       const json_t *variables, const char *name, json_t *seen)
{
	const json_t *entry = find_variable(variables, name);

	if (json_object_get(seen, name)) {
		srt_issue(issues, path, "\"%s\" appears in more than one awsPairs slot (within or across pairs) — each variable can fill exactly one slot.",
			  name);
		return;
	}
	json_object_set_new(seen, name, json_true());
	if (!entry || strcmp(text_of(entry, "mode"), "mask") != 0)
		srt_issue(issues, path, "\"%s\" does not reference a credentials.envVars entry with mode \"mask\" — an AWS pair links already-masked variables; add the entry (masking is the opt-in for SigV4 re-signing).",
			  name);
	else if (json_object_get(entry, "extract") ||
		 json_object_get(entry, "decode"))
		srt_issue(issues, path, "\"%s\" uses extract/decode, but an AWS pair member must be masked whole-value: the SigV4 trigger is an exact match of the fake access key id, and the signer needs the entire real value.",
			  name);
}

static void check_pairs(struct srt_issues *issues, const json_t *credentials)
{
	static const char *const slots[] = {
		"accessKeyIdVar", "secretAccessKeyVar", "sessionTokenVar",
	};
	const json_t *variables = json_object_get(credentials, "envVars");
	json_t *seen = json_object();
	json_t *pair;
	size_t i;

	json_array_foreach(json_object_get(credentials, "awsPairs"), i, pair) {
		for (size_t k = 0; k < ARRAY_SIZE(slots); k++) {
			auto_free char *path = mem_printf(
				"credentials.awsPairs.%zu.%s", i, slots[k]);
			const char *name = text_of(pair, slots[k]);

			if (name)
				check_slot(issues, path, variables, name,
					   seen);
		}
	}
	json_decref(seen);
}

static void check_credentials(struct srt_issues *issues, const json_t *root,
			      const json_t *credentials, bool enforced)
{
	const json_t *network = json_object_get(root, "network");
	bool masked = false;
	json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(credentials, "envVars"), i, entry) {
		auto_free char *path = mem_printf("credentials.envVars.%zu",
						  i);

		masked |= check_masked(issues, path, entry, network);
		check_claims(issues, path, entry, "whole value");
	}
	json_array_foreach(json_object_get(credentials, "files"), i, entry) {
		auto_free char *path = mem_printf("credentials.files.%zu", i);

		masked |= check_masked(issues, path, entry, network);
		check_claims(issues, path, entry, "extracted value whole");
		check_file(issues, path, entry, enforced);
	}
	check_pairs(issues, credentials);
	if (masked && !json_object_get(network, "tlsTerminate") &&
	    !json_is_true(json_object_get(credentials,
					  "allowPlaintextInject")))
		srt_issue(issues, "credentials", "Credential masking requires network.tlsTerminate so substitution runs only over a verified TLS connection. Enable tlsTerminate, or set credentials.allowPlaintextInject to opt out (not recommended).");
}

void srt_cross_check(json_t *root, struct srt_issues *issues)
{
	const json_t *filesystem = json_object_get(root, "filesystem");
	const json_t *credentials = json_object_get(root, "credentials");
	const bool enforced = !json_is_true(json_object_get(filesystem,
							    "disabled"));

	if (enforced) {
		check_slashes(issues, filesystem, "denyRead");
		check_slashes(issues, filesystem, "denyWrite");
	}
	if (credentials)
		check_credentials(issues, root, credentials, enforced);
}
