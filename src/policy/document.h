/* SPDX-License-Identifier: Apache-2.0 */
/* policy/document.h - settings files taken apart into facts
 *
 * Inside of policy/: settings.c reads documents, locks.c looks at the facts,
 * apply.c puts them into a policy.
 */

#ifndef POLICY_DOCUMENT_H
#define POLICY_DOCUMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "policy/origin.h"
#include "policy/settings.h"

struct err;
struct policy;
struct setting;

enum document_shape {
	SHAPE_CLAUDE,	/* "sandbox" and "permissions" among much else */
	SHAPE_OWN,	/* cloche's: what a sandbox object holds */
	SHAPE_SRT,	/* srt's: likewise, and its path objects */
	SHAPE_GUESS,	/* --settings: Claude's if it has such a key, else srt's */
};

/**
 * struct document - One settings file
 * @source:	Owned by the policy; text and scope
 * @root:	The parsed text
 * @rules_base:	Where "/p" in a Read or Edit rule starts
 * @authority:	Who stands behind it
 * @id:		What approvals are kept with: the real path of a file of
 *		--settings, else NULL: the repository's
 * @pinned:	All that it asks for is approved, by digest
 * @tolerant:	A bad entry is reported and dropped (managed files)
 */
struct document {
	const struct source *source;
	enum document_shape shape;
	json_t *root;
	char *rules_base, *id;
	enum authority authority;
	bool tolerant, as_srt, pinned;
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
 */
struct facts {
	struct { struct document **v; size_t len, cap; } documents;
	struct fact *v;
	size_t len, cap;
	struct settings_report *report;
	bool check;
};

/**
 * struct document_place - What a document is, before it is parsed
 * @drop_in:	Bad text is reported and the file left out
 * @as_srt:	It must be what srt takes, and means what it means there
 */
struct document_place {
	enum scope scope;
	enum document_shape shape;
	const char *name, *base, *rules_base;
	enum authority authority;
	bool tolerant, drop_in, as_srt;
};

/* Parse @n bytes of @text and add what it sets. Unknown keys are noted. 0; or
 * -EINVAL with words for bad text or a value of the wrong shape. Where the run
 * goes on without them they are noted instead, and the result is 1 if the
 * whole text was left out.
 */
int document_add(struct facts *facts, struct policy *policy,
		 const struct document_place *place, const char *text,
		 size_t n, struct err *err);
void facts_done(struct facts *facts);

/* A problem with the value at @key of @document: noted where the run goes on,
 * which gives 0; else -EINVAL with "FILE:LINE:COLUMN: KEY: words".
 */
int document_problem(const struct facts *facts,
		     const struct document *document, const char *key,
		     struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* Something to tell about the value at @key */
void document_note(const struct facts *facts, const struct document *document,
		   enum note_level level, const char *key, const char *fmt,
		   ...) __attribute__((format(printf, 5, 6)));

/* Why a path that @document denies is surely not what was meant, or NULL; in a
 * file of srt's it means what it means there
 */
const char *document_doubts(const struct document *document, const char *path);

/* True for project and local settings: they come with a clone */
bool scope_is_repository(enum scope scope);

#endif /* POLICY_DOCUMENT_H */
