/* SPDX-License-Identifier: Apache-2.0 */
/* policy/settings.h - from settings files to one explained policy */

#ifndef POLICY_SETTINGS_H
#define POLICY_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/asks.h"
#include "policy/origin.h"

struct err;
struct policy;
struct reader;

/* What a file's words count for (docs/threat-model.md) */
enum authority {
	AUTHORITY_FULL,		/* The user's, the administrator's, the invocation's */
	AUTHORITY_RECORDED,	/* --settings FILE where commands write: first use */
	AUTHORITY_REPOSITORY,	/* It tightens; what it opens needs approval */
};

/**
 * struct settings_request - Whose settings, and where to look
 * @reader:	NULL for the machine's own file system
 * @cwd:	Where the command starts; absolute and real
 * @home:	The user's home, or NULL
 * @account_home: The one in the password database, or NULL
 * @etc:	"/etc" but in tests
 * @claude, @config, @state, @cache, @data: $CLAUDE_CONFIG_DIR and the XDG
 *		directories; NULL or not absolute means the default
 * @flag:	The argument of --settings: a file, or JSON text; or NULL
 * @as_srt:	@flag is what srt takes, and means what it means there
 * @no_settings: Managed files only
 * @options:	Adds what the command line says, between the managed files and
 *		the others; may be NULL
 * @approves:	True if the user approved of @line (asks.h) for @id: a repository's
 *		git directory or directory, or the file of --settings. NULL: no
 * @pinned:	Digests of asks that are approved, as $CLOCHE_TRUST has them
 * @variable:	Looks up a variable of the caller's; NULL: there is none
 * @check:	Collect every error in the report instead of stopping
 * @owned:	For settings_request_done()
 */
struct settings_request {
	const struct reader *reader;
	const char *cwd, *home, *account_home, *etc;
	const char *claude, *config, *state, *cache, *data;
	const char *flag;
	bool as_srt, no_settings;
	int (*options)(void *arg, struct policy *policy, struct err *err);
	void *options_arg;
	bool (*approves)(void *arg, enum authority authority, const char *id,
			 const char *line);
	void *approves_arg;
	const char *pinned;
	const char *(*variable)(const char *name);
	bool check;
	char *owned[2];
};

enum note_level {
	NOTE_INFO,	/* Known, and does nothing here */
	NOTE_WARNING,	/* Probably not what was meant */
	NOTE_UNKNOWN,	/* An unknown key, ignored: every run says so */
	NOTE_ERROR,	/* Stops the run; or a managed drop-in's, which doesn't */
	NOTE_LEVELS,
};

enum {
	NOTES_MAX = 1000,	/* Kept in a report; more are only counted */
};

/**
 * struct settings_note - Something to tell
 * @text:	One line: "FILE:LINE:COLUMN: words"
 */
struct settings_note {
	enum note_level level;
	char *text;
};

enum file_state { FILE_MISSING, FILE_READ, FILE_BAD };

/**
 * struct settings_file - A place that was looked at, strongest first
 */
struct settings_file {
	enum scope scope;
	enum file_state state;
	char *path;
};

/**
 * struct settings_source - A file that needs approval for what it asks
 * @id:		What the approval is kept with
 * @name:	The file as seen from the repository
 * @asks:	All that it opens, each with what became of it
 */
struct settings_source {
	enum authority authority;
	char *id, *name;
	struct asks asks;
};

/**
 * struct settings_report - What happened on the way; zero-initialise it
 * @dropped:	Notes beyond NOTES_MAX
 */
struct settings_report {
	struct { struct settings_note *v; size_t len, cap; } notes;
	struct { struct settings_file *v; size_t len, cap; } files;
	struct { struct settings_source *v; size_t len, cap; } sources;
	size_t dropped;
};

/* Fill in from the environment of this process. The strings are owned by the
 * environment, or by @req until settings_request_done().
 */
void settings_request_init(struct settings_request *req, const char *cwd);
void settings_request_done(struct settings_request *req);

/* Read, merge and finish. 0 and a finished policy, or a negative errno with
 * "FILE:LINE:COLUMN: what is wrong". With @req->check there is a policy unless
 * memory or the request is bad, and the errors are in @report (which may be
 * NULL otherwise).
 */
int settings_load(const struct settings_request *req, struct policy **ret,
		  struct settings_report *report, struct err *err);

/* As with @req->check, about one file's @text alone, as a file of @scope:
 * "policy check FILE". The name tells cloche's own files from the others. The
 * policy is not kept.
 */
int settings_check_text(const struct settings_request *req, enum scope scope,
			const char *name, const char *text, size_t n,
			struct settings_report *report, struct err *err);

/* All that @n bytes of @text open and close, added to @ret: "policy diff". @dir is
 * where its paths start. 0, or a negative errno with words.
 */
int settings_reach(const struct settings_request *req, const char *name,
		   const char *dir, const char *text, size_t n,
		   struct asks *ret, struct err *err);

/* What approvals of the repository around @req->cwd are kept with: the git
 * directory of its main checkout; without one, the directory. The caller frees.
 */
char *settings_identity(const struct settings_request *req);

/* The file that edits of @scope go to: cloche's own of SCOPE_PROJECT and
 * SCOPE_USER, Claude's of SCOPE_LOCAL; NULL without a home. The caller frees.
 */
char *settings_file_for(const struct settings_request *req,
			enum scope scope);

/* No more of this kind is taken, so that words for it are not needed */
bool settings_is_full(const struct settings_report *report,
		      enum note_level level);
void settings_note(struct settings_report *report, enum note_level level,
		   const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
size_t settings_errors(const struct settings_report *report);
void settings_report_done(struct settings_report *report);

#define auto_report	__attribute__((cleanup(settings_report_done)))

#endif /* POLICY_SETTINGS_H */
