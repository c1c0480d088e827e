/* SPDX-License-Identifier: Apache-2.0 */
/* agent/shim.h - wrappers that run a program in the sandbox under its own name
 *
 * A shim is a small script in a directory that comes before the program's in
 * $PATH. No sandboxed command may write to that directory: it could replace the
 * shim by a program that runs outside. A file lists all shims.
 */

#ifndef AGENT_SHIM_H
#define AGENT_SHIM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

struct agent;
struct err;

/* The second line of each shim starts with this */
#define SHIM_MARK	"# cloche shim: "
/* The shim sets this variable: its presence shows that the shim was used */
#define SHIM_VARIABLE	"CLOCHE_SHIM"

enum {
	SHIM_NAME_MAX = 64,
	SHIMS_MAX = 256,
	SHIM_ANCESTORS_MAX = 32,	/* Processes above us that are looked at */
};

/**
 * struct shim - One wrapper, as a row of the list has it
 * @name:	Of the program
 * @path:	Of the wrapper
 * @real:	Of the program
 */
struct shim {
	const char *name, *path, *real;
};

enum shim_state {
	SHIM_OK,
	SHIM_BYPASSED,		/* $PATH leads to another file of that name */
	SHIM_CHANGED,		/* What lies there is not ours any more */
	SHIM_GONE,
	SHIM_NO_PROGRAM,	/* The real one is gone */
};

const char *shim_state_name(enum shim_state state);

/**
 * struct shim_agent - How an agent is started so that its commands run in the sandbox
 * @before:	Lines of the shell
 * @args:	Its first arguments, quoted, a blank before each
 */
struct shim_agent {
	struct buf before, args;
};

/* Write what the shim of @agent needs besides itself, for @program with @options: settings,
 * a stand-in for its shell. 0 with *@ret to be handed to shim_agent_done(), or a negative
 * errno with a message and nothing written.
 */
int shim_agent_make(const struct agent *agent, const char *program,
		    const char *const *options, struct shim_agent *ret,
		    struct err *err);
void shim_agent_done(struct shim_agent *a);

/* Remove that again */
void shim_agent_remove(const struct agent *agent);

/* Append why the commands of @agent, whose shim is in use, would not run in the sandbox, or
 * would not run at all; nothing if a harmless one does run there
 */
void shim_agent_check(const struct agent *agent, struct buf *why);

/* The first program @name on @path (as $PATH) that is no shim; NULL if none.
 * The caller frees.
 */
char *shim_find_real(const char *name, const char *path);

/* Make the shim and list it; a file that is not ours is never overwritten. With
 * @agent it runs the program outside, that way. 0 and its row, which the caller
 * releases, in *@ret; or a negative errno with a message.
 */
int shim_install(const char *cloche, const char *name, const char *dir,
		 const char *const *options, const struct shim_agent *agent,
		 json_t **ret, struct err *err);
/* Remove it from the disk and from the list */
int shim_remove(const char *name, struct err *err);

/* The list, an array of rows that the caller releases; NULL with a message */
json_t *shim_read_list(struct err *err);
/* A row of it; the strings are the row's */
struct shim shim_of(const json_t *row);
enum shim_state shim_state(const struct shim *shim, const char *path);

/* True if the first @name on $PATH is a shim that puts the commands of that agent into the
 * sandbox
 */
bool shim_holds_commands(const char *name);

/* If we run below a program that has a shim, but was started without it: one
 * line about that, else nothing
 */
void shim_tell_bypass(struct buf *out);

#endif /* AGENT_SHIM_H */
