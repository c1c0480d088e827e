/* SPDX-License-Identifier: Apache-2.0 */
/* cli/command-line.h - one use of the command line: verb, word, options, arguments
 *
 * The tables verbs.def, subcommands.def and flags.def drive parsing, help,
 * completion (tools/gen-completion) and the manual pages (tools/gen-man.c).
 */

#ifndef CLI_COMMAND_LINE_H
#define CLI_COMMAND_LINE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "run/options.h"

struct buf;
struct call;
struct err;
struct origin;
struct policy;
struct violation;
struct violation_store;

/* Returns an exit status, or a negative errno with a message: main() prints that
 * and exits with 125 (run, as) or 2.
 */
typedef int (*call_fn)(struct call *call, struct err *err);

/**
 * struct verb - One verb
 * @name:	As it is typed
 * @synopsis:	What follows it
 * @run:	Run it, parsed; NULL if it has words, each with its own function,
 * @raw:	or if it parses its own arguments: argv[0] is the verb
 */
struct verb {
	const char *name, *synopsis, *help;
	call_fn run;
	int (*raw)(int argc, char **argv, struct err *err);
};

/**
 * struct word - What follows a verb
 * @name:	As it is typed; in capitals, it stands for several, and @run calls
 *		call_parse()
 * @synopsis:	What follows it: words as they are typed, values in capitals
 * @run:	NULL if the verb is a program of its own
 * @fewest:	How many arguments there must be, and
 * @most:	may be
 */
struct word {
	const char *verb, *name, *synopsis, *help;
	call_fn run;
	int fewest, most;
};

/**
 * struct verb_option - An option of one verb alone
 * @words:	The words behind @verb that take it, or "*"
 * @argument:	What its value is called, or which there are; or NULL
 */
struct verb_option {
	const char *verb, *words, *name, *argument, *help;
};

enum { VERB_OPTIONS_MAX = 128 };

/**
 * struct call - What was typed
 * @word:	The word behind the verb, or NULL
 * @name:	That word as it was typed
 * @options:	The options of run
 * @given:	The same as they were typed, ended by NULL
 * @args:	The @count arguments that are no options, ended by NULL
 * @values:	Of each row of verb_option_table(), for call_flag()
 */
struct call {
	const struct verb *verb;
	const struct word *word;
	const char *name;
	struct options options;
	struct { char **v; size_t len, cap; } given;
	char **args;
	int count;
	const char *values[VERB_OPTIONS_MAX];
};

/* The whole tables, each ending with an empty row */
const struct verb *verb_table(void);
const struct verb_option *verb_option_table(void);
/* Its one-letter form, or 0 */
char verb_option_letter(const struct verb_option *flag);

const struct verb *verb_find(const char *name);
/* -EINVAL with a message: there is no verb @name, but perhaps one like it */
int verb_fail(const char *name, struct err *err);

/* The words of @c: the first of its rows, which stand together; or NULL */
const struct word *word_first(const struct verb *c);
/* The next one, or NULL */
const struct word *word_next(const struct word *word);
/* The one that @name stands for, or NULL */
const struct word *word_find(const struct verb *c, const char *name);

/* True if the options of run may be given where @synopsis stands */
bool synopsis_has_run(const char *synopsis);

/* Parse the arguments of @verb and run it; argv[0] is the verb. As call_fn. */
int call_run(const struct verb *verb, int argc, char **argv, struct err *err);

/* Sort @call->args into options and arguments, and count these. 0, or a negative errno with a
 * message.
 */
int call_parse(struct call *call, struct err *err);

/* The value of the verb's own option @name; "" if it takes none; NULL if it was
 * not given
 */
const char *call_flag(const struct call *call, const char *name);

/* The option "since", which is a time ago, as a time; 0 without it */
int call_since(const struct call *call, int64_t *ret_ms, struct err *err);

/* -EINVAL with the synopsis as the message */
int call_fail_usage(const struct call *call, struct err *err);

/* A line that shows @call, "policy diff", in use; or NULL */
const char *help_example(const char *call);

/* 0, or the same unless there are @fewest to @most arguments */
int call_expect(const struct call *call, int fewest, int most, struct err *err);

/* Print @value, which is taken over; @format is jansson's */
void print_json(json_t *value, size_t format);

/**
 * struct record_filter - Which records are wanted
 * @run:	Only those of this run, or NULL
 * @session:	Only those of this session's commands, whose ids are the keys of @runs; or NULL
 * @since_ms:	Only later ones
 */
struct record_filter {
	const char *run, *session;
	json_t *runs;
	int64_t since_ms;
};

/* Fill in @ret->runs, which the caller releases. 0, or a negative errno with a message. */
int record_filter_open(struct record_filter *ret, struct violation_store *store,
		       struct err *err);
bool record_filter_has(const struct record_filter *filter, const struct violation *v);

/* {"scope": ..., "file": ..., "line": ..., "key": ..., "reason": ...} */
json_t *policy_origin_json(const struct origin *origin);

/* Append the first @most names in @dir, without the one that leads to @except (may be
 * NULL), and how many more there are
 */
void add_names(const char *dir, const char *except, int most, struct buf *out);

/* The path of this program, so that PATH cannot put another in its place; "cloche"
 * where /proc is not mounted. The caller frees.
 */
char *own_path(void);

/* Append a line if the sandbox is @enabled but cannot run here, as @policy wants it */
void advise(const struct policy *policy, bool enabled, struct buf *out);

/* Verbs and words */
#define COMMAND(id, name, synopsis, help) \
	int cli_##id(struct call *call, struct err *err);
#define PARENT(id, name, synopsis, help)
#define PROGRAM(id, name, synopsis, help) \
	int cli_##id(int argc, char **argv, struct err *err);
#include "cli/verbs.def"
#undef COMMAND
#undef PARENT
#undef PROGRAM
#define WORD(verb, function, name, synopsis, fewest, most, help) \
	int cmd_##verb##_##function(struct call *call, struct err *err);
#define PROGRAM_WORD(verb, name, synopsis, help)
#include "cli/subcommands.def"
#undef WORD
#undef PROGRAM_WORD

/* For programs, not people: found by name, but in no list */
int cli_ssh_connect(int argc, char **argv, struct err *err);

/* Hand over to cloche-secret under the name in argv[0]. A negative errno with a
 * message; it does not return otherwise.
 */
int cli_secret_as(char **argv, struct err *err);

#endif /* CLI_COMMAND_LINE_H */
