/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/secret/transfer.c - import, export and move
 *
 * An import is checked as a whole first and stored in one write: all of it or
 * nothing. With --move the file is deleted only after everything was read back
 * from the store. Claude Code's file is never touched without being asked for.
 */

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
#include "cli/secret/secret.h"
#include "secret/bytes.h"
#include "secret/doc.h"
#include "secret/name.h"
#include "secret/place.h"
#include "secret/store.h"
#include "secret/sync.h"

/* A shell makes the file of `export > FILE` with its umask */
static void warn_if_readable(void)
{
	struct stat st;

	if (!fstat(STDOUT_FILENO, &st) && S_ISREG(st.st_mode) &&
	    (st.st_mode & 077))
		fputs("Warning: Others can read the file that this was written to: run chmod 600 on it.\n",
		      stderr);
}

int secret_export(struct secret_session *s, struct err *err)
{
	auto_bytes struct bytes doc = { 0 };
	int r = output_allowed(s, err);

	if (!r)
		r = session_read(s, &doc, err);
	if (r < 0)
		return r;
	if (!r)
		bytes_adds(&doc, "{}");
	r = output_line(&doc, err);
	if (r < 0)
		return r;
	warn_if_readable();
	return EXIT_YES;
}

/* Where Claude Code keeps its credentials. The caller frees. */
static char *claude_dir(void)
{
	const char *set = getenv("CLAUDE_CONFIG_DIR");
	auto_free char *home = fs_home();

	if (set && *set == '/')
		return path_resolve("/", set);
	return home ? path_join(home, ".claude") : NULL;
}

/**
 * struct source - The file to import, or standard input (@place NULL)
 */
struct source {
	struct place *place;
	char *name;
	struct bytes text;
};

static void source_done(struct source *source)
{
	place_free(source->place);
	free(source->name);
	bytes_done(&source->text);
}

static int source_open(const struct arguments *args, struct source *ret,
		       struct err *err)
{
	auto_free char *dir = NULL;

	if (args->claude) {
		dir = claude_dir();
		if (!dir)
			return fail(err, -ENOENT,
				    "there is no home directory: set HOME");
		ret->name = mem_strdup(".credentials.json");
	} else {
		auto_free char *here = getcwd(NULL, 0);
		auto_free char *path = path_resolve(here ? here : "/",
						    args->word);

		dir = path_parent(path);
		ret->name = mem_strdup(path_base(path));
	}
	ret->place = place_new(dir);
	return 0;
}

static int source_read(struct source *source, struct err *err)
{
	int r;

	if (!source->place)
		return input_all(DOC_MAX, &source->text, err);
	r = place_read(source->place, source->name, DOC_MAX, &source->text,
		       err);
	if (!r)
		return fail(err, -ENOENT, "there is no '%s/%s'",
			    place_path(source->place), source->name);
	return r < 0 ? r : 0;
}

/* Every name, and every value that is a string, keeps the rules of `set` */
static int check_members(struct span doc, struct err *err)
{
	struct doc_member m;
	size_t cursor = 0;

	for (size_t number = 1; doc_next(doc, &cursor, &m); number++) {
		auto_bytes struct bytes name = { 0 }, value = { 0 };
		int r;

		(void)doc_unquote(m.key, &name);
		r = name_check(bytes_str(&name), name.len, err);
		if (!r && !doc_unquote(m.value, &value))
			r = value_check(bytes_str(&value), value.len, err);
		if (!r && doc_is_null(m.value))
			r = fail(err, -EINVAL, "there is no value");
		if (r < 0)
			return fail_in(err, r, "entry %zu", number);
	}
	return 0;
}

/**
 * struct import - A document to merge
 */
struct import {
	struct span doc;
	bool force;
};

static int merge(void *arg, struct span old, struct bytes *ret,
		 struct err *err)
{
	const struct import *import = arg;
	struct doc_member m;
	size_t cursor = 0;

	while (!import->force && doc_next(import->doc, &cursor, &m)) {
		auto_bytes struct bytes name = { 0 };
		struct span there;

		(void)doc_unquote(m.key, &name);
		if (doc_find(old, bytes_str(&name), &there))
			return fail(err, -EEXIST,
				    "there is a secret '%s' already: use --force to replace it",
				    bytes_str(&name));
	}
	doc_merge(old, import->doc, ret);
	return 1;
}

/* Is all of @doc in the store, byte for byte? */
static int verify(struct secret_session *s, struct span doc, struct err *err)
{
	auto_bytes struct bytes stored = { 0 };
	struct doc_member m;
	size_t cursor = 0;
	int r;

	secret_store_clear(s->store);
	r = session_read(s, &stored, err);
	while (r > 0 && doc_next(doc, &cursor, &m)) {
		auto_bytes struct bytes name = { 0 };
		struct span there;

		(void)doc_unquote(m.key, &name);
		if (!doc_find(span_of(&stored), bytes_str(&name), &there) ||
		    !bytes_same(there.p, there.n, m.value.p, m.value.n))
			r = 0;
	}
	if (!r)
		return fail(err, -EIO,
			    "the store does not give back what was imported; the file was kept");
	return r < 0 ? r : 0;
}

static int import_source(struct secret_session *s, struct source *source,
			 struct err *err)
{
	auto_sync struct sync sync = { .loop = s->loop };
	struct import import = { .force = s->args->force != NULL };
	int r = source_read(source, err);

	if (!r)
		r = doc_check(span_of(&source->text),
			      source->name ? source->name : "standard input",
			      err);
	import.doc = span_of(&source->text);
	if (!r)
		r = check_members(import.doc, err);
	if (r < 0)
		return r;
	secret_store_edit(s->store, merge, &import, sync_answer, &sync);
	r = session_wait(&sync, err);
	if (r >= 0 && s->args->move)
		r = verify(s, import.doc, err);
	if (r >= 0 && s->args->move)
		r = place_remove(source->place, source->name, err);
	if (r < 0)
		return r;
	printf("%zu imported\n", doc_count(import.doc));
	return EXIT_YES;
}

int secret_import(struct secret_session *s, struct err *err)
{
	__attribute__((cleanup(source_done))) struct source source = { 0 };
	const bool file = s->args->claude ||
			  (s->args->word && strcmp(s->args->word, "-") != 0);
	int r;

	if (s->args->claude && s->args->word)
		return fail(err, -EINVAL, "--claude names the file already");
	if (!file && s->args->move)
		return fail(err, -EINVAL, "--move needs a file");
	if (!file && !s->args->word && isatty(STDIN_FILENO))
		return fail(err, -EINVAL,
			    "usage: cloche secret import [--claude | FILE]");
	r = file ? source_open(s->args, &source, err) : 0;
	return r < 0 ? r : import_source(s, &source, err);
}

int secret_move(struct secret_session *s, struct err *err)
{
	auto_sync struct sync sync = { .loop = s->loop };
	int r;

	if (!s->args->backend)
		return fail(err, -EINVAL,
			    "usage: cloche secret move --backend NAME");
	secret_store_move(s->store, s->args->backend, sync_answer, &sync);
	r = session_wait(&sync, err);
	return r ? (r < 0 ? r : EXIT_YES) :
	       fail(err, -ENOENT, "there is nothing to move");
}
