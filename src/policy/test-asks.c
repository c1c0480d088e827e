/* SPDX-License-Identifier: Apache-2.0 */
/* policy/test-asks.c - the requests of each settings key */

#include "policy/asks.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/host.h"
#include "policy/policy.h"
#include "policy/schema.h"
#include "policy/settings.h"
#include "policy/test-memory.h"
#include "test.h"

/* A value of every key, and the line of what it asks for; NULL: it only tightens
 * or does nothing. A new key needs a row.
 */
static const struct {
	const char *path, *value, *line;
} rows[] = {
	{ "enabled", "false", "off enabled=false" },
	{ "enabled", "true", NULL },
	{ "failIfUnavailable", "false", "off failIfUnavailable=false" },
	{ "autoAllowBashIfSandboxed", "true",
	  "mode autoAllowBashIfSandboxed=true" },
	{ "autoAllowBashIfSandboxed", "false", NULL },
	{ "allowUnsandboxedCommands", "true",
	  "off allowUnsandboxedCommands=true" },
	{ "excludedCommands", "[\"docker *\"]", "command docker *" },
	{ "enabledPlatforms", "[\"macos\"]", "platform macos" },
	{ "profile", "\"srt\"", "setting profile=\"srt\"" },
	{ "profile", "\"home\"", "mode profile=\"home\"" },
	{ "noForge", "false", "setting noForge=false" },
	{ "noRunRecords", "true", "setting noRunRecords=true" },
	{ "noRunRecords", "false", NULL },
	{ "minimumTier", "\"landlock\"", "tier minimumTier=\"landlock\"" },
	{ "minimumTier", "\"full\"", NULL },
	{ "enableWeakerNestedSandbox", "true",
	  "mode enableWeakerNestedSandbox=true" },
	{ "allowNestedUserNamespaces", "true",
	  "setting allowNestedUserNamespaces=true" },
	{ "ignoreViolations", "{\"*\": [\"x\"]}",
	  "ignore ignoreViolations={\"*\":[\"x\"]}" },
	{ "mandatoryDenySearchDepth", "1", "setting mandatoryDenySearchDepth=1" },
	{ "mandatoryDenySearchDepth", "9", NULL },
	{ "env", "[\"TOKEN\"]", "variable TOKEN" },
	{ "passEnv", "true", "variable passEnv=true" },
	{ "secrets", "[\"TOKEN@example.org\"]", "variable TOKEN@example.org" },
	{ "git.safeDirectories", "[\"/x\"]", "setting /x" },
	{ "limits.timeout", "9", NULL },
	{ "limits.memory", "9", NULL },
	{ "limits.pids", "9", NULL },
	{ "limits.fileSize", "9", NULL },
	{ "limits.output", "9", NULL },
	{ "filesystem.allowWrite", "[\"/w\"]", "write /w" },
	{ "filesystem.allowWrite", "[\"../q\"]", "write /home/u/q" },
	{ "filesystem.allowWrite", "[\"~/.ssh/**\"]", "write /home/u/.ssh" },
	{ "filesystem.allowWrite", "[\"/a/*/b\"]", "write /a/*/b" },
	{ "filesystem.allowWrite", "[\"build\"]", NULL },
	{ "filesystem.allowWrite", "[\"link\"]", "write ./link" },
	{ "filesystem.denyWrite", "[\"/w\"]", NULL },
	{ "filesystem.denyRead", "[\"/w\"]", NULL },
	{ "filesystem.allowRead", "[\"/r\"]", "read /r" },
	{ "filesystem.allowRead", "[\"~/.aws\"]", "read /home/u/.aws" },
	{ "filesystem.allowManagedReadPathsOnly", "true", NULL },
	{ "filesystem.disabled", "true", "off filesystem.disabled=true" },
	{ "filesystem.allowGitConfig", "true",
	  "name filesystem.allowGitConfig=true" },
	{ "filesystem.unprotect", "[\".idea\"]", "name .idea" },
	{ "network.mode", "\"host\"", "setting network.mode=\"host\"" },
	{ "network.mode", "\"none\"", NULL },
	{ "network.allowedDomains", "[\"A.example\"]", "host a.example" },
	{ "network.deniedDomains", "[\"a.example\"]", NULL },
	{ "network.mitmProxy.domains", "[\"a.example\"]", NULL },
	{ "network.deniedDomainReasons", "{\"a\": \"b\"}", NULL },
	{ "network.strictAllowlist", "true", NULL },
	{ "network.allowManagedDomainsOnly", "true", NULL },
	{ "network.deniedResolvedAddresses", "[\"10.0.0.0/8\"]", NULL },
	{ "network.allowUnixSockets", "[\"/run/x\"]", "socket /run/x" },
	{ "network.allowAllUnixSockets", "true",
	  "socket network.allowAllUnixSockets=true" },
	{ "network.allowLocalBinding", "true",
	  "publish network.allowLocalBinding=true" },
	{ "network.hostPorts", "[5432]", "host-port 5432" },
	{ "network.publish", "[\"3000\"]", "publish 3000" },
	{ "network.allowIps", "[\"10.0.0.1\"]", "address 10.0.0.1" },
	{ "network.httpProxyPort", "1", "proxy network.httpProxyPort=1" },
	{ "network.socksProxyPort", "1", "proxy network.socksProxyPort=1" },
	{ "network.parentProxy.http", "\"p:1\"",
	  "proxy network.parentProxy.http=\"p:1\"" },
	{ "network.parentProxy.https", "\"p:1\"",
	  "proxy network.parentProxy.https=\"p:1\"" },
	{ "network.parentProxy.noProxy", "\"x\"",
	  "proxy network.parentProxy.noProxy=\"x\"" },
	{ "network.tlsTerminate", "{}", "setting network.tlsTerminate={}" },
	{ "credentials.files", "[{\"path\": \"/k\", \"mode\": \"deny\"}]", NULL },
	{ "credentials.files", "[{\"path\": \"/k\", \"mode\": \"mask\"}]",
	  "setting credentials.files={\"mode\":\"mask\",\"path\":\"/k\"}" },
	{ "credentials.envVars", "[{\"name\": \"K\", \"mode\": \"mask\"}]",
	  "setting credentials.envVars={\"mode\":\"mask\",\"name\":\"K\"}" },
	{ "credentials.allowPlaintextInject", "true",
	  "setting credentials.allowPlaintextInject=true" },
	{ "credentials.awsPairs",
	  "[{\"accessKeyIdVar\": \"I\", \"secretAccessKeyVar\": \"K\"}]",
	  "setting credentials.awsPairs={\"accessKeyIdVar\":\"I\",\"secretAccessKeyVar\":\"K\"}" },
	{ "credentials.sigv4", "{\"presigned\": \"passthrough\"}",
	  "setting credentials.sigv4={\"presigned\":\"passthrough\"}" },
	{ "permissions.allow", "[\"Edit(//w/**)\"]", "write /w" },
	{ "permissions.allow", "[\"WebFetch(domain:a.example)\"]",
	  "host a.example" },
	{ "permissions.allow", "[\"Bash(make *)\"]", "rule Bash(make *)" },
	{ "permissions.deny", "[\"Read(//w/**)\"]", NULL },
	{ "permissions.ask", "[\"Bash\"]", NULL },
	{ "permissions.additionalDirectories", "[\"/w\"]", "write /w" },
	{ "permissions.blockReadsOutsideWorkingDirectories", "true", NULL },
	{ "permissions.blockReadsExemptPaths", "[\"/r\"]", "setting /r" },
	{ "allowManagedPermissionRulesOnly", "true", NULL },
};

/* {"a": {"b": VALUE}} */
static char *nested(const struct setting *row, const char *value)
{
	struct buf b = { 0 };
	size_t depth = 1;

	buf_adds(&b, row->area == AREA_SANDBOX ? "{\"sandbox\": {\"" : "{\"");
	for (const char *s = row->path; *s; s++) {
		if (*s == '.') {
			buf_adds(&b, "\": {\"");
			depth++;
		} else {
			buf_addc(&b, *s);
		}
	}
	buf_addf(&b, "\": %s", value);
	for (depth += row->area == AREA_SANDBOX; depth; depth--)
		buf_addc(&b, '}');
	return buf_take(&b);
}

/* What a project's file with @text asks for */
static void load(const char *text, struct settings_report *report)
{
	struct memory files = { 0 };
	struct file_reader reader;
	struct settings_request req = {
		.cwd = "/home/u/p", .home = "/home/u", .reader = &reader,
		.check = true,
	};
	struct policy *policy = NULL;

	memory_add(&files, "/home/u/p/.claude/settings.json", text);
	memory_add(&files, "/elsewhere", NULL);
	memory_add_link(&files, "/home/u/p/link", "/elsewhere");
	reader = memory_reader(&files);
	CHECK_INT(settings_load(&req, &policy, report, NULL), 0);
	policy_unref(policy);
	memory_done(&files);
}

static const struct setting *row_of(const char *path)
{
	const struct setting *row = schema_find(AREA_SANDBOX, path);

	return row ? row : schema_find(AREA_CLAUDE, path);
}

TEST(every_settings_key_has_its_request_text)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct setting *row = row_of(rows[i].path);
		auto_report struct settings_report report = { 0 };
		auto_free char *text = NULL, *line = NULL;

		if (!row)
			test_fail(__FILE__, __LINE__, "no key '%s'",
				  rows[i].path);
		text = nested(row, rows[i].value);
		load(text, &report);
		CHECK_INT(report.sources.len, 1);
		CHECK_INT(report.sources.v[0].asks.len, rows[i].line ? 1 : 0);
		if (!rows[i].line)
			continue;
		line = ask_line(&report.sources.v[0].asks.v[0]);
		CHECK_STR(line, rows[i].line);
		CHECK_INT(report.sources.v[0].asks.v[0].refused != NULL,
			  report.sources.v[0].asks.v[0].kind >= ASK_NEVER);
	}
}

TEST(every_key_of_the_schema_has_a_request_row)
{
	size_t n;
	const struct setting *table = schema_table(&n);

	for (size_t i = 0; i < n; i++) {
		bool found = table[i].type == TYPE_UNUSED ||
			     table[i].type == TYPE_FOREIGN;

		for (size_t k = 0; k < ARRAY_SIZE(rows); k++)
			found |= !strcmp(rows[k].path, table[i].path);
		if (!found)
			test_fail(__FILE__, __LINE__, "'%s' has no row here",
				  table[i].path);
	}
}

/* Every field of srt's grammar is a key of ours, below one, or holds some */
TEST(every_key_of_srt_is_in_the_schema)
{
	static const struct { const char *parent, *name; } fields[] = {
#define FIELD(parent, name, kind, many, need, detail) { parent, name },
#include "policy/srt-settings.def"
#undef FIELD
	};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		auto_free char *path = mem_printf("%s%s%s", fields[i].parent,
			*fields[i].parent ? "." : "", fields[i].name);
		bool found = schema_is_object(AREA_SANDBOX, path);

		for (char *dot = path; !found && dot;) {
			found = schema_find(AREA_SANDBOX, path);
			dot = strrchr(path, '.');
			if (dot)
				*dot = '\0';
		}
		if (!found)
			test_fail(__FILE__, __LINE__, "srt's '%s.%s' has no row",
				  fields[i].parent, fields[i].name);
	}
}

TEST(a_digest_covers_the_requests_not_the_text)
{
	static const char *const same[] = {
		"{\"sandbox\": {\"network\": {\"allowedDomains\": [\"a.example\", \"b.example\"]}}}",
		"{ \"sandbox\" : {\"network\": {\"allowedDomains\": [\"B.example\", \"a.example\", \"a.example\"], \"deniedDomains\": [\"x.example\"]}, \"filesystem\": {\"denyRead\": [\"/x\"]}}}",
		"{\"sandbox\": {\"network\": {\"allowedDomains\": [\"a.example\", \"c.example\"]}}}",
	};
	char digests[ARRAY_SIZE(same)][ASK_DIGEST_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		auto_report struct settings_report report = { 0 };

		load(same[i], &report);
		asks_digest(&report.sources.v[0].asks, digests[i]);
	}
	CHECK_STR(digests[0], digests[1]);
	CHECK(strcmp(digests[0], digests[2]) != 0);
	CHECK_INT(strlen(digests[0]), strlen("sha256:") + 64);
}

TEST(the_summary_counts_asks_by_kind)
{
	auto_report struct settings_report report = { 0 };
	auto_buf struct buf out = { 0 };

	load("{\"sandbox\": {\"enabled\": false, \"network\": {\"allowedDomains\": [\"a.example\", \"b.example\"], \"hostPorts\": [1], \"publish\": [2]}, \"filesystem\": {\"allowRead\": [\"/r\"], \"allowWrite\": [\"/w\", \"./in\"]}}}",
	     &report);
	asks_summary(&report.sources.v[0].asks, &out);
	CHECK_STR(buf_str(&out), "2 hosts, 2 ports and 2 paths");
}

TEST(a_wider_request_covers_narrower_ones)
{
	static const struct {
		enum ask_kind wide;
		const char *a;
		enum ask_kind narrow;
		const char *b;
		bool covers;
	} pairs[] = {
		{ ASK_HOST, "*.x.example", ASK_HOST, "a.x.example", true },
		{ ASK_HOST, "*.x.example", ASK_HOST, "x.example", false },
		{ ASK_HOST, "*.x.example", ASK_HOST, "ax.example", false },
		{ ASK_HOST, "x.example", ASK_HOST, "x.example:443", true },
		{ ASK_HOST, "x.example:443", ASK_HOST, "x.example", false },
		{ ASK_READ, "/a", ASK_READ, "/a/b", true },
		{ ASK_READ, "/a", ASK_READ, "/ab", false },
		{ ASK_WRITE, "/a", ASK_READ, "/a/b", true },
		{ ASK_READ, "/a", ASK_WRITE, "/a/b", false },
		{ ASK_WRITE, ".", ASK_WRITE, "./x", true },
		{ ASK_SOCKET, "/a", ASK_SOCKET, "/a/b", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		auto_free char *a = mem_strdup(pairs[i].a);
		auto_free char *b = mem_strdup(pairs[i].b);

		CHECK_INT(ask_covers(&(struct ask){ .kind = pairs[i].wide,
						    .text = a },
				     &(struct ask){ .kind = pairs[i].narrow,
						    .text = b }),
			  pairs[i].covers);
	}
}

/* A small world: hosts with a port, and paths; "new" stands for all other names */
static const char *const hosts[] = {
	"x.example:80", "x.example:443", "a.x.example:80", "a.x.example:443",
	"new.x.example:80", "new.x.example:443", "y.example:80", "y.example:443",
}, *const paths[] = {
	"/r", "/r/new", "/r/a", "/r/a/new", "/r/a/b", "/r/a/b/new", "/r/ab", "/r/ab/new",
};

static const struct {
	enum ask_kind kind;
	const char *text;
} world_lines[] = {
	{ ASK_HOST, "x.example" }, { ASK_HOST, "x.example:443" },
	{ ASK_HOST, "a.x.example" }, { ASK_HOST, "a.x.example:443" },
	{ ASK_HOST, "*.x.example" }, { ASK_HOST, "*.x.example:443" },
	{ ASK_HOST, "y.example" },
	{ ASK_WRITE, "/r" }, { ASK_WRITE, "/r/a" }, { ASK_WRITE, "/r/a/b" },
	{ ASK_WRITE, "/r/ab" },
};

/* The point that a line is about, computed without the tested code */
static bool is_about(const struct ask *line, enum ask_kind kind, const char *point)
{
	const char *text = line->text;
	const size_t n = strlen(text);
	const bool all_ports = !strchr(text, ':');
	size_t m;

	if (line->kind != kind)
		return false;
	if (kind == ASK_WRITE)
		return !strncmp(point, text, n) && (!point[n] || point[n] == '/');
	m = all_ports ? strcspn(point, ":") : strlen(point);
	if (*text == '*')
		return m > n - 1 && !strncmp(point + m - (n - 1), text + 1, n - 1);
	return m == n && !strncmp(point, text, n);
}

static bool reaches(const struct asks *asks, enum ask_kind kind, const char *point)
{
	bool open = false;

	for (size_t i = 0; i < asks->len; i++) {
		if (!is_about(&asks->v[i], kind, point))
			continue;
		if (asks->v[i].closes)
			return false;
		open = true;
	}
	return open;
}

static void add_random(struct asks *asks, uint32_t *seed)
{
	for (uint32_t n = test_random(seed) % 6; n > 0; n--) {
		const size_t i = test_random(seed) % ARRAY_SIZE(world_lines);

		*vec_push(asks) = (struct ask){
			.kind = world_lines[i].kind,
			.closes = test_random(seed) % 3 == 0,
			.text = mem_strdup(world_lines[i].text) };
	}
}

/* The hosts that a policy of these lines allows are those that the world reaches */
static void check_enforced(const struct asks *asks)
{
	auto_policy struct policy *policy = policy_new("/", NULL);
	const struct source *source = policy_add_source(policy, SCOPE_USER, "test", NULL,
							0, "/");

	for (size_t i = 0; i < asks->len; i++) {
		const struct ask *ask = &asks->v[i];

		if (ask->kind == ASK_HOST)
			CHECK_INT(policy_add_host(policy,
				ask->closes ? HOST_DENY : HOST_ALLOW, ask->text, NULL,
				origin_make(source, NULL, NULL), NULL), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		struct host host;

		CHECK_INT(host_parse_authority(hosts[i], strlen(hosts[i]), 0, &host), 0);
		CHECK((host_decide(policy, &host, false).decision == HOST_ALLOWED) ==
		      reaches(asks, ASK_HOST, hosts[i]));
	}
}

/* A point that only @new reaches, and that a listed line is about */
static void check_world(const struct asks *old, const struct asks *new,
			enum ask_kind kind, const char *const *points, size_t n,
			bool *told)
{
	for (size_t i = 0; i < n; i++) {
		const bool more = reaches(new, kind, points[i]) &&
				  !reaches(old, kind, points[i]);
		bool listed = false;

		for (size_t j = 0; j < old->len + new->len; j++) {
			const bool own = j < new->len;
			const struct ask *ask = own ? &new->v[j] : &old->v[j - new->len];

			if (ask->closes == own || !asks_more(new, old, ask) ||
			    !is_about(ask, kind, points[i]))
				continue;
			listed = true;
			told[j] |= more;
		}
		CHECK(!more || listed);
	}
}

/* Of random policies: every point that is reached in addition is listed, and every line
 * that is listed is about such a point
 */
TEST(a_diff_lists_exactly_the_added_grants)
{
	uint32_t seed = 1;

	for (int round = 0; round < 20000; round++) {
		struct asks old = { 0 }, new = { 0 };
		bool told[16] = { 0 };

		add_random(&old, &seed);
		add_random(&new, &seed);
		check_enforced(&new);
		check_world(&old, &new, ASK_HOST, hosts, ARRAY_SIZE(hosts), told);
		check_world(&old, &new, ASK_WRITE, paths, ARRAY_SIZE(paths), told);
		for (size_t j = 0; j < old.len + new.len; j++) {
			const bool own = j < new.len;
			const struct ask *ask = own ? &new.v[j] : &old.v[j - new.len];

			if (ask->closes != own && asks_more(&new, &old, ask))
				CHECK(told[j]);
		}
		asks_done(&old);
		asks_done(&new);
	}
}
