/* SPDX-License-Identifier: Apache-2.0 */
/* secret/secret-verbs.c - set, get, delete, list, status, move, import, export */

#include "secret/secret-verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "secret/credential-store.h"
#include "secret/private-dir.h"

static int check_argument(const struct arguments *args, struct err *err)
{
	return name_check(args->word, strlen(args->word), err);
}

int secret_set(struct store *s, const struct arguments *args, struct err *err)
{
	auto_bytes struct bytes value = { 0 };
	int r = check_argument(args, err);

	if (!r)
		r = input_value(args->word, &value, err);
	if (!r)
		r = store_put(s, args->word, json_stringn(value.p, value.len),
			      err);
	return r < 0 ? r : EXIT_YES;
}

int secret_get(struct store *s, const struct arguments *args, struct err *err)
{
	json_auto_t *doc = NULL, *full = NULL;
	json_t *value;
	int r = check_argument(args, err);

	if (!r)
		r = output_allowed(args, err);
	if (!r)
		r = store_read(s, &doc, err);
	if (r < 0)
		return r;
	value = json_object_get(doc, args->word);
	if (!value)
		return fail(err, -ENOENT, "there is no secret '%s'; to store it: cloche secret set %s",
			    args->word, args->word);
	if (args->json)
		full = json_pack("{si ss sO}", "version", 1, "name",
				 args->word, "value", value);
	r = json_is_string(value) && !full ?
		output_line(json_string_value(value), err) :
		output_json(full ? full : value, err);
	return r < 0 ? r : EXIT_YES;
}

int secret_delete(struct store *s, const struct arguments *args,
		  struct err *err)
{
	int r;

	if (!args->word == !args->all)
		return fail(err, -EINVAL,
			    "'secret delete' takes a NAME, or --all");
	r = args->all ? store_remove(s, err) : check_argument(args, err);
	if (r >= 0 && args->word)
		r = store_drop(s, args->word, err);
	if (!r && args->word)
		return fail(err, -ENOENT, "there is no secret '%s'", args->word);
	return r < 0 ? r : EXIT_YES;
}

/* One line each, and nothing that moves the cursor: a plaintext file that
 * another program wrote may hold names that `set` would refuse
 */
static void print_name(const char *name)
{
	struct err safe;

	fail(&safe, -EINVAL, "%s", name);
	puts(safe.msg);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int secret_list(struct store *s, const struct arguments *args, struct err *err)
{
	json_auto_t *doc = NULL, *full = NULL;
	auto_free const char **names = NULL;
	json_t *list, *value;
	const char *name;
	size_t n = 0;
	int r = store_read(s, &doc, err);

	if (r < 0)
		return r;
	names = calloc(json_object_size(doc) + 1, sizeof(*names));
	json_object_foreach(doc, name, value)
		names[n++] = name;
	qsort(names, n, sizeof(*names), compare_names);
	list = json_array();
	for (size_t i = 0; i < n; i++) {
		if (args->json)
			(void)json_array_append_new(list,
						    json_string(names[i]));
		else
			print_name(names[i]);
	}
	full = json_pack("{si so}", "version", 1, "secrets", list);
	r = args->json ? output_json(full, err) : 0;
	return r < 0 ? r : EXIT_YES;
}

static const char *state_of(int r)
{
	switch (r) {
	case 1:
		return "ok";
	case 0:
		return "empty";
	case -ENOTSUP:
		return "unavailable";
	case -EACCES:
	case -ENOKEY:
		return "locked";
	default:
		return "failed";
	}
}

/* Look into one back end: a line, or a member of @list */
static void show_backend(struct store *s, const struct backend *b,
			 json_t *list, bool json)
{
	json_auto_t *doc = NULL;
	struct err err = { 0 };
	const int r = b->read(s, &doc, &err);
	const size_t count = json_object_size(doc);

	if (json)
		(void)json_array_append_new(list, json_pack("{ss ss so* ss*}",
			"name", b->name, "state", state_of(r), "secrets",
			r > 0 ? json_integer((json_int_t)count) : NULL,
			"message", r < 0 ? err.msg : NULL));
	else if (r > 0)
		printf("%-15s ok: %zu secret%s\n", b->name, count,
		       count == 1 ? "" : "s");
	else
		printf("%-15s %s%s%s\n", b->name, state_of(r),
		       r < 0 ? ": " : "", r < 0 ? err.msg : "");
}

int secret_status(struct store *s, const struct arguments *args,
		  struct err *err)
{
	json_auto_t *doc = NULL, *full = NULL;
	json_t *list = json_array();
	const struct backend *kept = NULL;
	int r = 0, healthy;

	for (size_t i = 0; s->backends[i]; i++) {
		if (!s->forced || s->forced == s->backends[i])
			show_backend(s, s->backends[i], list, args->json);
	}
	(void)store_recorded(s, &kept, err);
	healthy = store_read(s, &doc, err) >= 0;
	s->warnings = 0;
	full = json_pack("{si sb ss? ss sb so}", "version", 1, "healthy",
			 healthy, "keptIn", kept ? kept->name : NULL,
			 "directory", s->dir->path, "memoryLocked",
			 !locked_failures(), "backends", list);
	if (args->json)
		r = output_json(full, err);
	else
		printf("%-15s %s\n%-15s %s\n%-15s %s\n", "kept in",
		       kept ? kept->name : "nothing yet", "directory",
		       s->dir->path, "memory",
		       locked_failures() ? "not locked: raise ulimit -l" :
					   "locked");
	return r < 0 ? r : healthy ? EXIT_YES : EXIT_NO;
}

int secret_move(struct store *s, const struct arguments *args, struct err *err)
{
	int r;

	if (!args->backend)
		return fail(err, -EINVAL,
			    "usage: cloche secret move --backend NAME");
	r = store_move(s, args->backend, err);
	if (!r)
		return fail(err, -ENOENT, "there is nothing to move");
	return r < 0 ? r : EXIT_YES;
}

/* A shell makes the file of `export > FILE` with its umask */
static void warn_if_readable(void)
{
	struct stat st;

	if (!fstat(STDOUT_FILENO, &st) && S_ISREG(st.st_mode) &&
	    (st.st_mode & 077))
		fputs("Warning: Others can read the file that this was written to: run chmod 600 on it.\n",
		      stderr);
}

int secret_export(struct store *s, const struct arguments *args,
		  struct err *err)
{
	json_auto_t *doc = NULL;
	int r = output_allowed(args, err);

	if (!r)
		r = store_read(s, &doc, err);
	if (r < 0)
		return r;
	if (!doc)
		doc = json_object();
	r = output_json(doc, err);
	if (r < 0)
		return r;
	warn_if_readable();
	return EXIT_YES;
}

/* Path of Claude Code's credentials, or NULL. The caller frees. */
static char *claude_file(void)
{
	const char *set = getenv("CLAUDE_CONFIG_DIR");
	auto_free char *home = fs_home();

	if (set && *set == '/')
		return path_join(set, ".credentials.json");
	return home ? path_join(home, ".claude/.credentials.json") : NULL;
}

/**
 * struct source - The file to import, or standard input (@dir NULL)
 */
struct source {
	struct private_dir *dir;
	char *name;
	json_t *doc;
};

static void source_done(struct source *source)
{
	private_dir_free(source->dir);
	free(source->name);
	json_decref(source->doc);
}

static int open_source(const struct arguments *args, struct source *ret,
		       struct err *err)
{
	auto_free char *here = getcwd(NULL, 0);
	auto_free char *given = args->claude ? claude_file() :
					       mem_strdup(args->word);
	auto_free char *path = NULL, *dir = NULL;

	if (!given)
		return fail(err, -ENOENT,
			    "there is no home directory: set HOME");
	path = path_resolve(here ? here : "/", given);
	dir = path_parent(path);
	ret->name = mem_strdup(path_base(path));
	ret->dir = private_dir_new(dir);
	return 0;
}

static int read_source(struct source *source, struct err *err)
{
	auto_bytes struct bytes text = { 0 };
	int r = source->dir ?
		private_dir_read(source->dir, source->name, DOCUMENT_MAX, &text,
				 err) :
		input_all(DOCUMENT_MAX, &text, err);

	if (r < 0)
		return r;
	if (source->dir && !r)
		return fail(err, -ENOENT, "there is no '%s/%s'",
			    source->dir->path, source->name);
	return document_parse(bytes_str(&text), text.len, source->name ?
			      source->name : "standard input", &source->doc,
			      err);
}

/* Every name, and every value that is a string, keeps the rules of `set` */
static int check_entries(json_t *doc, struct err *err)
{
	size_t number = 0;
	const char *name;
	json_t *value;

	json_object_foreach(doc, name, value) {
		int r = name_check(name, strlen(name), err);

		number++;
		if (!r && json_is_string(value))
			r = value_check(json_string_value(value),
					json_string_length(value), err);
		if (!r && json_is_null(value))
			r = fail(err, -EINVAL, "there is no value");
		if (r < 0)
			return fail_in(err, r, "entry %zu", number);
	}
	return 0;
}

/**
 * struct import - A document to merge. It was checked as a whole, and goes into
 * one write: all of it or nothing.
 */
struct import {
	json_t *doc;
	bool force;
};

static int merge(json_t *doc, void *arg, struct err *err)
{
	const struct import *import = arg;
	const char *name;
	json_t *value;

	json_object_foreach(import->doc, name, value) {
		if (!import->force && json_object_get(doc, name))
			return fail(err, -EEXIST,
				    "there is a secret '%s' already: use --force to replace it",
				    name);
		document_put(doc, name, json_incref(value));
	}
	return 1;
}

/* Is all of @doc in the store? 0 or a negative errno. */
static int check_stored(struct store *s, json_t *doc, struct err *err)
{
	json_auto_t *stored = NULL;
	const char *name;
	json_t *value;
	const int r = store_read(s, &stored, err);

	if (r < 0)
		return r;
	json_object_foreach(doc, name, value) {
		if (!json_equal(value, json_object_get(stored, name)))
			return fail(err, -EIO,
				    "the store does not give back what was imported; the file was kept");
	}
	return 0;
}

static int import_source(struct store *s, const struct arguments *args,
			 struct source *source, struct err *err)
{
	struct import import = { .force = args->force != NULL };
	int r = read_source(source, err);

	import.doc = source->doc;
	if (!r)
		r = check_entries(source->doc, err);
	if (!r)
		r = store_edit(s, false, merge, &import, err);
	if (r >= 0 && args->move)
		r = check_stored(s, source->doc, err);
	if (r >= 0 && args->move)
		r = private_dir_remove(source->dir, source->name, err);
	if (r < 0)
		return r;
	printf("%zu imported\n", json_object_size(source->doc));
	return EXIT_YES;
}

int secret_import(struct store *s, const struct arguments *args,
		  struct err *err)
{
	__attribute__((cleanup(source_done))) struct source source = { 0 };
	const bool file = args->claude ||
			  (args->word && strcmp(args->word, "-") != 0);
	int r;

	if (args->claude && args->word)
		return fail(err, -EINVAL, "--claude names the file already");
	if (!file && args->move)
		return fail(err, -EINVAL, "--move needs a file");
	if (!file && !args->word && isatty(STDIN_FILENO))
		return fail(err, -EINVAL,
			    "usage: cloche secret import [--claude | FILE]");
	r = file ? open_source(args, &source, err) : 0;
	return r < 0 ? r : import_source(s, args, &source, err);
}
