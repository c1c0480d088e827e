/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learn/tool-config.c - registries, from the tools' own configuration
 *
 * No registry's name is written here: a company's mirror is found where the tool would
 * find it, and where the tool is not installed there is nothing to say. A tool is
 * asked in the root directory, so that it reads nothing of an untrusted project, and
 * never started from inside of the project, whatever PATH says.
 */

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/sys.h"
#include "learn/proposal.h"

enum {
	ANSWER_MAX = 256 << 10,		/* Bytes that a tool may print */
	ANSWER_MS = 30000,		/* How long it may take */
	INDEXES_MAX = 64,		/* Of cargo's registries */
};

/**
 * struct question - What to ask, and about which project
 */
struct question {
	struct proposal *p;
	const char *root, *home;
};

/* The directories of PATH but those of the project: what lies there is not the user's, nor
 * is what a relative entry finds. The tool has these, too: it may be a script that starts
 * its interpreter by name. The caller frees.
 */
static char *own_path(const char *root)
{
	const char *path = getenv("PATH");
	auto_buf struct buf out = { 0 };
	char *next;

	while ((next = path_next_dir(&path))) {
		auto_free char *dir = next;
		auto_free char *real = *dir == '/' ? realpath(dir, NULL) : NULL;

		if (real && !path_is_within(root, real))
			buf_addf(&out, "%s%s", out.len ? ":" : "", dir);
	}
	return buf_take(&out);
}

/* The program @name in the directories of @path, or NULL. The caller frees. */
static char *find_program(const char *name, const char *root, const char *path)
{
	char *next;

	while ((next = path_next_dir(&path))) {
		auto_free char *dir = next;
		auto_free char *file = path_join(dir, name);
		auto_free char *real = realpath(file, NULL);
		struct stat st;

		if (real && !path_is_within(root, real) && stat(real, &st) == 0 &&
		    S_ISREG(st.st_mode) && access(real, X_OK) == 0)
			return take_ptr(file);
	}
	return NULL;
}

static void run_child(const char *file, const char *path, const char *const *argv, int out)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)setsid();
	if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(null, 2) < 0 ||
	    chdir("/") < 0 || setenv("PATH", path, 1) < 0)
		_exit(127);
	setenv("PWD", "/", 1);
	setenv("COLUMNS", "1000", 1);		/* pip's help would break an address */
	setenv("GOTOOLCHAIN", "local", 1);	/* Fetch no other go */
	setenv("GOWORK", "off", 1);
	setenv("NO_COLOR", "1", 1);
	(void)execv(file, (char *const *)(size_t)argv);
	_exit(127);
}

/* Read until the end, ANSWER_MAX or ANSWER_MS. 0, or a negative errno. */
static int read_answer(int fd, struct buf *out)
{
	const int64_t end = now_ms(CLOCK_MONOTONIC) + ANSWER_MS;

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		const int64_t left = end - now_ms(CLOCK_MONOTONIC);
		char part[4096];
		ssize_t n;

		if (left <= 0 || poll(&p, 1, (int)left) == 0)
			return -ETIMEDOUT;
		n = read(fd, part, sizeof(part));
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (n > 0 && out->len + (size_t)n > ANSWER_MAX)
			return -EFBIG;
		if (n > 0)
			buf_add(out, part, (size_t)n);
	}
}

/* What @argv prints, for the tool in its first word: 0; -ENOENT if it is not there,
 * with a note; or another negative errno, with a note
 */
static int ask(const struct question *q, enum tool tool, const char *const *argv,
	       struct buf *out)
{
	auto_free char *path = own_path(q->root);
	auto_free char *file = find_program(argv[0], q->root, path);
	int pipes[2], status = 0, r;
	pid_t pid;

	if (!file)
		return -ENOENT;
	if (pipe2(pipes, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (!pid)
		run_child(file, path, argv, pipes[1]);
	(void)close(pipes[1]);
	r = pid < 0 ? -EAGAIN : read_answer(pipes[0], out);
	(void)close(pipes[0]);
	if (pid > 0 && r < 0)
		(void)kill(-pid, SIGKILL);
	if (pid > 0)
		status = reap_wait(pid);
	if (r == 0 && (!WIFEXITED(status) || WEXITSTATUS(status)))
		r = -EIO;
	if (r < 0)
		proposal_note(q->p, "%s: '%s %s' failed (%s); nothing was written for it",
			      tool_name(tool), argv[0], argv[1], strerror(-r));
	return r;
}

/* Read a file of the user's, which may be missing */
static bool read_own(const char *dir, const char *name, struct buf *out)
{
	auto_free char *file = dir ? path_join(dir, name) : NULL;

	return file && fs_read(AT_FDCWD, file, MARKER_FILE_MAX, out, NULL) == 0;
}

/* "@scope:registry=URL" of the user's, for scopes that the project uses */
static void ask_npm_scopes(const struct question *q)
{
	auto_buf struct buf text = { 0 };
	const char *line;

	if (!read_own(q->home, ".npmrc", &text))
		return;
	for (line = buf_str(&text); *line; line += strspn(line, "\r\n")) {
		const size_t n = strcspn(line, "\r\n");

		for (size_t i = 0; i < q->p->scopes.len; i++) {
			auto_free char *key = mem_printf("%s:registry",
							 q->p->scopes.v[i]);
			const size_t len = strlen(key);
			size_t at = len;

			if (n <= len || strncmp(line, key, len) != 0)
				continue;
			at += strspn(line + at, " \t=\"");
			if (at < n)
				proposal_add(q->p, TOOL_NPM, line + at,
					     at + strcspn(line + at, " \"\r\n") - at,
					     "a scope in ~/.npmrc", true);
		}
		line += n;
	}
}

/* @n bytes of what a tool answered are its registry, unless the project names another;
 * @r: what ask() returned. True if it is written.
 */
static bool take_registry(const struct question *q, enum tool tool, int r,
			  const char *url, size_t n, const char *where)
{
	const bool settled = q->p->settled[tool];

	if (r == -ENOENT && !settled)
		proposal_note(q->p, "%s: %s is not installed, so its registry is not known; nothing was written for it",
			      q->p->used[tool], tool_name(tool));
	if (r < 0 || !n)
		return false;
	if (settled)
		proposal_vouch(q->p, url, n);
	else
		proposal_add(q->p, tool, url, n, where, true);
	return !settled;
}

/* pip prints its defaults, configured or not, with the help of install */
static void ask_pip(const struct question *q)
{
	static const char mark[] = "(default";
	const char *argv[] = { "pip3", "install", "--help", NULL };
	auto_buf struct buf out = { 0 };
	const char *at;
	int r = ask(q, TOOL_PIP, argv, &out);

	if (r == -ENOENT) {
		argv[0] = "pip";
		r = ask(q, TOOL_PIP, argv, &out);
	}
	at = strstr(buf_str(&out), "--index-url");
	at = at ? strstr(at, mark) : NULL;
	if (at)
		at += strlen(mark) + strspn(at + strlen(mark), " \r\n\t");
	if (take_registry(q, TOOL_PIP, r, at, at ? strcspn(at, ") \r\n\t") : 0,
			  "index-url of pip"))
		proposal_note(q->p, "pip: the index may keep its files on another host; if so, the first refused download names it");
}

/* Add the host @name, of @n bytes, which @where names without a scheme */
static void add_name(const struct question *q, enum tool tool, const char *name, size_t n,
		     const char *where, bool own)
{
	auto_free char *url = mem_printf("https://%.*s/", (int)n, name);

	proposal_add(q->p, tool, url, strlen(url), where, own);
}

/* True if one of @patterns, as GOPRIVATE has them, covers @module or a prefix of it */
static bool is_private(const char *patterns, const char *module)
{
	while (*patterns) {
		const size_t n = strcspn(patterns, ",");
		auto_free char *pattern = mem_strndup(patterns, n);

		if (!fnmatch(pattern, module, FNM_PATHNAME | FNM_LEADING_DIR))
			return true;
		patterns += n;
		patterns += *patterns == ',';
	}
	return false;
}

static void add_proxies(const struct question *q, const char *list)
{
	while (*list) {
		const size_t n = strcspn(list, ",|");

		if (memmem(list, n, "://", 3) && strncmp(list, "file:", 5) != 0)
			proposal_add(q->p, TOOL_GO, list, n, "GOPROXY of go env", true);
		list += n;
		list += *list != '\0';
	}
}

static void ask_go(const struct question *q)
{
	static const char *const argv[] = {
		"go", "env", "GOPROXY", "GOSUMDB", "GOPRIVATE", NULL,
	};
	auto_buf struct buf out = { 0 };
	char *values[3] = { NULL };
	const int r = ask(q, TOOL_GO, argv, &out);
	char *rest = out.p;
	bool direct;

	(void)take_registry(q, TOOL_GO, r, NULL, 0, NULL);	/* Notes that there is no go */
	for (size_t i = 0; r == 0 && rest && i < ARRAY_SIZE(values); i++)
		values[i] = strsep(&rest, "\n");
	if (r < 0 || !values[0] || !values[1] || !values[2])
		return;
	add_proxies(q, values[0]);
	if (*values[1] && strcmp(values[1], "off") != 0 && !strchr(values[1], ' '))
		add_name(q, TOOL_GO, values[1], strcspn(values[1], "+"),
			 "GOSUMDB of go env", true);
	direct = !strncmp(values[0], "direct", 6);
	for (size_t i = 0; i < q->p->modules.len; i++) {
		const char *module = q->p->modules.v[i];

		/* Without a proxy, the first element of its path serves a module */
		if (direct || is_private(values[2], module))
			add_name(q, TOOL_GO, module, strcspn(module, "/"),
				 "a module that go fetches directly", false);
	}
}

/* Where the files of a registry are that cargo has used: HOST-HASH/config.json in @dir
 * says so. NULL if @name is no such directory.
 */
static char *read_index(const char *dir, const char *name)
{
	auto_free char *index = path_join(dir, name);
	auto_buf struct buf text = { 0 };
	const char *dl;
	char *ret;
	json_t *root;

	if (!strchr(name, '-') || !read_own(index, "config.json", &text))
		return NULL;
	root = json_parse(buf_str(&text), text.len, name, NULL);
	dl = json_string_value(json_object_get(root, "dl"));
	ret = dl ? mem_strdup(dl) : NULL;
	json_decref(root);
	return ret;
}

static void ask_cargo_indexes(const struct question *q, const char *cargo)
{
	auto_free char *path = path_join(cargo, "registry/index");
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_dir struct dir dir = dir_of(fd);
	auto_free char *index = NULL, *files = NULL;
	struct dir_entry e;
	unsigned int count = 0, seen = 0;

	while (fd >= 0 && seen++ < INDEXES_MAX && dir_next(&dir, &e) > 0) {
		auto_free char *dl = read_index(path, e.name);

		if (!dl || count++)
			continue;
		index = mem_strdup(e.name);
		files = take_ptr(dl);
	}
	if (count != 1) {
		proposal_note(q->p, "%s: cargo's default registry is not in its configuration, and cargo has used %s; nothing was written for it",
			      q->p->used[TOOL_CARGO], count ? "several" : "none yet");
		return;
	}
	add_name(q, TOOL_CARGO, index, (size_t)(strrchr(index, '-') - index),
		 "the index that cargo has used before", true);
	proposal_add(q->p, TOOL_CARGO, files, strlen(files), "the files of that index",
		     true);
}

static void ask_cargo(const struct question *q)
{
	const struct marker *m = marker_find(".cargo/config.toml", NULL);
	const char *variable = getenv("CARGO_HOME");
	auto_free char *cargo = variable && *variable == '/' ? mem_strdup(variable) :
				q->home ? path_join(q->home, ".cargo") : NULL;
	auto_buf struct buf text = { 0 };

	if (read_own(cargo, "config.toml", &text))
		proposal_read(q->p, m, "cargo's config.toml", buf_str(&text), text.len,
			      true);
	if (cargo && !q->p->settled[TOOL_CARGO])
		ask_cargo_indexes(q, cargo);
}

/* Each address that @argv prints, without backslashes: PHP writes https:\/\/ */
static void take_printed(const struct question *q, enum tool tool,
			 const char *const *argv, const char *where)
{
	auto_buf struct buf out = { 0 }, text = { 0 };
	const int r = ask(q, tool, argv, &out);

	if (r < 0)
		(void)take_registry(q, tool, r, NULL, 0, NULL);
	for (size_t i = 0; r == 0 && i < out.len; i++) {
		if (out.p[i] != '\\')
			buf_addc(&text, out.p[i]);
	}
	for (const char *at = buf_str(&text); *at; at += *at != '\0') {
		const size_t n = strcspn(at, " \t\r\n\"',");

		if (memmem(at, n, "://", 3))
			(void)take_registry(q, tool, 0, at, n, where);
		at += n;
	}
}

static void ask_maven(const struct question *q)
{
	static const struct marker mirrors = {
		"settings.xml", TOOL_MAVEN, MARKER_XML, MARKER_FILE_MAX, "url",
		"mirror repository pluginRepository",
	};
	const size_t before = q->p->hosts.len;
	auto_buf struct buf text = { 0 };

	if (read_own(q->home, ".m2/settings.xml", &text))
		proposal_read(q->p, &mirrors, "~/.m2/settings.xml", buf_str(&text),
			      text.len, true);
	if (q->p->hosts.len == before)
		proposal_note(q->p, "%s: Maven's default repository is not in its configuration; nothing was written for it",
			      q->p->used[TOOL_MAVEN]);
}

void proposal_ask_tools(struct proposal *p, const char *root, const char *home)
{
	static void (*const asks[TOOL_COUNT])(const struct question *q) = {
		[TOOL_NPM] = ask_npm_scopes, [TOOL_PIP] = ask_pip, [TOOL_GO] = ask_go,
		[TOOL_CARGO] = ask_cargo, [TOOL_MAVEN] = ask_maven,
	};
	/* Commands that print registries */
	static const struct {
		const char *argv[5], *where;
	} prints[TOOL_COUNT] = {
		[TOOL_NPM] = { { "npm", "config", "get", "registry" },
			       "npm config get registry" },
		[TOOL_BUNDLER] = { { "gem", "sources", "--list" }, "gem sources" },
		[TOOL_COMPOSER] = { { "composer", "config", "--global", "repositories" },
				    "composer config repositories" },
	};
	/* Of tools that cannot be asked */
	static const char *const notes[TOOL_COUNT] = {
		[TOOL_GRADLE] = "Gradle's repositories are not in its configuration; nothing was written for it",
		[TOOL_DOCKER] = "images are built by a daemon outside of the sandbox, which needs no rule",
	};
	const struct question question = { p, root, home };

	for (size_t i = 0; i < TOOL_COUNT; i++) {
		if (!p->used[i])
			continue;
		if (asks[i])
			asks[i](&question);
		if (prints[i].where)
			take_printed(&question, i, prints[i].argv, prints[i].where);
		if (notes[i] && !p->settled[i])
			proposal_note(p, "%s: %s", p->used[i], notes[i]);
	}
}
