/* SPDX-License-Identifier: Apache-2.0 */
/* policy/settings.h - from settings files to one explained policy */

#ifndef POLICY_SETTINGS_H
#define POLICY_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/diagnostics.h"
#include "policy/policy.h"

struct err;
struct file_reader;

/**
 * struct settings_request - Whose settings to load, and from where
 * @reader:	NULL for the machine's own file system
 * @cwd:	Where the command starts; absolute and real
 * @home:	The user's home, or NULL
 * @account_home: The one in the password database, or NULL
 * @dirs:	"/etc", $CLAUDE_CONFIG_DIR and the XDG directories; NULL or not
 *		absolute means the default
 * @flag:	The argument of --settings: a file, or JSON text; or NULL
 * @as_srt:	srt must accept @flag, and it means what it means to srt
 * @no_settings: Managed files only
 * @options:	Adds the rules of the command line, after the managed files and
 *		before the others; may be NULL
 * @approves:	True if the user approved @line (asks.h) for @id: a repository's git
 *		directory or directory, or the file of --settings. NULL: nothing is
 *		approved
 * @pinned:	Digests of asks that are approved, as $CLOCHE_TRUST has them
 * @variable:	Looks up a variable of the caller's; NULL: there is none
 * @check:	Collect every error in the report instead of stopping
 * @owned:	For settings_request_done()
 */
struct settings_request {
	const struct file_reader *reader;
	const char *cwd, *home, *account_home;
	const char *dirs[DIR_COUNT];
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
	char *owned[3];
};

/* "/etc". In the installed program this is a constant (etc-dir.c), because a variable
 * of the environment must not choose the managed policy. The test program links
 * etc-dir-test.c instead, which reads $CLOCHE_ROOT_ETC.
 */
const char *etc_dir(void);

/* Fill in from the environment of this process. The strings are owned by the
 * environment, or by @req until settings_request_done().
 */
void settings_request_init(struct settings_request *req, const char *cwd);
void settings_request_done(struct settings_request *req);

#define auto_request	__attribute__((cleanup(settings_request_done)))

/* Read, merge and finish. 0 and a finished policy, or a negative errno with
 * "FILE:LINE:COLUMN: what is wrong". With @req->check there is a policy unless
 * memory or the request is bad, and the errors are in @report (which may be
 * NULL otherwise).
 */
int settings_load(const struct settings_request *req, struct policy **ret,
		  struct settings_report *report, struct err *err);

/* As with @req->check, about one file's @text alone, as a file of @scope:
 * "policy check FILE". A file called .cloche.json or policy.json is parsed as cloche's
 * own. The policy is discarded.
 */
int settings_check_text(const struct settings_request *req, enum scope scope,
			const char *name, const char *text, size_t n,
			struct settings_report *report, struct err *err);

/* Append all grants and denials of @n bytes of @text to @ret: "policy diff". Relative
 * paths start at @dir. 0, or a negative errno with a message.
 */
int settings_reach(const struct settings_request *req, const char *name,
		   const char *dir, const char *text, size_t n,
		   struct asks *ret, struct err *err);

/* The key of the approvals of the repository around @req->cwd: the git
 * directory of its main checkout; without one, the directory. The caller frees.
 */
char *settings_identity(const struct settings_request *req);

/* The file that edits of @scope go to: cloche's own of SCOPE_PROJECT and
 * SCOPE_USER, Claude's of SCOPE_LOCAL; NULL without a home. The caller frees.
 */
char *settings_file_for(const struct settings_request *req,
			enum scope scope);

#endif /* POLICY_SETTINGS_H */
