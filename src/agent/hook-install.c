/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/hook-install.c - our hooks in an agent's settings, and out again
 *
 * Theory of operation: each edit of the text is noted (lib/hook-note.h) and
 * undone from the note, so what others have changed in the meantime stays.
 * Without a note, or where our piece was edited, our entries are taken out of
 * their lists instead.
 */

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/text.h"
#include "lib/change.h"
#include "lib/hook-note.h"
#include "lib/hook.h"
#include "policy/edit.h"

/* "/usr/bin/cloche hook claude pre-tool-use OPTIONS": for agents that give it
 * to a shell
 */
static char *command_line(const struct hook_target *t,
			  const struct agent_event *event)
{
	struct buf b = { 0 };

	text_shell_quote(&b, t->program);
	buf_addf(&b, " hook %s %s", t->agent->name, event->ours);
	for (size_t i = 0; t->options[i]; i++) {
		buf_addc(&b, ' ');
		text_shell_quote(&b, t->options[i]);
	}
	return buf_take(&b);
}

static json_t *arguments(const struct hook_target *t,
			 const struct agent_event *event)
{
	json_t *list = json_pack("[s, s, s]", "hook", t->agent->name,
				 event->ours);

	for (size_t i = 0; t->options[i]; i++)
		json_array_append_new(list, json_string(t->options[i]));
	return list;
}

/* An entry of the event's list, in the agent's own shape */
static json_t *entry_for(const struct hook_target *t,
			 const struct agent_event *event)
{
	auto_free char *line = command_line(t, event);

	switch (t->agent->id) {
	case AGENT_CLAUDE:	/* With "args" no shell comes between */
		return json_pack("{s:s, s:[{s:s, s:s, s:o, s:i}]}",
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
	default:
		return json_pack("{s:s, s:s*, s:i}", "command", line,
			"matcher", event->matcher, "timeout", HOOK_TIMEOUT_S);
	}
}

json_t *hook_settings(const struct hook_target *t, struct err *err)
{
	const struct agent_event *event;
	json_t *hooks = json_object();

	for (size_t i = 0; (event = agent_event_at(t->agent, i)); i++) {
		json_t *entry = entry_for(t, event);

		if (!entry) {
			json_decref(hooks);
			fail(err, -EINVAL, "a word of the hook is not UTF-8");
			return NULL;
		}
		json_object_set_new(hooks, event->theirs,
				    json_pack("[o]", entry));
	}
	if (t->agent->id == AGENT_CURSOR)
		return json_pack("{s:i, s:o}", "version", 1, "hooks", hooks);
	return json_pack("{s:o}", "hooks", hooks);
}

/* One hook that starts `cloche hook AGENT`, whichever cloche that is */
static bool is_our_hook(const struct agent *agent, const json_t *hook)
{
	const char *command = json_string_value(
		json_object_get(hook, "command"));
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

/* The first entry of ours in the list at hooks.EVENT, or its length */
static size_t find_entry(const struct agent *agent, const struct buf *text,
			 const char *event, size_t from, size_t *ret_len)
{
	json_t *root = text->len ? json_parse(buf_str(text), text->len, "",
					      NULL) : NULL;
	const json_t *list = json_object_get(json_object_get(root, "hooks"),
					     event);
	const size_t len = json_array_size(list);
	size_t i = from;

	while (i < len && !is_our_entry(agent, json_array_get(list, i)))
		i++;
	*ret_len = len;
	json_decref(root);
	return i;
}

static void replace(struct buf *text, struct buf *next)
{
	buf_done(text);
	*text = *next;
	*next = (struct buf){ 0 };
}

/* Take all entries of ours out of @text. How many there were. */
static int take_out(const struct agent *agent, struct buf *text,
		    struct err *err)
{
	const struct agent_event *event;
	int found = 0;

	for (size_t i = 0; (event = agent_event_at(agent, i)); i++) {
		auto_free char *path = mem_printf("hooks.%s", event->theirs);
		size_t len, at = 0;

		while ((at = find_entry(agent, text, event->theirs, at,
					&len)) < len) {
			struct buf next = { 0 };
			const int r = edit_remove(buf_str(text), text->len,
						  path, at, &next, err);

			if (r < 0)
				return r;
			replace(text, &next);
			found++;
		}
	}
	return found;
}

/* One edit of @text, noted */
static int add_value(const struct hook_target *t, struct note *note,
		     struct buf *text, const char *path, json_t *value,
		     bool list, struct err *err)
{
	auto_free char *literal = value ? json_dumps(value, JSON_ENCODE_ANY)
					: NULL;
	struct buf next = { 0 };
	int r;

	json_decref(value);
	if (!literal)
		return fail(err, -EINVAL, "a word of the hook is not UTF-8");
	r = list ? edit_append_value(buf_str(text), text->len, t->file, path,
				     literal, &next, err) :
		   edit_set(buf_str(text), text->len, t->file, path, literal,
			    &next, err);
	if (r < 0)
		return r;
	note_piece(note, text, &next);
	replace(text, &next);
	return 0;
}

static bool has_key(const struct buf *text, const char *key)
{
	json_t *root = text->len ? json_parse(buf_str(text), text->len, "",
					      NULL) : NULL;
	const bool r = json_object_get(root, key) != NULL;

	json_decref(root);
	return r;
}

static int put_in(const struct hook_target *t, struct note *note,
		  struct buf *text, struct err *err)
{
	const struct agent_event *event;
	int r = 0;

	/* Cursor reads no file without its version */
	if (t->agent->id == AGENT_CURSOR && !has_key(text, "version"))
		r = add_value(t, note, text, "version", json_integer(1), false,
			      err);
	for (size_t i = 0; r == 0 && (event = agent_event_at(t->agent, i));
	     i++) {
		auto_free char *path = mem_printf("hooks.%s", event->theirs);

		r = add_value(t, note, text, path, entry_for(t, event), true,
			      err);
	}
	return r;
}

/* True if each list has our entry, just as it would be made now */
static bool is_installed(const struct hook_target *t, const struct buf *text)
{
	json_t *root = text->len ? json_parse(buf_str(text), text->len, "",
					      NULL) : NULL;
	const json_t *hooks = json_object_get(root, "hooks");
	const struct agent_event *event;
	bool all = hooks != NULL;

	for (size_t i = 0; all && (event = agent_event_at(t->agent, i)); i++) {
		json_t *want = entry_for(t, event);
		json_t *entry;
		size_t k;
		bool found = false;

		json_array_foreach(json_object_get(hooks, event->theirs), k,
				   entry)
			found = found || json_equal(entry, want);
		all = found;
		json_decref(want);
	}
	json_decref(root);
	return all;
}

struct job {
	const struct hook_target *target;
	struct note note;
};

/* A text without our hooks: as it was before, where that can be told */
static int clean(const struct hook_target *t, const struct buf *text,
		 struct note *note, struct buf *ret, struct err *err)
{
	int found;

	if (note_load(t, note) && note_undo(note, text, ret)) {
		struct buf rest = { 0 };

		buf_add(&rest, buf_str(ret), ret->len);
		found = take_out(t->agent, &rest, NULL);
		buf_done(&rest);
		if (found == 0)
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
	struct note old = { 0 };
	int r;

	if (is_installed(job->target, text))
		return CHANGE_KEEP;
	r = clean(job->target, text, &old, ret, err);
	job->note.created = !exists || old.created;
	job->note.made_dir = job->note.made_dir || old.made_dir;
	note_done(&old);
	if (r >= 0)
		r = put_in(job->target, &job->note, ret, err);
	/* Noted before it is done: a note too much does no harm */
	if (r >= 0)
		r = note_save(job->target, &job->note, err);
	return r < 0 ? r : CHANGE_WRITE;
}

int hook_install(const struct hook_target *t, struct err *err)
{
	auto_free char *dir = path_parent(t->file);
	struct job job = { .target = t };
	struct stat st;
	int r;

	job.note.made_dir = stat(dir, &st) < 0;
	r = change_file(t->file, edit_install, &job, err);
	note_done(&job.note);
	return r < 0 ? r : r == CHANGE_WRITE;
}

static int edit_uninstall(void *arg, const struct buf *text, bool exists,
			  struct buf *ret, struct err *err)
{
	struct job *job = arg;
	const int r = clean(job->target, text, &job->note, ret, err);

	if (r <= 0 || !exists)
		return r < 0 ? r : CHANGE_KEEP;
	return job->note.created && !ret->len ? CHANGE_REMOVE : CHANGE_WRITE;
}

int hook_uninstall(const struct hook_target *t, struct err *err)
{
	auto_free char *dir = path_parent(t->file);
	struct job job = { .target = t };
	struct stat st;
	int r;

	if (stat(dir, &st) < 0)
		return 0;
	r = change_file(t->file, edit_uninstall, &job, err);
	if (r >= 0)
		note_forget(t);
	if (r == CHANGE_REMOVE && job.note.made_dir)
		(void)rmdir(dir);	/* Stays if somebody uses it */
	note_done(&job.note);
	return r < 0 ? r : r != CHANGE_KEEP;
}
