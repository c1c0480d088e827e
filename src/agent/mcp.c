/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent/mcp.c - MCP servers in the settings of agents, started in the sandbox
 *
 * Theory of operation: the entry is parsed to know what is there and where. An edit
 * replaces the command, and puts words in front of the arguments, laid out as these
 * are. What stood there is recorded (edit-record.h); where the record does not fit any
 * more, the words up to the old command line are taken out of the list instead. The
 * new text is parsed again before it is written, and must have the command line that
 * was meant.
 */

#include "agent/mcp.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "agent/edit-record.h"
#include "agent/hook.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "run/settings-edit.h"

static const char *const scopes[MCP_SCOPES] = {
	[MCP_USER] = "user", [MCP_LOCAL] = "local", [MCP_PROJECT] = "project",
};

/* Below the home, $variable (agents.def) or the project; in "servers" or the like */
static const struct place {
	const char *agent;
	enum mcp_scope scope;
	const char *variable, *dir, *file, *key;
} places[] = {
	{ "claude", MCP_USER, "CLAUDE_CONFIG_DIR", "", ".claude.json", "mcpServers" },
	{ "claude", MCP_LOCAL, "CLAUDE_CONFIG_DIR", "", ".claude.json", "mcpServers" },
	{ "claude", MCP_PROJECT, NULL, "", ".mcp.json", "mcpServers" },
	{ "codex", MCP_USER, "CODEX_HOME", ".codex", "config.toml", "mcp_servers" },
	{ "codex", MCP_PROJECT, NULL, ".codex", "config.toml", "mcp_servers" },
	{ "gemini", MCP_USER, "GEMINI_CLI_HOME/.gemini", ".gemini", "settings.json", "mcpServers" },
	{ "gemini", MCP_PROJECT, NULL, ".gemini", "settings.json", "mcpServers" },
	{ "cursor", MCP_USER, NULL, ".cursor", "mcp.json", "mcpServers" },
	{ "cursor", MCP_PROJECT, NULL, ".cursor", "mcp.json", "mcpServers" },
	{ "vscode", MCP_USER, NULL, ".config/Code/User", "mcp.json", "servers" },
	{ "vscode", MCP_PROJECT, NULL, ".vscode", "mcp.json", "servers" },
};

enum mcp_scope mcp_scope_find(const char *name)
{
	const int r = text_index(scopes, MCP_SCOPES, name);

	return r < 0 ? MCP_SCOPES : (enum mcp_scope)r;
}

const char *mcp_scope_name(enum mcp_scope scope)
{
	return scopes[scope];
}

bool mcp_file_at(size_t i, const char *cwd, struct mcp_file *ret)
{
	const struct place *p = &places[i];
	auto_free char *home = NULL, *dir = NULL;
	size_t n = 0;

	if (i >= ARRAY_SIZE(places))
		return false;
	home = p->scope == MCP_PROJECT ? mem_strdup(cwd) : fs_home();
	dir = agent_moved_dir(p->variable);
	if (!dir)
		dir = path_join(home ? home : "/", p->dir);
	*ret = (struct mcp_file){ .agent = p->agent, .scope = p->scope,
		.path = path_join(dir, p->file),
		.project = p->scope == MCP_PROJECT ? mem_strdup(cwd) : NULL,
		.toml = strstr(p->file, ".toml") };
	if (p->scope == MCP_LOCAL) {
		ret->keys[n++] = mem_strdup("projects");
		ret->keys[n++] = mem_strdup(cwd);
	}
	ret->keys[n] = mem_strdup(p->key);
	return true;
}

void mcp_file_done(struct mcp_file *file)
{
	free(file->path);
	free(file->project);
	for (size_t i = 0; i < ARRAY_SIZE(file->keys); i++)
		free(file->keys[i]);
	*file = (struct mcp_file){ 0 };
}

void mcp_servers_done(struct mcp_servers *servers)
{
	for (size_t i = 0; i < servers->len; i++) {
		struct mcp_server *s = &servers->v[i];

		free(s->name);
		free(s->args.v);
		strings_done(&s->words);
		strings_done(&s->env);
	}
	free(servers->v);
	*servers = (struct mcp_servers){ 0 };
}

struct mcp_server *mcp_server_find(const struct mcp_servers *servers,
				   const char *name)
{
	for (size_t i = 0; i < servers->len; i++) {
		if (!strcmp(servers->v[i].name, name))
			return &servers->v[i];
	}
	return NULL;
}

struct mcp_server *mcp_server_get(struct mcp_servers *servers, const char *name)
{
	struct mcp_server *s = mcp_server_find(servers, name);

	servers->full |= !s && servers->len == MCP_SERVERS_MAX;
	if (s || servers->full)
		return s;
	s = vec_push(servers);
	*s = (struct mcp_server){ .name = mem_strdup(name) };
	return s;
}

/* JSON as agents read it: comments, and commas behind the last value, become blanks, so
 * that every other byte stays in its place
 */
static void blank_comments(char *s, size_t n)
{
	size_t comma = n;	/* The last one, if only blanks followed */

	for (size_t i = 0; i < n; i++) {
		size_t end = i;

		if (s[i] == '"') {
			for (i++; i < n && s[i] != '"'; i++)
				i += s[i] == '\\';
			comma = n;
			continue;
		}
		if (s[i] == '/' && i + 1 < n && s[i + 1] == '/') {
			while (end < n && s[end] != '\n')
				end++;
		} else if (s[i] == '/' && i + 1 < n && s[i + 1] == '*') {
			const char *close = strstr(s + i + 2, "*/");

			end = close ? (size_t)(close - s) + 2 : i;
		}
		for (; i < end; i++)
			s[i] = strchr("\r\n", s[i]) ? s[i] : ' ';
		if (i >= n)
			break;
		if (strchr("]}", s[i]) && comma < n)
			s[comma] = ' ';
		if (s[i] == ',')
			comma = i;
		else if (!strchr(" \t\r\n", s[i]))
			comma = n;
	}
}

static struct mcp_span span_of(const char *text, size_t n, const struct buf *path)
{
	struct json_place at = { 0 };

	(void)json_locate(text, n, buf_str(path), &at);
	return (struct mcp_span){ at.offset, at.end };
}

/* The arguments at @path */
static void read_args(struct mcp_server *s, const json_t *list, const char *text,
		      size_t n, struct buf *path)
{
	const size_t len = path->len;
	json_t *arg;
	size_t i;

	s->list = span_of(text, n, path);
	s->odd = !json_is_array(list) || json_array_size(list) > MCP_WORDS_MAX;
	if (s->odd)
		return;
	json_array_foreach(list, i, arg) {
		auto_buf struct buf at = { 0 };

		buf_add(&at, path->p, len);
		json_path_index(&at, i);
		*vec_push(&s->args) = span_of(text, n, &at);
		s->odd |= !json_is_string(arg);
		*vec_push(&s->words) = mem_strdup(json_is_string(arg) ?
						  json_string_value(arg) : "");
	}
}

static void read_entry(struct mcp_server *s, json_t *entry, const char *text,
		       size_t n, const struct buf *path)
{
	const json_t *command = json_object_get(entry, "command");
	json_t *args = json_object_get(entry, "args"), *value;
	auto_buf struct buf at = { 0 };
	const char *key;

	if (!command)
		return;
	*vec_push(&s->words) = mem_strdup(json_is_string(command) ?
					  json_string_value(command) : "");
	buf_adds(&at, buf_str(path));
	json_path_key(&at, "command");
	s->command = span_of(text, n, &at);
	if (args) {
		at.len = path->len;
		at.p[at.len] = '\0';
		json_path_key(&at, "args");
		read_args(s, args, text, n, &at);
	}
	s->odd |= !json_is_string(command);
	json_object_foreach(json_object_get(entry, "env"), key, value)
		*vec_push(&s->env) = mem_strdup(key);
}

static int parse_json(const struct mcp_file *file, const struct buf *text,
		      struct mcp_servers *ret, struct err *err)
{
	auto_free char *plain = mem_strndup(buf_str(text), text->len);
	auto_buf struct buf path = { 0 };
	auto_json json_t *root = NULL;
	const char *name;
	json_t *at, *entry;

	blank_comments(plain, text->len);
	if (!plain[strspn(plain, " \t\r\n")])
		return 0;	/* Empty is as good as {} */
	root = at = json_parse(plain, text->len, file->path, err);
	if (!root)
		return -EINVAL;
	for (size_t i = 0; file->keys[i]; i++) {
		at = json_object_get(at, file->keys[i]);
		json_path_key(&path, file->keys[i]);
	}
	json_object_foreach(at, name, entry) {
		auto_buf struct buf here = { 0 };
		struct mcp_server *s = mcp_server_get(ret, name);

		buf_adds(&here, buf_str(&path));
		json_path_key(&here, name);
		if (s)
			read_entry(s, entry, plain, text->len, &here);
	}
	return 0;
}

int mcp_parse(const struct mcp_file *file, const struct buf *text,
	      struct mcp_servers *ret, struct err *err)
{
	const int r = memchr(buf_str(text), '\0', text->len) ?
		      fail(err, -EINVAL, "%s: holds a NUL byte", file->path) :
		      file->toml ? mcp_parse_toml(file, text, ret, err) :
		      parse_json(file, text, ret, err);

	if (r == 0 && ret->full)
		return fail(err, -E2BIG, "%s: has more than %d servers",
			    file->path, MCP_SERVERS_MAX);
	for (size_t i = 0; i < ret->len; i++) {
		if (!ret->v[i].command.to)
			strings_done(&ret->v[i].words);
	}
	return r;
}

int mcp_read(const struct mcp_file *file, struct mcp_servers *ret, struct err *err)
{
	auto_buf struct buf text = { 0 };
	const int r = fs_read(AT_FDCWD, file->path, JSON_TEXT_MAX, &text, err);

	return r == -ENOENT ? 0 : r < 0 ? r : mcp_parse(file, &text, ret, err);
}

size_t mcp_wrapped_at(const struct mcp_file *file, const struct mcp_server *s)
{
	const bool project = file->scope == MCP_PROJECT;
	char **v = s->words.v;
	size_t i = project ? 4 : 2;

	if (s->odd || s->words.len < i + 2 || strcmp(path_base(v[0]), "cloche") != 0)
		return 0;
	if (project ? strcmp(v[1], "mcp") || strcmp(v[2], "start") ||
		      strcmp(v[3], s->name) || strcmp(v[4], "--") :
		      strcmp(v[1], "run") != 0)
		return 0;
	while (i < s->words.len && strcmp(v[i], "--") != 0)
		i++;
	return i + 1 < s->words.len ? i + 1 : 0;
}

bool mcp_is_steering(const char *name)
{
	static const char *const heads[] = { "XDG_", "CLOCHE_", "CLAUDE_", "GIT_",
					     "LD_" };
	static const char names[] =
		"HOME PATH PWD TMPDIR SHELL GCONV_PATH DBUS_SESSION_BUS_ADDRESS SSH_AUTH_SOCK";
	const size_t n = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		if (!strncmp(name, heads[i], strlen(heads[i])))
			return true;
	}
	return text_has_word(names, name) || (n >= 6 && !strcasecmp(name + n - 6, "_proxy"));
}

const char *mcp_steering_variable(const struct mcp_server *s)
{
	for (size_t i = 0; i < s->env.len; i++) {
		if (mcp_is_steering(s->env.v[i]))
			return s->env.v[i];
	}
	return NULL;
}

/* The name of the record: no path has a line end behind it */
static char *subject_of(const struct mcp_file *file, const char *name)
{
	return mem_printf("%s\n%s\n%s", file->path,
			  file->keys[1] ? file->keys[1] : "", name);
}

static json_t *json_words(const char *const *v, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_string(v[i]));
	return list;
}

static void add_literal(struct buf *out, const char *word)
{
	auto_json json_t *string = json_string(word);
	auto_free char *text = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;

	buf_adds(out, text ? text : "\"\"");
}

/* What is put around the old command line: its words, as they are in the list */
static void wrapping(const struct mcp_file *file, const struct mcp_server *s,
		     const char *const *options, struct strings *ret)
{
	if (file->scope == MCP_PROJECT) {
		*vec_push(ret) = mem_strdup("mcp");
		*vec_push(ret) = mem_strdup("start");
		*vec_push(ret) = mem_strdup(s->name);
	} else {
		*vec_push(ret) = mem_strdup("run");
		for (size_t i = 0; options[i]; i++)
			*vec_push(ret) = mem_strdup(options[i]);
	}
	for (size_t i = 0; file->scope != MCP_PROJECT && i < s->env.len; i++) {
		*vec_push(ret) = mem_strdup("--env");
		*vec_push(ret) = mem_strdup(s->env.v[i]);
	}
	*vec_push(ret) = mem_strdup("--");
}

/* The blanks directly before the byte @at of @text */
static struct mcp_span blanks_before(const char *text, size_t at)
{
	size_t from = at;

	while (from && strchr(" \t\r\n", text[from - 1]))
		from--;
	return (struct mcp_span){ from, at };
}

static bool has_newline(const char *text, struct mcp_span span)
{
	return span.to > span.from &&
	       memchr(text + span.from, '\n', span.to - span.from);
}

/* The list for an entry that has none, behind its command and laid out as that is */
static void add_args(const struct mcp_file *file, const struct mcp_server *s,
		     const char *text, const struct buf *items, struct buf *out)
{
	struct mcp_span blank;
	size_t key = s->command.from;

	while (key > s->key && strncmp(text + key, "command", 7) != 0)
		key--;
	key -= key && strchr("\"'", text[key - 1]);
	blank = blanks_before(text, key);
	if (file->toml) {	/* With what is before "command" in a.b.command */
		buf_adds(out, s->inline_table ? ", " : "\n");
		buf_add(out, text + s->key, key - s->key);
		buf_addf(out, "args = [%s]", buf_str(items));
		return;
	}
	buf_addc(out, ',');
	if (has_newline(text, blank))
		buf_add(out, text + blank.from, blank.to - blank.from);
	else
		buf_addc(out, ' ');
	buf_addf(out, "\"args\": [%s]", buf_str(items));
}

/* The words and the old command, to stand in front of the old arguments, laid out as
 * the first of these is
 */
static void add_items(const struct mcp_server *s, const char *text,
		      const struct strings *words, struct buf *out)
{
	const size_t first = s->args.len ? s->args.v[0].from : 0;
	const struct mcp_span blank = blanks_before(text, first);

	for (size_t i = 0; i <= words->len; i++) {
		if (i < words->len)
			add_literal(out, words->v[i]);
		else	/* As it is written */
			buf_add(out, text + s->command.from,
				s->command.to - s->command.from);
		if (i == words->len && !first)
			break;
		buf_addc(out, ',');
		if (has_newline(text, blank))
			buf_add(out, text + blank.from, blank.to - blank.from);
		else
			buf_addc(out, ' ');
	}
}

/* Replace @span of the text, whose part up to *@done is in @out */
static void replace_span(const struct buf *text, struct mcp_span span,
			 const char *with, size_t *done, struct buf *out)
{
	buf_add(out, text->p + *done, span.from - *done);
	buf_adds(out, with);
	*done = span.to;
}

/* Two edits of one entry, in the order of the text */
static void replace_both(const struct buf *text, struct mcp_span a, const char *with_a,
			 struct mcp_span b, const char *with_b, struct buf *out)
{
	const bool first = a.from <= b.from;
	size_t done = 0;

	replace_span(text, first ? a : b, first ? with_a : with_b, &done, out);
	replace_span(text, first ? b : a, first ? with_b : with_a, &done, out);
	buf_add(out, text->p + done, text->len - done);
}

static void put_around(const struct mcp_file *file, const struct mcp_server *s,
		       const struct buf *text, const char *program,
		       const struct strings *words, struct buf *out)
{
	auto_buf struct buf command = { 0 }, items = { 0 }, list = { 0 };
	const size_t at = s->args.len ? s->args.v[0].from :
			  s->list.to ? s->list.from + 1 : s->command.to;

	add_literal(&command, program);
	add_items(s, text->p, words, &items);
	if (!s->list.to)
		add_args(file, s, text->p, &items, &list);
	replace_both(text, s->command, buf_str(&command),
		     (struct mcp_span){ at, at },
		     buf_str(s->list.to ? &items : &list), out);
}

/* The same backwards, without a record: the words up to the old command line go, and
 * the old command is the command again
 */
static void take_away(const struct mcp_server *s, const struct buf *text, size_t first,
		      struct buf *out)
{
	const struct mcp_span old = s->args.v[first - 1];	/* words[0] is not in it */
	const struct mcp_span cut = { s->args.v[0].from,
		first < s->args.len ? s->args.v[first].from : old.to };
	auto_free char *command = mem_strndup(text->p + old.from, old.to - old.from);

	replace_both(text, s->command, command, cut, "", out);
}

/**
 * struct job - One edit
 * @options:	For mcp_wrap()
 */
struct job {
	const struct mcp_file *file;
	const char *name, *program;
	const char *const *options;
};

/* What is to be written has the server with @words, and the others as they were */
static int check_result(const struct mcp_file *file, const struct mcp_servers *before,
			const struct buf *after, const char *name,
			const struct strings *words, struct err *err)
{
	auto_servers struct mcp_servers now = { 0 };
	const int r = mcp_parse(file, after, &now, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < before->len; i++) {
		const struct mcp_server *old = &before->v[i];
		const struct mcp_server *new = mcp_server_find(&now, old->name);
		const struct strings *want = strcmp(old->name, name) ? &old->words
								     : words;
		bool same = new && new->words.len == want->len;

		for (size_t k = 0; same && k < want->len; k++)
			same = !strcmp(new->words.v[k], want->v[k]);
		if (!same)
			return fail(err, -EINVAL, "%s: the entry of '%s' is written in a way that cannot be edited; nothing was changed",
				    file->path, old->name);
	}
	return now.len == before->len ? 0 : -EINVAL;
}

/* @text as it was before the server was wrapped: 1, or 0 if it is not */
static int undo(const struct job *job, const struct buf *text, struct buf *ret,
		struct err *err)
{
	auto_servers struct mcp_servers all = { 0 };
	auto_free char *subject = subject_of(job->file, job->name);
	auto_edit struct edit_record record = { 0 };
	struct mcp_server *s;
	struct strings old;
	size_t first;
	int r = mcp_parse(job->file, text, &all, err);

	s = r == 0 ? mcp_server_find(&all, job->name) : NULL;
	first = s ? mcp_wrapped_at(job->file, s) : 0;
	if (!first)
		return r;
	old = (struct strings){ .v = s->words.v + first, .len = s->words.len - first };
	if (edit_record_load("mcp", subject, &record)) {
		record.at = s->list.to && s->list.from < s->command.from ?
			    s->list.from : s->command.from;
		if (!edit_record_undo(&record, text, ret) ||
		    check_result(job->file, &all, ret, job->name, &old, NULL) < 0)
			buf_done(ret);
	}
	if (!ret->len) {
		take_away(s, text, first, ret);
		r = check_result(job->file, &all, ret, job->name, &old, err);
	}
	return r < 0 ? r : 1;
}

static int edit_unwrap(void *arg, const struct buf *text, bool exists,
		       struct buf *ret, struct err *err)
{
	const int r = exists ? undo(arg, text, ret, err) : 0;

	return r < 0 ? r : r ? SETTINGS_EDIT_WRITE_TEXT : SETTINGS_EDIT_KEEP;
}

/* What stands from the first to the last byte that was edited, before and after */
static int save_record(const struct job *job, const struct mcp_server *s,
		       const struct buf *before, const struct buf *after,
		       struct err *err)
{
	const bool list_first = s->list.to && s->list.from < s->command.from;
	const size_t from = list_first ? s->list.from : s->command.from;
	const size_t to = list_first || !s->list.to ? s->command.to : s->list.to;
	auto_free char *subject = subject_of(job->file, job->name);
	size_t n = 0;
	auto_edit struct edit_record record = {
		.at = from, .old = mem_strndup(before->p + from, to - from),
		.new = mem_strndup(after->p + from,
				   after->len - (before->len - to) - from),
	};

	while (job->options[n])
		n++;
	record.more = json_pack("{s:o, s:o}",
		"words", json_words((const char *const *)s->words.v, s->words.len),
		"options", json_words(job->options, n));
	if (job->file->scope == MCP_PROJECT) {	/* Not the entry's to choose later */
		for (size_t i = 0; i < s->env.len; i++) {
			json_t *list = json_object_get(record.more, "options");

			json_array_append_new(list, json_string("--env"));
			json_array_append_new(list, json_string(s->env.v[i]));
		}
	}
	return record.more ? edit_record_save("mcp", subject, &record, err) :
	       fail(err, -EINVAL, "an argument is not UTF-8");
}

static int edit_wrap(void *arg, const struct buf *text, bool exists,
		     struct buf *ret, struct err *err)
{
	const struct job *job = arg;
	auto_servers struct mcp_servers all = { 0 };
	auto_buf struct buf before = { 0 };
	auto_strings struct strings words = { 0 }, line = { 0 };
	struct mcp_server *s;
	int r = exists ? undo(job, text, &before, err) : 0;

	if (r == 0)
		buf_add(&before, buf_str(text), text->len);
	if (r >= 0)
		r = mcp_parse(job->file, &before, &all, err);
	s = r == 0 ? mcp_server_find(&all, job->name) : NULL;
	if (r < 0)
		return r;
	if (!s || !s->command.to)
		return fail(err, -ENOENT, "%s: there is no server '%s' that is started by a command",
			    job->file->path, job->name);
	if (s->odd)
		return fail(err, -EINVAL, "%s: the command of '%s' is not a string with a list of strings as \"args\"",
			    job->file->path, job->name);
	if (job->file->scope == MCP_PROJECT && mcp_steering_variable(s))
		return fail(err, -EINVAL, "%s: the entry of '%s' sets %s, which cloche itself would obey; take it out first",
			    job->file->path, job->name, mcp_steering_variable(s));
	wrapping(job->file, s, job->options, &words);
	put_around(job->file, s, &before, job->program, &words, ret);
	*vec_push(&line) = mem_strdup(job->program);
	for (size_t i = 0; i < words.len + s->words.len; i++)
		*vec_push(&line) = mem_strdup(i < words.len ? words.v[i] :
					      s->words.v[i - words.len]);
	r = check_result(job->file, &all, ret, job->name, &line, err);
	/* Recorded before the edit: a record of an edit that failed does no harm */
	if (r == 0)
		r = save_record(job, s, &before, ret, err);
	if (r < 0)
		return r;
	return ret->len == text->len && !memcmp(ret->p, text->p, ret->len) ?
	       SETTINGS_EDIT_KEEP : SETTINGS_EDIT_WRITE_TEXT;
}

int mcp_wrap(const struct mcp_file *file, const char *name, const char *program,
	     const char *const *options, struct err *err)
{
	struct job job = { file, name, program, options };
	int r;

	for (size_t i = 0; options[i]; i++) {
		auto_json json_t *word = json_string(options[i]);

		if (!word)
			return fail(err, -EINVAL, "an option is not UTF-8, and the settings of %s cannot hold it; nothing was changed",
				    file->agent);
	}
	r = settings_edit_file(file->path, file->project, edit_wrap, &job, err);
	return r < 0 ? r : r != SETTINGS_EDIT_KEEP;
}

int mcp_unwrap(const struct mcp_file *file, const char *name, struct err *err)
{
	struct job job = { .file = file, .name = name };
	auto_free char *subject = subject_of(file, name);
	const int r = settings_edit_file(file->path, file->project, edit_unwrap, &job, err);

	if (r >= 0)
		edit_record_forget("mcp", subject);
	return r < 0 ? r : r != SETTINGS_EDIT_KEEP;
}

/* @text is @word with variables filled in: what is around them is the same */
static bool is_filled(const char *word, const char *text)
{
	const char *before = strstr(word, "${"), *end = before ? strrchr(before, '}') : NULL;
	const size_t n = strlen(text), head = before ? (size_t)(before - word) : 0;
	const size_t tail = end ? strlen(end + 1) : 0;

	return end && n >= head + tail && !strncmp(word, text, head) &&
	       !strcmp(text + n - tail, end + 1);
}

/* The record is about this very command line. Agents fill in ${VARIABLE}. */
static bool is_line(const json_t *words, char *const *line, size_t n)
{
	for (size_t i = 0; i < n && i < json_array_size(words); i++) {
		const char *word = json_string_value(json_array_get(words, i));

		if (!word || (strcmp(word, line[i]) != 0 && !is_filled(word, line[i])))
			return false;
	}
	return n && n == json_array_size(words);
}

/* In one directory */
static bool options_in(const char *dir, const char *name, char *const *words,
		       size_t n, struct strings *ret)
{
	struct mcp_file file;
	bool found = false;

	for (size_t i = 0; !found && mcp_file_at(i, dir, &file); i++) {
		auto_free char *subject = subject_of(&file, name);
		auto_edit struct edit_record record = { 0 };
		json_t *option;
		size_t k;

		found = file.scope == MCP_PROJECT &&
			edit_record_load("mcp", subject, &record) &&
			is_line(json_object_get(record.more, "words"), words, n);
		json_array_foreach(json_object_get(record.more, "options"), k,
				   option) {
			if (found && json_is_string(option))
				*vec_push(ret) = mem_strdup(
					json_string_value(option));
		}
		mcp_file_done(&file);
	}
	return found;
}

bool mcp_options_of(const char *cwd, const char *name, char *const *words, size_t n,
		    struct strings *ret)
{
	auto_free char *at = mem_strdup(cwd);

	do {
		if (options_in(at, name, words, n, ret))
			return true;
	} while (path_up(at));
	return false;
}
