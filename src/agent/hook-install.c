/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent/hook-install.c - install hooks into an agent's settings, remove them
 *
 * Theory of operation: an edit is recorded (edit-record.h) and undone from there.
 * Without a record, or where our piece was edited, our entries are taken out of their
 * lists instead.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/claude-shell.h"
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
#include "policy/json-edit.h"
#include "run/settings-edit.h"

#define PREFIX	"CLAUDE_CODE_SHELL_PREFIX"

/* "/usr/bin/cloche hook claude pre-tool-use OPTIONS": for agents that give it
 * to a shell
 */
static char *command_line(const struct hook_target *t,
			  const struct agent_event *event)
{
	struct buf b = { 0 };

	text_shell_quote(&b, t->program);
	buf_addf(&b, " hook %s %s", t->agent->name, event->ours);
	if (t->prefix && event->kind == EVENT_PRE_TOOL) {
		buf_adds(&b, " --prefix ");
		text_shell_quote(&b, t->prefix);
	}
	text_shell_words(&b, t->options, SIZE_MAX);
	return buf_take(&b);
}

/* Claude Code reads the prefix from a variable; others find it on their PATH */
static bool sets_variable(const struct hook_target *t)
{
	return t->prefix && t->agent->id == AGENT_CLAUDE;
}

#define NOT_UTF8 "an option is not UTF-8, and the settings of %s cannot hold it; nothing was installed"

/* NULL if one is not UTF-8, which JSON cannot hold */
static json_t *arguments(const struct hook_target *t,
			 const struct agent_event *event)
{
	json_t *list = json_pack("[s, s, s]", "hook", t->agent->name,
				 event->ours);

	if (t->prefix && event->kind == EVENT_PRE_TOOL) {
		json_array_append_new(list, json_string("--prefix"));
		json_array_append_new(list, json_string(t->prefix));
	}
	for (size_t i = 0; t->options[i]; i++) {
		if (json_array_append_new(list, json_string(t->options[i])) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* An entry of the event's list, in the agent's own shape */
static json_t *entry_for(const struct hook_target *t,
			 const struct agent_event *event)
{
	auto_free char *line = command_line(t, event);

	switch (t->agent->id) {
	case AGENT_CLAUDE:	/* With "args" no shell comes between */
		return json_pack("{s:s*, s:[{s:s, s:s, s:o, s:i}]}",
			"matcher", event->matcher, "hooks",
			"type", "command", "command", t->program,
			"args", arguments(t, event),
			"timeout", HOOK_TIMEOUT_S);
	case AGENT_CODEX:
		return json_pack("{s:s, s:[{s:s, s:s, s:i}]}",
			"matcher", event->matcher, "hooks",
			"type", "command", "command", line,
			"timeout", HOOK_TIMEOUT_S);
	case AGENT_GEMINI:	/* Its limit is in milliseconds */
		return json_pack("{s:s*, s:[{s:s, s:s, s:s, s:i}]}",
			"matcher", event->matcher, "hooks",
			"name", "cloche", "type", "command", "command", line,
			"timeout", HOOK_TIMEOUT_S * 1000);
	default:	/* Cursor ignores a hook that fails, unless this is set */
		return json_pack("{s:s, s:s*, s:i, s:b}", "command", line,
			"matcher", event->matcher, "timeout", HOOK_TIMEOUT_S,
			"failClosed", event->kind == EVENT_PRE_TOOL);
	}
}

/* As agent_event_at(), without what is for sessions if there is none */
static const struct agent_event *event_at(const struct hook_target *t, size_t i)
{
	const struct agent_event *event = agent_event_at(t->agent, i);

	return event && event->kind == EVENT_END && !t->session ? NULL : event;
}

json_t *hook_settings(const struct hook_target *t, struct err *err)
{
	const struct agent_event *event;
	auto_json json_t *hooks = json_object();

	for (size_t i = 0; (event = event_at(t, i)); i++) {
		json_t *entry = entry_for(t, event);

		if (!entry) {
			fail(err, -EINVAL, NOT_UTF8, t->agent->name);
			return NULL;
		}
		json_object_set_new(hooks, event->theirs,
				    json_pack("[o]", entry));
	}
	if (t->agent->id == AGENT_CURSOR)
		return json_pack("{s:i, s:O}", "version", 1, "hooks", hooks);
	if (sets_variable(t))
		return json_pack("{s:{s:s}, s:O}", "env", PREFIX, t->prefix,
				 "hooks", hooks);
	return json_pack("{s:O}", "hooks", hooks);
}

/* One hook that starts `cloche hook AGENT`, whichever cloche that is */
static bool is_our_hook(const struct agent *agent, const json_t *hook)
{
	const char *command = json_get_text(hook, "command");
	const json_t *args = json_object_get(hook, "args");
	const char *verb = json_string_value(json_array_get(args, 0));
	const char *name = json_string_value(json_array_get(args, 1));
	auto_free char *words = mem_printf("cloche hook %s ", agent->name);
	auto_free char *quoted = mem_printf("cloche' hook %s ", agent->name);

	if (!command)
		return false;
	if (verb && name)
		return !strcmp(path_base(command), "cloche") &&
		       !strcmp(verb, "hook") && !strcmp(name, agent->name);
	return strstr(command, words) || strstr(command, quoted);
}

/* An entry that holds nothing but hooks of ours */
static bool is_our_entry(const struct agent *agent, const json_t *entry)
{
	const json_t *hooks = json_object_get(entry, "hooks");
	size_t i;
	json_t *hook;

	if (!hooks)
		return is_our_hook(agent, entry);
	json_array_foreach(hooks, i, hook) {
		if (!is_our_hook(agent, hook))
			return false;
	}
	return json_array_size(hooks) > 0;
}

static json_t *parse_text(const struct buf *text)
{
	return json_parse(buf_str(text), text->len, "", NULL);
}

static json_t *list_of(const json_t *root, const struct agent_event *event)
{
	return json_object_get(json_object_get(root, "hooks"), event->theirs);
}

/* The first entry of ours in @list, or its length */
static size_t find_entry(const struct agent *agent, const json_t *list)
{
	size_t i = 0;

	while (i < json_array_size(list) &&
	       !is_our_entry(agent, json_array_get(list, i)))
		i++;
	return i;
}

static void replace(struct buf *text, struct buf *next)
{
	buf_done(text);
	*text = *next;
	*next = (struct buf){ 0 };
}

/* The value of Claude Code's prefix, or NULL */
static const char *prefix_in(const json_t *root)
{
	return json_get_text(json_object_get(root, "env"), PREFIX);
}

/* A script that cloche installed, in whichever home */
static bool is_our_prefix(const char *value)
{
	return value && strstr(value, "/cloche/" HOOK_SCRIPTS "/claude-shell");
}

/* Cut the prefix out of @text, with the comma that goes with it */
static int take_prefix(struct buf *text, struct err *err)
{
	static const char key[] = "\"" PREFIX "\"";
	auto_json json_t *root = parse_text(text);
	struct json_place at;
	struct buf next = { 0 };
	const char *s = buf_str(text);
	size_t from, to;

	if (!is_our_prefix(prefix_in(root)))
		return 0;
	if (json_locate(s, text->len, "env." PREFIX, &at) < 0)
		return fail(err, -ENOENT, "there is no env." PREFIX);
	from = at.offset;
	to = at.end + strspn(s + at.end, " \t\r\n");
	while (from && strncmp(s + from, key, strlen(key)) != 0)
		from--;
	if (s[to] == ',') {
		to += 1 + strspn(s + to + 1, " \t\r\n");
	} else {
		to = at.end;
		while (from && strchr(" \t\r\n", s[from - 1]))
			from--;
		from -= from && s[from - 1] == ',';
	}
	buf_add(&next, s, from);
	buf_adds(&next, s + to);
	replace(text, &next);
	return 1;
}

/* Take all entries of ours out of @text. How many there were. */
static int take_out(const struct agent *agent, struct buf *text,
		    struct err *err)
{
	const struct agent_event *event;
	int found = agent->id == AGENT_CLAUDE ? take_prefix(text, err) : 0;

	if (found < 0)
		return found;
	for (size_t i = 0; (event = agent_event_at(agent, i)); i++) {
		auto_free char *path = mem_printf("hooks.%s", event->theirs);

		for (;; found++) {
			auto_json json_t *root = parse_text(text);
			const json_t *list = list_of(root, event);
			const size_t at = find_entry(agent, list);
			struct buf next = { 0 };
			int r;

			if (at == json_array_size(list))
				break;
			r = json_edit_remove(buf_str(text), text->len, path, at,
					     &next, err);
			if (r < 0)
				return r;
			replace(text, &next);
		}
	}
	return found;
}

static int add_value(const struct hook_target *t, struct buf *text,
		     const char *path, json_t *value, bool list,
		     struct err *err)
{
	auto_free char *literal = value ? json_dumps(value, JSON_ENCODE_ANY)
					: NULL;
	struct buf next = { 0 };
	int r;

	json_decref(value);
	if (!literal)
		return fail(err, -EINVAL, NOT_UTF8, t->agent->name);
	r = json_edit(buf_str(text), text->len, t->file,
		      list ? JSON_EDIT_APPEND_VALUE : JSON_EDIT_SET, path,
		      literal, &next, err);
	if (r < 0)
		return r;
	replace(text, &next);
	return 0;
}

static int put_in(const struct hook_target *t, struct buf *text, struct err *err)
{
	auto_json json_t *root = parse_text(text);
	const char *other = prefix_in(root);
	const struct agent_event *event;
	int r = 0;

	if (sets_variable(t) && other)
		return fail(err, -EEXIST, "%s: env." PREFIX " is '%s' already, which is not ours; remove it first",
			    t->file, other);
	if (sets_variable(t))
		r = add_value(t, text, "env." PREFIX, json_string(t->prefix),
			      false, err);
	/* Cursor reads no file without its version */
	if (r == 0 && t->agent->id == AGENT_CURSOR && !json_object_get(root, "version"))
		r = add_value(t, text, "version", json_integer(1), false, err);
	for (size_t i = 0; r == 0 && (event = event_at(t, i)); i++) {
		auto_free char *path = mem_printf("hooks.%s", event->theirs);

		r = add_value(t, text, path, entry_for(t, event), true, err);
	}
	return r;
}

/* True if Claude Code's prefix is @t's, or @t has none */
static bool has_our_prefix(const struct hook_target *t, const json_t *root)
{
	const char *prefix = prefix_in(root);

	return !sets_variable(t) || (prefix && !strcmp(prefix, t->prefix));
}

/* True if each list has our entry, just as it would be made now */
static bool is_installed(const struct hook_target *t, const struct buf *text)
{
	auto_json json_t *root = parse_text(text);
	const struct agent_event *event;
	bool all = has_our_prefix(t, root);

	for (size_t i = 0; all && (event = event_at(t, i)); i++) {
		auto_json json_t *want = entry_for(t, event);
		json_t *entry;
		size_t k;
		bool found = false;

		json_array_foreach(list_of(root, event), k, entry)
			found = found || json_equal(entry, want);
		all = found;
	}
	return all;
}

struct job {
	const struct hook_target *target;
	struct edit_record note;
};

/* A text without our hooks: as it was before, where that is known */
static int clean(const struct hook_target *t, const struct buf *text,
		 struct edit_record *note, struct buf *ret, struct err *err)
{
	if (edit_record_load(t->agent->name, t->file, note) &&
	    edit_record_undo(note, text, ret)) {
		auto_buf struct buf rest = { 0 };

		buf_add(&rest, buf_str(ret), ret->len);
		if (take_out(t->agent, &rest, NULL) == 0)
			return 1;
	}
	buf_done(ret);
	buf_add(ret, buf_str(text), text->len);
	note->created = note->made_dir = false;
	return take_out(t->agent, ret, err);
}

static int edit_install(void *arg, const struct buf *text, bool exists,
			struct buf *ret, struct err *err)
{
	struct job *job = arg;
	auto_edit struct edit_record old = { 0 };
	auto_buf struct buf before = { 0 };
	int r;

	if (is_installed(job->target, text))
		return SETTINGS_EDIT_KEEP;
	r = clean(job->target, text, &old, ret, err);
	job->note.created = !exists || old.created;
	job->note.made_dir = job->note.made_dir || old.made_dir;
	buf_add(&before, buf_str(ret), ret->len);
	if (r >= 0)
		r = put_in(job->target, ret, err);
	if (r < 0)
		return r;
	/* Recorded before the edit: a record of an edit that failed does no harm */
	edit_record_piece(&job->note, &before, ret);
	r = edit_record_save(job->target->agent->name, job->target->file,
			     &job->note, err);
	return r < 0 ? r : SETTINGS_EDIT_WRITE;
}

/* Write the script of the prefix: 1, or 0 if it was there */
static int write_script(const struct hook_target *t, struct err *err)
{
	auto_free char *dir = path_parent(t->prefix);
	/* Commands of Gemini CLI always share a session; for Claude Code @t->options say so */
	auto_free char *words = mem_printf("hook %s shell%s", t->agent->name,
					   t->agent->id == AGENT_GEMINI ? " --session" : "");
	auto_buf struct buf text = { 0 }, old = { 0 };
	auto_close int fd = fs_open_dir_p(dir, 0755, err);
	int r;

	if (fd < 0)
		return fd;
	agent_shell_script(t->program, words, t->options, &text);
	if (access(t->prefix, X_OK) == 0 &&
	    fs_read(fd, path_base(t->prefix), JSON_TEXT_MAX, &old, NULL) == 0 &&
	    !strcmp(buf_str(&old), buf_str(&text)))
		return 0;
	r = fs_replace(fd, path_base(t->prefix), text.p, text.len, 0755, err);
	return r < 0 ? r : 1;
}

void hook_remove_script(const struct hook_target *t)
{
	auto_free char *dir = path_parent(t->prefix);
	auto_free char *above = path_parent(dir);

	(void)unlink(t->prefix);
	(void)rmdir(dir);	/* Both fail if they are not empty */
	(void)rmdir(above);
}

char *hook_shim_file(const char *name)
{
	auto_free char *config = fs_xdg("XDG_CONFIG_HOME", ".config");

	return config ? mem_printf("%s/cloche/" HOOK_SCRIPTS "/%s", config, name) : NULL;
}

int hook_write_settings(const struct hook_target *t, struct err *err)
{
	auto_free char *dir = path_parent(t->file);
	auto_close int fd = -1;
	auto_free char *text = NULL;
	auto_json json_t *settings = hook_settings(t, err);
	int r = settings ? write_script(t, err) : -EINVAL;

	if (r >= 0)
		fd = r = fs_open_dir_p(dir, 0755, err);
	json_object_set_new(settings, "disableAllHooks", json_false());
	text = json_dumps(settings, JSON_INDENT(2));
	return r < 0 ? r : fs_replace(fd, path_base(t->file), text, strlen(text),
				      0644, err);
}

void hook_remove_settings(const struct hook_target *t)
{
	(void)unlink(t->file);
	hook_remove_script(t);
}

int hook_install(const struct hook_target *t, struct err *err)
{
	auto_free char *dir = path_parent(t->file);
	struct job job = { .target = t };
	int written = t->prefix ? write_script(t, err) : 0;
	struct stat st;
	int r;

	if (written < 0)
		return written;
	job.note.made_dir = stat(dir, &st) < 0;
	r = settings_edit_file(t->file, t->project, edit_install, &job, err);
	edit_record_done(&job.note);
	if (r < 0 && written)
		hook_remove_script(t);
	return r < 0 ? r : written || r == SETTINGS_EDIT_WRITE;
}

char *hook_command(const struct hook_target *t)
{
	auto_json json_t *root = json_read(AT_FDCWD, t->file, NULL);
	const json_t *list = list_of(root, agent_event_at(t->agent, 0));
	const json_t *entry = json_array_get(list, find_entry(t->agent, list));
	const json_t *hook = json_array_get(json_object_get(entry, "hooks"), 0);
	const char *command = json_get_text(hook ? hook : entry, "command");

	return command ? mem_strdup(command) : NULL;
}

char *agent_moved_dir(const char *variable)
{
	auto_free char *name = variable ? mem_strndup(variable, strcspn(variable, "/")) : NULL;
	const char *value = name ? getenv(name) : NULL;

	return value && *value == '/' ?
	       mem_printf("%s%s", value, variable + strlen(name)) : NULL;
}

char *agent_settings_file(const struct agent *agent, struct err *err)
{
	auto_free char *moved = agent_moved_dir(agent->variable);
	auto_free char *home = fs_home();
	auto_free char *dir = NULL;

	if (moved)
		return path_join(moved, agent->file);
	if (!home) {
		fail(err, -ENOENT, "there is no home directory; set $HOME");
		return NULL;
	}
	dir = path_join(home, agent->dir);
	return path_join(dir, agent->file);
}

bool hook_is_installed(const struct hook_target *t)
{
	auto_json json_t *root = json_read(AT_FDCWD, t->file, NULL);
	const json_t *list = list_of(root, agent_event_at(t->agent, 0));

	return find_entry(t->agent, list) < json_array_size(list) &&
	       has_our_prefix(t, root);
}

static int edit_uninstall(void *arg, const struct buf *text, bool exists,
			  struct buf *ret, struct err *err)
{
	struct job *job = arg;
	const int r = clean(job->target, text, &job->note, ret, err);

	if (r <= 0 || !exists)
		return r < 0 ? r : SETTINGS_EDIT_KEEP;
	return job->note.created && !ret->len ? SETTINGS_EDIT_REMOVE : SETTINGS_EDIT_WRITE;
}

int hook_uninstall(const struct hook_target *t, struct err *err)
{
	auto_free char *dir = path_parent(t->file);
	struct job job = { .target = t };
	struct stat st;
	int r;

	if (stat(dir, &st) < 0)
		return 0;
	r = settings_edit_file(t->file, t->project, edit_uninstall, &job, err);
	if (r >= 0)
		edit_record_forget(t->agent->name, t->file);
	if (r >= 0 && t->prefix)
		hook_remove_script(t);
	if (r == SETTINGS_EDIT_REMOVE && job.note.made_dir)
		(void)rmdir(dir);	/* Fails if it is not empty */
	edit_record_done(&job.note);
	return r < 0 ? r : r != SETTINGS_EDIT_KEEP;
}
