/* SPDX-License-Identifier: Apache-2.0 */
/* learn/test-marker.c - the hosts that project files name */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "learn/proposal.h"
#include "test.h"

/* The hosts that @text names as the file @name, with blanks between them */
static const char *hosts_of(struct proposal *p, const char *name, const char *text)
{
	static struct buf list;

	buf_done(&list);
	proposal_done(p);
	CHECK(marker_find(name, NULL));
	for (const struct marker *m = marker_find(name, NULL); m;
	     m = marker_find(name, m))
		proposal_read(p, m, name, text, strlen(text), false);
	for (size_t i = 0; i < p->hosts.len; i++)
		buf_addf(&list, "%s%s", i ? " " : "", p->hosts.v[i].entry);
	return buf_str(&list);
}

static const struct {
	const char *name, *text, *hosts;
	bool settled;
} files[] = {
	{ ".npmrc", "registry=https://npm.example.org/\n", "npm.example.org", true },
	{ "a/.npmrc", "registry = \"https://u:p@npm.example.org:8443/x\"\r\n",
	  "npm.example.org:8443", false },
	{ ".npmrc", "@corp:registry=https://corp.example.org\n//x.example/:_authToken=t\n",
	  "corp.example.org", false },
	{ ".npmrc", "# registry=https://no.example\n; registry=https://no.example\n", "" },
	{ ".npmrc", "registry=${REGISTRY}\n", "", true },
	{ ".yarnrc.yml", "npmRegistryServer: \"https://yarn.example.org\"\n",
	  "yarn.example.org", true },
	{ "package.json", "{\"homepage\": \"https://no.example\", \"repository\":"
	  "{\"url\": \"https://no.example\"}, \"dependencies\": {\"@corp/a\": \"1\","
	  "\"b\": \"git+ssh://git@git.example.org/b.git\", \"c\": \"file:../c\"}}",
	  "git.example.org" },
	{ "package-lock.json", "{\"resolved\": \"https://a.example/x.tgz\",\"funding\":"
	  "{\"url\":\"https://no.example\"},\"resolved\":\"https://b.example/y\"}",
	  "a.example b.example" },
	{ "yarn.lock", "x@1:\n  resolved \"https://a.example/x#1\"\n", "a.example" },
	{ "pnpm-lock.yaml", "resolution: {tarball: https://a.example/x.tgz}\n", "a.example" },
	{ "requirements-dev.txt", "-i https://pip.example.org/simple\n"
	  "--extra-index-url=https://extra.example.org\nflask==3 # https://no.example\n"
	  "x @ git+https://git.example.org/x.git@v1\n# https://no.example\n",
	  "pip.example.org extra.example.org git.example.org", true },
	{ "pyproject.toml", "[project]\ndependencies = [\"x @ https://dl.example/x.whl\"]\n"
	  "[project.urls]\nurl = \"https://no.example\"\n[[tool.uv.index]]\n"
	  "url = \"https://uv.example.org/simple\"\n[tool.x]\n"
	  "y = { git = \"https://git.example.org/y\" }\n",
	  "uv.example.org dl.example git.example.org" },
	{ "Pipfile", "[[source]]\nurl = \"https://pip.example.org\"\n", "pip.example.org",
	  true },
	{ "poetry.lock", "[[package]]\nurl = \"https://no.example\"\n[package.source]\n"
	  "url = \"https://a.example\"\n", "a.example" },
	{ "Cargo.toml", "[package]\nrepository = \"https://no.example\"\n[dependencies]\n"
	  "x = { git = \"https://git.example.org/x\" }\n", "git.example.org" },
	{ ".cargo/config.toml", "[source.mirror]\n"
	  "registry = \"sparse+https://crates.example.org/\"\n[net]\nindex = \"https://no.example\"\n",
	  "crates.example.org", true },
	{ "Gemfile", "source 'https://gems.example.org'\ngem 'x', git: 'https://git.example.org/x'\n",
	  "gems.example.org git.example.org", true },
	{ "Gemfile.lock", "GEM\n  remote: https://gems.example.org/\n", "gems.example.org" },
	{ "pom.xml", "<project><url>https://no.example</url><!-- <repository><url>https://no.example"
	  "</url></repository> --><repositories><repository><url>\n https://mvn.example.org/x"
	  "</url></repository></repositories><scm><url>https://no.example</url></scm></project>",
	  "mvn.example.org" },
	{ "build.gradle.kts", "maven { url = uri(\"https://mvn.example.org/x\") }\n",
	  "mvn.example.org" },
	{ "gradle/wrapper/gradle-wrapper.properties",
	  "distributionUrl=https\\://dist.example.org/g.zip\n", "dist.example.org" },
	{ "composer.json", "{\"homepage\":\"https://no.example\",\"repositories\":"
	  "[{\"type\":\"composer\",\"url\":\"https:\\/\\/php.example.org\"}]}", "php.example.org" },
	{ "composer.lock", "{\"packages\":[{\"dist\":{\"url\":\"https://a.example/x\"},"
	  "\"funding\":[{\"url\":\"https://no.example\"}]}]}", "a.example" },
	{ ".gitmodules", "[submodule \"a\"]\n\tpath = a\n\turl = git@git.example.org:a/b\n"
	  "[submodule \"b\"]\n\turl = ../b\n[submodule \"c\"]\n\turl = ssh://git@c.example:2222/c\n",
	  "git.example.org c.example:2222" },
	{ "Dockerfile", "FROM https://no.example\n", "" },
};

TEST(each_project_file_yields_the_hosts_its_tool_fetches_from)
{
	struct proposal p = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		CHECK_STR(hosts_of(&p, files[i].name, files[i].text), files[i].hosts);
		CHECK_INT(p.settled[marker_find(files[i].name, NULL)->tool],
			  files[i].settled);
	}
	proposal_done(&p);
}

TEST(go_modules_and_npm_scopes_are_recorded_for_their_tools)
{
	struct proposal p = { 0 };

	(void)hosts_of(&p, "go.mod", "module example.org/me\n\ngo 1.22\n\nrequire a.example/x v1.0.0\n"
		       "require (\n\tb.example/y/v2 v2.0.0 // indirect\n)\n");
	CHECK_INT((int)p.modules.len, 2);
	CHECK_STR(p.modules.v[1], "b.example/y/v2");
	(void)hosts_of(&p, "package.json", "{\"dependencies\": {\"@corp/a\": \"1\", \"@corp/b\": \"1\"}}");
	CHECK_INT((int)p.scopes.len, 1);
	CHECK_STR(p.scopes.v[0], "@corp");
	proposal_done(&p);
}

TEST(urls_without_a_host_name_are_skipped_with_a_note)
{
	static const char *const bad[] = {
		"", "x", "https://", "https:///x", "https://*.example.org", "https://*",
		"https://10.0.0.1/", "https://169.254.169.254/latest", "https://[::1]/",
		"http://localhost:4873/", "http://a.localhost", "https://${HOST}/x",
		"https://a b", "https://a.example:0/", "https://a.example:99999/",
		"file:///etc/passwd", "javascript://a.example", "https://a..example/",
		"https://a.example\033[2J/", "https://user:secret@/", "https://0x7f.1/",
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct proposal p = { 0 };

		proposal_add(&p, TOOL_NPM, bad[i], strlen(bad[i]), ".npmrc", true);
		CHECK_INT((int)p.hosts.len, 0);
		CHECK_INT((int)p.notes.len, 1);
		CHECK(!strstr(p.notes.v[0], "secret"));
		proposal_done(&p);
	}
}

TEST(a_url_host_follows_the_last_at_sign_of_the_authority)
{
	auto_free char *entry = NULL;
	const char *why, *url = "https://good.example@evil.example/@other.example";

	CHECK_INT(proposal_host_of(url, strlen(url), &entry, &why), 0);
	CHECK_STR(entry, "evil.example");
}

TEST(a_host_is_marked_as_the_users_if_user_configuration_names_it)
{
	struct proposal p = { 0 };

	(void)hosts_of(&p, "package-lock.json", "\"resolved\": \"https://a.example/\", \"resolved\": \"https://b.example\"");
	CHECK(!p.hosts.v[0].own && !p.hosts.v[1].own);
	proposal_vouch(&p, "https://b.example/x", strlen("https://b.example/x"));
	proposal_vouch(&p, "https://c.example/x", strlen("https://c.example/x"));
	CHECK(!p.hosts.v[0].own && p.hosts.v[1].own);
	CHECK_INT((int)p.hosts.len, 2);
	proposal_done(&p);
}

TEST(hosts_notes_and_values_have_limits)
{
	struct proposal p = { 0 };
	struct buf text = { 0 };

	for (int i = 0; i <= PROPOSAL_HOSTS_MAX; i++)
		buf_addf(&text, "resolved \"https://h%d.example/\"\n", i);
	(void)hosts_of(&p, "yarn.lock", buf_str(&text));
	CHECK_INT((int)p.hosts.len, PROPOSAL_HOSTS_MAX);
	CHECK_INT((int)p.notes.len, 1);
	for (int i = 0; i <= PROPOSAL_NOTES_MAX; i++)
		proposal_note(&p, "%d", i);
	CHECK_INT((int)p.notes.len, PROPOSAL_NOTES_MAX);
	CHECK_INT((int)p.unsaid, 2);
	buf_done(&text);

	/* A value that is too long is no host, not the start of one */
	buf_adds(&text, "registry=https://a.example/");
	while (text.len < strlen("registry=") + MARKER_VALUE_MAX)
		buf_addc(&text, 'x');
	CHECK_STR(hosts_of(&p, ".npmrc", buf_str(&text)), "a.example");
	buf_addc(&text, 'x');
	CHECK_STR(hosts_of(&p, ".npmrc", buf_str(&text)), "");
	CHECK_INT((int)p.notes.len, 1);
	buf_done(&text);
	proposal_done(&p);
}
