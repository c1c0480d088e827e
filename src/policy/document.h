/* SPDX-License-Identifier: Apache-2.0 */
/* policy/document.h - parse settings files into facts and entries
 *
 * For src/policy only: settings.c reads documents, managed.c finds the locks among the
 * facts, apply.c adds the facts to a policy.
 */

#ifndef POLICY_DOCUMENT_H
#define POLICY_DOCUMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "policy/diagnostics.h"
#include "policy/pathrule.h"
#include "shell/rule.h"

struct err;
struct file_reader;
struct managed;
struct policy;
struct policy_dedup;

enum document_shape {
	SHAPE_CLAUDE,	/* "sandbox" and "permissions" among much else */
	SHAPE_OWN,	/* cloche's: what a sandbox object holds */
	SHAPE_SRT,	/* srt's: likewise, and its path objects */
	SHAPE_GUESS,	/* --settings: Claude's if it has such a key, else srt's */
};

/**
 * struct document_place - Where a document comes from, and how to parse it
 * @base:	Where relative paths start
 * @rules_base:	Where "/p" in a Read or Edit rule starts
 * @drop_in:	Bad text is reported and the file left out
 * @as_srt:	srt must accept it, and it means what it means to srt
 */
struct document_place {
	enum scope scope;
	enum document_shape shape;
	const char *name, *base, *rules_base;
	bool drop_in, as_srt;
};

/**
 * struct document - One settings file
 * @source:	Owned by the policy; text and scope
 * @root:	The parsed text
 * @rules_base:	As in struct document_place
 * @authority:	What it may grant by itself
 * @id:		The key of its approvals: the real path of a file of
 *		--settings, else NULL: the repository's
 * @pinned:	All its requests are approved by their digest
 */
struct document {
	const struct source *source;
	enum document_shape shape;
	json_t *root;
	char *rules_base, *id;
	enum authority authority;
	bool as_srt, pinned;
};

/**
 * struct fact - One key that a document sets
 * @setting:	Its row
 * @value:	Never null; borrowed from @document
 * @key:	Its JSON path
 */
struct fact {
	const struct document *document;
	const struct setting *setting;
	json_t *value;
	char *key;
};

/**
 * struct facts - All of them, strongest document first
 * @report:	Where notes go
 * @check:	Problems are noted, and loading goes on
 * @err:	Where a problem goes that stops it
 */
struct facts {
	struct { struct document **v; size_t len, cap; } documents;
	struct fact *v;
	size_t len, cap;
	struct settings_report *report;
	struct err *err;
	bool check;
};

/* Parse @n bytes of @text and add what it sets. Unknown keys are noted. 0; or
 * -EINVAL with a message for bad text or a value of the wrong shape. Where the run
 * goes on without them they are noted instead, and the result is 1 if the
 * whole text was left out.
 */
int document_add(struct facts *facts, struct policy *policy,
		 const struct document_place *place, const char *text,
		 size_t n);
void facts_done(struct facts *facts);

/* A note about the value at @key. 0; or -EINVAL for a NOTE_ERROR that ends the run,
 * with "FILE:LINE:COLUMN: KEY: what" in the facts' err.
 */
int document_note(const struct facts *facts, const struct document *document,
		  enum note_level level, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* Why denying @path is certainly a mistake (path_rule_doubt()), or NULL; a file of srt
 * is not checked
 */
const char *document_doubts(const struct document *document, const char *path);

/* True for project and local settings: a repository can contain them */
bool scope_is_repository(enum scope scope);

/**
 * struct entry - One entry of a fact's list, or its whole value
 * @index:	In the list; ENTRY_WHOLE for the value
 * @member:	The key in a value that is an object, or NULL
 */
struct entry {
	const struct facts *facts;
	const struct fact *fact;
	json_t *value;
	size_t index;
	const char *member;
};

#define ENTRY_WHOLE	((size_t)-1)

/* Before the first entry of @fact; entry_next() then steps through its list: true for
 * each entry, and once for the whole of a value that is no list
 */
struct entry fact_entry(const struct facts *facts, const struct fact *fact);
bool entry_next(struct entry *entry);

/* Where @entry is written */
struct origin entry_origin(const struct entry *entry);

/* A problem with @entry: noted where the run goes on, which gives 0; else -EINVAL
 * with "FILE:LINE:COLUMN: KEY: what"
 */
int entry_problem(const struct entry *entry, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* A warning about @entry */
void entry_warn(const struct entry *entry, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * struct ask_context - What ask_of() depends on, beside the entry
 * @top:	The repository's directory; paths below it start with "./"
 * @open:	A directory that is writable anyway, or NULL
 * @hidden:	Paths that the defaults hide, by SCOPE_BUILTIN; NULL: each path is
 *		a request
 */
struct ask_context {
	const struct policy *policy;
	const struct file_reader *reader;
	const char *top, *open;
	const struct policy_dedup *hidden;
};

/**
 * struct value - One parsed entry
 * @ask:	What it requests beyond the defaults; ASK_NOTHING: nothing
 * @path:	Of paths, sockets, path rules and credentials in files
 * @rule:	Of permission rules
 * @number:	Of switches, numbers, the profile and the network's mode
 * @text:	Of texts, hosts and strings; lives as long as the entry
 * @mask:	A credential that is masked, and not only denied
 * @asked:	The caller needs @ask
 * @digits:	Buffer for @text
 */
struct value {
	struct ask ask;
	struct path_rule path;
	struct rule rule;
	uint64_t number;
	const char *text;
	bool mask, asked;
	char digits[24];
};

/* Parse @entry; fill in its ask if @asked. 0; -EINVAL with a message; -ENODATA for an
 * empty entry, which grants nothing. With 0, a message in @why is about a part of the
 * entry that is ignored.
 */
int value_read(const struct ask_context *ctx, const struct entry *entry,
	       bool asked, struct value *ret, struct err *why);
void value_done(struct value *value);

/* What @entry requests beyond the defaults. False, with nothing to release, if it
 * requests nothing or cannot be parsed: apply.c reports that.
 */
bool ask_of(const struct ask_context *ctx, const struct entry *entry,
	    struct ask *ret);

/**
 * struct apply - What applying facts needs
 * @asks:	For ask_of() and value_read()
 * @id:		The key of the repository's approvals
 * @approves, @arg: As in struct settings_request
 */
struct apply {
	const struct facts *facts;
	struct policy *policy;
	struct managed *locks;
	const struct ask_context *asks;
	const char *id;
	bool (*approves)(void *arg, enum authority authority, const char *id,
			 const char *line);
	void *arg;
};

/* Which facts to apply, in the order of the calls */
enum apply_pass {
	APPLY_STICKY,	/* Switches that hold if any file sets them */
	APPLY_MANAGED,	/* Scalars and denials of managed files */
	APPLY_PROFILE,	/* The profile: what is open without settings */
	APPLY_OTHERS,	/* Scalars and denials of all other files */
	APPLY_ALLOW,	/* Grants of all files: the denials are known */
};

/* apply.c: 0, or a negative errno with a message in the facts' err */
int apply_facts(const struct apply *apply, enum apply_pass pass);

/* Mark the files whose asks are approved by digest (@pinned); call it once the
 * profile is applied
 */
void apply_find_pinned(const struct apply *apply, const char *pinned);

/* Add what each file that needs approval asks for to the report; call it once all
 * denials are applied
 */
void apply_report_asks(const struct apply *apply);

/* Note what `cloche policy check` should warn about: settings that are valid and
 * probably not meant (lint.c)
 */
void lint_note(const struct facts *facts, const struct policy *policy);

#endif /* POLICY_DOCUMENT_H */
