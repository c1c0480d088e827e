/* SPDX-License-Identifier: Apache-2.0 */
/* learn/marker.c - files that show which tools a project uses, and what they name */

#include "learn/marker.h"

#include <ctype.h>
#include <fnmatch.h>
#include <jansson.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "policy/gitconfig.h"

/* No row has the name of a registry: the project or the tool names it */
static const struct marker markers[] = {
	{ "package.json", TOOL_NPM, MARKER_JSON, MARKER_FILE_MAX,
	  "dependencies/* devDependencies/* optionalDependencies/*" },
	{ "package-lock.json", TOOL_NPM, MARKER_KEYS, MARKER_LOCK_MAX, "resolved" },
	{ "npm-shrinkwrap.json", TOOL_NPM, MARKER_KEYS, MARKER_LOCK_MAX, "resolved" },
	{ "yarn.lock", TOOL_NPM, MARKER_KEYS, MARKER_LOCK_MAX, "resolved" },
	{ "pnpm-lock.yaml", TOOL_NPM, MARKER_KEYS, MARKER_LOCK_MAX, "tarball" },
	{ ".npmrc", TOOL_NPM, MARKER_KEYS, MARKER_FILE_MAX, "registry",
	  NULL, "registry" },
	{ ".yarnrc.yml", TOOL_NPM, MARKER_KEYS, MARKER_FILE_MAX,
	  "npmRegistryServer", NULL, "npmRegistryServer" },
	{ "requirements*.txt", TOOL_PIP, MARKER_REQUIREMENTS, MARKER_FILE_MAX },
	{ "pyproject.toml", TOOL_PIP, MARKER_KEYS, MARKER_FILE_MAX,
	  "url index-url extra-index-url",
	  "tool.poetry.source tool.uv.index tool.pdm.source tool.uv tool.uv.pip",
	  "index-url" },
	{ "pyproject.toml", TOOL_PIP, MARKER_KEYS, MARKER_FILE_MAX, "git @" },
	{ "Pipfile", TOOL_PIP, MARKER_KEYS, MARKER_FILE_MAX, "url git", NULL, "url" },
	{ "poetry.lock", TOOL_PIP, MARKER_KEYS, MARKER_LOCK_MAX, "url",
	  "package.source" },
	{ "uv.lock", TOOL_PIP, MARKER_KEYS, MARKER_LOCK_MAX, "url registry git" },
	{ "setup.py", TOOL_PIP, MARKER_PRESENT },
	{ "setup.cfg", TOOL_PIP, MARKER_PRESENT },
	{ "go.mod", TOOL_GO, MARKER_GO_MOD, MARKER_FILE_MAX },
	{ "Cargo.toml", TOOL_CARGO, MARKER_KEYS, MARKER_FILE_MAX,
	  "git registry-index" },
	{ ".cargo/config.toml", TOOL_CARGO, MARKER_KEYS, MARKER_FILE_MAX,
	  "registry index", "source.* registries.*", "registry" },
	{ "Gemfile", TOOL_BUNDLER, MARKER_KEYS, MARKER_FILE_MAX, "source git",
	  NULL, "source" },
	{ "gems.rb", TOOL_BUNDLER, MARKER_KEYS, MARKER_FILE_MAX, "source git",
	  NULL, "source" },
	{ "Gemfile.lock", TOOL_BUNDLER, MARKER_KEYS, MARKER_LOCK_MAX, "remote" },
	{ "pom.xml", TOOL_MAVEN, MARKER_XML, MARKER_FILE_MAX, "url",
	  "repository pluginRepository" },
	{ "maven-wrapper.properties", TOOL_MAVEN, MARKER_KEYS, MARKER_FILE_MAX,
	  "distributionUrl wrapperUrl" },
	{ "build.gradle*", TOOL_GRADLE, MARKER_KEYS, MARKER_FILE_MAX, "url",
	  NULL, "url" },
	{ "settings.gradle*", TOOL_GRADLE, MARKER_KEYS, MARKER_FILE_MAX, "url",
	  NULL, "url" },
	{ "gradle-wrapper.properties", TOOL_GRADLE, MARKER_KEYS, MARKER_FILE_MAX,
	  "distributionUrl" },
	{ "composer.json", TOOL_COMPOSER, MARKER_JSON, MARKER_FILE_MAX,
	  "repositories/*/url" },
	{ "composer.lock", TOOL_COMPOSER, MARKER_JSON, MARKER_FILE_MAX,
	  "packages/*/dist/url packages-dev/*/dist/url" },
	{ "Dockerfile*", TOOL_DOCKER, MARKER_PRESENT },
	{ "Containerfile*", TOOL_DOCKER, MARKER_PRESENT },
	{ ".gitmodules", TOOL_GIT, MARKER_GIT_CONFIG, MARKER_FILE_MAX },
};

static const char *const tool_names[] = {
	[TOOL_NPM] = "npm", [TOOL_PIP] = "pip", [TOOL_GO] = "go",
	[TOOL_CARGO] = "cargo", [TOOL_BUNDLER] = "gem", [TOOL_MAVEN] = "mvn",
	[TOOL_GRADLE] = "gradle", [TOOL_COMPOSER] = "composer",
	[TOOL_DOCKER] = "docker", [TOOL_GIT] = "git",
};

const char *tool_name(enum tool tool)
{
	return tool_names[tool];
}

/* The last component of @path, or the last two */
static const char *tail(const char *path, bool two)
{
	const char *last = strrchr(path, '/');

	while (two && last && last > path && last[-1] != '/')
		last--;
	return !last ? path : two ? last : last + 1;
}

const struct marker *marker_find(const char *path, const struct marker *previous)
{
	const struct marker *row = previous ? previous + 1 : markers;

	for (; row < markers + ARRAY_SIZE(markers); row++) {
		if (!fnmatch(row->name, tail(path, strchr(row->name, '/')), 0))
			return row;
	}
	return NULL;
}

bool marker_is_in(const char *directory)
{
	return !strcmp(directory, ".cargo") || !strcmp(directory, ".mvn");
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* True if @n bytes of @text match one of @globs */
static bool is_named_in(const char *globs, const char *text, size_t n)
{
	auto_free char *list = mem_strdup(globs), *copy = mem_strndup(text, n);
	char *rest = list;
	const char *glob;

	while ((glob = strsep(&rest, " "))) {
		if (!fnmatch(glob, copy, 0))
			return true;
	}
	return false;
}

/**
 * struct scan - One file: its row, and the function for each value in it
 */
struct scan {
	const struct marker *m;
	marker_fn fn;
	void *arg;
};

/* Hand on @n bytes, without the backslashes that formats put before ":" and "/" */
static void emit(const struct scan *s, enum marker_what what, const char *text, size_t n)
{
	char value[MARKER_VALUE_MAX];
	size_t len = 0;

	if (n > sizeof(value))	/* Its host could be cut short: it is no address at all */
		n = 0;
	for (size_t i = 0; i < n; i++) {
		if (text[i] != '\\' && text[i])
			value[len++] = text[i];
	}
	s->fn(s->arg, what, value, len);
}

static bool has_scheme(const char *text, size_t n)
{
	return memmem(text, n, "://", 3) || memmem(text, n, "\\://", 4) ||
	       memmem(text, n, ":\\/\\/", 5);
}

static size_t skip(const char *text, size_t at, size_t n, const char *set)
{
	while (at < n && text[at] && strchr(set, text[at]))
		at++;
	return at;
}

/* How long the value at @text is, which ends at a blank, a quote or a bracket */
static size_t value_length(const char *text, size_t n)
{
	size_t len = 0;

	while (len < n && (unsigned char)text[len] > ' ' &&
	       !strchr("\"'<>(),;]}", text[len]))
		len++;
	return len;
}

/* A key ends at @at: the value behind it */
static void scan_value(const struct scan *s, const char *line, size_t at, size_t n,
		       bool main)
{
	static const char uri[] = "uri(";
	size_t len;

	at = skip(line, at, n, "\"' \t");
	at = skip(line, at, n, ":=>(");
	at = skip(line, at, n, " \t");
	if (n - at > strlen(uri) && !strncmp(line + at, uri, strlen(uri)))
		at += strlen(uri);
	at = skip(line, at, n, "\"'([ \t");
	len = value_length(line + at, n - at);
	if (len && (main || has_scheme(line + at, len)))
		emit(s, main ? MARKER_REGISTRY : MARKER_URL, line + at, len);
}

static void scan_line(const struct scan *s, const char *line, size_t n)
{
	const struct marker *m = s->m;
	size_t at = 0;

	while (at < n) {
		const size_t start = at;

		while (at < n && is_name_char(line[at]))
			at++;
		if (at == start) {
			const bool apart = line[at] == '@' && at && line[at - 1] == ' ' &&
					   at + 1 < n && line[at + 1] == ' ';

			at++;
			if (apart && is_named_in(m->keys, "@", 1))
				scan_value(s, line, at, n, false);
			continue;
		}
		if (is_named_in(m->keys, line + start, at - start))
			scan_value(s, line, at, n, m->main_key &&
				strlen(m->main_key) == at - start &&
				!memcmp(m->main_key, line + start, at - start) &&
				/* "@scope:registry" is beside the main one */
				start == skip(line, 0, n, " \t"));
	}
}

static bool is_comment(const char *line, size_t n)
{
	const size_t at = skip(line, 0, n, " \t");

	return at < n && (line[at] == '#' || line[at] == ';' ||
			  (n - at > 1 && line[at] == '/' && line[at + 1] == '/'));
}

/* True if the section that @line opens counts */
static bool is_wanted_section(const struct marker *m, const char *line, size_t n)
{
	const size_t start = skip(line, 0, n, "[ \t");
	const char *end = memchr(line + start, ']', n - start);

	return !m->sections ||
	       (end && is_named_in(m->sections, line + start,
				   (size_t)(end - line) - start));
}

typedef void (*scan_fn)(const struct scan *s, const char *text, size_t n);

/* Each line but comments and, where rows have sections, those of others */
static void each_line(const struct scan *s, const char *text, size_t n, scan_fn scan)
{
	bool wanted = !s->m->sections;

	while (n) {
		const char *end = memchr(text, '\n', n);
		const size_t len = end ? (size_t)(end - text) : n;

		if (s->m->form == MARKER_KEYS && len && *text == '[')
			wanted = is_wanted_section(s->m, text, len);
		else if (wanted && !is_comment(text, len))
			scan(s, text, len);
		text += len + !!end;
		n -= len + !!end;
	}
}

static bool starts(const char *text, size_t n, const char *with)
{
	return n >= strlen(with) && !memcmp(text, with, strlen(with));
}

static void requirement(const struct scan *s, const char *line, size_t n)
{
	size_t at = skip(line, 0, n, " \t");
	const bool main = starts(line + at, n - at, "-i ") ||
			  starts(line + at, n - at, "--index-url");

	while (at < n) {
		size_t len;

		at = skip(line, at, n, " \t=,;\"'()<>]}\r");
		len = value_length(line + at, n - at);
		if (!len) {
			at++;
			continue;
		}
		if (line[at] == '#')	/* The rest is a comment */
			return;
		if (has_scheme(line + at, len)) {
			const char *equal = memchr(line + at, '=', len);
			const size_t option = equal && line[at] == '-' ?
					      (size_t)(equal - line) + 1 - at : 0;

			emit(s, main ? MARKER_REGISTRY : MARKER_URL,
			     line + at + option, len - option);
		}
		at += len;
	}
}

/* "require example.org/a v1", alone or in a block */
static void go_module(const struct scan *s, const char *line, size_t n)
{
	size_t at = skip(line, 0, n, " \t"), len;

	if (starts(line + at, n - at, "require "))
		at = skip(line, at + strlen("require "), n, " \t(");
	len = value_length(line + at, n - at);
	if (len && memchr(line + at, '.', len) && memchr(line + at, '/', len) &&
	    starts(line + at + len, n - at - len, " v"))
		emit(s, MARKER_MODULE, line + at, len);
}

static void git_setting(void *arg, const char *key, const char *value)
{
	const size_t n = strlen(value);

	if (fnmatch("submodule.*.url", key, 0) && fnmatch("remote.*.url", key, 0))
		return;
	/* A path, or relative to the remote that is known already */
	if (!n || *value == '.' || *value == '/' || !strchr(value, ':'))
		return;
	if (strncmp(value, "file:", 5) != 0)
		emit(arg, MARKER_URL, value, n);
}

static void scan_git(const struct scan *s, const char *text, size_t n)
{
	struct scan copy = *s;

	if (gitconfig_each(text, n, git_setting, &copy) < 0)
		s->fn(s->arg, MARKER_BAD, "", 0);
}

/* Elements, without the tree: inside one of the sections, the text of the keys */
static void scan_xml(const struct scan *s, const char *text, size_t n)
{
	unsigned int depth = 0;
	size_t at = 0;

	while (at < n) {
		const char *open = memchr(text + at, '<', n - at);
		size_t len, value;
		bool ends;

		if (!open)
			return;
		at = (size_t)(open - text) + 1;
		if (starts(text + at, n - at, "!--")) {
			const char *end = memmem(text + at, n - at, "-->", 3);

			at = end ? (size_t)(end - text) + 3 : n;
			continue;
		}
		ends = at < n && text[at] == '/';
		at += ends;
		for (len = 0; at + len < n && is_name_char(text[at + len]); len++)
			;
		if (is_named_in(s->m->sections, text + at, len)) {
			if (!ends)
				depth++;
			else if (depth)
				depth--;
		}
		value = at + len;
		if (depth && !ends && value < n && text[value] == '>' &&
		    is_named_in(s->m->keys, text + at, len)) {
			value = skip(text, value + 1, n, " \t\r\n");
			len = value_length(text + value, n - value);
			if (len)
				emit(s, MARKER_URL, text + value, len);
			at = value;
		}
	}
}

/* The values at @path, up to a blank: keys, and "*" for each member. Where the members
 * have names, as packages do, "@scope/name" is a scope of npm's.
 */
static void scan_members(const struct scan *s, const json_t *at, const char *path)
{
	const char *text = json_string_value(at);
	const size_t n = strcspn(path, "/ ");
	const char *rest = path + n + (path[n] == '/');
	auto_free char *key = mem_strndup(path, n);
	const char *name;
	json_t *value;
	size_t i;

	if (!n) {
		if (text && has_scheme(text, strlen(text)) &&
		    strncmp(text, "file:", 5) != 0)
			emit(s, MARKER_URL, text, strlen(text));
		return;
	}
	if (strcmp(key, "*") != 0) {
		scan_members(s, json_object_get(at, key), rest);
		return;
	}
	json_array_foreach(at, i, value)
		scan_members(s, value, rest);
	json_object_foreach((json_t *)(size_t)at, name, value) {
		if (*name == '@' && strchr(name, '/'))
			emit(s, MARKER_SCOPE, name, strcspn(name, "/"));
		scan_members(s, value, rest);
	}
}

static void scan_json(const struct scan *s, const char *text, size_t n)
{
	json_t *root = json_parse(text, n, s->m->name, NULL);

	if (!json_is_object(root))
		s->fn(s->arg, MARKER_BAD, "", 0);
	for (const char *path = s->m->keys; root && *path; path += strspn(path, " ")) {
		scan_members(s, root, path);
		path += strcspn(path, " ");
	}
	json_decref(root);
}

void marker_scan(const struct marker *m, const char *text, size_t n, marker_fn fn,
		 void *arg)
{
	static const struct {
		scan_fn line, text;
	} forms[] = {
		[MARKER_KEYS] = { .line = scan_line },
		[MARKER_REQUIREMENTS] = { .line = requirement },
		[MARKER_GO_MOD] = { .line = go_module },
		[MARKER_GIT_CONFIG] = { .text = scan_git },
		[MARKER_XML] = { .text = scan_xml },
		[MARKER_JSON] = { .text = scan_json },
	};
	const struct scan s = { m, fn, arg };

	if (forms[m->form].line)
		each_line(&s, text, n, forms[m->form].line);
	else if (forms[m->form].text)
		forms[m->form].text(&s, text, n);
}
