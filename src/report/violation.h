/* SPDX-License-Identifier: Apache-2.0 */
/* report/violation.h - one refusal: what, by which rule, and how to allow it */

#ifndef REPORT_VIOLATION_H
#define REPORT_VIOLATION_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;
struct err;

/* The operation of a limit that was hit, which has a message of its own */
#define VIOLATION_OP_LIMIT "limit"

enum {
	VIOLATION_TEXT_MAX = 4096,	/* Bytes kept of one string */
	VIOLATION_LINE_MAX = 1 << 18,	/* Bytes of one JSON line, escaped */
	VIOLATION_TIME_SIZE = sizeof("2026-01-31T12:34:56.789Z"),
};

enum violation_kind {
#define VIOLATION(id, name, words) VIOLATION_##id,
#include "report/violations.def"
#undef VIOLATION
	VIOLATION_KINDS,
};

/**
 * struct violation - One refusal. Strings are the record's own; NULL is unknown
 * @time_ms:	Since the epoch
 * @run:	The run's id
 * @command:	The run's command line, shortened
 * @pid:	As seen from the host; 0 if unknown
 * @exe:	The program that tried
 * @parents:	"PID NAME" of its ancestors in the sandbox, the outermost first, "/"
 *		between them
 * @op:		The call or the protocol step ("openat", "CONNECT")
 * @target:	A path from inside, "host:port", a limit's name
 * @error:	The errno that the program got, or 0
 * @reason:	Words
 * @rule_file:	"FILE:LINE" of the rule, or the option that it was given with;
 *		NULL for a built-in one
 * @rule_key:	The rule's JSON path or name
 * @suggest_edit, @suggest_command: What would allow it, or NULL
 * @count:	How often, at least 1
 */
struct violation {
	enum violation_kind kind;
	int64_t time_ms;
	char *run, *command;
	pid_t pid;
	char *exe, *parents, *op, *target;
	int error;
	char *reason, *rule_file, *rule_key;
	char *suggest_edit, *suggest_command;
	uint64_t count;
};

const char *violation_kind_name(enum violation_kind kind);
const char *violation_kind_words(enum violation_kind kind);
/* The reverse of violation_kind_name(): 0 or -EINVAL */
int violation_kind_parse(const char *name, enum violation_kind *ret);

/* @time_ms as "2026-01-31T12:34:56.789Z" */
void violation_time(int64_t time_ms, char ret[VIOLATION_TIME_SIZE]);
/* The reverse, of nothing else: 0 or -EINVAL */
int violation_parse_time(const char *s, int64_t *ret);

/* @s as a JSON string, as violation_to_json() has it; "null" for NULL */
void violation_add_text(struct buf *out, const char *s);

/* Strings are copied; release with violation_done() */
void violation_copy(struct violation *to, const struct violation *from);
void violation_done(struct violation *v);

#define auto_violation	__attribute__((cleanup(violation_done)))

/* One JSON line, with its newline; bytes that are not UTF-8 become U+FFFD, and
 * characters that could deceive a reader (controls, bidi, "<>") are \uXXXX
 */
void violation_to_json(const struct violation *v, struct buf *out);
/* The reverse: 0, or -EINVAL with a message and *@ret untouched */
int violation_from_json(const char *line, size_t n, struct violation *ret,
			struct err *err);

/**
 * struct violation_sink - Where records go; the callee copies what it keeps
 */
struct violation_sink {
	void (*fn)(void *arg, const struct violation *v);
	void *arg;
};

static inline void violation_report(const struct violation_sink *sink,
				    const struct violation *v)
{
	if (sink && sink->fn)
		sink->fn(sink->arg, v);
}

#endif /* REPORT_VIOLATION_H */
